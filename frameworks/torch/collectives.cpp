// SPDX-License-Identifier: Apache-2.0
//
// The collectives of the process group that libina does.
#include <memory>
#include <utility>

#include "process_group.hpp"

namespace torch_ina
{

namespace
{

size_t count_of(const at::Tensor &tensor)
{
	return static_cast<size_t>(tensor.numel());
}

const at::Tensor &only(const char *call, const Tensors &tensors)
{
	TORCH_CHECK(tensors.size() == 1, "torch_ina: ", call, " takes one tensor a rank, and not ",
	            tensors.size());
	return tensors[0];
}

// The list of tensors, one a rank, that is one rank's.
const Tensors &list(const char *call, const std::vector<Tensors> &lists, int ranks,
                    const at::Tensor &one)
{
	TORCH_CHECK(lists.size() == 1 && lists[0].size() == static_cast<size_t>(ranks),
	            "torch_ina: ", call, " takes one list of ", ranks, " tensors, one a rank");
	for (const at::Tensor &tensor : lists[0])
		TORCH_CHECK(tensor.numel() == one.numel() &&
		                    tensor.scalar_type() == one.scalar_type(),
		            "torch_ina: ", call, ": a tensor of ", tensor.numel(), " ",
		            tensor.scalar_type(), " in the list, and one of ", one.numel(), " ",
		            one.scalar_type(), " beside it");
	return lists[0];
}

} // namespace

void ProcessGroupIna::check_blocks(const char *call, const at::Tensor &all,
                                   const at::Tensor &block) const
{
	check_tensor(call, all);
	check_tensor(call, block);
	TORCH_CHECK(all.scalar_type() == block.scalar_type() &&
	                    all.numel() == block.numel() * getSize(),
	            "torch_ina: ", call, ": a tensor of ", all.numel(), " ", all.scalar_type(),
	            " is not ", getSize(), " times one of ", block.numel(), " ",
	            block.scalar_type());
}

bool ProcessGroupIna::can_reduce(const char *call, const at::Tensor &tensor,
                                 const c10d::ReduceOp &op)
{
	check_tensor(call, tensor);
	return type_of(tensor.scalar_type()) && op_of(op);
}

WorkPointer ProcessGroupIna::allreduce_coalesced(Tensors &tensors,
                                                 const c10d::AllreduceCoalescedOptions &options)
{
	static const char *const call = "all_reduce_coalesced";
	std::vector<Start> starts;
	bool can = !tensors.empty();

	for (const at::Tensor &tensor : tensors) {
		can = can_reduce(call, tensor, options.reduceOp) && can;
		starts.push_back([tensor, op = op_of(options.reduceOp)](ina_comm *comm,
		                                                        ina_request **request) {
			return ina_allreduce_start(comm, tensor.data_ptr(), tensor.data_ptr(),
			                           count_of(tensor), type_of(tensor.scalar_type()),
			                           op, request);
		});
	}
	if (!can)
		return by_gloo(call, tensors.empty() ? at::Tensor() : tensors[0], NOT_ADDED)
		        ->allreduce_coalesced(tensors, options);
	return submit(c10d::OpType::ALLREDUCE_COALESCED, call, tensors[0], tensors,
	              std::move(starts));
}

WorkPointer ProcessGroupIna::allreduce(Tensors &tensors, const c10d::AllreduceOptions &options)
{
	static const char *const call = "all_reduce";
	const at::Tensor tensor = only(call, tensors);

	if (!can_reduce(call, tensor, options.reduceOp))
		return by_gloo(call, tensor, NOT_ADDED)->allreduce(tensors, options);
	return submit(
	        c10d::OpType::ALLREDUCE, call, tensor, tensors,
	        {[tensor, op = op_of(options.reduceOp)](ina_comm *comm, ina_request **request) {
		        return ina_allreduce_start(comm, tensor.data_ptr(), tensor.data_ptr(),
		                                   count_of(tensor), type_of(tensor.scalar_type()),
		                                   op, request);
	        }});
}

WorkPointer ProcessGroupIna::reduce(Tensors &tensors, const c10d::ReduceOptions &options)
{
	static const char *const call = "reduce";
	const at::Tensor tensor = only(call, tensors);
	const int root = static_cast<int>(options.rootRank);

	if (!can_reduce(call, tensor, options.reduceOp))
		return by_gloo(call, tensor, NOT_ADDED)->reduce(tensors, options);
	return submit(c10d::OpType::REDUCE, call, tensor, tensors,
	              {[tensor, root, here = getRank() == root,
	                op = op_of(options.reduceOp)](ina_comm *comm, ina_request **request) {
		              return ina_reduce_start(
		                      comm, tensor.data_ptr(), here ? tensor.data_ptr() : nullptr,
		                      count_of(tensor), type_of(tensor.scalar_type()), op, root,
		                      request);
	              }});
}

// What is only moved is bytes, whatever its type.

WorkPointer ProcessGroupIna::broadcast(Tensors &tensors, const c10d::BroadcastOptions &options)
{
	static const char *const call = "broadcast";
	const at::Tensor tensor = only(call, tensors);
	const int root = static_cast<int>(options.rootRank);

	check_tensor(call, tensor);
	return submit(c10d::OpType::BROADCAST, call, tensor, tensors,
	              {[tensor, root](ina_comm *comm, ina_request **request) {
		              return ina_broadcast_start(comm, tensor.data_ptr(), tensor.data_ptr(),
		                                         tensor.nbytes(), INA_UINT8, root, request);
	              }});
}

WorkPointer ProcessGroupIna::gather_into(const char *call, const at::Tensor &all,
                                         const at::Tensor &input, Tensors outputs,
                                         std::function<void()> after)
{
	return submit(c10d::OpType::ALLGATHER, call, input, std::move(outputs),
	              {[all, input](ina_comm *comm, ina_request **request) {
		              return ina_all_gather_start(comm, input.data_ptr(), all.data_ptr(),
		                                          input.nbytes(), INA_UINT8, request);
	              }},
	              std::move(after));
}

WorkPointer ProcessGroupIna::_allgather_base(at::Tensor &output, at::Tensor &input,
                                             const c10d::AllgatherOptions &)
{
	static const char *const call = "all_gather_into_tensor";

	check_blocks(call, output, input);
	return gather_into(call, output, input, {output}, nullptr);
}

WorkPointer ProcessGroupIna::allgather(std::vector<Tensors> &outputs, Tensors &inputs,
                                       const c10d::AllgatherOptions &)
{
	static const char *const call = "all_gather";
	const at::Tensor input = only(call, inputs);
	const Tensors parts = list(call, outputs, getSize(), input);

	check_tensor(call, input);
	const at::Tensor all = at::empty({getSize(), input.numel()}, input.options());

	return gather_into(call, all, input, parts, [all, parts] {
		for (size_t i = 0; i < parts.size(); i++)
			at::Tensor(parts[i]).copy_(
			        all[static_cast<int64_t>(i)].view(parts[i].sizes()));
	});
}

WorkPointer ProcessGroupIna::scatter_sum(const char *call, const at::Tensor &output,
                                         const at::Tensor &all, const c10d::ReduceOp &op)
{
	check_blocks(call, all, output);
	TORCH_CHECK(can_reduce(call, all, op), "torch_ina: ", call,
	            ": neither libina nor gloo has it for ", all.scalar_type(),
	            " with this operation");
	return submit(c10d::OpType::REDUCE_SCATTER, call, output, {output},
	              {[output, all, op = op_of(op)](ina_comm *comm, ina_request **request) {
		              return ina_reduce_scatter_start(
		                      comm, all.data_ptr(), output.data_ptr(), count_of(output),
		                      type_of(output.scalar_type()), op, request);
	              }});
}

WorkPointer ProcessGroupIna::_reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                                                  const c10d::ReduceScatterOptions &options)
{
	return scatter_sum("reduce_scatter_tensor", output, input, options.reduceOp);
}

WorkPointer ProcessGroupIna::reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs,
                                            const c10d::ReduceScatterOptions &options)
{
	static const char *const call = "reduce_scatter";
	const at::Tensor output = only(call, outputs);
	Tensors flat;

	for (const at::Tensor &input : list(call, inputs, getSize(), output))
		flat.push_back(input.reshape({-1}));
	return scatter_sum(call, output, at::cat(flat), options.reduceOp);
}

WorkPointer ProcessGroupIna::barrier(const c10d::BarrierOptions &)
{
	return submit(c10d::OpType::BARRIER, "barrier", at::Tensor(), {}, {ina_barrier_start});
}

} // namespace torch_ina

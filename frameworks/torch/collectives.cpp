// SPDX-License-Identifier: Apache-2.0
//
// The collectives of the process group that libina carries out.
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
	TORCH_CHECK(tensors.size() == 1, "torch_ina: ", call, " takes one tensor per rank, not ",
	            tensors.size());
	return tensors[0];
}

// True if libina has both the type and the operation.
bool can_reduce(const at::Tensor &tensor, const c10d::ReduceOp &op)
{
	return type_of(tensor.scalar_type()) && op_of(op);
}

// Checks that a rank has given one list with one tensor for each rank, and returns the list.
const Tensors &list(const char *call, const std::vector<Tensors> &lists, int ranks,
                    const at::Tensor &one)
{
	TORCH_CHECK(lists.size() == 1 && lists[0].size() == static_cast<size_t>(ranks),
	            "torch_ina: ", call, " takes one list of ", ranks, " tensors, one per rank");
	for (const at::Tensor &tensor : lists[0])
		TORCH_CHECK(tensor.numel() == one.numel() &&
		                    tensor.scalar_type() == one.scalar_type(),
		            "torch_ina: ", call, ": a tensor of ", tensor.numel(), " ",
		            tensor.scalar_type(), " in the list, but the other tensor has ",
		            one.numel(), " ", one.scalar_type());
	return lists[0];
}

} // namespace

void ProcessGroupIna::check_blocks(const char *call, const at::Tensor &all,
                                   const at::Tensor &block) const
{
	TORCH_CHECK(all.scalar_type() == block.scalar_type() &&
	                    all.numel() == block.numel() * getSize(),
	            "torch_ina: ", call, ": a tensor of ", all.numel(), " ", all.scalar_type(),
	            " is not ", getSize(), " times one of ", block.numel(), " ",
	            block.scalar_type());
}

WorkPointer ProcessGroupIna::allreduce_coalesced(Tensors &tensors,
                                                 const c10d::AllreduceCoalescedOptions &options)
{
	static const char *const call = "all_reduce_coalesced";
	Contiguous contiguous(call);
	Tensors pieces = contiguous.update(tensors);
	std::vector<Start> starts;
	bool can = !tensors.empty();

	for (const at::Tensor &piece : pieces) {
		can = can_reduce(piece, options.reduceOp) && can;
		starts.push_back([piece, op = op_of(options.reduceOp)](ina_comm *comm,
		                                                       ina_request **request) {
			return ina_allreduce_start(comm, piece.data_ptr(), piece.data_ptr(),
			                           count_of(piece), type_of(piece.scalar_type()),
			                           op, request);
		});
	}
	if (!can)
		return copied_back(
		        c10d::OpType::ALLREDUCE_COALESCED, call, tensors, contiguous,
		        by_gloo(call, tensors.empty() ? at::Tensor() : tensors[0], NOT_ADDED)
		                ->allreduce_coalesced(pieces, options));
	return submit(c10d::OpType::ALLREDUCE_COALESCED, call, tensors[0], tensors,
	              std::move(starts), contiguous);
}

WorkPointer ProcessGroupIna::allreduce(Tensors &tensors, const c10d::AllreduceOptions &options)
{
	static const char *const call = "all_reduce";
	Contiguous contiguous(call);
	Tensors pieces = {contiguous.update(only(call, tensors))};
	const at::Tensor piece = pieces[0];

	if (!can_reduce(piece, options.reduceOp))
		return copied_back(c10d::OpType::ALLREDUCE, call, tensors, contiguous,
		                   by_gloo(call, piece, NOT_ADDED)->allreduce(pieces, options));
	return submit(
	        c10d::OpType::ALLREDUCE, call, piece, tensors,
	        {[piece, op = op_of(options.reduceOp)](ina_comm *comm, ina_request **request) {
		        return ina_allreduce_start(comm, piece.data_ptr(), piece.data_ptr(),
		                                   count_of(piece), type_of(piece.scalar_type()),
		                                   op, request);
	        }},
	        contiguous);
}

WorkPointer ProcessGroupIna::reduce(Tensors &tensors, const c10d::ReduceOptions &options)
{
	static const char *const call = "reduce";
	const int root = static_cast<int>(options.rootRank);
	const bool here = getRank() == root;
	Contiguous contiguous(call);
	const at::Tensor &tensor = only(call, tensors);
	Tensors pieces = {here ? contiguous.update(tensor) : contiguous.read(tensor)};
	const at::Tensor piece = pieces[0];

	if (!can_reduce(piece, options.reduceOp))
		return copied_back(c10d::OpType::REDUCE, call, tensors, contiguous,
		                   by_gloo(call, piece, NOT_ADDED)->reduce(pieces, options));
	return submit(c10d::OpType::REDUCE, call, piece, tensors,
	              {[piece, root, here, op = op_of(options.reduceOp)](ina_comm *comm,
	                                                                 ina_request **request) {
		              return ina_reduce_start(comm, piece.data_ptr(),
		                                      here ? piece.data_ptr() : nullptr,
		                                      count_of(piece), type_of(piece.scalar_type()),
		                                      op, root, request);
	              }},
	              contiguous);
}

// Collectives that only move elements treat them as bytes, whatever their type is.

WorkPointer ProcessGroupIna::broadcast(Tensors &tensors, const c10d::BroadcastOptions &options)
{
	static const char *const call = "broadcast";
	const int root = static_cast<int>(options.rootRank);
	Contiguous contiguous(call);
	const at::Tensor &tensor = only(call, tensors);
	const at::Tensor piece =
	        getRank() == root ? contiguous.read(tensor) : contiguous.write(tensor);

	return submit(c10d::OpType::BROADCAST, call, piece, tensors,
	              {[piece, root](ina_comm *comm, ina_request **request) {
		              return ina_broadcast_start(comm, piece.data_ptr(), piece.data_ptr(),
		                                         piece.nbytes(), INA_UINT8, root, request);
	              }},
	              contiguous);
}

WorkPointer ProcessGroupIna::gather_into(const char *call, const at::Tensor &all,
                                         const at::Tensor &input, Tensors outputs,
                                         const Contiguous &contiguous)
{
	return submit(c10d::OpType::ALLGATHER, call, input, std::move(outputs),
	              {[all, input](ina_comm *comm, ina_request **request) {
		              return ina_all_gather_start(comm, input.data_ptr(), all.data_ptr(),
		                                          input.nbytes(), INA_UINT8, request);
	              }},
	              contiguous);
}

WorkPointer ProcessGroupIna::_allgather_base(at::Tensor &output, at::Tensor &input,
                                             const c10d::AllgatherOptions &)
{
	static const char *const call = "all_gather_into_tensor";
	Contiguous contiguous(call);
	const at::Tensor piece = contiguous.read(input), all = contiguous.write(output);

	check_blocks(call, all, piece);
	return gather_into(call, all, piece, {output}, contiguous);
}

WorkPointer ProcessGroupIna::allgather(std::vector<Tensors> &outputs, Tensors &inputs,
                                       const c10d::AllgatherOptions &)
{
	static const char *const call = "all_gather";
	Contiguous contiguous(call);
	const at::Tensor piece = contiguous.read(only(call, inputs));
	const Tensors &parts = list(call, outputs, getSize(), piece);
	const at::Tensor all =
	        at::empty({getSize(), piece.numel()}, piece.options().requires_grad(false));

	for (size_t i = 0; i < parts.size(); i++)
		contiguous.write_from(parts[i],
		                      all[static_cast<int64_t>(i)].view(parts[i].sizes()));
	return gather_into(call, all, piece, parts, contiguous);
}

WorkPointer ProcessGroupIna::scatter_sum(const char *call, const at::Tensor &output,
                                         const at::Tensor &all, const c10d::ReduceOp &op,
                                         Contiguous contiguous)
{
	const at::Tensor piece = contiguous.write(output);

	check_blocks(call, all, piece);
	TORCH_CHECK(can_reduce(all, op), "torch_ina: ", call, ": neither libina nor gloo supports ",
	            all.scalar_type(), " with this operation");
	return submit(c10d::OpType::REDUCE_SCATTER, call, piece, {output},
	              {[piece, all, op = op_of(op)](ina_comm *comm, ina_request **request) {
		              return ina_reduce_scatter_start(
		                      comm, all.data_ptr(), piece.data_ptr(), count_of(piece),
		                      type_of(piece.scalar_type()), op, request);
	              }},
	              contiguous);
}

WorkPointer ProcessGroupIna::_reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                                                  const c10d::ReduceScatterOptions &options)
{
	static const char *const call = "reduce_scatter_tensor";
	const Contiguous contiguous(call);

	return scatter_sum(call, output, contiguous.read(input), options.reduceOp, contiguous);
}

WorkPointer ProcessGroupIna::reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs,
                                            const c10d::ReduceScatterOptions &options)
{
	static const char *const call = "reduce_scatter";
	const Contiguous contiguous(call);
	const at::Tensor &output = only(call, outputs);
	const Tensors blocks = contiguous.read(list(call, inputs, getSize(), output));

	return scatter_sum(call, output, joined(blocks), options.reduceOp, contiguous);
}

WorkPointer ProcessGroupIna::barrier(const c10d::BarrierOptions &)
{
	return submit(c10d::OpType::BARRIER, "barrier", at::Tensor(), {}, {ina_barrier_start},
	              Contiguous("barrier"));
}

} // namespace torch_ina

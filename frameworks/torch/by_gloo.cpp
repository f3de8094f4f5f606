// SPDX-License-Identifier: Apache-2.0
//
// The collectives of the process group that go to its inner gloo group, and why.
#include "process_group.hpp"

namespace torch_ina
{

static const char *const NOT_IN_LIBINA = "libina has no such call";

GroupPointer ProcessGroupIna::by_gloo(const char *call, const at::Tensor &tensor, const char *why)
{
	log.say_once(c10::str(call, tensor.defined() ? c10::str(" of ", tensor.scalar_type()) : "",
	                      " goes by gloo: ", why));
	return gloo;
}

static at::Tensor first(const Tensors &tensors)
{
	return tensors.empty() ? at::Tensor() : tensors[0];
}

// What is cut into a block for each rank, and one such block.
void ProcessGroupIna::check_blocks(const char *call, const at::Tensor &all, const at::Tensor &block)
{
	check_tensor(call, all);
	check_tensor(call, block);
	TORCH_CHECK(all.scalar_type() == block.scalar_type() &&
	                    all.numel() == block.numel() * getSize(),
	            "torch_ina: ", call, ": a tensor of ", all.numel(), " ", all.scalar_type(),
	            " is not ", getSize(), " times one of ", block.numel(), " ",
	            block.scalar_type());
}

WorkPointer ProcessGroupIna::broadcast(Tensors &tensors, const c10d::BroadcastOptions &options)
{
	return by_gloo("broadcast", first(tensors), NOT_IN_LIBINA)->broadcast(tensors, options);
}

WorkPointer ProcessGroupIna::reduce(Tensors &tensors, const c10d::ReduceOptions &options)
{
	return by_gloo("reduce", first(tensors), NOT_IN_LIBINA)->reduce(tensors, options);
}

WorkPointer ProcessGroupIna::allgather(std::vector<Tensors> &outputs, Tensors &inputs,
                                       const c10d::AllgatherOptions &options)
{
	return by_gloo("all_gather", first(inputs), NOT_IN_LIBINA)
	        ->allgather(outputs, inputs, options);
}

WorkPointer ProcessGroupIna::_allgather_base(at::Tensor &output, at::Tensor &input,
                                             const c10d::AllgatherOptions &options)
{
	check_blocks("all_gather", output, input);
	std::vector<Tensors> outputs = {output.view({getSize(), -1}).unbind(0)};
	Tensors inputs = {input.view({-1})};

	return allgather(outputs, inputs, options);
}

WorkPointer ProcessGroupIna::allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs,
                                                 const c10d::AllgatherOptions &options)
{
	return by_gloo("all_gather_coalesced", first(inputs), NOT_IN_LIBINA)
	        ->allgather_coalesced(outputs, inputs, options);
}

// Neither has it: this rank's block of an all-reduce.
WorkPointer ProcessGroupIna::_reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                                                  const c10d::ReduceScatterOptions &options)
{
	check_blocks("reduce_scatter", input, output);
	c10d::AllreduceOptions all;
	Tensors sums = {input.clone()};
	const at::Tensor block = sums[0].view({getSize(), -1}).select(0, getRank());

	all.reduceOp = options.reduceOp;
	return c10d::Work::create_from_future(allreduce(sums, all)->getFuture()->then(
	        [block, output](c10::ivalue::Future &reduced) mutable {
		        reduced.value(); // throws what went wrong
		        output.view({-1}).copy_(block);
		        return c10::IValue(Tensors{output});
	        },
	        c10::ListType::create(c10::TensorType::get())));
}

WorkPointer ProcessGroupIna::reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs,
                                            const c10d::ReduceScatterOptions &options)
{
	TORCH_CHECK(outputs.size() == 1 && inputs.size() == 1 &&
	                    inputs[0].size() == static_cast<size_t>(getSize()),
	            "torch_ina: reduce_scatter takes a list of ", getSize(),
	            " tensors, one a rank");
	Tensors flat;

	for (const at::Tensor &input : inputs[0]) {
		check_tensor("reduce_scatter", input);
		TORCH_CHECK(input.numel() == outputs[0].numel(),
		            "torch_ina: reduce_scatter: tensors of different sizes");
		flat.push_back(input.view({-1}));
	}
	at::Tensor all = at::cat(flat);

	return _reduce_scatter_base(outputs[0], all, options);
}

WorkPointer ProcessGroupIna::barrier(const c10d::BarrierOptions &options)
{
	return by_gloo("barrier", at::Tensor(), NOT_IN_LIBINA)->barrier(options);
}

// What is between two ranks, or of different sizes, is no aggregator's work.

WorkPointer ProcessGroupIna::gather(std::vector<Tensors> &outputs, Tensors &inputs,
                                    const c10d::GatherOptions &options)
{
	return by_gloo("gather", first(inputs), NOT_IN_LIBINA)->gather(outputs, inputs, options);
}

WorkPointer ProcessGroupIna::scatter(Tensors &outputs, std::vector<Tensors> &inputs,
                                     const c10d::ScatterOptions &options)
{
	return by_gloo("scatter", first(outputs), NOT_IN_LIBINA)->scatter(outputs, inputs, options);
}

WorkPointer ProcessGroupIna::alltoall_base(at::Tensor &output, at::Tensor &input,
                                           std::vector<int64_t> &output_sizes,
                                           std::vector<int64_t> &input_sizes,
                                           const c10d::AllToAllOptions &options)
{
	return by_gloo("all_to_all", input, NOT_IN_LIBINA)
	        ->alltoall_base(output, input, output_sizes, input_sizes, options);
}

WorkPointer ProcessGroupIna::send(Tensors &tensors, int rank, int tag)
{
	return by_gloo("send", first(tensors), NOT_IN_LIBINA)->send(tensors, rank, tag);
}

WorkPointer ProcessGroupIna::recv(Tensors &tensors, int rank, int tag)
{
	return by_gloo("recv", first(tensors), NOT_IN_LIBINA)->recv(tensors, rank, tag);
}

WorkPointer ProcessGroupIna::recvAnysource(Tensors &tensors, int tag)
{
	return by_gloo("recv", first(tensors), NOT_IN_LIBINA)->recvAnysource(tensors, tag);
}

void ProcessGroupIna::monitoredBarrier(const c10d::BarrierOptions &options, bool wait_all)
{
	by_gloo("monitored_barrier", at::Tensor(), NOT_IN_LIBINA)
	        ->monitoredBarrier(options, wait_all);
}

void ProcessGroupIna::setSequenceNumberForGroup()
{
	gloo->setSequenceNumberForGroup();
}

uint64_t ProcessGroupIna::getSequenceNumberForGroup()
{
	return gloo->getSequenceNumberForGroup();
}

} // namespace torch_ina

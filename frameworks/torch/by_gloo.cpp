// SPDX-License-Identifier: Apache-2.0
//
// The collectives of the process group that go to its inner gloo group, and why.
#include "process_group.hpp"

namespace torch_ina
{

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

WorkPointer ProcessGroupIna::allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs,
                                                 const c10d::AllgatherOptions &options)
{
	return by_gloo("all_gather_coalesced", first(inputs), NOT_IN_LIBINA)
	        ->allgather_coalesced(outputs, inputs, options);
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

void ProcessGroupIna::setSequenceNumberForGroup()
{
	gloo->setSequenceNumberForGroup();
}

uint64_t ProcessGroupIna::getSequenceNumberForGroup()
{
	return gloo->getSequenceNumberForGroup();
}

} // namespace torch_ina

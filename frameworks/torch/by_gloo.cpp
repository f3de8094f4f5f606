// SPDX-License-Identifier: Apache-2.0
//
// The collectives of the process group for which it uses its inner gloo group, and the reasons.
// gloo uses a tensor's address and number of elements, and checks the layout in few calls only.
#include "process_group.hpp"

#include <numeric>
#include <utility>

namespace torch_ina
{

namespace
{

// A recv() of gloo. The received data is copied when a thread waits for the work, because gloo's
// own work completes only then.
class Received : public c10d::Work
{
      public:
	Received(WorkPointer inner, std::function<void()> after)
	    : inner(std::move(inner)), after(std::move(after))
	{
	}

	bool wait(std::chrono::milliseconds timeout) override
	{
		const std::lock_guard<std::mutex> lock(once);
		const bool received = inner->wait(timeout);

		if (received && after) {
			after();
			after = nullptr;
		}
		finish();
		return received;
	}

	int sourceRank() const override
	{
		return inner->sourceRank();
	}

	void abort() override
	{
		inner->abort();
	}

      private:
	const WorkPointer inner;
	std::mutex once;
	std::function<void()> after;
};

at::Tensor first(const Tensors &tensors)
{
	return tensors.empty() ? at::Tensor() : tensors[0];
}

WorkPointer received(const WorkPointer &work, const Contiguous &tensors)
{
	auto after = tensors.copy_back();

	if (!after)
		return work;
	return c10::make_intrusive<Received>(work, std::move(after));
}

std::vector<int64_t> counts_of(const Tensors &tensors)
{
	std::vector<int64_t> counts;

	for (const at::Tensor &tensor : tensors)
		counts.push_back(tensor.numel());
	return counts;
}

int64_t sum(const std::vector<int64_t> &counts)
{
	return std::accumulate(counts.begin(), counts.end(), int64_t(0));
}

} // namespace

GroupPointer ProcessGroupIna::by_gloo(const char *call, const at::Tensor &tensor, const char *why)
{
	log.say_once(c10::str(call, tensor.defined() ? c10::str(" of ", tensor.scalar_type()) : "",
	                      " uses gloo: ", why));
	return gloo;
}

WorkPointer ProcessGroupIna::allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs,
                                                 const c10d::AllgatherOptions &options)
{
	const Contiguous contiguous("all_gather_coalesced");
	Tensors in = contiguous.read(inputs);

	for (const Tensors &list : outputs)
		for (const at::Tensor &tensor : list)
			contiguous.check_writable(tensor); // gloo itself copies into it
	return by_gloo("all_gather_coalesced", first(inputs), NOT_IN_LIBINA)
	        ->allgather_coalesced(outputs, in, options);
}

// Aggregators cannot carry out calls between two ranks, or with different sizes.

WorkPointer ProcessGroupIna::gather(std::vector<Tensors> &outputs, Tensors &inputs,
                                    const c10d::GatherOptions &options)
{
	static const char *const call = "gather";
	Contiguous contiguous(call);
	Tensors in = contiguous.read(inputs);
	std::vector<Tensors> out;

	for (const Tensors &list : outputs)
		out.push_back(contiguous.write(list));
	return copied_back(c10d::OpType::GATHER, call, outputs.empty() ? Tensors() : outputs[0],
	                   contiguous,
	                   by_gloo(call, first(inputs), NOT_IN_LIBINA)->gather(out, in, options));
}

WorkPointer ProcessGroupIna::scatter(Tensors &outputs, std::vector<Tensors> &inputs,
                                     const c10d::ScatterOptions &options)
{
	static const char *const call = "scatter";
	Contiguous contiguous(call);
	Tensors out = contiguous.write(outputs);
	std::vector<Tensors> in;

	for (const Tensors &list : inputs)
		in.push_back(contiguous.read(list));
	return copied_back(c10d::OpType::SCATTER, call, outputs, contiguous,
	                   by_gloo(call, first(outputs), NOT_IN_LIBINA)->scatter(out, in, options));
}

WorkPointer ProcessGroupIna::alltoall_base(at::Tensor &output, at::Tensor &input,
                                           std::vector<int64_t> &output_sizes,
                                           std::vector<int64_t> &input_sizes,
                                           const c10d::AllToAllOptions &options)
{
	static const char *const call = "all_to_all_single";
	Contiguous contiguous(call);
	at::Tensor in = contiguous.read(input), out = contiguous.write(output);

	return copied_back(c10d::OpType::ALLTOALL_BASE, call, {output}, contiguous,
	                   by_gloo(call, input, NOT_IN_LIBINA)
	                           ->alltoall_base(out, in, output_sizes, input_sizes, options));
}

// gloo has this only for a single tensor that it splits, so the tensors are joined.
WorkPointer ProcessGroupIna::alltoall(Tensors &outputs, Tensors &inputs,
                                      const c10d::AllToAllOptions &options)
{
	static const char *const call = "all_to_all";
	Contiguous contiguous(call);
	std::vector<int64_t> in_counts = counts_of(inputs), out_counts = counts_of(outputs);
	const size_t ranks = static_cast<size_t>(getSize());

	TORCH_CHECK(inputs.size() == ranks && outputs.size() == ranks, "torch_ina: ", call,
	            " takes two lists of ", ranks, " tensors, one per rank");
	for (const Tensors &list : {inputs, outputs})
		for (const at::Tensor &tensor : list)
			TORCH_CHECK(tensor.scalar_type() == inputs[0].scalar_type(),
			            "torch_ina: ", call, ": a tensor of ", tensor.scalar_type(),
			            " and one of ", inputs[0].scalar_type());
	at::Tensor in = joined(contiguous.read(inputs));
	at::Tensor out = at::empty({sum(out_counts)}, in.options());
	const Tensors parts = out.split_with_sizes(out_counts);
	for (size_t i = 0; i < ranks; i++)
		contiguous.write_from(outputs[i], parts[i].view(outputs[i].sizes()));
	return copied_back(c10d::OpType::ALLTOALL, call, outputs, contiguous,
	                   by_gloo(call, inputs[0], NOT_IN_LIBINA)
	                           ->alltoall_base(out, in, out_counts, in_counts, options));
}

WorkPointer ProcessGroupIna::send(Tensors &tensors, int rank, int tag)
{
	Tensors in = Contiguous("send").read(tensors);

	return by_gloo("send", first(tensors), NOT_IN_LIBINA)->send(in, rank, tag);
}

WorkPointer ProcessGroupIna::recv(Tensors &tensors, int rank, int tag)
{
	Contiguous contiguous("recv");
	Tensors out = contiguous.write(tensors);

	return received(by_gloo("recv", first(tensors), NOT_IN_LIBINA)->recv(out, rank, tag),
	                contiguous);
}

WorkPointer ProcessGroupIna::recvAnysource(Tensors &tensors, int tag)
{
	Contiguous contiguous("recv");
	Tensors out = contiguous.write(tensors);

	return received(by_gloo("recv", first(tensors), NOT_IN_LIBINA)->recvAnysource(out, tag),
	                contiguous);
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

// SPDX-License-Identifier: Apache-2.0
#include "process_group.hpp"

#include <future>
#include <stdexcept>
#include <utility>

#include "work.hpp"

namespace torch_ina
{

namespace
{

std::string name_of(const char *call, const at::Tensor &tensor)
{
	return c10::str(call, " of ", tensor.numel(), " ", c10::toString(tensor.scalar_type()));
}

// The tensors of one work: it is complete when the last of them is.
struct Pending {
	Pending(c10::intrusive_ptr<InaWork> work, size_t left) : work(std::move(work)), left(left)
	{
	}

	void finish(std::exception_ptr one)
	{
		if (one && !error)
			error = std::move(one);
		if (--left == 0)
			work->complete(error);
	}

	c10::intrusive_ptr<InaWork> work;
	size_t left;
	std::exception_ptr error;
};

std::exception_ptr error_of(const std::string &name, ina_status status, const std::string &why)
{
	return std::make_exception_ptr(std::runtime_error(
	        c10::str("torch_ina: ", name, ": ", why, " (", ina_status_name(status), ")")));
}

void make_average(at::Tensor sum, int ranks)
{
	if (c10::isFloatingType(sum.scalar_type()))
		sum.div_(ranks);
	else
		sum.div_(ranks, "trunc");
}

// The strings stay the caller's.
ina_options options_of(const Settings &settings)
{
	ina_options options;

	ina_options_init(&options);
	options.rank = settings.rank;
	options.ranks = settings.size;
	options.root = settings.root.c_str();
	options.cookie = settings.cookie.c_str();
	options.timeout_ms = settings.timeout_ms;
	options.open_timeout_ms = settings.timeout_ms;
	// torch frees its tensors when it likes, and tells nobody.
	options.cache_entries = 0;
	return options;
}

} // namespace

ProcessGroupIna::ProcessGroupIna(const Settings &settings, GroupPointer gloo)
    : ProcessGroup(settings.rank, settings.size), gloo(std::move(gloo)), log(settings.rank),
      communicator(options_of(settings))
{
	init();
}

WorkPointer ProcessGroupIna::all_reduce_by_ina(const Tensors &tensors, const c10d::ReduceOp &op,
                                               c10d::OpType type, const char *title)
{
	auto work = c10::make_intrusive<InaWork>(getRank(), type, title, tensors);
	auto pending = std::make_shared<Pending>(work, tensors.size());
	const bool average = op == c10d::ReduceOp::AVG;
	const int ranks = getSize();

	for (const at::Tensor &tensor : tensors) {
		communicator.submit(
		        {[tensor, op = op_of(op)](ina_comm *comm, ina_request **request) {
			         return ina_allreduce_start(
			                 comm, tensor.data_ptr(), tensor.data_ptr(),
			                 static_cast<size_t>(tensor.numel()),
			                 type_of(tensor.scalar_type()), op, request);
		         },
		         [tensor, pending, average, ranks](ina_status status,
		                                           const std::string &why) {
			         if (status != INA_OK)
				         return pending->finish(error_of(
				                 name_of("all_reduce", tensor), status, why));
			         if (average)
				         make_average(tensor, ranks);
			         pending->finish(nullptr);
		         }});
	}
	return work;
}

WorkPointer ProcessGroupIna::allreduce(Tensors &tensors, const c10d::AllreduceOptions &options)
{
	TORCH_CHECK(tensors.size() == 1, "torch_ina: all_reduce takes one tensor a rank, and not ",
	            tensors.size());
	check_tensor("all_reduce", tensors[0]);
	if (!type_of(tensors[0].scalar_type()))
		return by_gloo("all_reduce", tensors[0], "its type")->allreduce(tensors, options);
	if (!op_of(options.reduceOp))
		return by_gloo("all_reduce", tensors[0], "its operation")
		        ->allreduce(tensors, options);
	return all_reduce_by_ina(tensors, options.reduceOp, c10d::OpType::ALLREDUCE,
	                         "ina:all_reduce");
}

WorkPointer ProcessGroupIna::allreduce_coalesced(Tensors &tensors,
                                                 const c10d::AllreduceCoalescedOptions &options)
{
	bool known = op_of(options.reduceOp) && !tensors.empty();

	for (const at::Tensor &tensor : tensors) {
		check_tensor("all_reduce_coalesced", tensor);
		known = known && type_of(tensor.scalar_type());
	}
	if (!known)
		return by_gloo("all_reduce_coalesced", tensors.at(0), "its type or operation")
		        ->allreduce_coalesced(tensors, options);
	return all_reduce_by_ina(tensors, options.reduceOp, c10d::OpType::ALLREDUCE_COALESCED,
	                         "ina:all_reduce_coalesced");
}

void ProcessGroupIna::ask(std::function<void(ina_comm *comm)> question)
{
	std::promise<void> asked;

	communicator.submit({[&question](ina_comm *comm, ina_request **) {
		                     question(comm);
		                     return INA_OK;
	                     },
	                     [&asked](ina_status, const std::string &) { asked.set_value(); }});
	asked.get_future().wait();
}

ina_stats ProcessGroupIna::stats()
{
	ina_stats stats;

	ask([&stats](ina_comm *comm) { ina_comm_stats(comm, &stats, sizeof(stats)); });
	return stats;
}

std::string ProcessGroupIna::explain()
{
	std::string text;

	ask([&text](ina_comm *comm) {
		text.resize(static_cast<size_t>(ina_comm_explain(comm, nullptr, 0)) + 1);
		ina_comm_explain(comm, text.data(), text.size());
		text.pop_back();
	});
	return text;
}

void ProcessGroupIna::close()
{
	communicator.close();
}

} // namespace torch_ina

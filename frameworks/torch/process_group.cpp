// SPDX-License-Identifier: Apache-2.0
#include "process_group.hpp"

#include <optional>
#include <stdexcept>
#include <utility>

#include <torch/csrc/utils/pybind.h>

#include "work.hpp"

namespace torch_ina
{

namespace
{

std::string name_of(const char *call, const at::Tensor &tensor)
{
	return tensor.defined() ? c10::str(call, " of ", tensor.numel(), " ", tensor.scalar_type())
	                        : call;
}

// The calls of one work: it is complete when the last of them is.
struct Pending {
	void finish(ina_status status, const std::string &why)
	{
		if (status != INA_OK && !error)
			error = std::make_exception_ptr(
			        std::runtime_error(c10::str("torch_ina: ", name, ": ", why, " (",
			                                    ina_status_name(status), ")")));
		if (--left > 0)
			return;
		try {
			if (!error && after)
				after();
		} catch (const std::exception &) {
			error = std::current_exception();
		}
		work->complete(error);
	}

	c10::intrusive_ptr<InaWork> work;
	std::string name;
	size_t left;
	std::exception_ptr error;
	std::function<void()> after;
};

// A host that forks workers of DataLoader while it is short of processors or memory may answer
// nothing for seconds. The end of a process is told at once, whatever this is.
constexpr int PEER_TIMEOUT_MS = 30000;

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
	options.peer_timeout_ms = PEER_TIMEOUT_MS;
	return options;
}

} // namespace

ProcessGroupIna::ProcessGroupIna(const Settings &settings, GroupPointer gloo)
    : ProcessGroup(settings.rank, settings.size), gloo(std::move(gloo)), log(settings.rank),
      communicator(options_of(settings))
{
	init();
}

WorkPointer ProcessGroupIna::submit(c10d::OpType type, const char *call, const at::Tensor &tensor,
                                    Tensors outputs, std::vector<Start> starts,
                                    std::function<void()> after)
{
	auto work = c10::make_intrusive<InaWork>(getRank(), type, call, std::move(outputs));
	auto pending = std::make_shared<Pending>(
	        Pending{work, name_of(call, tensor), starts.size(), nullptr, std::move(after)});

	for (Start &start : starts)
		communicator.submit(
		        {std::move(start), [pending](ina_status status, const std::string &why) {
			         pending->finish(status, why);
		         }});
	return work;
}

ina_stats ProcessGroupIna::stats()
{
	ina_stats stats;

	communicator.ask([&stats](ina_comm *comm) { ina_comm_stats(comm, &stats, sizeof(stats)); });
	return stats;
}

std::string ProcessGroupIna::explain()
{
	std::string text;

	communicator.ask([&text](ina_comm *comm) {
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

// It may be Python that lets go of the group, with the interpreter's lock; this waits for other
// ranks.
void ProcessGroupIna::release_resources()
{
	std::optional<pybind11::gil_scoped_release> released;

	if (Py_IsInitialized() && PyGILState_Check())
		released.emplace();
	close();
}

void ProcessGroupIna::abandon()
{
	communicator.abandon();
}

} // namespace torch_ina

// SPDX-License-Identifier: Apache-2.0
#include "process_group.hpp"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

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

std::exception_ptr error_of(const std::string &name, ina_status status, const std::string &why)
{
	if (status == INA_OK)
		return nullptr;
	return std::make_exception_ptr(std::runtime_error(
	        c10::str("torch_ina: ", name, ": ", why, " (", ina_status_name(status), ")")));
}

// The calls of one work, which is complete when the last of them is.
struct Pending {
	void finish(const std::exception_ptr &failed)
	{
		if (!error)
			error = failed;
		if (--left > 0)
			return;
		try {
			if (!error && copy_back)
				copy_back();
		} catch (const std::exception &) {
			error = std::current_exception();
		}
		work->complete(error);
	}

	c10::intrusive_ptr<InaWork> work;
	size_t left;
	std::function<void()> copy_back;
	std::exception_ptr error = nullptr;
};

// The groups that may still exist when Python ends.
struct Groups {
	std::mutex mutex;
	std::set<ProcessGroupIna *> all;
};

Groups &groups()
{
	static auto *const groups = new Groups;

	return *groups;
}

// A host that is short of processors or memory while it forks workers of DataLoader may not answer
// for seconds. This does not delay the report that a process has ended.
constexpr int PEER_TIMEOUT_MS = 30000;

// Calls the settings' exchange for libina. Python prints an exception of it.
int exchange(void *context, const void *send, void *recv, size_t bytes)
{
	const auto &settings = *static_cast<const Settings *>(context);
	const pybind11::gil_scoped_acquire acquired;

	try {
		const std::string all =
		        settings.exchange(pybind11::bytes(static_cast<const char *>(send), bytes));

		if (all.size() != bytes * static_cast<size_t>(settings.size))
			return EINVAL;
		std::memcpy(recv, all.data(), all.size());
		return 0;
	} catch (pybind11::error_already_set &error) {
		error.restore();
		PyErr_Print();
		return ECANCELED;
	}
}

// The options point into the settings.
ina_options options_of(const Settings &settings)
{
	ina_options options;

	ina_options_init(&options);
	options.rank = settings.rank;
	options.ranks = settings.size;
	options.root = settings.root.c_str();
	options.exchange = exchange;
	options.exchange_context = const_cast<Settings *>(&settings);
	options.timeout_ms = settings.timeout_ms;
	options.open_timeout_ms = settings.timeout_ms;
	options.peer_timeout_ms = PEER_TIMEOUT_MS;
	return options;
}

} // namespace

ProcessGroupIna::ProcessGroupIna(const Settings &settings, GroupPointer gloo)
    : Base(settings.rank, settings.size), gloo(std::move(gloo)), log(settings.rank),
      communicator(options_of(settings))
{
	init();
	const std::lock_guard<std::mutex> lock(groups().mutex);
	groups().all.insert(this);
}

// Python may call this while it holds the interpreter's lock. It waits for other ranks and for
// gloo's threads, which may need that lock, so it releases the lock.
ProcessGroupIna::~ProcessGroupIna()
{
	std::optional<pybind11::gil_scoped_release> released;

	if (Py_IsInitialized() && PyGILState_Check())
		released.emplace();
	{
		const std::lock_guard<std::mutex> lock(groups().mutex);
		groups().all.erase(this);
	}
	communicator.close();
	gloo.reset();
}

void ProcessGroupIna::end_all(bool well)
{
	const std::lock_guard<std::mutex> lock(groups().mutex);

	for (ProcessGroupIna *group : groups().all) {
		if (well)
			group->communicator.close();
		else
			group->communicator.abandon();
		GroupPointer(group->gloo).release(); // do not wait for gloo's threads
	}
}

WorkPointer ProcessGroupIna::submit(c10d::OpType type, const char *call, const at::Tensor &tensor,
                                    Tensors outputs, std::vector<Start> starts,
                                    const Contiguous &contiguous)
{
	auto work = c10::make_intrusive<InaWork>(getRank(), type, call, std::move(outputs));
	auto pending =
	        std::make_shared<Pending>(Pending{work, starts.size(), contiguous.copy_back()});

	for (Start &start : starts)
		communicator.submit(
		        {std::move(start), [pending, name = name_of(call, tensor)](
		                                   ina_status status, const std::string &why) {
			         pending->finish(error_of(name, status, why));
		         }});
	return work;
}

WorkPointer ProcessGroupIna::copied_back(c10d::OpType type, const char *call, Tensors outputs,
                                         const Contiguous &contiguous,
                                         const WorkPointer &work) const
{
	auto copy_back = contiguous.copy_back();

	if (!copy_back)
		return work;
	auto ours = c10::make_intrusive<InaWork>(getRank(), type, call, std::move(outputs));
	auto pending = std::make_shared<Pending>(Pending{ours, 1, std::move(copy_back)});
	work->getFuture()->addCallback(
	        [pending](c10::ivalue::Future &done) { pending->finish(done.exception_ptr()); });
	return ours;
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

} // namespace torch_ina

// SPDX-License-Identifier: Apache-2.0
#include "communicator.hpp"

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace torch_ina
{

// The thread and the communicator's owner hold it: a thread that is left behind keeps what it uses.
struct Communicator::Shared {
	struct Started {
		ina_request *request;
		Call call;
	};

	explicit Shared(const ina_options &options)
	{
		char why[INA_ERROR_SIZE];

		wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (wake < 0)
			throw std::system_error(errno, std::generic_category(),
			                        "torch_ina: eventfd");
		const ina_status status = ina_open(&options, &comm, why, sizeof(why));
		if (status != INA_OK) {
			::close(wake);
			throw std::runtime_error("torch_ina: " + std::string(why) + " (" +
			                         ina_status_name(status) + ")");
		}
	}

	~Shared()
	{
		::close(wake);
	}

	void notify() const
	{
		const uint64_t one = 1;

		// It fails only when the count is full, and then the thread has reason enough.
		(void)!write(wake, &one, sizeof(one));
	}

	void run();
	void start_submitted();
	void finish_done();
	void sleep();

	ina_comm *comm = nullptr; // the thread's alone
	std::deque<Started> started;
	int wake;
	const pid_t owner = getpid();

	std::mutex mutex;
	std::condition_variable closed_changed;
	std::deque<Call> submitted;
	bool closing = false;
	bool closed = false;
	bool abandoned = false;
};

// Tells the end of a call; with it goes what the call holds.
static void finish(Call call, ina_status status, const char *why)
{
	call.done(status, status == INA_OK ? std::string() : std::string(why));
}

void Communicator::Shared::start_submitted()
{
	std::deque<Call> taken;

	{
		const std::lock_guard<std::mutex> lock(mutex);
		taken.swap(submitted);
	}
	for (Call &call : taken) {
		ina_request *request = nullptr;
		const ina_status status = call.start(comm, &request);

		if (request)
			started.push_back({request, std::move(call)});
		else
			finish(std::move(call), status, ina_error(comm));
	}
}

void Communicator::Shared::finish_done()
{
	while (!started.empty()) {
		int done = 0;
		const ina_status status = ina_test(started.front().request, &done);

		if (!done)
			return;
		finish(std::move(started.front().call), status, ina_error(comm));
		started.pop_front();
	}
}

void Communicator::Shared::sleep()
{
	struct pollfd events[2] = {{wake, POLLIN, 0}, {-1, POLLIN, 0}};
	uint64_t count;

	// Where it fails, ina_test() returns the same error next.
	if (!started.empty() && ina_comm_fd(comm, &events[1].fd) != INA_OK)
		return;
	poll(events, 2, -1);
	(void)!read(wake, &count, sizeof(count));
}

void Communicator::Shared::run()
{
	for (;;) {
		start_submitted();
		finish_done();
		{
			const std::lock_guard<std::mutex> lock(mutex);

			if (!submitted.empty())
				continue;
			if (closing && started.empty())
				break;
		}
		sleep();
	}
	ina_close(comm);
	const std::lock_guard<std::mutex> lock(mutex);
	closed = true;
	closed_changed.notify_all();
}

Communicator::Communicator(const ina_options &options) : shared(std::make_shared<Shared>(options))
{
	std::thread([kept = shared] { kept->run(); }).detach();
}

void Communicator::submit(Call call)
{
	if (getpid() != shared->owner)
		throw std::runtime_error("torch_ina: a forked process cannot use the process group "
		                         "of its parent");
	{
		const std::lock_guard<std::mutex> lock(shared->mutex);

		if (shared->closing)
			throw std::runtime_error("torch_ina: the process group has been closed");
		shared->submitted.push_back(std::move(call));
	}
	shared->notify();
}

void Communicator::close()
{
	// A forked child has the object, and neither its thread nor its communicator.
	if (getpid() != shared->owner)
		return;
	std::unique_lock<std::mutex> lock(shared->mutex);
	if (shared->closing || shared->abandoned)
		return;
	shared->closing = true;
	shared->notify();
	if (!shared->closed_changed.wait_for(lock, CLOSE_PATIENCE,
	                                     [this] { return shared->closed; }))
		std::fprintf(
		        stderr,
		        "torch_ina: not all ranks have closed the process group within %d s of "
		        "this one: it goes without them\n",
		        static_cast<int>(CLOSE_PATIENCE.count()));
}

void Communicator::abandon()
{
	const std::lock_guard<std::mutex> lock(shared->mutex);

	shared->abandoned = true;
}

Communicator::~Communicator()
{
	close();
}

} // namespace torch_ina

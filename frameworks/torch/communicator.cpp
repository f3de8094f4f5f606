// SPDX-License-Identifier: Apache-2.0
#include "communicator.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <utility>

namespace torch_ina
{

namespace
{

using Milliseconds = std::chrono::milliseconds;

// How long all communicators of this process together may still wait for ranks that do not close
// theirs. A script has a communicator for each group, and a rank that does not close one of them
// may not close any.
class Patience
{
      public:
	void restore()
	{
		left = Communicator::CLOSE_PATIENCE;
	}

	Milliseconds remaining() const
	{
		return left.load();
	}

	void spend(Milliseconds spent)
	{
		left = std::max(left.load() - spent, Milliseconds(0));
	}

      private:
	std::atomic<Milliseconds> left{Communicator::CLOSE_PATIENCE};
};

Patience patience;

} // namespace

// The thread and the communicator share ownership, so a thread that is left running keeps its data.
struct Communicator::Shared {
	// If there is no request, the call has finished, with this status and reason.
	struct Started {
		Call call;
		ina_request *request = nullptr;
		ina_status status = INA_OK;
		std::string why;
	};

	explicit Shared(ina_options options)
	{
		char why[INA_ERROR_SIZE];

		// Other ranks may need this rank while it computes or waits in gloo: a rank that
		// has lost the aggregator gets missing sums from ranks that have them.
		options.progress_thread = 1;
		const ina_status status = ina_open(&options, &comm, why, sizeof(why));
		if (status != INA_OK)
			throw std::runtime_error("torch_ina: " + std::string(why) + " (" +
			                         ina_status_name(status) + ")");
	}

	void check_usable() const;
	void start(Call call);
	void wait_for(Started &one);
	void run();

	ina_comm *comm = nullptr;
	const pid_t owner = getpid();

	// Held during all calls except ina_wait() and ina_close(). So calls are queued in the order
	// in which they were started, and the text of an error stays valid until it has been read.
	std::mutex mutex;
	std::condition_variable changed;
	std::deque<Started> started;
	bool closing = false;
	bool closed = false;
	bool abandoned = false;
};

void Communicator::Shared::check_usable() const
{
	if (closing)
		throw std::runtime_error("torch_ina: the process group has been closed");
}

void Communicator::Shared::start(Call call)
{
	const std::lock_guard<std::mutex> lock(mutex);
	Started one;

	check_usable();
	one.call = std::move(call);
	one.status = one.call.start(comm, &one.request);
	if (one.status != INA_OK)
		one.why = ina_error(comm);
	started.push_back(std::move(one));
	changed.notify_all();
}

void Communicator::Shared::wait_for(Started &one)
{
	if (!one.request)
		return;
	one.status = ina_wait(one.request);
	if (one.status == INA_OK)
		return;
	const std::lock_guard<std::mutex> lock(mutex);
	one.why = ina_error(comm);
}

void Communicator::Shared::run()
{
	std::unique_lock<std::mutex> lock(mutex);

	for (;;) {
		changed.wait(lock, [this] { return closing || !started.empty(); });
		if (started.empty())
			break;
		{
			Started one = std::move(started.front());

			started.pop_front();
			lock.unlock();
			wait_for(one);
			one.call.done(one.status, one.why);
		}
		lock.lock();
	}
	lock.unlock();
	ina_close(comm);
	lock.lock();
	closed = true;
	changed.notify_all();
}

Communicator::Communicator(const ina_options &options) : shared(std::make_shared<Shared>(options))
{
	patience.restore(); // all ranks were alive at this moment
	std::thread([kept = shared] { kept->run(); }).detach();
}

void Communicator::check_owner() const
{
	if (getpid() != shared->owner)
		throw std::runtime_error("torch_ina: a forked process cannot use the process group "
		                         "of its parent");
}

void Communicator::submit(Call call)
{
	check_owner();
	shared->start(std::move(call));
}

void Communicator::ask(const std::function<void(ina_comm *comm)> &question)
{
	check_owner();
	const std::lock_guard<std::mutex> lock(shared->mutex);
	shared->check_usable();
	question(shared->comm);
}

void Communicator::close()
{
	// A forked child has a copy of the object, but neither its thread nor its communicator.
	if (getpid() != shared->owner)
		return;
	std::unique_lock<std::mutex> lock(shared->mutex);
	if (shared->closing || shared->abandoned)
		return;
	shared->closing = true;
	shared->changed.notify_all();
	const Milliseconds remaining = patience.remaining();
	if (shared->changed.wait_for(lock, remaining, [this] { return shared->closed; }))
		return;
	patience.spend(remaining);
	if (remaining > Milliseconds(0))
		std::fprintf(stderr,
		             "torch_ina: not all ranks have closed their process groups within %d "
		             "s: this rank closes without them\n",
		             static_cast<int>(CLOSE_PATIENCE.count()));
}

void Communicator::abandon()
{
	if (getpid() != shared->owner)
		return;
	const std::lock_guard<std::mutex> lock(shared->mutex);

	shared->abandoned = true;
}

Communicator::~Communicator()
{
	close();
}

} // namespace torch_ina

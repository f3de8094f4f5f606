// SPDX-License-Identifier: Apache-2.0
#include "callbacks.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace torch_ina
{

namespace
{

struct Pool {
	std::mutex mutex;
	std::condition_variable changed;
	std::deque<std::function<void()>> waiting;
	size_t idle = 0;
};

// Its threads never end, so neither does it.
Pool &pool()
{
	static Pool *const only = new Pool;

	return *only;
}

void serve()
{
	Pool &all = pool();
	std::unique_lock<std::mutex> lock(all.mutex);

	for (;;) {
		all.idle++;
		all.changed.wait(lock, [&all] { return !all.waiting.empty(); });
		all.idle--;
		std::function<void()> callbacks = std::move(all.waiting.front());
		all.waiting.pop_front();
		lock.unlock();
		callbacks();
		callbacks = nullptr;
		lock.lock();
	}
}

} // namespace

void run_callbacks(std::function<void()> callbacks)
{
	Pool &all = pool();
	const std::lock_guard<std::mutex> lock(all.mutex);

	all.waiting.push_back(std::move(callbacks));
	if (all.waiting.size() > all.idle)
		std::thread(serve).detach();
	all.changed.notify_one();
}

} // namespace torch_ina

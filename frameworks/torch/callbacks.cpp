// SPDX-License-Identifier: Apache-2.0
#include "callbacks.hpp"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace torch_ina
{

namespace
{

thread_local size_t depth_here = 0;

struct Server {
	explicit Server(size_t depth)
	{
		std::thread([this, depth] { serve(depth); }).detach();
	}

	void serve(size_t depth)
	{
		std::unique_lock<std::mutex> lock(mutex);

		depth_here = depth;
		for (;;) {
			changed.wait(lock, [this] { return !waiting.empty(); });
			std::function<void()> callbacks = std::move(waiting.front());
			waiting.pop_front();
			lock.unlock();
			callbacks();
			callbacks = nullptr;
			lock.lock();
		}
	}

	void submit(std::function<void()> callbacks)
	{
		const std::lock_guard<std::mutex> lock(mutex);

		waiting.push_back(std::move(callbacks));
		changed.notify_one();
	}

	std::mutex mutex;
	std::condition_variable changed;
	std::deque<std::function<void()>> waiting;
};

// Its threads never end, so it is never destroyed.
Server &server(size_t depth)
{
	static auto *const mutex = new std::mutex;
	static auto *const all = new std::vector<std::unique_ptr<Server>>;
	const std::lock_guard<std::mutex> lock(*mutex);

	while (all->size() <= depth)
		all->push_back(std::make_unique<Server>(all->size() + 1));
	return *(*all)[depth];
}

} // namespace

size_t callback_depth()
{
	return depth_here;
}

void run_callbacks(size_t depth, std::function<void()> callbacks)
{
	server(depth).submit(std::move(callbacks));
}

} // namespace torch_ina

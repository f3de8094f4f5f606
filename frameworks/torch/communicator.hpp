// SPDX-License-Identifier: Apache-2.0
//
// A communicator of libina, which goes on by a thread of libina's (progress_thread): what others
// submit is started at once. A thread of this one's waits for it, and tells of its end, in the
// order in which it came.
#ifndef INA_TORCH_COMMUNICATOR_HPP
#define INA_TORCH_COMMUNICATOR_HPP

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "hostlib/include/ina.h"

namespace torch_ina
{

// One call: how it is started, in submit(), and what is told of its end, in the communicator's
// thread. One without a request is finished as soon as it has been started.
struct Call {
	std::function<ina_status(ina_comm *comm, ina_request **request)> start;
	std::function<void(ina_status status, const std::string &why)> done;
};

class Communicator
{
      public:
	// Collective: opens the communicator. Throws std::runtime_error.
	explicit Communicator(const ina_options &options);

	// Closes it, when all that was submitted is finished. Collective, but if the other ranks
	// do not come within CLOSE_PATIENCE, the thread is left behind waiting for them. All
	// communicators of the process share that time, since the last one was opened.
	~Communicator();

	Communicator(const Communicator &) = delete;
	Communicator &operator=(const Communicator &) = delete;

	// Throws std::runtime_error where the communicator is another process's, or closed.
	void submit(Call call);

	// What there is to ask libina at once, ahead of what has been submitted. Throws as well.
	void ask(const std::function<void(ina_comm *comm)> &question);

	// What the destructor does, earlier.
	void close();

	// Leaves it as it is, for a process that is about to end: the other ranks hear of that at
	// once.
	void abandon();

	static constexpr std::chrono::seconds CLOSE_PATIENCE{10};

      private:
	struct Shared;

	void check_owner() const;

	std::shared_ptr<Shared> shared;
};

} // namespace torch_ina

#endif

// SPDX-License-Identifier: Apache-2.0
//
// A communicator of libina. A thread of libina makes progress (progress_thread), so submitted calls
// start immediately. A thread of this class waits for their ends, and reports them in the order of
// submission.
#ifndef INA_TORCH_COMMUNICATOR_HPP
#define INA_TORCH_COMMUNICATOR_HPP

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "hostlib/include/ina.h"

namespace torch_ina
{

// One call: submit() runs `start`, and the communicator's thread runs `done` when the call has
// ended. A call without a request has ended as soon as it has been started.
struct Call {
	std::function<ina_status(ina_comm *comm, ina_request **request)> start;
	std::function<void(ina_status status, const std::string &why)> done;
};

class Communicator
{
      public:
	// Collective: opens the communicator. Throws std::runtime_error.
	explicit Communicator(const ina_options &options);

	// Closes the communicator when all submitted calls have finished. Collective; but if the
	// other ranks do not close within CLOSE_PATIENCE, the thread is left running and waits for
	// them. All communicators of the process share this time, which starts anew whenever one is
	// opened.
	~Communicator();

	Communicator(const Communicator &) = delete;
	Communicator &operator=(const Communicator &) = delete;

	// Throws std::runtime_error if the communicator belongs to another process, or is closed.
	void submit(Call call);

	// Runs a query of libina immediately, ahead of submitted calls. Throws like submit().
	void ask(const std::function<void(ina_comm *comm)> &question);

	// Closes the communicator before the destructor does.
	void close();

	// Leaves the communicator open, for a process that is about to end: the other ranks are
	// notified of its end immediately.
	void abandon();

	static constexpr std::chrono::seconds CLOSE_PATIENCE{10};

      private:
	struct Shared;

	void check_owner() const;

	std::shared_ptr<Shared> shared;
};

} // namespace torch_ina

#endif

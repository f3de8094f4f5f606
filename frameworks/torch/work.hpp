// SPDX-License-Identifier: Apache-2.0
//
// The object on which torch waits: the work of a collective that a communicator's thread finishes.
#ifndef INA_TORCH_WORK_HPP
#define INA_TORCH_WORK_HPP

#include <exception>
#include <vector>

#include <torch/csrc/distributed/c10d/Work.hpp>

namespace torch_ina
{

class InaWork : public c10d::Work
{
      public:
	// outputs: the value of result() and of the future.
	InaWork(int rank, c10d::OpType type, const char *title, std::vector<at::Tensor> outputs);

	std::vector<at::Tensor> result() override;

	// Callbacks of the future run in a separate thread, and may wait for other works.
	c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

	// Called once, in the communicator's thread. `error` is null if the work succeeded.
	void complete(std::exception_ptr error);

      private:
	void mark();

	const size_t depth; // where the work was started: callbacks.hpp
	std::vector<at::Tensor> outputs;
	c10::intrusive_ptr<c10::ivalue::Future> future; // created on the first request
};

} // namespace torch_ina

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What torch waits on: the work of a collective that a communicator's thread finishes.
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
	// outputs: what result() and the future's value are.
	InaWork(int rank, c10d::OpType type, const char *title, std::vector<at::Tensor> outputs);

	std::vector<at::Tensor> result() override;

	// Callbacks of the future run in a thread of their own, and may wait for other works.
	c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

	// Called once, in the communicator's thread; without an error if that is null.
	void complete(std::exception_ptr error);

      private:
	void mark();

	const size_t depth; // where it was started: callbacks.hpp
	std::vector<at::Tensor> outputs;
	c10::intrusive_ptr<c10::ivalue::Future> future; // made when it is asked for
};

} // namespace torch_ina

#endif

// SPDX-License-Identifier: Apache-2.0
#include "work.hpp"

#include <utility>

#include "callbacks.hpp"

namespace torch_ina
{

InaWork::InaWork(int rank, c10d::OpType type, const char *title, std::vector<at::Tensor> outputs)
    : Work(rank, type, title, outputs), depth(callback_depth()), outputs(std::move(outputs))
{
}

std::vector<at::Tensor> InaWork::result()
{
	return outputs;
}

c10::intrusive_ptr<c10::ivalue::Future> InaWork::getFuture()
{
	std::unique_lock<std::mutex> lock(mutex_);

	if (!future) {
		future = c10::make_intrusive<c10::ivalue::Future>(
		        c10::ListType::create(c10::TensorType::get()));
		if (completed_) {
			lock.unlock();
			mark();
		}
	}
	return future;
}

void InaWork::mark()
{
	if (exception_)
		future->setError(exception_);
	else
		future->markCompleted(c10::IValue(outputs));
}

void InaWork::complete(std::exception_ptr error)
{
	bool asked_for;

	{
		const std::lock_guard<std::mutex> lock(mutex_);

		completed_ = true;
		exception_ = std::move(error);
		asked_for = future != nullptr;
		if (recordFunctionEndCallback_) {
			recordFunctionEndCallback_();
			recordFunctionEndCallback_ = nullptr;
		}
	}
	cv_.notify_all();
	// The communicator's thread must not wait for a callback, which may itself wait for the
	// communicator.
	if (asked_for)
		run_callbacks(depth, [self = c10::intrusive_ptr<InaWork>::reclaim_copy(this)] {
			self->mark();
		});
}

} // namespace torch_ina

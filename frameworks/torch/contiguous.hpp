// SPDX-License-Identifier: Apache-2.0
//
// Prepares the tensors of one call for libina and gloo, which use only an address and a number of
// elements: tensors must be contiguous, in the order of their indices. Another tensor is replaced
// by a contiguous copy, and outputs are copied back when the call has finished. So a tensor may
// have different layouts on different ranks.
#ifndef INA_TORCH_CONTIGUOUS_HPP
#define INA_TORCH_CONTIGUOUS_HPP

#include <functional>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

namespace torch_ina
{

using Tensors = std::vector<at::Tensor>;

// Each of these functions throws if a tensor is undefined, not dense or not on the CPU. For a
// tensor that is written, it also throws if elements share memory.
class Contiguous
{
      public:
	explicit Contiguous(const char *call) : call(call)
	{
	}

	at::Tensor read(const at::Tensor &tensor) const;
	at::Tensor write(const at::Tensor &tensor);
	at::Tensor update(const at::Tensor &tensor); // first read, then written

	Tensors read(const Tensors &tensors) const;
	Tensors write(const Tensors &tensors);
	Tensors update(const Tensors &tensors);

	void check_writable(const at::Tensor &tensor) const;

	// Copies the contents of `from` to the tensor when the call has finished.
	void write_from(const at::Tensor &tensor, const at::Tensor &from);

	// The function to call when the call has finished; null if there is nothing to copy.
	std::function<void()> copy_back() const;

      private:
	void check(const at::Tensor &tensor) const;

	const char *call;
	std::vector<std::pair<at::Tensor, at::Tensor>> copies; // to, from
};

// Returns one tensor with the elements of several contiguous ones.
at::Tensor joined(const Tensors &tensors);

} // namespace torch_ina

#endif

// SPDX-License-Identifier: Apache-2.0
//
// The tensors of one call as libina and gloo take them, which see an address and a number of
// elements: contiguous, in the order of their indices. A tensor that is not so is replaced by a
// contiguous copy, and an output is copied back when the call has finished. So the layouts of a
// tensor on different ranks need not be the same.
#ifndef INA_TORCH_CONTIGUOUS_HPP
#define INA_TORCH_CONTIGUOUS_HPP

#include <functional>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

namespace torch_ina
{

using Tensors = std::vector<at::Tensor>;

// Each of these throws where a tensor is undefined, not dense or not on the CPU; for one that is
// written, also where elements of it share memory.
class Contiguous
{
      public:
	explicit Contiguous(const char *call) : call(call)
	{
	}

	at::Tensor read(const at::Tensor &tensor) const;
	at::Tensor write(const at::Tensor &tensor);
	at::Tensor update(const at::Tensor &tensor); // read, and then written

	Tensors read(const Tensors &tensors) const;
	Tensors write(const Tensors &tensors);
	Tensors update(const Tensors &tensors);

	void check_writable(const at::Tensor &tensor) const;

	// Has the contents of `from` copied to the tensor when the call has finished.
	void write_from(const at::Tensor &tensor, const at::Tensor &from);

	// What has to be done when the call has finished; null if there is nothing to copy.
	std::function<void()> copy_back() const;

      private:
	void check(const at::Tensor &tensor) const;

	const char *call;
	std::vector<std::pair<at::Tensor, at::Tensor>> copies; // to, from
};

// One tensor of the elements of several contiguous ones.
at::Tensor joined(const Tensors &tensors);

} // namespace torch_ina

#endif

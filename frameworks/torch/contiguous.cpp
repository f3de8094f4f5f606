// SPDX-License-Identifier: Apache-2.0
#include "contiguous.hpp"

#include <algorithm>

#include <ATen/core/LegacyTypeDispatch.h>

namespace torch_ina
{

namespace
{

// True if the memory holds the elements themselves: a tensor may also stand for the conjugates or
// negatives of its memory.
bool as_they_are(const at::Tensor &tensor)
{
	return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
}

// Returns false only if no two elements have the same address, because a step along a dimension
// goes beyond all elements of the dimensions with smaller strides. That holds for every view of a
// contiguous tensor except those of expand(), of unfold() with overlapping windows, and some of
// as_strided().
bool may_share_memory(const at::Tensor &tensor)
{
	std::vector<std::pair<int64_t, int64_t>> steps; // stride, size
	int64_t last = 0;                               // offset of the last element up to here

	if (tensor.numel() == 0)
		return false;
	for (int64_t i = 0; i < tensor.dim(); i++)
		if (tensor.size(i) > 1)
			steps.emplace_back(tensor.stride(i), tensor.size(i));
	std::sort(steps.begin(), steps.end());
	for (const auto &[stride, size] : steps) {
		if (stride <= last)
			return true;
		last += stride * (size - 1);
	}
	return false;
}

template <typename Function> Tensors each(const Tensors &tensors, Function function)
{
	Tensors results;

	for (const at::Tensor &tensor : tensors)
		results.push_back(function(tensor));
	return results;
}

} // namespace

void Contiguous::check(const at::Tensor &tensor) const
{
	TORCH_CHECK(tensor.defined(), "torch_ina: ", call, ": an undefined tensor");
	TORCH_CHECK(tensor.layout() == at::kStrided, "torch_ina: ", call, ": the tensor is ",
	            tensor.layout(), ": the backend takes dense tensors; call to_dense() on it");
	TORCH_CHECK(tensor.device().is_cpu(), "torch_ina: ", call, ": the tensor is on ",
	            tensor.device(), ": the backend takes tensors on the CPU; call cpu() on it");
}

void Contiguous::check_writable(const at::Tensor &tensor) const
{
	check(tensor);
	TORCH_CHECK(!may_share_memory(tensor), "torch_ina: ", call,
	            ": elements of the tensor share memory, as after expand(), so they cannot be "
	            "written separately: pass tensor.clone()");
}

at::Tensor Contiguous::read(const at::Tensor &tensor) const
{
	check(tensor);
	if (as_they_are(tensor))
		return tensor;
	return tensor.detach().contiguous().resolve_conj().resolve_neg();
}

at::Tensor Contiguous::write(const at::Tensor &tensor)
{
	check_writable(tensor);
	if (as_they_are(tensor))
		return tensor;
	copies.emplace_back(tensor,
	                    at::empty(tensor.sizes(), tensor.options().requires_grad(false)));
	return copies.back().second;
}

at::Tensor Contiguous::update(const at::Tensor &tensor)
{
	check_writable(tensor);
	if (as_they_are(tensor))
		return tensor;
	copies.emplace_back(tensor, read(tensor));
	return copies.back().second;
}

Tensors Contiguous::read(const Tensors &tensors) const
{
	return each(tensors, [this](const at::Tensor &tensor) { return read(tensor); });
}

Tensors Contiguous::write(const Tensors &tensors)
{
	return each(tensors, [this](const at::Tensor &tensor) { return write(tensor); });
}

Tensors Contiguous::update(const Tensors &tensors)
{
	return each(tensors, [this](const at::Tensor &tensor) { return update(tensor); });
}

void Contiguous::write_from(const at::Tensor &tensor, const at::Tensor &from)
{
	check_writable(tensor);
	copies.emplace_back(tensor, from);
}

std::function<void()> Contiguous::copy_back() const
{
	if (copies.empty())
		return nullptr;
	return [copies = copies] {
		// Like a collective that writes to the tensor's memory, this must be invisible to
		// autograd.
		const at::AutoDispatchBelowADInplaceOrView guard;

		for (const auto &[to, from] : copies)
			at::Tensor(to).copy_(from);
	};
}

at::Tensor joined(const Tensors &tensors)
{
	return at::cat(
	        each(tensors, [](const at::Tensor &tensor) { return tensor.detach().view({-1}); }));
}

} // namespace torch_ina

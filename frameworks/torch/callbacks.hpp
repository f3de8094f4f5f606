// SPDX-License-Identifier: Apache-2.0
//
// Threads that complete futures, and so run what was chained to them.
//
// A callback may start further works and wait for them, so the callbacks of those run in another
// thread: one for each depth. Within a depth callbacks run one after the other, in the order in
// which their works were finished.
#ifndef INA_TORCH_CALLBACKS_HPP
#define INA_TORCH_CALLBACKS_HPP

#include <cstddef>
#include <functional>

namespace torch_ina
{

// Of the calling thread: 0 outside of callbacks, 1 in a callback of a work that was started there,
// and so on.
size_t callback_depth();

// Has the callbacks of a work run that was started at this depth.
void run_callbacks(size_t depth, std::function<void()> callbacks);

} // namespace torch_ina

#endif

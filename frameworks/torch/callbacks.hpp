// SPDX-License-Identifier: Apache-2.0
//
// Threads that complete futures and so run the callbacks that were chained to them.
//
// A callback may start further works and wait for them, so the callbacks of those works run in
// another thread: there is one thread for each depth. Callbacks of one depth run one after the
// other, in the order in which their works finished.
#ifndef INA_TORCH_CALLBACKS_HPP
#define INA_TORCH_CALLBACKS_HPP

#include <cstddef>
#include <functional>

namespace torch_ina
{

// The depth of the calling thread: 0 outside callbacks, 1 in a callback of a work that was started
// at depth 0, and so on.
size_t callback_depth();

// Runs the callbacks of a work that was started at this depth, in the thread for them.
void run_callbacks(size_t depth, std::function<void()> callbacks);

} // namespace torch_ina

#endif

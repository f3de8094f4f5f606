// SPDX-License-Identifier: Apache-2.0
//
// Threads that complete futures, and so run what was chained to them.
#ifndef INA_TORCH_CALLBACKS_HPP
#define INA_TORCH_CALLBACKS_HPP

#include <functional>

namespace torch_ina
{

// Has it run by a thread that waits for work; one is added where all of them are busy, since what
// they are at may wait for this. So it is begun at once, and in order.
void run_callbacks(std::function<void()> callbacks);

} // namespace torch_ina

#endif

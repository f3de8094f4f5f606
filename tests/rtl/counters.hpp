// SPDX-License-Identifier: Apache-2.0
//
// The counters of model/counters.h: their positions, which the RTL shares, and their names.

#ifndef INA_RTL_COUNTERS_HPP
#define INA_RTL_COUNTERS_HPP

#include "model/counters.h"

namespace counters
{

#define X(name, meaning) name,
enum : unsigned { INA_COUNTERS(X) };
#undef X

#define X(name, meaning) #name,
constexpr const char *names[] = {INA_COUNTERS(X)};
#undef X

} // namespace counters

#endif

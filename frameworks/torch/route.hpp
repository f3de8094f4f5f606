// SPDX-License-Identifier: Apache-2.0
//
// Decides which collectives libina carries out and which gloo. The decision depends only on values
// that are equal on all ranks: call, type and operation.
#ifndef INA_TORCH_ROUTE_HPP
#define INA_TORCH_ROUTE_HPP

#include <mutex>
#include <set>
#include <string>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include "hostlib/include/ina.h"

namespace torch_ina
{

// The reasons for using gloo.
constexpr const char *NOT_ADDED = "libina does not support this type or operation";
constexpr const char *NOT_IN_LIBINA = "libina does not support this call";

// Return 0 if libina does not have the type or the operation.
ina_type type_of(at::ScalarType type);
ina_op op_of(const c10d::ReduceOp &op);

// Prints one line to stderr for each different text, if INA_LOG is info, in the environment or in
// a file.
class Log
{
      public:
	explicit Log(int rank);

	void say_once(const std::string &text);

      private:
	const int rank;
	bool wanted;
	std::mutex mutex;
	std::set<std::string> said;
};

} // namespace torch_ina

#endif

// SPDX-License-Identifier: Apache-2.0
#include "route.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace torch_ina
{

ina_type type_of(at::ScalarType type)
{
	switch (type) {
	case at::kInt:
		return INA_INT32;
	case at::kFloat:
		return INA_FLOAT32;
	case at::kBFloat16:
		return INA_BFLOAT16;
	case at::kHalf:
		return INA_FLOAT16;
	case at::kDouble:
		return INA_FLOAT64;
	case at::kLong:
		return INA_INT64;
	case at::kByte:
		return INA_UINT8;
	default:
		return static_cast<ina_type>(0);
	}
}

ina_op op_of(const c10d::ReduceOp &op)
{
	switch (op.op_) {
	case c10d::ReduceOp::SUM:
		return INA_SUM;
	case c10d::ReduceOp::AVG:
		return INA_AVG;
	case c10d::ReduceOp::PRODUCT:
		return INA_PROD;
	case c10d::ReduceOp::MAX:
		return INA_MAX;
	case c10d::ReduceOp::MIN:
		return INA_MIN;
	default:
		return static_cast<ina_op>(0);
	}
}

Log::Log(int rank)
    : rank(rank), wanted(std::getenv("INA_LOG") && std::strcmp(std::getenv("INA_LOG"), "info") == 0)
{
}

void Log::say_once(const std::string &text)
{
	if (!wanted)
		return;
	const std::lock_guard<std::mutex> lock(mutex);
	if (said.insert(text).second)
		std::fprintf(stderr, "torch_ina: rank %d: %s\n", rank, text.c_str());
}

} // namespace torch_ina

// SPDX-License-Identifier: Apache-2.0
#include "route.hpp"

#include <cstdio>

#include "hostlib/tables/types.h"

namespace torch_ina
{

namespace
{

enum Kind { SIGNED, UNSIGNED, FLOAT, HALF };

struct Type {
	ina_type type;
	Kind kind;
	size_t bits;
};

#define ROW(type, name, kind, bits, ...) {INA_##type, kind, bits},
constexpr Type TYPES[] = {INA_TYPES(ROW)};
#undef ROW

} // namespace

ina_type type_of(at::ScalarType type)
{
	const bool is_integer = at::isIntegralType(type, false);

	if (!is_integer && !at::isFloatingType(type))
		return static_cast<ina_type>(0);
	for (const Type &row : TYPES) {
		const bool is_same =
		        is_integer ? row.kind == (at::isSignedType(type) ? SIGNED : UNSIGNED)
		                   : (row.kind == FLOAT || row.kind == HALF) &&
		                             (row.type == INA_BFLOAT16) == (type == at::kBFloat16);

		if (is_same && row.bits == 8 * at::elementSize(type))
			return row.type;
	}
	return static_cast<ina_type>(0);
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

Log::Log(int rank) : rank(rank), wanted(false)
{
	std::string options(32768, '\0');

	if (ina_options_explain(nullptr, options.data(), options.size()) == INA_OK)
		wanted = options.find("\nINA_LOG\tinfo\t") != std::string::npos;
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

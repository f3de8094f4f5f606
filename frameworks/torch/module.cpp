// SPDX-License-Identifier: Apache-2.0
//
// The functions that torch_ina/__init__.py calls. Calls that wait release the interpreter's lock.
#include <algorithm>
#include <climits>

#include <pybind11/functional.h>

#include "process_group.hpp"

namespace torch_ina
{

namespace
{

GroupPointer create(int rank, int size, int64_t timeout_ms, const std::string &root,
                    const Exchange &exchange, GroupPointer gloo)
{
	const Settings settings = {rank, size,
	                           static_cast<int>(std::clamp<int64_t>(timeout_ms, 1, INT_MAX)),
	                           root, exchange};
	return c10::make_intrusive<ProcessGroupIna>(settings, std::move(gloo));
}

ProcessGroupIna &ina_group(const GroupPointer &group)
{
	auto *const found = dynamic_cast<ProcessGroupIna *>(group.get());

	TORCH_CHECK(found, "torch_ina: the process group's backend is not ina");
	return *found;
}

pybind11::dict stats(const GroupPointer &group)
{
	ina_stats stats;
	pybind11::dict dict;

	{
		const pybind11::gil_scoped_release released;

		stats = ina_group(group).stats();
	}
	dict["algorithm"] = stats.algorithm == INA_ALGORITHM_INA ? "ina" : "ring";
	dict["device"] = stats.device;
	dict["path_mtu"] = stats.path_mtu;
	dict["calls"] = stats.calls;
	dict["bytes_aggregated"] = stats.bytes_aggregated;
	dict["bytes_ring"] = stats.bytes_ring;
	dict["overflows"] = stats.overflows;
	dict["fallbacks"] = stats.fallbacks;
	dict["rejoins"] = stats.rejoins;
	dict["yields"] = stats.yields;
	return dict;
}

std::string explain(const GroupPointer &group)
{
	return ina_group(group).explain();
}

} // namespace

} // namespace torch_ina

PYBIND11_MODULE(_core, module)
{
	using released = pybind11::call_guard<pybind11::gil_scoped_release>;

	module.def("create", torch_ina::create, released());
	module.def("stats", torch_ina::stats);
	module.def("explain", torch_ina::explain, released());
	module.def("end_all", torch_ina::ProcessGroupIna::end_all, released());
}

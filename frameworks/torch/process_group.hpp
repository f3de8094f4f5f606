// SPDX-License-Identifier: Apache-2.0
//
// torch's process group on libina. An inner gloo group carries out all other calls: route.hpp.
#ifndef INA_TORCH_PROCESS_GROUP_HPP
#define INA_TORCH_PROCESS_GROUP_HPP

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/utils/pybind.h>

#include "communicator.hpp"
#include "contiguous.hpp"
#include "route.hpp"

namespace torch_ina
{

// The class that gloo and this group extend. If torch's process group has a Backend for each kind
// of device, they are such Backends. Otherwise, as in torch 1.13, they are process groups
// themselves.
template <typename Group, typename = void> struct GroupBase {
	using type = Group;
};
template <typename Group> struct GroupBase<Group, std::void_t<decltype(&Group::setBackend)>> {
	using type = c10d::Backend;
};
using Base = GroupBase<c10d::ProcessGroup>::type;

using WorkPointer = c10::intrusive_ptr<c10d::Work>;
using GroupPointer = c10::intrusive_ptr<Base>;

// An all-gather of Python: from this rank's bytes to those of all ranks, one after the other.
using Exchange = std::function<pybind11::bytes(pybind11::bytes)>;

// The values with which a process group is opened.
struct Settings {
	int rank;
	int size;
	int timeout_ms;
	std::string root;  // address of rank 0: the way to it selects the device
	Exchange exchange; // called once
};

class ProcessGroupIna : public Base
{
      public:
	ProcessGroupIna(const Settings &settings, GroupPointer gloo);
	// Closes the communicator, ends gloo's threads, and releases the store.
	~ProcessGroupIna() override;

	const std::string getBackendName() const override
	{
		return "ina";
	}

	WorkPointer allreduce(Tensors &tensors, const c10d::AllreduceOptions &options) override;
	WorkPointer allreduce_coalesced(Tensors &tensors,
	                                const c10d::AllreduceCoalescedOptions &options) override;
	WorkPointer broadcast(Tensors &tensors, const c10d::BroadcastOptions &options) override;
	WorkPointer reduce(Tensors &tensors, const c10d::ReduceOptions &options) override;
	WorkPointer allgather(std::vector<Tensors> &outputs, Tensors &inputs,
	                      const c10d::AllgatherOptions &options) override;
	WorkPointer _allgather_base(at::Tensor &output, at::Tensor &input,
	                            const c10d::AllgatherOptions &options) override;
	WorkPointer allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs,
	                                const c10d::AllgatherOptions &options) override;
	WorkPointer reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs,
	                           const c10d::ReduceScatterOptions &options) override;
	WorkPointer _reduce_scatter_base(at::Tensor &output, at::Tensor &input,
	                                 const c10d::ReduceScatterOptions &options) override;
	WorkPointer barrier(const c10d::BarrierOptions &options) override;

	WorkPointer gather(std::vector<Tensors> &outputs, Tensors &inputs,
	                   const c10d::GatherOptions &options) override;
	WorkPointer scatter(Tensors &outputs, std::vector<Tensors> &inputs,
	                    const c10d::ScatterOptions &options) override;
	WorkPointer alltoall_base(at::Tensor &output, at::Tensor &input,
	                          std::vector<int64_t> &output_sizes,
	                          std::vector<int64_t> &input_sizes,
	                          const c10d::AllToAllOptions &options) override;
	WorkPointer alltoall(Tensors &outputs, Tensors &inputs,
	                     const c10d::AllToAllOptions &options) override;
	WorkPointer send(Tensors &tensors, int rank, int tag) override;
	WorkPointer recv(Tensors &tensors, int rank, int tag) override;
	WorkPointer recvAnysource(Tensors &tensors, int tag) override;
	void setSequenceNumberForGroup() override;
	uint64_t getSequenceNumberForGroup() override;

	// Counters of the communicator, and a text about how its ranks are connected.
	ina_stats stats();
	std::string explain();

	// For a process that is about to end: closes all its groups. If `well` is false, it leaves
	// them open, and the other ranks get an error as soon as the process has ended.
	static void end_all(bool well);

      private:
	using Start = std::function<ina_status(ina_comm *comm, ina_request **request)>;

	// Makes a work of one or several calls of libina. Errors name `call` and `tensor`.
	WorkPointer submit(c10d::OpType type, const char *call, const at::Tensor &tensor,
	                   Tensors outputs, std::vector<Start> starts,
	                   const Contiguous &contiguous);
	// Returns gloo's work or, if outputs must be copied back, a work that completes after that.
	WorkPointer copied_back(c10d::OpType type, const char *call, Tensors outputs,
	                        const Contiguous &contiguous, const WorkPointer &work) const;
	WorkPointer gather_into(const char *call, const at::Tensor &all, const at::Tensor &input,
	                        Tensors outputs, const Contiguous &contiguous);
	WorkPointer scatter_sum(const char *call, const at::Tensor &output, const at::Tensor &all,
	                        const c10d::ReduceOp &op, Contiguous contiguous);
	void check_blocks(const char *call, const at::Tensor &all, const at::Tensor &block) const;
	GroupPointer by_gloo(const char *call, const at::Tensor &tensor, const char *why);

	GroupPointer gloo;
	Log log;
	Communicator communicator;
};

} // namespace torch_ina

#endif

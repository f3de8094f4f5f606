# SPDX-License-Identifier: Apache-2.0
"""Static timing over a mapped netlist, across the borders of its modules: an estimate.

yosys maps the design but does not place it, so the delay of a net is a guess, as always before
placement. The constants come from public timing reports for UltraScale+ of speed grade -2:

- LUT, carry and register: Vivado's figures for xcvu3p-2 as FloPoCo 5 restates them
  (src/Targets/VirtexUltrascalePlus.hpp): LUT 0.035 to 0.148 ns by input, S to CO 0.115, CI to O
  0.116, CI to CO of a CARRY8 0.015, between two of them 0.026, LUT to S 0.011, a local net 0.180.
- Block RAM: 0.830 ns from clock to output without its output register (a path of an xcu250-2,
  quoted in the sources of AutoBridge). The setup of registers, 0.025, is from the same source.
- A net: 0.20 ns, and 0.04 more for each doubling of its fanout. The worst path of alexforencich's
  axi_dma_wr on a VU9P at 250 MHz (verilog-axi, issue 67: 13 LUTs, 2 CARRY8, 16 nets) has 0.18 ns a
  net after routing and 4.17 ns in all. This model gives 4.5 to 5.5, depending on fanout, so it is
  pessimistic.
- UltraRAM without output register, distributed RAM, and the setup of memories: assumed.
"""

import re

import numpy

PERIOD_PS = 4000  # 250 MHz
CLOCK_UNCERTAINTY_PS = 60

LUT_PS = 100
MUXF_PS = 60
CARRY_S_PS = 115      # S or DI to O or CO
CARRY_CI_PS = 20      # CI to CO of a CARRY4, with the net to the next one
CARRY_CI_O_PS = 116
FF_OUT_PS = 80
FF_SETUP_PS = 25
FF_CONTROL_SETUP_PS = 60
BRAM_OUT_PS = 830
BRAM_OUT_REGISTERED_PS = 260
URAM_OUT_PS = 1500
LUTRAM_OUT_PS = 500
RAM_SETUP_PS = 250
DSP_PS = 1500
NET_PS = 200
NET_DOUBLING_PS = 40
NET_TO_CARRY_PS = 11   # from the LUT that drives it
NET_TO_OWN_FF_PS = 60  # from the LUT that drives it

LUTRAM = re.compile(r"RAM\d+(M|X)\d+(S|D|SW|DR8)?$")

# The kinds of cells that drive a net, and of pins that it drives: some pairs share a slice.
OTHER, LUT, MUX, CARRY = range(4)
SINK_OTHER, SINK_S, SINK_CI, SINK_MUX, SINK_D = range(5)


class _Module:
    """A module's timing arcs, with its own numbers for nets; all its instances share them."""

    def __init__(self, module, is_module):
        self.arcs = []      # (net from, net to, ps, levels, carries, kind of sink)
        self.starts = []    # (net, ps)
        self.ends = []      # (net, ps, kind of sink, net that names the end)
        self.loads = []     # the net, once for each pin that it drives
        self.drivers = {}   # net: kind of driver, unless it is OTHER
        self.children = []  # (name, type, {port: nets})
        # {name: (is an output, nets)}
        self.ports = {name: (port["direction"] != "input", port["bits"])
                      for name, port in module["ports"].items()}
        self.names = {}
        used = [cell["connections"].values() for cell in module["cells"].values()]
        used.append([port["bits"] for port in module["ports"].values()])
        self.top_net = max((bit for pins in used for bits in pins
                            for bit in bits if isinstance(bit, int)), default=0)
        for name, net in sorted(module["netnames"].items(), key=lambda item: item[1]["hide_name"]):
            for index, bit in enumerate(net["bits"]):
                if isinstance(bit, int):
                    self.top_net = max(self.top_net, bit)
                    self.names.setdefault(bit, f"{name}[{index}]" if len(net["bits"]) > 1 else name)
        for name, cell in module["cells"].items():
            if is_module(cell["type"]):
                self.children.append((name, cell["type"], cell["connections"]))
            else:
                self._cell(cell["type"], cell["connections"], cell["parameters"])
                self.loads += [net for pin, nets in cell["connections"].items()
                               if cell["port_directions"][pin] == "input"
                               for net in nets if isinstance(net, int)]

    def _arc(self, source, sink, ps, levels=0, carries=0, kind=SINK_OTHER):
        if isinstance(source, int) and isinstance(sink, int):
            self.arcs.append((source, sink, ps, levels, carries, kind))

    def _start(self, nets, ps):
        for net in nets:
            if isinstance(net, int):
                self.starts.append((net, ps))

    def _end(self, nets, ps, kind=SINK_OTHER, label=None):
        for net in nets:
            if isinstance(net, int):
                self.ends.append((net, ps, kind, label if isinstance(label, int) else net))

    def _cell(self, kind, pins, parameters):
        if re.fullmatch(r"LUT[1-6]|INV", kind):
            for pin, nets in pins.items():
                if pin.startswith("I"):
                    self._arc(nets[0], pins["O"][0], LUT_PS, levels=1)
            self.drivers[pins["O"][0]] = LUT
        elif kind in ("MUXF7", "MUXF8", "MUXF9"):
            for pin in ("I0", "I1"):
                self._arc(pins[pin][0], pins["O"][0], MUXF_PS, kind=SINK_MUX)
            self._arc(pins["S"][0], pins["O"][0], MUXF_PS)
            self.drivers[pins["O"][0]] = MUX
        elif kind == "CARRY4":
            self._carry(pins)
        elif kind.startswith("FD"):
            self._start(pins["Q"], FF_OUT_PS)
            self._end(pins["D"], FF_SETUP_PS, SINK_D, pins["Q"][0])
            self._end([net for pin in ("CE", "R", "S", "CLR", "PRE") for net in pins.get(pin, [])],
                      FF_CONTROL_SETUP_PS, label=pins["Q"][0])
        elif kind.startswith("SRL"):
            self._start(pins["Q"], LUTRAM_OUT_PS)
            self._end(pins["D"] + pins["CE"], RAM_SETUP_PS)
            for net in pins.get("A", []) + [pins[f"A{i}"][0] for i in range(4) if f"A{i}" in pins]:
                self._arc(net, pins["Q"][0], LUT_PS, levels=1)
        elif LUTRAM.fullmatch(kind):
            self._distributed_ram(pins)
        elif kind.startswith("RAMB") or kind == "URAM288":
            self._block_ram(kind, pins, parameters)
        elif kind == "DSP48E2":
            self._dsp(pins, parameters)
        else:
            raise ValueError(f"an unknown primitive, whose timing is missing here: {kind}")

    def _carry(self, pins):
        def bit(pin, i):
            return pins.get(pin, [])[i:i + 1]  # unused pins may be missing

        for out in ("O", "CO"):
            ci_ps = CARRY_CI_PS if out == "CO" else CARRY_CI_O_PS
            for i, sink in enumerate(pins.get(out, [])):
                for j in range(i + 1):
                    for net in bit("S", j):
                        self._arc(net, sink, CARRY_S_PS, carries=1, kind=SINK_S)
                    if j < i or out == "CO":
                        for net in bit("DI", j):
                            self._arc(net, sink, CARRY_S_PS, carries=1)
                for net in bit("CI", 0):
                    self._arc(net, sink, ci_ps, carries=1, kind=SINK_CI)
                for net in bit("CYINIT", 0):
                    self._arc(net, sink, CARRY_S_PS, carries=1)
                if isinstance(sink, int):
                    self.drivers[sink] = CARRY

    def _distributed_ram(self, pins):
        """Treats reads as logic, from address to data. Paths end at writes, and begin at written data."""
        for pin, nets in pins.items():
            match = re.fullmatch(r"ADDR([A-H])|(DPRA|RADR)\d*|(A)\d*", pin)
            if pin.startswith("DO") or pin in ("DPO", "SPO", "O"):
                self._start(nets, LUTRAM_OUT_PS)
            elif not match:
                if not pin.endswith("CLK"):
                    self._end(nets, RAM_SETUP_PS)
            else:
                outputs = [f"DO{match.group(1)}"] if match.group(1) else \
                    ["DPO"] if match.group(2) else ["SPO", "O"]
                for sink in [bit for out in outputs for bit in pins.get(out, [])]:
                    for net in nets:
                        self._arc(net, sink, LUT_PS, levels=1)
                if match.group(1) in ("D", "H") or match.group(3):
                    self._end(nets, RAM_SETUP_PS)

    def _block_ram(self, kind, pins, parameters):
        registered = any(int(str(parameters.get(name, "0"))[-1:] == "1")
                         for name in ("DOA_REG", "DOB_REG"))
        out_ps = URAM_OUT_PS if kind == "URAM288" else \
            BRAM_OUT_REGISTERED_PS if registered else BRAM_OUT_PS
        # A memory is named after its output.
        memory = next((net for pin, nets in sorted(pins.items()) if pin.startswith("DOUT")
                       for net in nets if isinstance(net, int)), None)
        for pin, nets in pins.items():
            if pin.startswith(("DOUT", "CASDOUT")):
                self._start(nets, out_ps)
            elif "CLK" not in pin:
                self._end(nets, RAM_SETUP_PS, label=memory)

    def _dsp(self, pins, parameters):
        """Treats a multiplier without pipeline registers as logic; in one with them, paths end and begin."""
        registers = any(int(str(parameters.get(name, "0")), 2) for name in ("MREG", "PREG"))
        inputs = [net for pin in ("A", "B", "C", "D") for net in pins.get(pin, [])]
        if registers:
            self._start(pins["P"], FF_OUT_PS)
            self._end(inputs, DSP_PS)
        else:
            for sink in pins["P"]:
                for net in inputs:
                    self._arc(net, sink, DSP_PS, levels=1)


class Timing:
    """The timing arcs of the whole design as arrays, and the latest arrival time at every net."""

    def __init__(self, netlist, limit=400):
        """Raises ValueError if the logic has a loop (no end after `limit` steps)."""
        self._types = {name: _Module(module, lambda kind: kind in netlist.modules)
                       for name, module in netlist.modules.items() if netlist.counts[name]}
        self._net_count = 0
        self._wires = []
        self.instances = []  # (path, type, the design's net for each net of the type)
        self._place("", netlist.top, {})
        self._join_wires()
        self._gather(netlist.top)
        self._settle(limit)

    def _place(self, path, kind, bound):
        module = self._types[kind]
        nets = numpy.full(module.top_net + 1, -1, dtype=numpy.int64)
        for net, whole in bound.items():
            nets[net] = whole
        free = numpy.flatnonzero(nets < 0)
        nets[free] = numpy.arange(self._net_count, self._net_count + len(free))
        self._net_count += len(free)
        self.instances.append((path, kind, nets))
        for name, child, pins in module.children:
            inner = {}
            # Inputs come first. If several ports share a net, the others are wires from the first one.
            for port, bits in sorted(self._types[child].ports.items(), key=lambda item: item[1][0]):
                for mine, theirs in zip(bits[1], pins.get(port, [])):
                    if isinstance(mine, int) and isinstance(theirs, int):
                        first = inner.setdefault(mine, nets[theirs])
                        if first != nets[theirs]:
                            self._wires.append((first, nets[theirs]))
            self._place(f"{path}{name}.", child, inner)

    def _join_wires(self):
        same = numpy.arange(self._net_count)
        for first, second in self._wires:
            while same[first] != first:
                first = same[first]
            while same[second] != second:
                second = same[second]
            same[second] = first
        while (same[same] != same).any():
            same = same[same]
        self.instances = [(path, kind, same[nets]) for path, kind, nets in self.instances]

    def _gather(self, top):
        arcs, starts, ends, loads = [], [], [], []
        drivers = numpy.zeros(self._net_count, dtype=numpy.int8)
        cache = {kind: (numpy.array(m.arcs, dtype=numpy.int64).reshape(-1, 6),
                        numpy.array(m.starts, dtype=numpy.int64).reshape(-1, 2),
                        numpy.array(m.ends, dtype=numpy.int64).reshape(-1, 4))
                 for kind, m in self._types.items()}
        for number, (path, kind, nets) in enumerate(self.instances):
            module_arcs, module_starts, module_ends = (table.copy() for table in cache[kind])
            module_arcs[:, 0] = nets[module_arcs[:, 0]]
            module_arcs[:, 1] = nets[module_arcs[:, 1]]
            module_starts[:, 0] = nets[module_starts[:, 0]]
            module_ends[:, 0] = nets[module_ends[:, 0]]
            module_ends[:, 3] = nets[module_ends[:, 3]]
            arcs.append(module_arcs)
            starts.append(module_starts)
            loads.append(nets[numpy.array(self._types[kind].loads, dtype=numpy.int64)])
            ends.append(numpy.column_stack(
                [module_ends, numpy.full(len(module_ends), number, dtype=numpy.int64)]))
            driven = list(self._types[kind].drivers.items())
            if driven:
                drivers[nets[[net for net, _ in driven if isinstance(net, int)]]] = \
                    [driver for net, driver in driven if isinstance(net, int)]
        # Assumes that each port of the design is connected to a register outside.
        nets = self.instances[0][2]
        module = self._types[top]
        for is_output, bits in module.ports.values():
            outside = nets[[bit for bit in bits if isinstance(bit, int)]]
            if is_output:
                ends.append(numpy.array([[net, FF_SETUP_PS, SINK_D, net, 0] for net in outside],
                                        dtype=numpy.int64).reshape(-1, 5))
            else:
                starts.append(numpy.array([[net, FF_OUT_PS] for net in outside],
                                          dtype=numpy.int64).reshape(-1, 2))
        self.arcs = numpy.concatenate(arcs)
        self.starts = numpy.concatenate(starts)
        self.ends = numpy.concatenate(ends)
        self._wire(drivers, numpy.concatenate(loads))

    def _wire(self, drivers, loads):
        """Adds to each arc and each end the delay of the net that leads to it."""
        fanout = numpy.bincount(loads, minlength=self._net_count)
        net_ps = NET_PS + NET_DOUBLING_PS * numpy.log2(numpy.maximum(fanout, 1))

        def wire(nets, sinks):
            ps = net_ps[nets].copy()
            driver = drivers[nets]
            ps[(sinks == SINK_S) & (driver == LUT) & (fanout[nets] == 1)] = NET_TO_CARRY_PS
            ps[(sinks == SINK_CI) & (driver == CARRY)] = 0
            ps[(sinks == SINK_MUX) & (driver != OTHER)] = 0
            ps[(sinks == SINK_D) & (driver != OTHER) & (fanout[nets] == 1)] = NET_TO_OWN_FF_PS
            return ps

        self.arc_ps = self.arcs[:, 2] + wire(self.arcs[:, 0], self.arcs[:, 5])
        self.end_ps = self.ends[:, 1] + wire(self.ends[:, 0], self.ends[:, 2])

    def _settle(self, limit):
        """Finds the longest paths: updates the arrival times over all arcs together, until none changes."""
        order = numpy.argsort(self.arcs[:, 1], kind="stable")
        self.arcs = self.arcs[order]
        self.arc_ps = self.arc_ps[order]
        source, sink = self.arcs[:, 0], self.arcs[:, 1]
        firsts = numpy.flatnonzero(numpy.r_[True, sink[1:] != sink[:-1]])
        sinks = sink[firsts]
        arrival = numpy.full(self._net_count, -numpy.inf)
        numpy.maximum.at(arrival, self.starts[:, 0], self.starts[:, 1].astype(float))
        for _ in range(limit):
            latest = numpy.maximum.reduceat(arrival[source] + self.arc_ps, firsts)
            changed = latest > arrival[sinks]
            if not changed.any():
                break
            arrival[sinks] = numpy.maximum(arrival[sinks], latest)
        else:
            self.arrival = arrival
            raise ValueError("the logic has a loop, through "
                             + ", ".join(self._loop(sinks, firsts)))
        self.arrival = arrival
        self._first_of = dict(zip(sinks.tolist(), firsts.tolist()))
        self.end_arrival = arrival[self.ends[:, 0]] + self.end_ps + CLOCK_UNCERTAINTY_PS

    def _loop(self, sinks, firsts):
        """Names some nets of a loop: goes back from the latest arrival, which has passed through the loop."""
        first_of = dict(zip(sinks.tolist(), firsts.tolist()))
        net, seen = int(numpy.argmax(self.arrival)), []
        while net in first_of and net not in seen:
            seen.append(net)
            last = first_of[net]
            while last < len(self.arcs) and self.arcs[last, 1] == net:
                last += 1
            arcs = numpy.arange(first_of[net], last)
            latest = self.arrival[self.arcs[arcs, 0]] + self.arc_ps[arcs]
            net = int(self.arcs[arcs[int(numpy.argmax(latest))], 0])
        names = self._owners(seen)
        return [names.get(net, "?") for net in seen]

    def _owners(self, nets_wanted):
        """Returns {net: name}, with the outermost name from the source, or else one that yosys made up."""
        wanted = numpy.array(sorted(nets_wanted), dtype=numpy.int64)
        names = {}
        for path, kind, nets in self.instances:
            for bit in numpy.flatnonzero(numpy.isin(nets, wanted)).tolist():
                label, net = self._types[kind].names.get(bit), int(nets[bit])
                if label and (net not in names or ("$" in names[net] and "$" not in label)):
                    names[net] = path + label
        return names

    def trace(self, end):
        """Returns the nets of the longest path to an end (an index into ends), beginning at its start."""
        net = int(self.ends[end, 0])
        nets, levels, carries = [net], 0, 0
        while net in self._first_of:
            at = self._first_of[net]
            found = None
            while at < len(self.arcs) and self.arcs[at, 1] == net:
                if abs(self.arrival[self.arcs[at, 0]] + self.arc_ps[at] - self.arrival[net]) < 1e-6:
                    found = at
                    break
                at += 1
            if found is None:
                break
            levels += int(self.arcs[found, 3])
            carries += int(self.arcs[found, 4])
            net = int(self.arcs[found, 0])
            nets.append(net)
        return nets[::-1], levels, carries

    def worst(self, ends):
        """Returns the worst of some ends as a dict: ps, LUT levels, carries, and the names on its path."""
        end = ends[int(numpy.argmax(self.end_arrival[ends]))]
        nets, levels, carries = self.trace(end)
        label = int(self.ends[end, 3])
        names = self._owners([*nets, label])
        return {"from": names.get(nets[0], "?"), "to": names.get(label, "?"),
                "ps": round(float(self.end_arrival[end])), "lut_levels": levels,
                "carry4": carries, "nets": [names.get(net, "?") for net in nets]}

    def by_module(self, base_name):
        """Returns {name in the source: its worst path}, by the module in which a path ends."""
        kinds = numpy.array([base_name(kind) for _, kind, _ in self.instances])
        owner = kinds[self.ends[:, 4]]
        reached = numpy.isfinite(self.end_arrival)
        return {kind: self.worst(numpy.flatnonzero((owner == kind) & reached))
                for kind in sorted(set(owner[reached].tolist()))}

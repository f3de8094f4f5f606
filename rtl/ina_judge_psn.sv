// SPDX-License-Identifier: Apache-2.0
//
// The decision table: takes, drops, passes or answers a packet by its PSN, as an RC responder would
// (docs/protocol.md, PSNs). Combinational.
//
//   distance = PSN - next PSN    the packet is
//   0                            expected: it is taken. If it is a border's, its job breaks unless
//                                the sum of the JOINs has gone out
//   positive                     past a gap: a probe is sent in its place, and its receiver answers
//                                with a NAK. Before the sum of its JOIN has gone out, no live
//                                connection sends such a packet: its job breaks
//   negative                     a duplicate. If it still waits in the queue, it is dropped. If it
//                                left as a sum, that sum answers it. If it was sent raw, it passes.
//                                If it is older than all these, a probe is sent in its place; but a
//                                border's packet passes, because what it needs is higher up
//   near 2^22                    another switch's probe, if one can come by this port and it is no
//                                JOIN: it passes, and does not count as a packet of the flow
//
// A packet is a suspect if it is far (no window reaches its PSN), if its opcode or length cannot be
// a contribution's, or if it starts a message of another job. Suspects are dropped, and in the end
// evict the flow. But a job that broke before the sum of its JOINs went out has no window here: its
// window is what other switches granted, so its far packets pass.
//
// Each PSN has one payload. A packet that was summed is sent only with the sum, and a packet that
// was sent raw only raw. A packet past a gap, which may still be summed, is not sent at all: no
// receiver will ever accept the PSN of its probe. So, however long the network delays packets, a
// receiver cannot assemble a message from raw packets and a summed trailer.

`default_nettype none

module ina_judge_psn #(
    parameter  int SLOT_COUNT = 128,
    localparam int SLOT_W     = $clog2(SLOT_COUNT)
) (
    // The port.
    input  logic uplink,  // the port leads to a higher switch
    input  logic probes,  // other switches' probes can come in by it

    input  logic decide,  // the last beat of the packet is here

    // A JOIN that ina_jobs has answered.
    input  logic answered,
    input  logic granted,
    input  logic held,  // dropped; the sender's retransmission asks again

    // The packet.
    input  logic candidate,  // has the form of a contribution
    input  logic quiet,      // within a quiet time that applies to it
    input  logic icrc_ok,
    input  logic well_formed,
    input  logic is_join,
    input  logic is_leave,

    // Its flow and its job.
    input  logic        hit,        // has a flow on this port
    input  logic [SLOT_W-1:0] window,  // packets, less one
    input  logic        elsewhere,  // has a flow on another port
    input  logic [23:0] distance,  // of the PSN from the flow's next PSN, signed
    input  logic        other_job,  // starts a message of another job than the flow's
    input  logic        puts_out,   // a suspect would evict the flow now
    input  logic        border,     // the flow is its job's border
    input  logic        begun,      // its JOIN has left as a sum; a border: the sum of all ranks
    input  logic        job_broken,
    input  logic        job_complete,

    // The places in which the packet may be.
    input  logic stored,      // the expected packet: all its beats are in the queue
    input  logic in_queue,    // a duplicate that waits for other ranks
    input  logic in_raw,      // a duplicate that was sent raw
    input  logic in_history,  // a duplicate whose sum is in the history

    // Valid with a hit.
    output logic own,      // the packet belongs to the flow
    output logic suspect,  // the packet is a suspect
    output logic advance,  // the packet is taken; known before the other outputs

    output ina_pkg::verdict_t                 verdict,
    output logic [ina_pkg::COUNTER_COUNT-1:0] events
);

  // Another switch's probe has a distance less than 2^14 from PROBE_PSN_OFFSET, which would be the
  // distance of this switch's own probe. The offset is a multiple of 2^14, so comparing the upper
  // bits is enough, without a subtraction.
  localparam int PROBE_REACH_W = 14;
  localparam logic [23-PROBE_REACH_W:0] PROBE_AT = ina_pkg::PROBE_PSN_OFFSET[23:PROBE_REACH_W];

  logic probe;

  assign probe = probes && !is_join && (distance[23:PROBE_REACH_W] == PROBE_AT
      || (distance[23:PROBE_REACH_W] == PROBE_AT - 1'b1 && distance[PROBE_REACH_W-1:0] != '0));

  // No window reaches this distance: the addresses now belong to another connection. For a negative
  // distance, ~distance is the number of packets between this packet and the next PSN.
  logic far;
  logic windowless;  // the job broke before it had a window

  assign windowless = job_broken && !begun;
  assign far = distance[23] ? ~distance > {24'(window) + 24'd1} << 1 : distance > 24'(window);

  // A stored packet is the expected one, so it is not far.
  assign advance = decide && stored && well_formed && icrc_ok && !answered && !quiet && !elsewhere
      && !other_job;

  // hit and quiet arrive late in the clock. A duplicate's place (in_queue, in_raw, in_history: at
  // most one of them is 1) arrives last. So these are the last inputs of the logic. `fits` has the
  // conditions of own except hit and quiet; `keep` stops synthesis from mixing those in.
  (* keep *) logic fits;
  logic duplicate;
  logic passes;  // the packet passes, for a reason other than a duplicate's place

  assign fits = decide && !answered && !elsewhere && candidate && icrc_ok && !probe && !far
      && !other_job;
  assign own       = fits && hit && !quiet;
  assign duplicate = own && distance[23];

  always_comb begin
    verdict = '0;
    passes  = 1'b0;
    events  = '0;
    suspect = 1'b0;
    if (decide) begin
      events[ina_pkg::COUNT_FRAMES_IN] = 1'b1;
      if (answered) begin
        passes = !granted && !held;
        events[ina_pkg::COUNT_JOINS_GRANTED]   = granted;
        events[ina_pkg::COUNT_JOINS_REFUSED]   = !granted && !held;
        events[ina_pkg::COUNT_JOINS_HELD]      = held && !uplink;
        events[ina_pkg::COUNT_NO_ROOM_DROPPED] = held && uplink;  // the down flow may not join yet
      end else if (quiet) begin
        events[ina_pkg::COUNT_QUIET_DROPPED] = 1'b1;
      end else if (elsewhere) begin
        events[ina_pkg::COUNT_ELSEWHERE_DROPPED] = 1'b1;
      end else if (!hit) begin
        passes = 1'b1;
      end else if (!candidate) begin  // its iCRC has not been checked
        suspect = 1'b1;
      end else if (!icrc_ok) begin
        events[ina_pkg::COUNT_ICRC_DROPPED] = 1'b1;
      end else if (probe) begin
        passes = 1'b1;
      end else if ((far && !windowless) || other_job) begin
        suspect = 1'b1;
      end else if (far) begin
        passes = 1'b1;
      end
    end
    if (suspect) begin
      verdict.put_out   = puts_out;
      verdict.break_job = puts_out;
      verdict.leave     = puts_out;
      events[ina_pkg::COUNT_SUSPECTS_DROPPED] = 1'b1;
    end
    if (own) begin
      if (distance == '0) begin  // expected
        if (!well_formed) begin
          passes            = 1'b1;
          verdict.break_job = 1'b1;
        end else if (stored) begin
          verdict.break_job = (is_leave && !job_complete) || (border && !begun);
        end else begin
          events[ina_pkg::COUNT_NO_ROOM_DROPPED] = 1'b1;
        end
      end else if (!distance[23]) begin  // past a gap
        events[ina_pkg::COUNT_GAPS] = 1'b1;
        if (job_broken || !begun) begin
          passes            = 1'b1;
          verdict.break_job = !begun;
          verdict.leave     = is_leave;
        end else begin
          verdict.resend = 1'b1;
          verdict.probe  = 1'b1;
        end
      end else if (in_queue) begin  // duplicates
        events[ina_pkg::COUNT_DUPLICATES_WAITING] = 1'b1;
      end else if (in_history) begin
        verdict.resend = 1'b1;
      end else if (!in_raw) begin
        verdict.resend = !border;
        verdict.probe  = !border;
        events[ina_pkg::COUNT_DUPLICATES_OLD] = 1'b1;
      end
    end
    verdict.pass = passes || (duplicate && (border ? !in_queue && !in_history : in_raw));
    verdict.take = advance || (decide && answered && granted);
    events[ina_pkg::COUNT_PACKETS_TAKEN] = verdict.take;
  end

endmodule

`default_nettype wire

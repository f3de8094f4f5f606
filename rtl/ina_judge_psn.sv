// SPDX-License-Identifier: Apache-2.0
//
// The decision table: what becomes of a packet, by its PSN, as an RC responder would decide
// (docs/protocol.md, PSNs). Combinational.
//
//   distance = PSN - next PSN    the packet is
//   0                            the expected one: taken
//   positive                     past a gap: a probe goes in its place, which draws the NAK
//   negative                     a duplicate. One that still waits in the queue is dropped; one
//                                that left as a sum is answered with that sum; any other passes
//
// One version for each PSN: a packet that was summed is only ever sent with the sum, one that went
// raw only ever raw, and a packet past a gap, whose fate is open, not at all: no receiver will ever
// accept its probe's PSN. So whatever the network delays, a receiver cannot put a message together
// from raw packets and a summed trailer.

`default_nettype none

module ina_judge_psn #(
    parameter int SLOT_COUNT = 128
) (
    input  logic decide,  // the packet's last beat is here

    // A JOIN that ina_jobs has answered.
    input  logic answered,
    input  logic granted,

    // The packet.
    input  logic candidate,  // a contribution by its shape
    input  logic roce_data,
    input  logic icrc_ok,
    input  logic well_formed,
    input  logic is_leave,

    // Its flow and its job.
    input  logic        hit,       // it has a flow
    input  logic [23:0] distance,  // from the flow's next PSN, as a signed number
    input  logic [1:0]  suspicion,
    input  logic        job_broken,
    input  logic        job_complete,

    // Its place.
    input  logic stored,      // the expected packet: all its beats are in the queue
    input  logic in_queue,    // a duplicate: it waits for other ranks
    input  logic in_history,  // a duplicate: its sum is there

    output ina_pkg::verdict_t                 verdict,
    output logic [ina_pkg::COUNTER_COUNT-1:0] events
);

  always_comb begin
    verdict = '0;
    events  = '0;
    if (decide) begin
      events[ina_pkg::COUNT_FRAMES_IN] = 1'b1;
      if (answered) begin
        verdict.take = granted;
        verdict.pass = !granted;
        events[ina_pkg::COUNT_JOINS_GRANTED] = granted;
        events[ina_pkg::COUNT_JOINS_REFUSED] = !granted;
      end else if (!hit) begin
        verdict.pass = 1'b1;
      end else if (!candidate) begin
        // Its iCRC is unknown. A damaged packet does not come again and again; a forbidden one
        // does.
        if (!roce_data || distance != '0 || job_broken) begin
          verdict.pass = 1'b1;
        end else if (suspicion == 2'd3) begin
          verdict.pass      = 1'b1;
          verdict.break_job = 1'b1;
        end else begin
          events[ina_pkg::COUNT_ICRC_DROPPED] = 1'b1;
        end
      end else if (!icrc_ok) begin
        events[ina_pkg::COUNT_ICRC_DROPPED] = 1'b1;
      end else if (distance == '0) begin  // expected
        if (!well_formed) begin
          verdict.pass      = 1'b1;
          verdict.break_job = 1'b1;
        end else if (stored) begin
          verdict.take      = 1'b1;
          verdict.break_job = is_leave && !job_complete;
        end else begin
          events[ina_pkg::COUNT_NO_ROOM_DROPPED] = 1'b1;
        end
      end else if (!distance[23]) begin  // past a gap
        events[ina_pkg::COUNT_GAPS] = 1'b1;
        if (job_broken) begin
          verdict.pass  = 1'b1;
          verdict.leave = is_leave;
        end else if (distance >= 24'(SLOT_COUNT)) begin
          // No member of a job can be that far ahead: the addresses now belong to another.
          verdict.pass      = 1'b1;
          verdict.break_job = 1'b1;
        end else begin
          verdict.resend = 1'b1;
          verdict.probe  = 1'b1;
        end
      end else if (in_queue) begin  // duplicates
        events[ina_pkg::COUNT_DUPLICATES_WAITING] = 1'b1;
      end else if (in_history) begin
        verdict.resend = 1'b1;
      end else begin
        verdict.pass = 1'b1;
        events[ina_pkg::COUNT_DUPLICATES_OLD] = 1'b1;
      end
      events[ina_pkg::COUNT_PACKETS_TAKEN] = verdict.take;
    end
  end

endmodule

`default_nettype wire

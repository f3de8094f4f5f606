// SPDX-License-Identifier: Apache-2.0
//
// The decision table: what becomes of a packet, by its PSN, as an RC responder would decide
// (docs/protocol.md, PSNs). Combinational.
//
//   distance = PSN - next PSN    the packet is
//   0                            the expected one: taken. A border's breaks its job, as below
//   positive                     past a gap: a probe goes in its place, which draws the NAK. Before
//                                the sum of its JOIN has gone out no live connection sends it: its
//                                job breaks
//   negative                     a duplicate. One that still waits in the queue is dropped; one
//                                that left as a sum is answered with that sum; one that was sent
//                                raw passes; a probe goes in place of what is older than all these
//                                (but a border's passes: what it needs is higher up)
//   2^22, or nearly              another switch's probe, where one can come from, unless it is a JOIN:
//                                it passes, and is no sign of the flow's life
//
// What no window reaches, a request or length that is no contribution's, and what starts a message of
// another job cannot be the flow's own: suspects, which are dropped, and put the flow out in the end.
// But a job
// that broke before the sum of its JOINs went out has no window here: others granted it theirs, and
// what is too far for this one passes.
//
// One version for each PSN: a packet that was summed is only ever sent with the sum, one that went
// raw only ever raw, and a packet past a gap, whose fate is open, not at all: no receiver will ever
// accept its probe's PSN. So whatever the network delays, a receiver cannot put a message together
// from raw packets and a summed trailer.

`default_nettype none

module ina_judge_psn #(
    parameter  int SLOT_COUNT = 128,
    localparam int SLOT_W     = $clog2(SLOT_COUNT)
) (
    // The port.
    input  logic uplink,  // it leads to a higher switch
    input  logic probes,  // other switches' probes can come by it

    input  logic decide,  // the packet's last beat is here

    // A JOIN that ina_jobs has answered.
    input  logic answered,
    input  logic granted,
    input  logic held,  // dropped, to come again

    // The packet.
    input  logic candidate,  // a contribution by its shape
    input  logic quiet,      // it comes in a quiet time that it falls under
    input  logic icrc_ok,
    input  logic well_formed,
    input  logic is_join,
    input  logic is_leave,

    // Its flow and its job.
    input  logic        hit,        // it has a flow
    input  logic [SLOT_W-1:0] window,  // packets, less one
    input  logic        elsewhere,  // it has one at another port
    input  logic [23:0] distance,  // from the flow's next PSN, as a signed number
    input  logic        other_job,  // it starts a message of another one
    input  logic        puts_out,   // a suspect ends the flow now
    input  logic        border,     // it is sent on as a part of the sum
    input  logic        begun,      // its JOIN has gone out as a sum; a border's: of all ranks
    input  logic        job_broken,
    input  logic        job_complete,

    // Its place.
    input  logic stored,      // the expected packet: all its beats are in the queue
    input  logic in_queue,    // a duplicate: it waits for other ranks
    input  logic in_raw,      // a duplicate: it was sent on raw
    input  logic in_history,  // a duplicate: its sum is there

    // With a hit.
    output logic own,      // it is the flow's
    output logic suspect,  // it cannot be
    output logic advance,  // it is taken; known before the rest

    output ina_pkg::verdict_t                 verdict,
    output logic [ina_pkg::COUNTER_COUNT-1:0] events
);

  // Another switch's probe is less than 2^14 from where this one's own would be, at PROBE_PSN_OFFSET:
  // a multiple of 2^14, so the upper bits tell, and no subtraction is needed.
  localparam int PROBE_REACH_W = 14;
  localparam logic [23-PROBE_REACH_W:0] PROBE_AT = ina_pkg::PROBE_PSN_OFFSET[23:PROBE_REACH_W];

  logic probe;

  assign probe = probes && !is_join && (distance[23:PROBE_REACH_W] == PROBE_AT
      || (distance[23:PROBE_REACH_W] == PROBE_AT - 1'b1 && distance[PROBE_REACH_W-1:0] != '0));

  // No window reaches so far: the addresses now belong to another connection.
  // ~distance is how far behind the packet before the next one it is.
  logic far;
  logic windowless;  // it broke before it had one

  assign windowless = job_broken && !begun;
  assign far = distance[23] ? ~distance > {24'(window) + 24'd1} << 1 : distance > 24'(window);

  // What is stored is the expected packet, so it is not far.
  assign advance = decide && stored && well_formed && icrc_ok && !answered && !quiet && !elsewhere
      && !other_job;

  // hit and quiet arrive late in the clock, and a duplicate's place (in_queue, in_raw, in_history: at
  // most one of them is 1) arrives last. So they are added behind all other conditions.
  (* keep *) logic fits;  // the conditions of own but hit and quiet; `keep` stops synthesis from mixing them in
  logic duplicate;
  logic passes;  // the packet passes, and not because of a duplicate's place

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
        events[ina_pkg::COUNT_NO_ROOM_DROPPED] = held && uplink;  // its switch is not so far
      end else if (quiet) begin
        events[ina_pkg::COUNT_QUIET_DROPPED] = 1'b1;
      end else if (elsewhere) begin
        events[ina_pkg::COUNT_ELSEWHERE_DROPPED] = 1'b1;
      end else if (!hit) begin
        passes = 1'b1;
      end else if (!candidate) begin  // its iCRC is unknown
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

// SPDX-License-Identifier: Apache-2.0
//
// Counts the events of the aggregator, in the order of model/counters.h. The events, the number of
// events of each kind, and the counters are separate register stages, because events come from far
// away on the chip.

`default_nettype none

module ina_counters #(
    parameter int PORT_COUNT = 4,
    parameter int JOB_COUNT  = 4
) (
    input  logic clk,
    input  logic rst,

    // From each port: the events of its judge (one bit for each counter), frames passed, frames
    // newly marked.
    input  logic [PORT_COUNT*ina_pkg::COUNTER_COUNT-1:0] judged,
    input  logic [PORT_COUNT-1:0]                        passed,
    input  logic [PORT_COUNT-1:0]                        marked,

    // From the jobs.
    input  logic                 opened,
    input  logic                 lacked,
    input  logic [JOB_COUNT-1:0] newly_closed,
    input  logic [JOB_COUNT-1:0] newly_broken,
    input  logic [JOB_COUNT-1:0] newly_expired,

    // Ports whose retransmission was answered, or was dropped because its length differs from that
    // of its sum, or was dropped because its sum had left the history.
    input  logic [PORT_COUNT-1:0] answered,
    input  logic [PORT_COUNT-1:0] differed,
    input  logic [PORT_COUNT-1:0] dropped,

    // A joined or raw packet was popped: its ports and its size.
    input  logic                             done_valid,
    input  logic                             done_raw,
    input  logic [PORT_COUNT-1:0]            done_mask,
    input  logic [ina_pkg::BEAT_INDEX_W-1:0] done_last_beat,
    input  logic [2:0]                       done_last_quads,

    output logic [ina_pkg::COUNTER_COUNT*ina_pkg::COUNTER_W-1:0] counters,
    output logic                                                 busy  // some are not counted yet
);

  localparam int COUNT_W = $clog2((PORT_COUNT > JOB_COUNT ? PORT_COUNT : JOB_COUNT) + 1);
  localparam int BYTES_W = $clog2(PORT_COUNT + 1) + 13;  // at most PORT_COUNT times 4096 bytes

  // The events, one clock later.
  logic                                         any_event;
  logic [PORT_COUNT*ina_pkg::COUNTER_COUNT-1:0] judged_q;
  logic [PORT_COUNT-1:0]                        passed_q;
  logic [PORT_COUNT-1:0]                        marked_q;
  logic                                         opened_q;
  logic                                         lacked_q;
  logic [JOB_COUNT-1:0]                         closed_q;
  logic [JOB_COUNT-1:0]                         broken_q;
  logic [JOB_COUNT-1:0]                         expired_q;
  logic [PORT_COUNT-1:0]                        answered_q;
  logic [PORT_COUNT-1:0]                        differed_q;
  logic [PORT_COUNT-1:0]                        dropped_q;
  logic [PORT_COUNT-1:0]                        raw;     // ports that popped a raw packet
  logic [PORT_COUNT-1:0]                        joined;  // ports that popped a summed packet
  logic [12:0]                                  bytes;   // of each of these packets

  assign any_event = judged_q != '0 || passed_q != '0 || marked_q != '0 || opened_q
      || lacked_q || closed_q != '0 || broken_q != '0 || expired_q != '0 || answered_q != '0
      || differed_q != '0 || dropped_q != '0 || raw != '0 || joined != '0;

  always_ff @(posedge clk) begin
    judged_q  <= judged;
    passed_q  <= passed;
    marked_q  <= marked;
    opened_q  <= opened;
    lacked_q  <= lacked;
    closed_q  <= newly_closed;
    broken_q  <= newly_broken;
    expired_q <= newly_expired;
    answered_q <= answered;
    differed_q <= differed;
    dropped_q  <= dropped;
    raw       <= (done_valid && done_raw) ? done_mask : '0;
    joined    <= (done_valid && !done_raw) ? done_mask : '0;
    if (done_valid)
      bytes <= {1'b0, done_last_beat, 6'd0} + {6'd0, done_last_quads, 4'd0};
    // Bytes too: in a simulator zero times an unknown number is unknown.
    if (rst)
      {judged_q, passed_q, marked_q, opened_q, lacked_q, closed_q, broken_q, expired_q,
       answered_q, differed_q, dropped_q, raw, joined, bytes} <= '0;
  end

  // The number of events of each kind.
  logic                                      counts;
  logic [ina_pkg::COUNTER_COUNT*COUNT_W-1:0] steps;
  logic [COUNT_W-1:0]                        ports;
  logic [12:0]                               port_bytes;

  assign busy = any_event || counts;

  always_ff @(posedge clk) begin : count
    logic [COUNT_W-1:0] step;

    counts <= any_event && !rst;
    if (any_event) begin
      // Events of the judges.
      for (int i = 0; i < ina_pkg::COUNTER_COUNT; i++) begin
        step = '0;
        for (int p = 0; p < PORT_COUNT; p++)
          step = step + COUNT_W'(judged_q[p*ina_pkg::COUNTER_COUNT + i]);
        steps[i*COUNT_W +: COUNT_W] <= step;
      end
      // All other events.
      steps[ina_pkg::COUNT_FRAMES_PASSED*COUNT_W +: COUNT_W]   <= ones_of_ports(passed_q);
      steps[ina_pkg::COUNT_ECN_MARKED*COUNT_W +: COUNT_W]      <= ones_of_ports(marked_q);
      steps[ina_pkg::COUNT_JOBS_EXPIRED*COUNT_W +: COUNT_W]    <= ones_of_jobs(expired_q);
      steps[ina_pkg::COUNT_JOBS_CLOSED*COUNT_W +: COUNT_W]     <= ones_of_jobs(closed_q);
      steps[ina_pkg::COUNT_JOBS_BROKEN*COUNT_W +: COUNT_W]     <= ones_of_jobs(broken_q);
      steps[ina_pkg::COUNT_JOBS_OPENED*COUNT_W +: COUNT_W]     <= COUNT_W'(opened_q);
      steps[ina_pkg::COUNT_CONTEXTS_LACKED*COUNT_W +: COUNT_W] <= COUNT_W'(lacked_q);
      steps[ina_pkg::COUNT_DUPLICATES_ANSWERED*COUNT_W +: COUNT_W] <= ones_of_ports(answered_q);
      steps[ina_pkg::COUNT_ANSWERS_DIFFER*COUNT_W +: COUNT_W]  <= ones_of_ports(differed_q);
      steps[ina_pkg::COUNT_ANSWERS_DROPPED*COUNT_W +: COUNT_W] <= ones_of_ports(dropped_q);
      steps[ina_pkg::COUNT_PACKETS_RAW*COUNT_W +: COUNT_W]     <= ones_of_ports(raw);
      steps[ina_pkg::COUNT_PACKETS_JOINED*COUNT_W +: COUNT_W]  <= ones_of_ports(joined);
      ports                                                    <= ones_of_ports(joined);
      port_bytes                                               <= bytes;
    end
  end

  function automatic logic [COUNT_W-1:0] ones_of_ports(input logic [PORT_COUNT-1:0] bits);
    ones_of_ports = '0;
    for (int p = 0; p < PORT_COUNT; p++) ones_of_ports = ones_of_ports + COUNT_W'(bits[p]);
  endfunction

  function automatic logic [COUNT_W-1:0] ones_of_jobs(input logic [JOB_COUNT-1:0] bits);
    ones_of_jobs = '0;
    if (bits != '0)
      for (int j = 0; j < JOB_COUNT; j++) ones_of_jobs = ones_of_jobs + COUNT_W'(bits[j]);
  endfunction

  always_ff @(posedge clk) begin
    if (rst) counters <= '0;
    else if (counts) begin
      for (int i = 0; i < ina_pkg::COUNTER_COUNT; i++)
        counters[i*ina_pkg::COUNTER_W +: ina_pkg::COUNTER_W] <=
            counters[i*ina_pkg::COUNTER_W +: ina_pkg::COUNTER_W]
            + (i == ina_pkg::COUNT_BYTES_JOINED
               ? ina_pkg::COUNTER_W'(BYTES_W'(ports) * BYTES_W'(port_bytes))
               : ina_pkg::COUNTER_W'(steps[i*COUNT_W +: COUNT_W]));
    end
  end

endmodule

`default_nettype wire

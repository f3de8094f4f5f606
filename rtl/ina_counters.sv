// SPDX-License-Identifier: Apache-2.0
//
// What the aggregator counts, in the order of model/counters.h. An event is counted from the second
// clock after it on: first how many of each there are, then their sums.

module ina_counters #(
    parameter int PORT_COUNT = 4,
    parameter int JOB_COUNT  = 4
) (
    input  logic clk,
    input  logic rst,

    // From each port: what its judge decided (one bit for each counter), frames passed on, frames
    // newly marked.
    input  logic [PORT_COUNT*ina_pkg::COUNTER_COUNT-1:0] judged,
    input  logic [PORT_COUNT-1:0]                        passed,
    input  logic [PORT_COUNT-1:0]                        marked,

    // From the jobs.
    input  logic                 opened,
    input  logic [JOB_COUNT-1:0] freed,
    input  logic [JOB_COUNT-1:0] newly_broken,
    input  logic [JOB_COUNT-1:0] newly_expired,

    // A retransmission was not answered: its sum had left the history.
    input  logic                 dropped,

    // A join or raw packet has been popped: its ports and its size.
    input  logic                             done_valid,
    input  logic                             done_raw,
    input  logic [PORT_COUNT-1:0]            done_mask,
    input  logic [ina_pkg::BEAT_INDEX_W-1:0] done_last_beat,
    input  logic [2:0]                       done_last_quads,

    output logic [ina_pkg::COUNTER_COUNT*ina_pkg::COUNTER_W-1:0] counters,
    output logic                                                 busy  // something is not counted yet
);

  localparam int COUNT_W = $clog2((PORT_COUNT > JOB_COUNT ? PORT_COUNT : JOB_COUNT) + 1);
  localparam int BYTES_W = $clog2(PORT_COUNT + 1) + 13;  // at most PORT_COUNT times 4096 bytes

  // How many of each there are.
  logic                                      happens;
  logic [ina_pkg::COUNTER_COUNT*COUNT_W-1:0] steps;
  logic [COUNT_W-1:0]                        ports;
  logic [12:0]                               bytes;  // of each port

  assign happens = judged != '0 || passed != '0 || marked != '0 || opened || freed != '0
      || newly_broken != '0 || newly_expired != '0 || dropped || done_valid;

  always_ff @(posedge clk) begin : count
    logic [COUNT_W-1:0] step;

    busy <= happens && !rst;
    if (happens) begin
      // What the judges count.
      for (int i = 0; i < ina_pkg::COUNTER_COUNT; i++) begin
        step = '0;
        for (int p = 0; p < PORT_COUNT; p++)
          step = step + COUNT_W'(judged[p*ina_pkg::COUNTER_COUNT + i]);
        steps[i*COUNT_W +: COUNT_W] <= step;
      end
      // What others do.
      steps[ina_pkg::COUNT_FRAMES_PASSED*COUNT_W +: COUNT_W]   <= ones_of_ports(passed);
      steps[ina_pkg::COUNT_ECN_MARKED*COUNT_W +: COUNT_W]      <= ones_of_ports(marked);
      steps[ina_pkg::COUNT_JOBS_EXPIRED*COUNT_W +: COUNT_W]    <= ones_of_jobs(newly_expired);
      steps[ina_pkg::COUNT_JOBS_CLOSED*COUNT_W +: COUNT_W]     <= ones_of_jobs(freed);
      steps[ina_pkg::COUNT_JOBS_BROKEN*COUNT_W +: COUNT_W]     <= ones_of_jobs(newly_broken);
      steps[ina_pkg::COUNT_JOBS_OPENED*COUNT_W +: COUNT_W]     <= COUNT_W'(opened);
      steps[ina_pkg::COUNT_ANSWERS_DROPPED*COUNT_W +: COUNT_W] <= COUNT_W'(dropped);
      steps[ina_pkg::COUNT_PACKETS_RAW*COUNT_W +: COUNT_W] <=
          (done_valid && done_raw) ? ones_of_ports(done_mask) : '0;
      steps[ina_pkg::COUNT_PACKETS_JOINED*COUNT_W +: COUNT_W] <=
          (done_valid && !done_raw) ? ones_of_ports(done_mask) : '0;
      ports <= (done_valid && !done_raw) ? ones_of_ports(done_mask) : '0;
      bytes <= {1'b0, done_last_beat, 6'd0} + {6'd0, done_last_quads, 4'd0};
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
    else if (busy) begin
      for (int i = 0; i < ina_pkg::COUNTER_COUNT; i++)
        counters[i*ina_pkg::COUNTER_W +: ina_pkg::COUNTER_W] <=
            counters[i*ina_pkg::COUNTER_W +: ina_pkg::COUNTER_W]
            + (i == ina_pkg::COUNT_BYTES_JOINED
               ? ina_pkg::COUNTER_W'(BYTES_W'(ports) * BYTES_W'(bytes))
               : ina_pkg::COUNTER_W'(steps[i*COUNT_W +: COUNT_W]));
    end
  end

endmodule

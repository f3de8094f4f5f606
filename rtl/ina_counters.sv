// SPDX-License-Identifier: Apache-2.0
//
// What the aggregator counts, in the order of model/counters.h. The counts include an event from
// the clock after it on.

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
    output logic                                                 busy  // an event this clock
);

  localparam int COUNT_W = $clog2(PORT_COUNT + 1);
  localparam int STEP_W  = COUNT_W + 13;  // at most PORT_COUNT times 4096 bytes

  logic [COUNT_W-1:0] done_ports;
  logic [12:0]        done_bytes;

  always_comb begin
    done_ports = '0;
    for (int p = 0; p < PORT_COUNT; p++) done_ports = done_ports + COUNT_W'(done_mask[p]);
  end

  assign done_bytes = {1'b0, done_last_beat, 6'd0} + {6'd0, done_last_quads, 4'd0};
  assign busy = judged != '0 || passed != '0 || marked != '0 || opened || freed != '0
      || newly_broken != '0 || newly_expired != '0 || dropped || done_valid;

  logic [ina_pkg::COUNTER_COUNT*STEP_W-1:0] steps;

  always_comb begin
    steps = '0;
    if (busy) begin
      for (int i = 0; i < ina_pkg::COUNTER_COUNT; i++)
        for (int p = 0; p < PORT_COUNT; p++)
          steps[i*STEP_W +: STEP_W] = steps[i*STEP_W +: STEP_W]
              + STEP_W'(judged[p*ina_pkg::COUNTER_COUNT + i]);
      for (int p = 0; p < PORT_COUNT; p++) begin
        steps[ina_pkg::COUNT_FRAMES_PASSED*STEP_W +: STEP_W] =
            steps[ina_pkg::COUNT_FRAMES_PASSED*STEP_W +: STEP_W] + STEP_W'(passed[p]);
        steps[ina_pkg::COUNT_ECN_MARKED*STEP_W +: STEP_W] =
            steps[ina_pkg::COUNT_ECN_MARKED*STEP_W +: STEP_W] + STEP_W'(marked[p]);
      end
      if ((freed | newly_broken | newly_expired) != '0) for (int j = 0; j < JOB_COUNT; j++) begin
        steps[ina_pkg::COUNT_JOBS_EXPIRED*STEP_W +: STEP_W] =
            steps[ina_pkg::COUNT_JOBS_EXPIRED*STEP_W +: STEP_W] + STEP_W'(newly_expired[j]);
        steps[ina_pkg::COUNT_JOBS_CLOSED*STEP_W +: STEP_W] =
            steps[ina_pkg::COUNT_JOBS_CLOSED*STEP_W +: STEP_W] + STEP_W'(freed[j]);
        steps[ina_pkg::COUNT_JOBS_BROKEN*STEP_W +: STEP_W] =
            steps[ina_pkg::COUNT_JOBS_BROKEN*STEP_W +: STEP_W] + STEP_W'(newly_broken[j]);
      end
      steps[ina_pkg::COUNT_JOBS_OPENED*STEP_W +: STEP_W] = STEP_W'(opened);
      steps[ina_pkg::COUNT_ANSWERS_DROPPED*STEP_W +: STEP_W] = STEP_W'(dropped);
      if (done_valid && done_raw)
        steps[ina_pkg::COUNT_PACKETS_RAW*STEP_W +: STEP_W] = STEP_W'(done_ports);
      if (done_valid && !done_raw) begin
        steps[ina_pkg::COUNT_PACKETS_JOINED*STEP_W +: STEP_W] = STEP_W'(done_ports);
        steps[ina_pkg::COUNT_BYTES_JOINED*STEP_W +: STEP_W] =
            STEP_W'(done_ports) * STEP_W'(done_bytes);
      end
    end
  end

  always_ff @(posedge clk) begin
    if (rst) counters <= '0;
    else if (busy)
      for (int i = 0; i < ina_pkg::COUNTER_COUNT; i++)
        counters[i*ina_pkg::COUNTER_W +: ina_pkg::COUNTER_W] <=
            counters[i*ina_pkg::COUNTER_W +: ina_pkg::COUNTER_W]
            + ina_pkg::COUNTER_W'(steps[i*STEP_W +: STEP_W]);
  end

endmodule

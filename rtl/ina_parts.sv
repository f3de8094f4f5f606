// SPDX-License-Identifier: Apache-2.0
//
// Counts how far each job's parts are ahead of the sums that come down for them (docs/protocol.md,
// Several switches). A packet of the down flow is early until the part of the same number has gone
// up. Also records whether any sum of all ranks has gone out; the first one is that of the JOINs.

`default_nettype none

module ina_parts #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1
) (
    input  logic clk,

    input  logic             opened,  // a context has a new job
    input  logic [JOB_W-1:0] opened_job,
    input  logic             up_valid,  // a part has gone up
    input  logic [JOB_W-1:0] up_job,
    input  logic             sum_valid,  // a sum of all ranks has gone out
    input  logic [JOB_W-1:0] sum_job,

    // The packets that each port's queue takes count if they are of the job's down flow.
    input  logic [PORT_COUNT-1:0]           commit_valid,
    input  logic [PORT_COUNT*JOB_W-1:0]     commit_job,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] job_down,

    output logic [JOB_COUNT-1:0] begun,     // the job's JOIN has gone up
    output logic [JOB_COUNT-1:0] early,     // the next packet of its down flow is early
    output logic [JOB_COUNT-1:0] answered   // the sum of its JOINs has gone out
);
  // As many bits as a PSN. A host that keeps to its window stays far below this limit.
  localparam int COUNT_W = 24;

  logic [COUNT_W-1:0]   ahead [JOB_COUNT];
  logic [JOB_COUNT-1:0] taken;

  always_comb begin
    taken = '0;
    for (int p = 0; p < PORT_COUNT; p++)
      if (commit_valid[p])
        taken = taken | (job_down[p*JOB_COUNT +: JOB_COUNT]
                         & (JOB_COUNT'(1) << commit_job[p*JOB_W +: JOB_W]));
  end

  always_ff @(posedge clk) begin
    if (sum_valid) answered[sum_job] <= 1'b1;
    if (opened) answered[opened_job] <= 1'b0;
  end

  always_ff @(posedge clk) begin : count
    logic               up;
    logic [COUNT_W-1:0] next;

    if (opened || up_valid || taken != '0) begin
      for (int j = 0; j < JOB_COUNT; j++) begin
        up   = up_valid && up_job == JOB_W'(j);
        next = ahead[j] + COUNT_W'(up) - COUNT_W'(taken[j]);
        if (opened && opened_job == JOB_W'(j)) next = '0;
        ahead[j] <= next;
        early[j] <= next == '0;
        begun[j] <= (begun[j] || up) && !(opened && opened_job == JOB_W'(j));
      end
    end
  end

endmodule

`default_nettype wire

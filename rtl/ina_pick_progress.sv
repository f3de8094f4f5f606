// SPDX-License-Identifier: Apache-2.0
//
// Tracks the packets that were issued on both paths: how many packets of each job have not ended
// yet, and on which ports the oldest retransmission is on its way.

`default_nettype none

module ina_pick_progress #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    parameter  int SLOT_COUNT = 128,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int FILL_W     = $clog2(SLOT_COUNT + 1)
) (
    input  logic clk,
    input  logic rst,

    // Issued in this clock: the job of a sum or raw packet on each path, and the ports of a
    // retransmission.
    input  logic [JOB_COUNT-1:0]  join_jobs,
    input  logic [JOB_COUNT-1:0]  relay_jobs,
    input  logic [PORT_COUNT-1:0] resends,

    // Progress.
    input  logic [PORT_COUNT-1:0] resend_pop,
    input  logic                  done_valid,
    input  logic [JOB_W-1:0]      done_job,
    input  logic                  join_undo,
    input  logic [JOB_W-1:0]      join_undo_job,
    input  logic                  relay_undo,
    input  logic [JOB_W-1:0]      relay_undo_job,

    output logic [JOB_COUNT-1:0]  any_ahead,
    output logic [PORT_COUNT-1:0] resending
);

  localparam int AHEAD_W = FILL_W + 1;

  // The number of packets that were issued and have not ended, up and down.
  logic [AHEAD_W-1:0] ahead [JOB_COUNT];

  always_ff @(posedge clk) begin : count_ahead
    logic [1:0] more;
    logic [1:0] fewer;

    if (join_jobs != '0 || relay_jobs != '0 || done_valid || join_undo || relay_undo || rst) begin
      for (int j = 0; j < JOB_COUNT; j++) begin
        more  = 2'(join_jobs[j]) + 2'(relay_jobs[j]);
        fewer = 2'(done_valid && done_job == JOB_W'(j))
            + 2'(join_undo && join_undo_job == JOB_W'(j))
            + 2'(relay_undo && relay_undo_job == JOB_W'(j));
        ahead[j]     <= rst ? '0 : ahead[j] + AHEAD_W'(more) - AHEAD_W'(fewer);
        any_ahead[j] <= !rst && (more != '0 || ahead[j] != AHEAD_W'(fewer));
      end
    end
  end

  always_ff @(posedge clk) resending <= rst ? '0 : (resending & ~resend_pop) | resends;

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// What becomes of the packets that were issued: how many of each job have not been popped yet,
// which ports' oldest retransmission is on its way, and which ports may be given one more packet.
//
// At most CHOSEN_MAX packets a port may be chosen while ina_rebuild does not know of them: that is
// what its `room` promises.

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

    // The packet that has been chosen, and is issued in this clock.
    input  logic                  chosen_valid,
    input  logic [JOB_COUNT-1:0]  chosen_jobs,  // zero for a retransmission
    input  logic [PORT_COUNT-1:0] chosen_mask,
    input  logic                  chosen_resend,
    input  logic                  issue,

    // Progress.
    input  logic [PORT_COUNT-1:0] rebuild_room,
    input  logic [PORT_COUNT-1:0] settled,
    input  logic [PORT_COUNT-1:0] resend_pop,
    input  logic                  done_valid,
    input  logic [JOB_W-1:0]      done_job,
    input  logic                  undo_valid,
    input  logic [JOB_W-1:0]      undo_job,

    output logic [JOB_COUNT-1:0]  any_ahead,
    output logic [PORT_COUNT-1:0] resending,
    output logic [PORT_COUNT-1:0] credit
);

  localparam int CHOSEN_MAX = 3;
  localparam int AHEAD_W    = FILL_W + 1;

  // Issued and not yet ended, on the way up and down: one more, and one or two fewer.
  logic [AHEAD_W-1:0] ahead [JOB_COUNT];

  always_ff @(posedge clk) begin : count_ahead
    logic       more;
    logic [1:0] fewer;

    if (issue || done_valid || undo_valid || rst) begin
      for (int j = 0; j < JOB_COUNT; j++) begin
        more  = issue && chosen_jobs[j];
        fewer = 2'(done_valid && done_job == JOB_W'(j)) + 2'(undo_valid && undo_job == JOB_W'(j));
        ahead[j]     <= rst ? '0 : ahead[j] + AHEAD_W'(more) - AHEAD_W'(fewer);
        any_ahead[j] <= !rst && (more || ahead[j] != AHEAD_W'(fewer));
      end
    end
  end

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_port
    logic [1:0] unsettled;
    logic       settled_1, settled_2;  // room follows a header within two clocks

    assign credit[p] = rebuild_room[p] && (unsettled != 2'(CHOSEN_MAX))
        && !(chosen_valid && chosen_mask[p] && unsettled == 2'(CHOSEN_MAX - 1));

    always_ff @(posedge clk) begin
      if (rst) begin
        unsettled    <= '0;
        resending[p] <= 1'b0;
        settled_1    <= 1'b0;
        settled_2    <= 1'b0;
      end else begin
        unsettled <= unsettled + 2'(issue && chosen_mask[p]) - 2'(settled_2);
        settled_1 <= settled[p];
        settled_2 <= settled_1;
        if (issue && chosen_resend && chosen_mask[p]) resending[p] <= 1'b1;
        else if (resend_pop[p]) resending[p] <= 1'b0;
      end
    end
  end

endmodule

`default_nettype wire

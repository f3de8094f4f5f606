// SPDX-License-Identifier: Apache-2.0
//
// When a flow of one port is put out (docs/protocol.md, Suspects): by the fourth suspect since its
// last packet, if that packet came before the last two ticks, so a quiet time ago at least.

`default_nettype none

module ina_judge_suspects #(
    parameter  int JOB_COUNT = 4,
    localparam int JOB_W     = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1
) (
    input logic clk,
    input logic tick,

    // The packet that is decided belongs to the flow of this job, or is a suspect there.
    input logic [JOB_W-1:0] job,
    input logic             own,
    input logic             suspect,

    input logic             learn,  // a flow begins
    input logic [JOB_W-1:0] learn_job,

    output logic puts_out  // if the packet is a suspect
);

  logic [1:0]           suspects [JOB_COUNT];  // since the flow's last packet, at most 3
  logic [JOB_COUNT-1:0] heard;                 // a packet of the flow came since the last tick
  logic [JOB_COUNT-1:0] heard_before;          // ... or between that and the one before it

  assign puts_out = suspects[job] == 2'd3 && !heard[job] && !heard_before[job];

  always_ff @(posedge clk) begin
    if (tick) begin
      heard_before <= heard;
      heard        <= '0;
    end
    if (learn) begin
      heard[learn_job]    <= 1'b1;
      suspects[learn_job] <= 2'd0;
    end else if (own) begin
      heard[job]    <= 1'b1;
      suspects[job] <= 2'd0;
    end else if (suspect && suspects[job] != 2'd3) begin
      suspects[job] <= suspects[job] + 2'd1;
    end
  end

endmodule

`default_nettype wire

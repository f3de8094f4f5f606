// SPDX-License-Identifier: Apache-2.0
//
// When a flow of one port is put out (docs/protocol.md, Suspects): by the fourth suspect since its
// last packet, if that packet came before the last two ends of patience, so at least as long ago.

`default_nettype none

module ina_judge_suspects #(
    parameter  int JOB_COUNT = 4,
    localparam int JOB_W     = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1
) (
    input logic clk,
    input logic patience,  // its end

    // The packet decided a clock ago belongs to the flow of this job, or is a suspect there.
    input logic [JOB_W-1:0] decided_job,
    input logic             own,
    input logic             suspect,

    input logic             learn,  // a flow begins
    input logic [JOB_W-1:0] learn_job,

    // The one that is decided now, of the flow of this job, puts it out if it is a suspect.
    input  logic [JOB_W-1:0] job,
    output logic             puts_out
);

  logic [1:0]           suspects [JOB_COUNT];  // since the flow's last packet, at most 3
  logic [JOB_COUNT-1:0] heard;                 // a packet of the flow came since the last end
  logic [JOB_COUNT-1:0] heard_before;          // ... or between that and the one before it

  // Behind a packet of a flow there is a clock without a beat (ina_parse), but not behind a suspect.
  logic third;  // the suspect of a clock ago was the third
  logic three;

  assign third    = suspect && decided_job == job && suspects[job] == 2'd2;
  assign three    = suspects[job] == 2'd3 || third;
  assign puts_out = three && !heard[job] && !heard_before[job];

  always_ff @(posedge clk) begin
    if (patience) begin
      heard_before <= heard;
      heard        <= '0;
    end
    if (learn) begin
      heard[learn_job]    <= 1'b1;
      suspects[learn_job] <= 2'd0;
    end else if (own) begin
      heard[decided_job]    <= 1'b1;
      suspects[decided_job] <= 2'd0;
    end else if (suspect && suspects[decided_job] != 2'd3) begin
      suspects[decided_job] <= suspects[decided_job] + 2'd1;
    end
  end

endmodule

`default_nettype wire

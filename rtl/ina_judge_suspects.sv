// SPDX-License-Identifier: Apache-2.0
//
// When a flow of one port is put out (docs/protocol.md, Suspects): by the fourth suspect since its
// last packet, if that packet came before the last two ends of patience, so at least as long ago.
//
// A packet of it that comes by another port counts too. But it may be of the very connection, so where
// such a packet is the fourth one the job breaks, and silence and count begin anew; the next time the
// flow is put out.

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
    output logic             puts_out,

    // A packet of the flow of this job has come by another port, if there is such a flow.
    input  logic                 contest_valid,
    input  logic [JOB_W-1:0]     contest_job,
    input  logic [JOB_COUNT-1:0] known,     // these jobs have a flow
    input  logic [JOB_COUNT-1:0] job_over,  // packets of these count for nothing
    output logic                 breaks,    // a clock later: the job of contest_job breaks
    output logic                 leaves     // ... or its flow is put out
);

  logic [1:0]           suspects [JOB_COUNT];  // in this silence of the flow, at most 3
  logic [JOB_COUNT-1:0] heard;                 // the silence began since the last end
  logic [JOB_COUNT-1:0] heard_before;          // ... or between that and the one before it
  logic [JOB_COUNT-1:0] contested;             // ... when its job broke for what came elsewhere

  // Behind a packet of a flow there is a clock without a beat (ina_parse), but not behind a suspect.
  logic third;  // the suspect of a clock ago was the third
  logic three;

  assign third    = suspect && decided_job == job && suspects[job] == 2'd2;
  assign three    = suspects[job] == 2'd3 || third;
  assign puts_out = three && !heard[job] && !heard_before[job];

  // At another port. The flow's own packet of the clock before has not been counted yet.
  logic       contests;
  logic       silent;
  logic       both;  // of the same flow
  logic [2:0] more;

  assign both     = contests && decided_job == contest_job;
  assign more     = 3'(suspects[contest_job]) + 3'd1 + 3'(suspect && both);
  assign contests = contest_valid && known[contest_job] && !job_over[contest_job];
  assign silent   = suspects[contest_job] == 2'd3 && !heard[contest_job]
      && !heard_before[contest_job] && !(own && decided_job == contest_job);

  always_ff @(posedge clk) begin
    breaks <= contests && silent && !contested[contest_job];
    leaves <= contests && silent && contested[contest_job];
  end

  always_ff @(posedge clk) begin
    if (patience) begin
      heard_before <= heard;
      heard        <= '0;
    end
    if (contests && silent) begin
      heard[contest_job]     <= 1'b1;
      contested[contest_job] <= 1'b1;
      suspects[contest_job]  <= 2'd0;
    end else if (contests) begin
      suspects[contest_job] <= more[2] ? 2'd3 : more[1:0];
    end
    if (learn) begin
      heard[learn_job]     <= 1'b1;
      contested[learn_job] <= 1'b0;
      suspects[learn_job]  <= 2'd0;
    end else if (own) begin
      heard[decided_job]     <= 1'b1;
      contested[decided_job] <= 1'b0;
      suspects[decided_job]  <= 2'd0;
    end else if (suspect && !both && suspects[decided_job] != 2'd3) begin
      suspects[decided_job] <= suspects[decided_job] + 2'd1;
    end
  end

endmodule

`default_nettype wire

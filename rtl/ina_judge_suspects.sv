// SPDX-License-Identifier: Apache-2.0
//
// Decides when the flows of one port are evicted (docs/protocol.md, Suspects): by the fourth
// suspect since the flow's last packet, if that packet came before the last two pulses of
// `patience`. So it came at least one interval of patience ago.
//
// A packet of the flow that comes in by another port counts as a suspect too. But it may belong to
// the same connection. So the first time that such a packet meets the conditions, its job breaks,
// and the silence and the count start again. The next time it evicts the flow.

`default_nettype none

module ina_judge_suspects #(
    parameter  int JOB_COUNT = 4,
    localparam int JOB_W     = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1
) (
    input logic clk,
    input logic patience,  // pulse at the end of each interval of patience

    // The packet that was decided in the previous clock: it belongs to this job's flow, or is a
    // suspect.
    input logic [JOB_W-1:0] decided_job,
    input logic             own,
    input logic             suspect,

    input logic             learn,  // a flow begins
    input logic [JOB_W-1:0] learn_job,

    // For the packet that is decided in this clock, of this job's flow: if it is a suspect, it
    // evicts the flow.
    input  logic [JOB_W-1:0] job,
    output logic             puts_out,

    // A packet of this job's flow, if it has one, has come in by another port.
    input  logic                 contest_valid,
    input  logic [JOB_W-1:0]     contest_job,
    input  logic [JOB_COUNT-1:0] known,        // these jobs have a flow
    input  logic [JOB_COUNT-1:0] job_lingers,  // packets of these jobs do not count
    output logic                 breaks,       // one clock later: the job of contest_job breaks
    output logic                 leaves        // one clock later: its flow is evicted
);

  logic [1:0]           suspects [JOB_COUNT];  // since the flow's last packet, at most 3
  logic [JOB_COUNT-1:0] heard;                 // the silence began after the last pulse
  logic [JOB_COUNT-1:0] heard_before;          // the silence began in the interval before it
  logic [JOB_COUNT-1:0] contested;             // in this silence the job broke for other ports

  // After a packet of a flow there is a clock without a beat (ina_parse), but not after a suspect.
  logic third;  // the suspect of the previous clock was the third one
  logic three;

  assign third    = suspect && decided_job == job && suspects[job] == 2'd2;
  assign three    = suspects[job] == 2'd3 || third;
  assign puts_out = three && !heard[job] && !heard_before[job];

  // Packets at other ports. The flow's own packet of the previous clock has not been counted yet.
  logic       contests;
  logic       silent;
  logic       both;  // own suspect and contest are of the same flow
  logic [2:0] more;

  assign both     = contests && decided_job == contest_job;
  assign more     = 3'(suspects[contest_job]) + 3'd1 + 3'(suspect && both);
  assign contests = contest_valid && known[contest_job] && !job_lingers[contest_job];
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

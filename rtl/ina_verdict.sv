// SPDX-License-Identifier: Apache-2.0
//
// Says with a packet's first beat whether the packet goes on, and what its job learns from it: a job
// whose packets were not alike is over at once, and one whose LEAVEs have gone on is closing. Both
// paths have one of these; what one of them knows of a job, the other knows two clocks later. What is
// known of a packet's job is looked up a clock before the packet begins, for much hangs on the answer;
// with what the path's own packet says that begins in that clock.

`default_nettype none

module ina_verdict #(
    parameter  int JOB_COUNT = 4,
    localparam int JOB_W     = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1
) (
    input  logic clk,
    input  logic rst,

    input  logic [JOB_COUNT-1:0] job_valid,
    input  logic [JOB_COUNT-1:0] job_broken,
    input  logic [JOB_COUNT-1:0] others_over,  // `over` of the other path

    input  logic [JOB_W-1:0] s_next_job,  // of the beat that may come in the next clock
    input  logic             s_valid,
    input  logic             s_first,
    input  logic [JOB_W-1:0] s_job,
    input  logic             s_sums,    // it is one that only a job in order may send on
    input  logic             s_wrong,   // ... and is not what it must be
    input  logic             s_leave,   // ... and is a LEAVE, the job's last
    input  logic             s_refuse,  // something else keeps it from going on

    output logic begins,   // a packet does
    output logic m_valid,  // the beat goes on

    output logic [JOB_COUNT-1:0] over,     // closing, or had packets that were not alike
    output logic [JOB_COUNT-1:0] closing,

    // In the clock after `begins`:
    output logic                 undo_valid,  // one with s_sums was called off
    output logic [JOB_W-1:0]     undo_job,
    output logic [JOB_COUNT-1:0] mismatch     // the job that breaks
);

  logic [JOB_COUNT-1:0] differed;
  logic [JOB_COUNT-1:0] lost;   // nothing of it is summed any more
  logic                 stale;  // chosen before its job was
  logic                 last;   // nothing of its job is summed behind it
  logic                 undo;
  logic                 refuse_d;
  logic                 refuse_q;

  assign begins   = s_valid && s_first;
  assign over     = closing | differed;
  assign lost     = job_broken | over | others_over | ~job_valid;
  assign undo     = s_sums && (stale || s_wrong);
  assign last     = begins && s_sums && (s_wrong || (s_leave && !stale));
  assign refuse_d = undo || s_refuse;
  assign m_valid  = s_valid && !(s_first ? refuse_d : refuse_q);

  always_ff @(posedge clk) begin
    stale      <= lost[s_next_job] || (last && s_next_job == s_job);
    undo_valid <= begins && undo && !rst;
    mismatch   <= (begins && undo && !stale && !rst) ? JOB_COUNT'(1) << s_job : '0;
    if (begins) begin
      refuse_q <= refuse_d;
      undo_job <= s_job;
      if (s_sums && !undo && s_leave) closing[s_job] <= 1'b1;
      if (s_sums && s_wrong) differed[s_job] <= 1'b1;
    end
    for (int j = 0; j < JOB_COUNT; j++) begin
      if (!job_valid[j]) begin
        closing[j]  <= 1'b0;
        differed[j] <= 1'b0;
      end
    end
    if (rst) begin
      closing  <= '0;
      differed <= '0;
    end
  end

endmodule

`default_nettype wire

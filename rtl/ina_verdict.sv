// SPDX-License-Identifier: Apache-2.0
//
// Decides at a packet's first beat whether the packet is sent on, and updates the state of its job.
// If the packets of a job differ, nothing of it is summed from then on (`stopped`). If its LEAVEs
// have been sent on, the job is closing. Each path has one of these modules; the other path sees a
// change two clocks later. The state of a packet's job is looked up one clock before the packet
// begins, because much logic follows. It includes the change by a packet of the same path that
// begins in that clock.

`default_nettype none

module ina_verdict #(
    parameter  int JOB_COUNT = 4,
    localparam int JOB_W     = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1
) (
    input  logic clk,
    input  logic rst,

    input  logic [JOB_COUNT-1:0] job_valid,
    input  logic [JOB_COUNT-1:0] job_broken,
    input  logic [JOB_COUNT-1:0] others_stopped,  // `stopped` of the other path

    input  logic [JOB_W-1:0] s_next_job,  // job of the beat that may come in the next clock
    input  logic             s_valid,
    input  logic             s_first,
    input  logic [JOB_W-1:0] s_job,
    input  logic             s_sums,    // the packet is a sum: its job must be in order
    input  logic             s_wrong,   // with s_sums: the packets differ
    input  logic             s_leave,   // with s_sums: it is a LEAVE, the last of its job
    input  logic             s_refuse,  // the packet is cancelled for another reason

    output logic begins,   // a packet begins
    output logic m_valid,  // the beat is sent on

    output logic [JOB_COUNT-1:0] stopped,  // closing, or its packets differed
    output logic [JOB_COUNT-1:0] closing,

    // Valid in the clock after `begins`:
    output logic                 undo_valid,  // a sum was cancelled
    output logic [JOB_W-1:0]     undo_job,
    output logic [JOB_COUNT-1:0] mismatch     // the job that breaks
);

  logic [JOB_COUNT-1:0] differed;
  logic [JOB_COUNT-1:0] lost;   // no packet of it is summed any more
  logic                 stale;  // chosen before its job was lost
  logic                 last;   // no packet of its job is summed after this one
  logic                 undo;
  logic                 refuse_d;
  logic                 refuse_q;

  assign begins   = s_valid && s_first;
  assign stopped  = closing | differed;
  assign lost     = job_broken | stopped | others_stopped | ~job_valid;
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

// SPDX-License-Identifier: Apache-2.0
//
// The table of jobs: who may join, who has joined, and what has become of it.
//
// A context is freed for all ports at once, when the LEAVEs of all its flows have gone out: before
// that, some receiver may still lack a sum, and its retransmission must find the flow known.
// It is given out again when nothing of the old job is under way any more.

module ina_jobs #(
    parameter int PORT_COUNT = 4,
    parameter int JOB_COUNT  = 4,
    parameter int SLOT_COUNT = 128,
    parameter int JOB_W      = $clog2(JOB_COUNT)
) (
    input  logic clk,
    input  logic rst,

    // A JOIN on a port asks for a flow, and holds until answer_valid. A refusal and a grant take
    // one clock; a context that is not yet quiet is waited for.
    input  logic [PORT_COUNT-1:0]    ask_valid,
    input  logic [PORT_COUNT*64-1:0] ask_job_id,
    input  logic [PORT_COUNT*16-1:0] ask_rank_count,
    input  logic [PORT_COUNT*32-1:0] ask_window,
    output logic [PORT_COUNT-1:0]    answer_valid,
    output logic                     answer_granted,
    output logic [JOB_W-1:0]         answer_job,

    // From each port's judge: the job breaks, or its LEAVE has passed by.
    input  logic [PORT_COUNT-1:0]       break_valid,
    input  logic [PORT_COUNT-1:0]       leave_valid,
    input  logic [PORT_COUNT*JOB_W-1:0] hit_job,

    // From the join: the job breaks.
    input  logic             mismatch_valid,
    input  logic [JOB_W-1:0] mismatch_job,

    // From behind the tree: the LEAVEs of these ports have gone out.
    input  logic                  done_valid,
    input  logic [JOB_W-1:0]      done_job,
    input  logic [PORT_COUNT-1:0] done_mask,

    input  logic [JOB_COUNT-1:0] job_quiet,  // nothing of this context is under way

    output logic [JOB_COUNT-1:0]            job_valid,
    output logic [JOB_COUNT-1:0]            job_complete,
    output logic [JOB_COUNT-1:0]            job_broken,
    output logic [JOB_COUNT*PORT_COUNT-1:0] job_mask,   // the ports of each job
    output logic [JOB_COUNT-1:0]            job_freed,  // one clock

    // One clock each, for ina_counters.
    output logic                 opened,
    output logic [JOB_COUNT-1:0] newly_broken
);

  localparam int RANKS_W = $clog2(PORT_COUNT + 1);

  logic [63:0]           job_id     [JOB_COUNT];
  logic [RANKS_W-1:0]    rank_count [JOB_COUNT];
  logic [RANKS_W-1:0]    missing    [JOB_COUNT];  // ranks that have not joined

  // The lowest port that asks and has no answer yet.
  logic                  asks;
  logic [PORT_COUNT-1:0] port;
  logic [63:0]           wanted_id;
  logic [15:0]           wanted_ranks;
  logic [31:0]           wanted_window;

  always_comb begin
    asks          = 1'b0;
    port          = '0;
    wanted_id     = '0;
    wanted_ranks  = '0;
    wanted_window = '0;
    for (int p = PORT_COUNT - 1; p >= 0; p--) begin
      if (ask_valid[p] && !answer_valid[p]) begin
        asks          = 1'b1;
        port          = PORT_COUNT'(1) << p;
        wanted_id     = ask_job_id[p*64 +: 64];
        wanted_ranks  = ask_rank_count[p*16 +: 16];
        wanted_window = ask_window[p*32 +: 32];
      end
    end
  end

  // Its job, or the lowest free context.
  logic             known;
  logic             found;
  logic [JOB_W-1:0] index;
  logic             possible;
  logic             may_attach;
  logic             grant;
  logic             wait_for_quiet;

  always_comb begin
    known = 1'b0;
    found = 1'b0;
    index = '0;
    if (asks) begin
      for (int j = JOB_COUNT - 1; j >= 0; j--) begin
        if (!job_valid[j]) begin
          found = 1'b1;
          index = JOB_W'(j);
        end
      end
      for (int j = 0; j < JOB_COUNT; j++) begin
        if (job_valid[j] && job_id[j] == wanted_id) begin
          known = 1'b1;
          index = JOB_W'(j);
        end
      end
    end
  end

  assign possible = wanted_ranks != '0 && wanted_ranks <= 16'(PORT_COUNT)
      && wanted_window != '0 && wanted_window <= 32'(SLOT_COUNT);
  assign may_attach = !job_broken[index] && !job_complete[index]
      && 16'(rank_count[index]) == wanted_ranks
      && (job_mask[index*PORT_COUNT +: PORT_COUNT] & port) == '0;
  assign grant = asks && possible && (known ? may_attach : found);
  // In the clock of job_freed a judge may still act for the old job.
  assign wait_for_quiet = grant && !known && (!job_quiet[index] || job_freed[index]);

  always_ff @(posedge clk) begin
    answer_valid   <= (rst || wait_for_quiet) ? '0 : port;
    answer_granted <= grant;
    answer_job     <= index;
    opened         <= !rst && grant && !known && !wait_for_quiet;
  end

  // Breaks that concern a job which is not broken yet.
  logic [JOB_COUNT-1:0] breaks;

  always_comb begin
    breaks = '0;
    for (int p = 0; p < PORT_COUNT; p++)
      if (break_valid[p]) breaks[hit_job[p*JOB_W +: JOB_W]] = 1'b1;
    if (mismatch_valid) breaks[mismatch_job] = 1'b1;
    breaks = breaks & job_valid & ~job_broken;
  end

  // The ports of each job whose LEAVE has gone out, with this clock's.
  logic [JOB_COUNT*PORT_COUNT-1:0] left;
  logic [JOB_COUNT*PORT_COUNT-1:0] left_now;
  logic [JOB_COUNT-1:0]            all_left;

  always_comb begin
    left_now = left;
    for (int p = 0; p < PORT_COUNT; p++)
      if (leave_valid[p]) left_now[32'(hit_job[p*JOB_W +: JOB_W])*PORT_COUNT + p] = 1'b1;
    if (done_valid)
      left_now[done_job*PORT_COUNT +: PORT_COUNT] =
          left_now[done_job*PORT_COUNT +: PORT_COUNT] | done_mask;
    for (int j = 0; j < JOB_COUNT; j++)
      all_left[j] = job_valid[j] && left_now[j*PORT_COUNT +: PORT_COUNT]
          == job_mask[j*PORT_COUNT +: PORT_COUNT];
  end

  always_ff @(posedge clk) begin
    job_freed    <= all_left;
    job_valid    <= job_valid & ~all_left;
    job_complete <= job_complete & ~all_left;
    newly_broken <= breaks;
    job_broken   <= job_broken | breaks;
    left         <= left_now;
    if (grant && !wait_for_quiet) begin
      if (known) begin
        job_mask[index*PORT_COUNT +: PORT_COUNT] <=
            job_mask[index*PORT_COUNT +: PORT_COUNT] | port;
        missing[index]      <= missing[index] - 1'b1;
        job_complete[index] <= missing[index] == RANKS_W'(1);
      end else begin
        job_valid[index]    <= 1'b1;
        job_broken[index]   <= 1'b0;
        job_complete[index] <= wanted_ranks == 16'd1;
        job_mask[index*PORT_COUNT +: PORT_COUNT] <= port;
        job_id[index]       <= wanted_id;
        rank_count[index]   <= wanted_ranks[RANKS_W-1:0];
        missing[index]      <= wanted_ranks[RANKS_W-1:0] - 1'b1;
        left[index*PORT_COUNT +: PORT_COUNT] <= '0;
      end
    end
    if (rst) begin
      job_valid    <= '0;
      job_freed    <= '0;
      job_complete <= '0;
      job_broken   <= '0;
      newly_broken <= '0;
    end
  end

endmodule

// SPDX-License-Identifier: Apache-2.0
//
// Queues the retransmissions and probes of a port, in order, until ina_relay can send them. Each
// has the number of its sum, from which ina_pick sees whether the sum is still in the history. Its
// header is in ina_queue, under the number of its entry here.
//
// `pending` tells to which jobs the entries belong. While entries of a job wait for its history,
// its context is not given to another job.
//
// `behind` tells for which jobs sums should wait. A host that goes back resends, in order, all
// packets that its receiver may lack. If a fresh sum overtook the answers, it would be past a gap
// at the receiver, which would send another NAK, and the host would go back again. So fresh sums
// wait from the first answer on, until a packet has come that needs no answer, or until no answer
// has come for PATIENCE ticks; and in both cases until all entries of the job have left. Each job
// has this state separately: a host that goes back does not hold back the sums of other jobs.

`default_nettype none

module ina_resend #(
    parameter  int JOB_COUNT  = 4,
    parameter  int SLOT_COUNT = 128,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int SLOT_W     = $clog2(SLOT_COUNT)
) (
    input  logic clk,
    input  logic rst,

    input  logic                               s_valid,
    output logic                               s_ready,
    input  ina_pkg::resend_t                   s_resend,
    output logic [ina_pkg::RESEND_ENTRY_W-1:0] s_entry,
    input  logic                               s_caught_up,  // a packet of its job needs no answer

    output logic                               m_valid,
    input  logic                               m_ready,
    output ina_pkg::resend_t                   m_resend,
    output logic [ina_pkg::RESEND_ENTRY_W-1:0] m_entry,

    output logic [JOB_COUNT-1:0] pending,  // an entry of this job is in this module
    output logic [JOB_COUNT-1:0] behind    // fresh sums of this job should wait
);

  localparam int DEPTH   = ina_pkg::RESEND_DEPTH;
  localparam int COUNT_W = $clog2(DEPTH) + 1;
  // 4096 clocks (the time of four of the largest packets at 10 Gb/s), and up to one tick more.
  localparam int TICK_W     = 10;
  localparam int PATIENCE   = 4;
  localparam int PATIENCE_W = $clog2(PATIENCE + 1);

  logic [COUNT_W-1:0] count;
  logic full;  // all entry numbers are in use
  logic push;
  logic pop;
  logic unused_ready;  // the FIFO has room for one more

  // The fields of a resend_t, as wide as these parameters need.
  typedef struct packed {
    logic                          probe;
    logic                          part;
    logic [JOB_W-1:0]              job;
    logic [SLOT_W-1:0]             slot;
    logic [ina_pkg::ORDINAL_W-1:0] ordinal;
    logic [ina_pkg::QUADS_W-1:0]   quads;
  } entry_t;

  entry_t           s_fields;
  entry_t           m_fields;
  logic [JOB_W-1:0] s_job;

  assign s_fields = {s_resend.probe, s_resend.part, s_job, s_resend.slot[SLOT_W-1:0],
                     s_resend.ordinal, s_resend.quads};
  assign s_job    = s_resend.job[JOB_W-1:0];
  assign s_ready  = !full;
  assign push     = s_valid && s_ready;
  assign pop      = m_valid && m_ready;
  assign s_entry  = m_entry + ina_pkg::RESEND_ENTRY_W'(count);

  ina_fifo #(.WIDTH($bits(s_fields)), .DEPTH(DEPTH)) fifo (
      .clk, .rst, .s_valid(push), .s_ready(unused_ready), .s_data(s_fields), .m_valid, .m_ready,
      .m_data(m_fields), .count);

  assign m_resend = {m_fields.probe, m_fields.part, 6'(m_fields.job), 15'(m_fields.slot),
                     m_fields.ordinal, m_fields.quads};

  // s_ready drives the counts of all jobs, so it comes from a register.
  always_ff @(posedge clk) begin
    if (push != pop) full <= push && count == COUNT_W'(DEPTH - 1);
    if (pop) m_entry <= m_entry + 1'b1;
    if (rst) begin
      full    <= 1'b0;
      m_entry <= '0;
    end
  end

  // An entry that has left still counts for one clock.
  logic [COUNT_W-1:0] counts [JOB_COUNT];
  logic               left;
  logic [JOB_W-1:0]   left_job;

  always_ff @(posedge clk) begin
    left     <= pop && !rst;
    left_job <= m_fields.job;
    if (!(push && left && s_job == left_job)) begin
      if (left) begin
        counts[left_job]  <= counts[left_job] - 1'b1;
        pending[left_job] <= counts[left_job] != COUNT_W'(1);
      end
      if (push) begin
        counts[s_job]  <= pending[s_job] ? counts[s_job] + 1'b1 : COUNT_W'(1);
        pending[s_job] <= 1'b1;
      end
    end
    if (rst) pending <= '0;
  end

  logic                  answer;
  logic [JOB_COUNT-1:0]  going_back;  // more answers are expected
  logic [TICK_W-1:0]     clocks;
  logic [PATIENCE_W-1:0] patience [JOB_COUNT];  // remaining ticks to wait for them

  assign answer = s_valid && !s_resend.probe;

  always_ff @(posedge clk) begin
    clocks <= clocks + 1'b1;
    for (int j = 0; j < JOB_COUNT; j++) begin
      if (clocks == '0) begin
        patience[j] <= patience[j] - 1'b1;
        if (patience[j] == '0) going_back[j] <= 1'b0;
      end
    end
    if (s_caught_up) going_back[s_job] <= 1'b0;
    behind <= going_back | (behind & pending);
    if (answer) begin
      patience[s_job]   <= PATIENCE_W'(PATIENCE);
      going_back[s_job] <= 1'b1;
      behind[s_job]     <= 1'b1;
    end
    if (rst) begin
      clocks     <= '0;
      going_back <= '0;
      behind     <= '0;
    end
  end

endmodule

`default_nettype wire

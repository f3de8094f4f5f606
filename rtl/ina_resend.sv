// SPDX-License-Identifier: Apache-2.0
//
// A port's retransmissions and probes, in order, until the join has time for them. Says which jobs
// they belong to: a context is not given to another job while its history is still asked for.
// The ordinal of its sum goes with each retransmission, by which ina_pick finds out whether the
// sum is still in the history when its turn comes. Its header waits in ina_queue, behind those of
// the packets that were taken, at the number of its entry here.

module ina_resend #(
    parameter int JOB_COUNT  = 4,
    parameter int SLOT_COUNT = 128,
    parameter int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    parameter int SLOT_W     = $clog2(SLOT_COUNT)
) (
    input  logic clk,
    input  logic rst,

    input  logic                               s_valid,
    output logic                               s_ready,
    input  logic                               s_probe,
    input  logic [JOB_W-1:0]                   s_job,
    input  logic [SLOT_W-1:0]                  s_slot,
    input  logic [ina_pkg::ORDINAL_W-1:0]      s_ordinal,
    output logic [ina_pkg::RESEND_ENTRY_W-1:0] s_entry,

    output logic                               m_valid,
    input  logic                               m_ready,
    output logic                               m_probe,
    output logic [JOB_W-1:0]                   m_job,
    output logic [SLOT_W-1:0]                  m_slot,
    output logic [ina_pkg::ORDINAL_W-1:0]      m_ordinal,
    output logic [ina_pkg::RESEND_ENTRY_W-1:0] m_entry,

    output logic [JOB_COUNT-1:0] pending  // something of this job is in here
);

  localparam int DEPTH   = ina_pkg::RESEND_DEPTH;
  localparam int WIDTH   = 1 + JOB_W + SLOT_W + ina_pkg::ORDINAL_W;
  localparam int COUNT_W = $clog2(DEPTH) + 1;

  logic [COUNT_W-1:0] count;
  logic push;
  logic pop;
  logic unused_ready;  // the FIFO has room for one more

  assign s_ready = count != COUNT_W'(DEPTH);
  assign push    = s_valid && s_ready;
  assign pop     = m_valid && m_ready;
  assign s_entry = m_entry + ina_pkg::RESEND_ENTRY_W'(count);

  ina_fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH)) fifo (
      .clk, .rst,
      .s_valid(push), .s_ready(unused_ready), .s_data({s_probe, s_job, s_slot, s_ordinal}),
      .m_valid, .m_ready, .m_data({m_probe, m_job, m_slot, m_ordinal}),
      .count);

  always_ff @(posedge clk) begin
    if (pop) m_entry <= m_entry + 1'b1;
    if (rst) m_entry <= '0;
  end

  logic [COUNT_W-1:0] counts [JOB_COUNT];

  always_ff @(posedge clk) begin
    if (!(push && pop && s_job == m_job)) begin
      if (pop) begin
        counts[m_job]  <= counts[m_job] - 1'b1;
        pending[m_job] <= counts[m_job] != COUNT_W'(1);
      end
      if (push) begin
        counts[s_job]  <= pending[s_job] ? counts[s_job] + 1'b1 : COUNT_W'(1);
        pending[s_job] <= 1'b1;
      end
    end
    if (rst) pending <= '0;
  end

endmodule

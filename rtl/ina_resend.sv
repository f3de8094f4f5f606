// SPDX-License-Identifier: Apache-2.0
//
// A port's retransmissions and probes, in order, until the join has time for them. Says which jobs
// they belong to: a context is not given to another job while its history is still asked for.

module ina_resend #(
    parameter int JOB_COUNT  = 4,
    parameter int SLOT_COUNT = 128,
    parameter int DEPTH      = 16,
    parameter int JOB_W      = $clog2(JOB_COUNT),
    parameter int SLOT_W     = $clog2(SLOT_COUNT),
    parameter int HEADER_T_W = ina_pkg::HEADER_T_W
) (
    input  logic clk,
    input  logic rst,

    input  logic              s_valid,
    output logic              s_ready,
    input  logic              s_probe,
    input  logic [JOB_W-1:0]  s_job,
    input  logic [SLOT_W-1:0] s_slot,
    input  ina_pkg::header_t  s_header,

    output logic                  m_valid,
    input  logic                  m_ready,
    output logic                  m_probe,
    output logic [JOB_W-1:0]      m_job,
    output logic [SLOT_W-1:0]     m_slot,
    output logic [HEADER_T_W-1:0] m_header,

    output logic [JOB_COUNT-1:0] pending  // something of this job is in here
);

  localparam int WIDTH   = 1 + JOB_W + SLOT_W + HEADER_T_W;
  localparam int COUNT_W = $clog2(DEPTH) + 1;

  logic [COUNT_W-1:0] unused_count;
  logic push;
  logic pop;

  assign push = s_valid && s_ready;
  assign pop  = m_valid && m_ready;

  ina_fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH)) fifo (
      .clk, .rst,
      .s_valid, .s_ready, .s_data({s_probe, s_job, s_slot, s_header}),
      .m_valid, .m_ready, .m_data({m_probe, m_job, m_slot, m_header}),
      .count(unused_count));

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_pending
    logic [COUNT_W-1:0] count;

    assign pending[j] = count != '0;

    always_ff @(posedge clk) begin
      if (rst) count <= '0;
      else
        count <= count + COUNT_W'(push && s_job == JOB_W'(j)) - COUNT_W'(pop && m_job == JOB_W'(j));
    end
  end

endmodule

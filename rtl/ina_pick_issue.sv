// SPDX-License-Identifier: Apache-2.0
//
// Holds the packet of one path from its choice until the path takes it, and counts the path's
// credit on each port. At most CHOSEN_MAX packets of a port may be chosen before ina_rebuild gets
// their headers; the `room` of ina_rebuild has space for them.

`default_nettype none

module ina_pick_issue #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1
) (
    input  logic clk,
    input  logic rst,

    // The choice.
    output logic                  free,  // a packet may be chosen
    input  logic                  s_valid,
    input  logic [1:0]            s_kind,
    input  logic [JOB_COUNT-1:0]  s_jobs,
    input  logic [JOB_W-1:0]      s_job,
    input  logic                  s_part,
    input  logic [PORT_COUNT-1:0] s_from,
    input  logic [PORT_COUNT-1:0] s_mask,
    input  ina_pkg::resend_t      s_resend,

    // Chosen, and issued with `issue`, when its queues move on.
    output logic                  chosen_valid,
    output logic                  chosen_new,   // chosen in the previous clock
    output logic [1:0]            chosen_kind,
    output logic [JOB_COUNT-1:0]  chosen_jobs,  // one-hot: the job of a sum or raw packet
    output logic [JOB_W-1:0]      chosen_job,
    output logic [PORT_COUNT-1:0] chosen_mask,
    output ina_pkg::resend_t      chosen_resend,
    output logic                  issue,
    output logic [PORT_COUNT-1:0] issue_heads,  // ports whose queues move on; 0: a retransmission

    input  logic [PORT_COUNT-1:0] room,
    input  logic [PORT_COUNT-1:0] settled,  // ina_rebuild has the header, or never gets it
    output logic [PORT_COUNT-1:0] credit,

    // Issued.
    output logic                  m_valid,
    input  logic                  m_ready,
    output logic [1:0]            m_kind,
    output logic [JOB_W-1:0]      m_job,
    output logic                  m_part,
    output logic [PORT_COUNT-1:0] m_from,
    output logic [PORT_COUNT-1:0] m_mask,
    output ina_pkg::resend_t      m_resend
);

  localparam int CHOSEN_MAX = 3;

  logic                  chosen_part;
  logic [PORT_COUNT-1:0] chosen_from;

  assign issue       = chosen_valid && (!m_valid || m_ready);
  assign issue_heads = (issue && chosen_kind != ina_pkg::KIND_RESEND) ? chosen_from : '0;
  assign free        = !chosen_valid || issue;

  always_ff @(posedge clk) begin
    chosen_new <= s_valid;
    if (issue) chosen_valid <= 1'b0;
    if (issue) chosen_jobs <= '0;
    if (s_valid) begin
      chosen_valid  <= 1'b1;
      chosen_kind   <= s_kind;
      chosen_jobs   <= s_jobs;
      chosen_job    <= s_job;
      chosen_part   <= s_part;
      chosen_from   <= s_from;
      chosen_mask   <= s_mask;
      chosen_resend <= s_resend;
    end
    if (!m_valid || m_ready) m_valid <= chosen_valid;
    if (issue) begin
      m_kind   <= chosen_kind;
      m_job    <= chosen_job;
      m_part   <= chosen_part;
      m_from   <= chosen_from;
      m_mask   <= chosen_mask;
      m_resend <= chosen_resend;
    end
    if (rst) begin
      chosen_new   <= 1'b0;
      chosen_valid <= 1'b0;
      chosen_jobs  <= '0;
      m_valid      <= 1'b0;
    end
  end

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_port
    logic [1:0] unsettled;
    logic       settled_1, settled_2;  // room follows a header within two clocks

    assign credit[p] = room[p] && (unsettled != 2'(CHOSEN_MAX))
        && !(chosen_valid && chosen_mask[p] && unsettled == 2'(CHOSEN_MAX - 1));

    always_ff @(posedge clk) begin
      if (rst) begin
        unsettled <= '0;
        settled_1 <= 1'b0;
        settled_2 <= 1'b0;
      end else begin
        unsettled <= unsettled + 2'(issue && chosen_mask[p]) - 2'(settled_2);
        settled_1 <= settled[p];
        settled_2 <= settled_1;
      end
    end
  end

endmodule

`default_nettype wire

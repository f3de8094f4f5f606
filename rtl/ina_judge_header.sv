// SPDX-License-Identifier: Apache-2.0
//
// The header with which a packet is sent on. The judge makes two edits, and updates the CRC for
// each:
//
//   AckReq  is set in every answer from the history. After a gap it is also set in every packet
//           that is taken, up to the next one that already has the bit: a sender that has gone
//           back ignores further NAKs until an ACK comes
//   PSN     of a probe: PROBE_PSN_OFFSET is added, so no receiver ever accepts the probe

`default_nettype none

module ina_judge_header #(
    parameter  int JOB_COUNT = 4,
    localparam int JOB_W     = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1
) (
    input  logic clk,

    input  ina_pkg::header_t s_header,
    input  logic             s_decide,

    // The decision of the previous clock. m_header is valid with it.
    input  logic             take,
    input  logic             opens,   // with take: a JOIN, the first packet of its flow
    input  logic             resend,
    input  logic             probe,   // with resend
    input  logic             gap,     // with probe: in place of a packet past a gap
    input  logic [JOB_W-1:0] job,

    output ina_pkg::header_t m_header
);
  localparam int ACK_AT = ina_pkg::BTH_ACK_AT*8 + 7;
  localparam int PSN_AT = ina_pkg::BTH_PSN_AT*8;

  // The change of the CRC when one bit of the headers is inverted. AckReq is 32 bits before the end
  // of the headers. In a probe only the two highest bits of the PSN change, in the first of its
  // three bytes.
  localparam logic [31:0] ACK_CRC    = ina_crc_pkg::advance(32'h80, 32);
  localparam logic [31:0] PSN_22_CRC = ina_crc_pkg::advance(32'h40, 24);
  localparam logic [31:0] PSN_23_CRC = ina_crc_pkg::advance(32'h80, 24);

  // After a gap in the job's flow, no packet that asks for an ACK has been taken yet.
  logic [JOB_COUNT-1:0] recovers;
  logic                 asks;      // the packet itself asks for an ACK
  logic                 ask;       // the judge makes it ask

  // The edits are known late in the clock of the decision, so they are made in the next clock.
  ina_pkg::header_t header_q;
  logic [7:0]       psn_high;
  logic [7:0]       probe_psn_high;

  assign asks = header_q.bytes[ACK_AT];
  assign ask  = !asks && !probe && (resend || (!opens && recovers[job]));

  always_ff @(posedge clk) begin
    if (s_decide) header_q <= s_header;
    if (gap) recovers[job] <= 1'b1;
    if (take && (asks || opens)) recovers[job] <= 1'b0;
  end

  assign psn_high       = header_q.bytes[PSN_AT +: 8];
  assign probe_psn_high = psn_high + ina_pkg::PROBE_PSN_OFFSET[23:16];

  always_comb begin
    m_header = header_q;
    if (ask) begin
      m_header.bytes[ACK_AT] = 1'b1;
      m_header.crc = header_q.crc ^ ACK_CRC;
    end
    if (probe) begin
      m_header.bytes[PSN_AT +: 8] = probe_psn_high;
      m_header.crc = header_q.crc
          ^ (psn_high[6] != probe_psn_high[6] ? PSN_22_CRC : 32'd0)
          ^ (psn_high[7] != probe_psn_high[7] ? PSN_23_CRC : 32'd0);
    end
  end

endmodule

`default_nettype wire

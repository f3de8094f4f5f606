// SPDX-License-Identifier: Apache-2.0
//
// The header with which a packet goes on, with the two edits that the judge makes, each with what
// it changes in the iCRC:
//
//   AckReq  set in every answer from the history, and in what is taken behind a gap until the
//           sender asks itself: a sender that has gone back heeds no other NAK until an ACK comes
//   PSN     of a probe: PROBE_PSN_OFFSET is added, so no receiver ever accepts it

`default_nettype none

module ina_judge_header #(
    parameter  int JOB_COUNT = 4,
    localparam int JOB_W     = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1
) (
    input  logic clk,

    input  ina_pkg::header_t s_header,
    input  logic             s_decide,

    // What was decided a clock ago, with m_header.
    input  logic             take,
    input  logic             opens,   // ... a JOIN, its flow's first packet
    input  logic             resend,
    input  logic             probe,   // with resend
    input  logic             gap,     // ... for a packet past a gap
    input  logic [JOB_W-1:0] job,

    output ina_pkg::header_t m_header
);
  localparam int ACK_AT = ina_pkg::BTH_ACK_AT*8 + 7;
  localparam int PSN_AT = ina_pkg::BTH_PSN_AT*8;

  // What a bit of the headers adds to their CRC. AckReq is 32 bits before their end; of a probe's
  // PSN the two highest bits change, in the first of its three bytes.
  localparam logic [31:0] ACK_CRC    = ina_crc_pkg::advance(32'h80, 32);
  localparam logic [31:0] PSN_22_CRC = ina_crc_pkg::advance(32'h40, 24);
  localparam logic [31:0] PSN_23_CRC = ina_crc_pkg::advance(32'h80, 24);

  logic [JOB_COUNT-1:0] recovers;  // there was a gap, and nothing that asks was taken since
  logic                 asks;      // for an ACK by itself
  logic                 ask;       // is made to

  // What is to be edited is known late in the clock of the decision: it is done in the next one.
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

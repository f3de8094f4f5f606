// SPDX-License-Identifier: Apache-2.0
//
// Checks the iCRC of candidates: the beats of ina_parse, two clocks of en later, with m_ok.

module ina_check (
    input  logic clk,
    input  logic rst,
    input  logic en,  // every register holds while en = 0

    // From ina_parse.
    input  logic                       s_valid,
    input  logic                       s_first,
    input  logic                       s_last,
    input  ina_pkg::header_t           s_header,
    input  logic [ina_pkg::BEAT_W-1:0] s_data,
    input  logic [2:0]                 s_quads,
    input  logic                       s_candidate,
    input  logic                       s_roce_data,
    input  logic [31:0]                s_icrc,
    input  logic                       s_wrong_length,

    // The same beats, two clocks of en later.
    output logic                       m_valid,
    output logic                       m_first,
    output logic                       m_last,
    output ina_pkg::header_t           m_header,     // stable from m_first to m_last
    output logic [ina_pkg::BEAT_W-1:0] m_data,
    output logic                       m_candidate,
    output logic                       m_roce_data,
    output logic                       m_ok,         // with a candidate's m_last: all is right

    output logic                       busy          // a beat is in here
);
  // First clock: the CRC of the beat and of the header, each alone.
  logic                       c_valid;
  logic                       c_first;
  logic                       c_last;
  ina_pkg::header_t           c_header;
  logic [ina_pkg::BEAT_W-1:0] c_data;
  logic [2:0]                 c_quads;
  logic                       c_candidate;
  logic                       c_roce_data;
  logic [31:0]                c_icrc;
  logic                       c_wrong_length;
  logic [31:0]                c_crc;
  logic [31:0]                c_header_crc;

  ina_crc beat_crc (
      .clk     (clk),
      .s_valid (en && s_valid && s_candidate),
      .s_absent(3'd4 - s_quads),
      .s_other (1'b0),
      .s_data  (s_data),
      .m_crc   (c_crc)
  );

  ina_header_crc header_crc (
      .clk     (clk),
      .s_valid (en && s_valid && s_candidate && s_first),
      .s_ipv6  (s_header.is_ipv6),
      .s_header(s_header.bytes),
      .m_crc   (c_header_crc)
  );

  // Second clock: the packet's CRC up to this beat.
  logic [31:0] m_crc;
  logic [31:0] m_icrc;
  logic        m_wrong_length;

  ina_crc_state packet_crc (
      .clk    (clk),
      .s_valid(en && c_valid && c_candidate),
      .s_first(c_first),
      .s_start(c_header_crc),
      .s_quads(c_quads),
      .s_crc  (c_crc),
      .m_crc  (m_crc)
  );

  assign m_ok = !m_wrong_length && m_crc == ~m_icrc;
  assign busy = c_valid || m_valid;

  always_ff @(posedge clk) begin
    if (rst) begin
      c_valid <= 1'b0;
      m_valid <= 1'b0;
    end else if (en) begin
      c_valid <= s_valid;
      m_valid <= c_valid;
    end
  end

  always_ff @(posedge clk) begin
    if (en && s_valid) begin
      c_first        <= s_first;
      c_last         <= s_last;
      c_quads        <= s_quads;
      c_candidate    <= s_candidate;
      c_roce_data    <= s_roce_data;
      c_icrc         <= s_icrc;
      c_wrong_length <= s_wrong_length;
      if (s_first) c_header <= s_header;
      if (s_candidate) c_data <= s_data;
    end
    if (en && c_valid) begin
      m_first        <= c_first;
      m_last         <= c_last;
      m_candidate    <= c_candidate;
      m_roce_data    <= c_roce_data;
      m_icrc         <= c_icrc;
      m_wrong_length <= c_wrong_length;
      if (c_first) m_header <= c_header;
      if (c_candidate) m_data <= c_data;
    end
  end

endmodule

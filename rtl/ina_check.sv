// SPDX-License-Identifier: Apache-2.0
//
// Checks the iCRC of candidates: the beats of ina_parse, three clocks of en later, with m_ok in a
// register. What the judge must know before a beat comes to it leaves earlier.

module ina_check (
    input  logic clk,
    input  logic rst,
    input  logic en,  // every register holds while en = 0

    // From ina_parse.
    input  logic                       s_valid,
    input  logic                       s_first,
    input  logic                       s_last,
    input  ina_pkg::header_t           s_header,
    input  logic [ina_pkg::BEAT_W-1:0] s_data,    // zeros past the payload's end
    input  logic [2:0]                 s_quads,
    input  logic                       s_candidate,
    input  logic                       s_roce_data,
    input  logic [31:0]                s_icrc,
    input  logic                       s_wrong_length,

    // A packet's first beat, one clock of en later: its flow is looked up.
    output logic                       early_valid,
    output ina_pkg::header_t           early_header,  // but for its CRC

    // The same beats, two clocks of en later: a JOIN stops the ingress.
    output logic                       next_valid,
    output logic                       next_first,
    output logic                       next_candidate,
    output logic [31:0]                next_lane_0,

    // The same beats, three clocks of en later.
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
  logic                       c_candidate;
  logic                       c_roce_data;
  logic                       c_wrong_length;
  logic [31:0]                c_crc;
  logic [31:0]                c_header_crc;

  ina_crc beat_crc (
      .clk     (clk),
      .s_valid (en && s_valid && s_candidate),
      .s_other (1'b0),
      .s_data  (s_data),
      .m_crc   (c_crc)
  );

  // What the CRC must be, counting the zeros behind a last beat that is not full: up to three quads
  // of them, one in this clock and two in the next.
  logic [31:0] c_expected;
  logic [31:0] p_expected;
  logic [1:0]  s_absent;
  logic        c_absent_two;

  assign s_absent = 2'(3'd4 - s_quads);

  ina_crc_state #(.QUADS(1)) expected_1 (
      .clk      (clk),
      .s_valid  (en && s_valid && s_candidate && s_last),
      .s_first  (1'b1),
      .s_start  (~s_icrc),
      .s_advance(s_absent[0]),
      .s_crc    (32'd0),
      .m_crc    (c_expected)
  );

  ina_crc_state #(.QUADS(2)) expected_2 (
      .clk      (clk),
      .s_valid  (en && c_valid && c_candidate && c_last),
      .s_first  (1'b1),
      .s_start  (c_expected),
      .s_advance(c_absent_two),
      .s_crc    (32'd0),
      .m_crc    (p_expected)
  );

  ina_header_crc header_crc (
      .clk     (clk),
      .s_valid (en && s_valid && s_candidate && s_first),
      .s_ipv6  (s_header.is_ipv6),
      .s_header(s_header.bytes),
      .m_crc   (c_header_crc)
  );

  // Second clock: the packet's CRC up to this beat.
  logic                       p_valid;
  logic                       p_first;
  logic                       p_last;
  ina_pkg::header_t           p_header;
  logic [ina_pkg::BEAT_W-1:0] p_data;
  logic                       p_candidate;
  logic                       p_roce_data;
  logic                       p_wrong_length;
  logic [31:0]                p_crc;

  ina_crc_state packet_crc (
      .clk      (clk),
      .s_valid  (en && c_valid && c_candidate),
      .s_first  (c_first),
      .s_start  (c_header_crc),
      .s_advance(1'b1),
      .s_crc    (c_crc),
      .m_crc    (p_crc)
  );

  assign early_valid    = c_valid && c_first;
  assign early_header   = c_header;
  assign next_valid     = p_valid;
  assign next_first     = p_first;
  assign next_candidate = p_candidate;
  assign next_lane_0    = p_data[31:0];
  assign busy           = c_valid || p_valid || m_valid;

  always_ff @(posedge clk) begin
    if (rst) begin
      c_valid <= 1'b0;
      p_valid <= 1'b0;
      m_valid <= 1'b0;
    end else if (en) begin
      c_valid <= s_valid;
      p_valid <= c_valid;
      m_valid <= p_valid;
    end
  end

  // Third clock: the verdict.
  always_ff @(posedge clk) begin
    if (en && s_valid) begin
      c_first        <= s_first;
      c_last         <= s_last;
      c_absent_two   <= s_absent[1];
      c_candidate    <= s_candidate;
      c_roce_data    <= s_roce_data;
      c_wrong_length <= s_wrong_length;
      if (s_first) c_header <= s_header;
      if (s_candidate) c_data <= s_data;
    end
    if (en && c_valid) begin
      p_first        <= c_first;
      p_last         <= c_last;
      p_candidate    <= c_candidate;
      p_roce_data    <= c_roce_data;
      p_wrong_length <= c_wrong_length;
      if (c_first) begin
        p_header     <= c_header;
        p_header.crc <= c_header_crc;
      end
      if (c_candidate) p_data <= c_data;
    end
    if (en && p_valid) begin
      m_first     <= p_first;
      m_last      <= p_last;
      m_candidate <= p_candidate;
      m_roce_data <= p_roce_data;
      m_ok        <= !p_wrong_length && p_crc == p_expected;
      if (p_first) m_header <= p_header;
      if (p_candidate) m_data <= p_data;
    end
  end

endmodule

// SPDX-License-Identifier: Apache-2.0
//
// Checks the iCRC of candidates. The beats of ina_parse leave two clocks of en later, with m_ok in
// a register. The fields that the judge needs earlier leave earlier.
//
// The CRC covers headers and payload, and continues over the iCRC after them. The CRC of any
// message followed by its own CRC is the same constant.

`default_nettype none

module ina_check (
    input  logic clk,
    input  logic rst,
    input  logic en,  // every register holds while en = 0

    // From ina_parse.
    input  logic                       s_head,       // s_data has the headers
    input  logic                       s_head_ipv6,
    input  logic                       s_valid,
    input  logic                       s_first,
    input  logic                       s_last,
    input  ina_pkg::header_t           s_header,
    input  logic [ina_pkg::BEAT_W-1:0] s_data,       // zeros after the iCRC
    input  logic [31:0]                s_after,
    input  logic [2:0]                 s_quads,
    input  logic                       s_candidate,
    input  logic                       s_roce_data,
    input  logic                       s_wrong_length,
    input  logic                       s_trailed,

    // The same beats, one clock of en later, because a JOIN stops the ingress.
    output logic                       next_valid,
    output logic                       next_first,
    output logic                       next_last,
    output logic                       next_candidate,
    output logic [31:0]                next_lane_0,
    output logic [63:0]                next_job_id,  // valid if a message starts

    // The same beats, two clocks of en later.
    output logic                       m_valid,
    output logic                       m_first,
    output logic                       m_last,
    output ina_pkg::header_t           m_header,     // of a candidate; stable until m_last
    output logic [ina_pkg::BEAT_W-1:0] m_data,       // zeros after the end of the payload
    output logic                       m_candidate,
    output logic                       m_roce_data,
    output logic                       m_ok,         // valid with m_last: length and iCRC are right
    output logic                       m_trailed,    // with m_ok: bytes follow the iCRC

    output logic                       busy          // a beat is in this module
);
  localparam int LANE_W = ina_pkg::LANE_W;
  localparam int QUAD_W = ina_pkg::QUAD_W;

  // First clock: the CRC of this beat only.
  logic                       c_head;
  logic                       c_valid;
  logic                       c_first;
  logic                       c_last;
  logic [2:0]                 c_quads;
  logic [ina_pkg::BEAT_W-1:0] c_data;
  logic [31:0]                c_after;
  logic                       c_candidate;
  logic                       c_roce_data;
  logic                       c_wrong_length;
  logic                       c_trailed;
  logic [31:0]                c_crc;

  ina_beat_crc beat_crc (
      .clk    (clk),
      .s_valid(en && (s_head || (s_valid && s_candidate))),
      .s_head (s_head),
      .s_ipv6 (s_head_ipv6),
      .s_data (s_data),
      .m_crc  (c_crc)
  );

  // Second clock: the packet's CRC up to this beat, and the verdict. By now it is known whether the
  // headers are a candidate's.
  logic        counts;
  logic [31:0] packet_crc;
  logic [31:0] before_crc;  // before this beat; before the first beat: of the headers
  logic [31:0] expected;

  ina_crc_step packet_step (
      .s_valid  (counts),
      .s_state  (before_crc),
      .s_advance(1'b1),
      .s_crc    (c_crc),
      .m_crc    (packet_crc)
  );

  assign counts = en && ((c_head && s_candidate) || (c_valid && c_candidate));

  always_ff @(posedge clk) begin
    if (rst || (counts && c_valid && c_last)) before_crc <= '0;
    else if (counts) before_crc <= packet_crc;
  end

  // The CRC register after a message, its CRC, and zeros up to the end of the beat. If the beat is
  // full, the iCRC follows it in c_after.
  localparam logic [31:0] RIGHT_1 = ina_crc_pkg::advance(32'hFFFF_FFFF, 3 * QUAD_W);
  localparam logic [31:0] RIGHT_2 = ina_crc_pkg::advance(32'hFFFF_FFFF, 2 * QUAD_W);
  localparam logic [31:0] RIGHT_3 = ina_crc_pkg::advance(32'hFFFF_FFFF, QUAD_W);

  always_comb begin
    case (c_quads)
      3'd1:    expected = RIGHT_1;
      3'd2:    expected = RIGHT_2;
      3'd3:    expected = RIGHT_3;
      default: expected = ~c_after;
    endcase
  end

  assign next_valid     = c_valid;
  assign next_first     = c_first;
  assign next_last      = c_last;
  assign next_candidate = c_candidate;
  assign next_lane_0    = c_data[LANE_W-1:0];
  assign next_job_id    = c_data[ina_pkg::MESSAGE_JOB_ID_AT*8 +: 64];
  assign busy           = c_head || c_valid || m_valid;

  always_ff @(posedge clk) begin
    if (rst) begin
      c_head  <= 1'b0;
      c_valid <= 1'b0;
      m_valid <= 1'b0;
    end else if (en) begin
      c_head  <= s_head;
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
      c_wrong_length <= s_wrong_length;
      c_trailed      <= s_trailed;
      if (s_candidate) begin
        c_data  <= s_data;
        c_after <= s_after;
        // Clears the iCRC if it is in this beat.
        for (int q = 1; q < ina_pkg::QUAD_COUNT; q++)
          if (s_quads == 3'(q)) c_data[q*QUAD_W +: LANE_W] <= '0;
      end
    end
    if (en && c_valid) begin
      m_first     <= c_first;
      m_last      <= c_last;
      m_candidate <= c_candidate;
      m_roce_data <= c_roce_data;
      m_ok        <= !c_wrong_length && packet_crc == expected;
      m_trailed   <= c_trailed;
      if (c_candidate) m_data <= c_data;
      if (c_candidate && c_first) begin
        m_header     <= s_header;  // still of this frame: a candidate has two beats or more
        m_header.crc <= before_crc;
      end
    end
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// What one path has for one port: the headers of its packets, their beats, and a CRC each, queued
// apart, until ina_rebuild puts them together.

`default_nettype none

module ina_outbox #(
    parameter int MTU = 4096  // the largest payload, in bytes
) (
    input  logic clk,
    input  logic rst,

    // The header of the next packet in the path's stream that goes to this port, in their order.
    // It may come long before the packet's first beat, and comes in the clock before it at the latest.
    // s_header_valid also reserves the room of the packet's beats. A packet whose header was given must follow in full.
    input  logic             s_header_valid,
    input  ina_pkg::header_t s_header,
    input  logic             s_header_ce,  // leave with ECN = 3, if it is ECN-capable

    // The path's beats; s_valid only for packets of this port (mask bit set).
    input  logic                       s_valid,
    input  logic                       s_last,
    input  logic [ina_pkg::BEAT_W-1:0] s_data,
    input  logic [31:0]                s_crc,    // ina_payload_crc's, with s_last

    // room: besides everything whose header has been given, three more packets of the largest size
    // fit. It falls two clocks after s_header_valid at the earliest.
    output logic room,

    // The oldest of each. Who takes a header knows from elsewhere that it is there.
    input  logic             m_header_ready,
    output ina_pkg::header_t m_header,  // `congested`: it is to be marked
    output logic                       m_beat_valid,
    input  logic                       m_beat_ready,
    output logic [ina_pkg::BEAT_W-1:0] m_beat,
    input  logic                       m_crc_ready,
    output logic [31:0]                m_crc,  // with a packet's last beat

    output logic busy  // something is in here, or its header is
);
  localparam int PACKET_BEATS = MTU / ina_pkg::BEAT_BYTES;
  // Four packets; where they are small, what is under way from the join to here, and some more.
  localparam int BEAT_DEPTH   = PACKET_BEATS > 32 ? 4 * PACKET_BEATS : 128;
  localparam int PACKET_DEPTH = 32;
  localparam int HEADER_COUNT_W = $clog2(PACKET_DEPTH + 2);
  localparam int BEAT_COUNT_W   = $clog2(BEAT_DEPTH + 2);

  // Every packet between its header and its last beat out of the beat queue, in beats.
  localparam int RESERVED_W = $clog2(BEAT_DEPTH + 1);
  logic [RESERVED_W-1:0] reserved;
  logic [RESERVED_W-1:0] packet_beats;
  assign packet_beats = RESERVED_W'((s_header.quads + 9'd3) >> 2);

  // To be marked: the frame is ECN-capable and not marked yet, so its ECN is 1 or 2.
  logic [1:0] ecn;
  logic       marks;

  assign ecn   = s_header.is_ipv6 ? s_header.bytes[(ina_pkg::IP_AT+1)*8+4 +: 2]
                                  : s_header.bytes[ina_pkg::IPV4_TOS_AT*8 +: 2];
  assign marks = s_header_ce && ^ecn;

  // Who minds `room` never finds a queue full.
  localparam int HEADER_FIFO_W = 32 + 3 + ina_pkg::QUADS_W + ina_pkg::HEADER_W;
  logic                      header_ready;
  logic                      header_valid;
  logic [HEADER_FIFO_W-1:0]  header;
  logic [HEADER_COUNT_W-1:0] header_count;
  logic                      beat_ready;
  logic [BEAT_COUNT_W-1:0]   beat_count;
  logic                      crc_ready;
  logic                      crc_valid;
  logic [HEADER_COUNT_W-1:0] crc_count;
  logic                      unused;

  ina_fifo #(.WIDTH(HEADER_FIFO_W), .DEPTH(PACKET_DEPTH)) headers (
      .clk, .rst, .s_valid(s_header_valid), .s_ready(header_ready),
      .s_data({s_header.crc, marks, s_header.is_ipv6, s_header.has_vlan, s_header.quads,
               s_header.bytes}),
      .m_valid(header_valid), .m_ready(m_header_ready), .m_data(header), .count(header_count));

  ina_fifo #(.WIDTH(ina_pkg::BEAT_W), .DEPTH(BEAT_DEPTH)) beats (
      .clk, .rst, .s_valid(s_valid), .s_ready(beat_ready), .s_data(s_data),
      .m_valid(m_beat_valid), .m_ready(m_beat_ready), .m_data(m_beat), .count(beat_count));

  ina_fifo #(.WIDTH(32), .DEPTH(PACKET_DEPTH)) crcs (
      .clk, .rst, .s_valid(s_valid && s_last), .s_ready(crc_ready), .s_data(s_crc),
      .m_valid(crc_valid), .m_ready(m_crc_ready), .m_data(m_crc), .count(crc_count));

  assign m_header = {4'd0, header};
  assign busy     = reserved != '0;
  assign unused   = &{s_header.filler, s_header.congested, header_ready, header_valid,
                      beat_ready, beat_count, crc_ready, crc_valid, crc_count};

  // What leaves counts a clock later: that is known late.
  logic beat_popped;

  always_ff @(posedge clk) begin
    beat_popped <= m_beat_valid && m_beat_ready && !rst;
    if (rst) begin
      reserved <= '0;
    end else if (s_header_valid || beat_popped) begin
      reserved <= reserved + (s_header_valid ? packet_beats : '0) - RESERVED_W'(beat_popped);
    end
  end

  always_ff @(posedge clk)
    room <= rst || (reserved <= RESERVED_W'(BEAT_DEPTH - 3 * PACKET_BEATS)
                    && header_count < HEADER_COUNT_W'(PACKET_DEPTH - 3));

endmodule

`default_nettype wire

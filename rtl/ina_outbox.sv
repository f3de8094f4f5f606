// SPDX-License-Identifier: Apache-2.0
//
// The packets of one path for one port: queues of their headers, their beats, and one CRC each,
// until ina_rebuild assembles the frames.

`default_nettype none

module ina_outbox #(
    parameter int MTU = 4096  // largest payload in bytes
) (
    input  logic clk,
    input  logic rst,

    // The header of the next packet of the path that leaves by this port, in the order of the
    // packets. It comes at the latest in the clock before the packet's first beat, and may come
    // long before. s_header_valid also reserves room for the packet's beats. After a header all
    // beats of its packet must follow.
    input  logic             s_header_valid,
    input  ina_pkg::header_t s_header,
    input  logic             s_header_ce,  // if ECN-capable, send it with ECN = 3

    // The beats of the path; s_valid only for packets of this port (its mask bit is set).
    input  logic                       s_valid,
    input  logic                       s_last,
    input  logic [ina_pkg::BEAT_W-1:0] s_data,
    input  logic [31:0]                s_crc,    // from ina_payload_crc, with s_last

    // Besides the packets whose headers have come, there is room for three more packets of the
    // largest size. `room` falls two clocks after s_header_valid at the earliest.
    output logic room,

    // The oldest of each. There is no valid for the header: the module that takes it knows that it
    // has come.
    input  logic             m_header_ready,
    output ina_pkg::header_t m_header,  // `congested` means: set ECN = 3
    output logic                       m_beat_valid,
    input  logic                       m_beat_ready,
    output logic [ina_pkg::BEAT_W-1:0] m_beat,
    input  logic                       m_crc_ready,
    output logic [31:0]                m_crc,  // valid with the last beat of a packet

    output logic busy  // holds something, or waits for beats
);
  localparam int PACKET_BEATS = MTU / ina_pkg::BEAT_BYTES;
  // Four packets; for small ones, the beats under way from the join to here, and some more.
  localparam int BEAT_DEPTH   = PACKET_BEATS > 32 ? 4 * PACKET_BEATS : 128;
  localparam int PACKET_DEPTH = 32;
  localparam int HEADER_COUNT_W = $clog2(PACKET_DEPTH + 2);
  localparam int BEAT_COUNT_W   = $clog2(BEAT_DEPTH + 2);

  // The number of beats of all packets whose headers have come, without the beats that have left.
  localparam int RESERVED_W = $clog2(BEAT_DEPTH + 1);
  logic [RESERVED_W-1:0] reserved;
  logic [RESERVED_W-1:0] packet_beats;
  assign packet_beats = RESERVED_W'((s_header.quads + 9'd3) >> 2);

  // The frame is to be marked: it is ECN-capable and not marked yet, so its ECN is 1 or 2.
  logic [1:0] ecn;
  logic       marks;

  assign ecn   = s_header.is_ipv6 ? s_header.bytes[(ina_pkg::IP_AT+1)*8+4 +: 2]
                                  : s_header.bytes[ina_pkg::IPV4_TOS_AT*8 +: 2];
  assign marks = s_header_ce && ^ecn;

  // If the paths respect `room`, no queue is ever full.
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

  // A beat that leaves counts one clock later, because that is known late in a clock.
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

// SPDX-License-Identifier: Apache-2.0
//
// One port's frames: its own headers in front of the shared payload, with a fresh iCRC.
// Headers and payload beats are queued apart; the frame is put together on the way out.

module ina_rebuild #(
    parameter int MTU = 4096  // the largest payload, in bytes
) (
    input  logic clk,
    input  logic rst,

    // The header of the next packet in the shared stream that goes to this port, in their order.
    // It may come long before the packet's first beat, or with it. s_header_valid also reserves
    // the room of the packet's beats. A packet whose header was given must follow in full.
    input  logic             s_header_valid,
    input  ina_pkg::header_t s_header,
    input  logic             s_header_ce,  // leave with ECN = 3

    // The shared beats; s_valid only for packets of this port (mask bit set).
    input  logic                       s_valid,
    input  logic                       s_last,
    input  logic [ina_pkg::BEAT_W-1:0] s_data,
    input  logic [31:0]                s_crc,    // ina_payload_crc's, with s_last

    // room: besides everything whose header has been given, three more packets of the largest size
    // fit. It falls one clock after s_header_valid at the earliest.
    output logic room,
    output logic marked,  // one clock for each frame that s_header_ce changed to ECN = 3
    output logic busy,    // something is in here, or its header is

    output logic                           m_axis_tvalid,
    input  logic                           m_axis_tready,
    output logic [ina_pkg::BEAT_W-1:0]     m_axis_tdata,
    output logic [ina_pkg::BEAT_BYTES-1:0] m_axis_tkeep,
    output logic                           m_axis_tlast
);
  localparam int BEAT_W     = ina_pkg::BEAT_W;
  localparam int HEADER_W   = ina_pkg::HEADER_W;
  localparam int QUADS_W    = ina_pkg::QUADS_W;
  localparam int CARRY_W    = BEAT_W - HEADER_W;  // payload that shares a beat with the header
  localparam int PACKET_BEATS = MTU / ina_pkg::BEAT_BYTES;
  // Four packets; where they are small, what is under way from the join to here, and some more.
  localparam int BEAT_DEPTH = PACKET_BEATS > 32 ? 4 * PACKET_BEATS : 128;
  localparam int PACKET_DEPTH = 32;

  // Every packet between its header and its last beat out of the beat queue, in beats.
  localparam int RESERVED_W = $clog2(BEAT_DEPTH + 1);
  logic [RESERVED_W-1:0] reserved;
  logic [RESERVED_W-1:0] packet_beats;
  assign packet_beats = RESERVED_W'((s_header.quads + 9'd3) >> 2);

  // The queues: headers, beats, and one CRC a packet.
  logic                header_ready;
  logic                header_valid;
  logic                header_pop;
  logic                header_ce;
  logic [QUADS_W-1:0]  header_quads;
  logic [HEADER_W-1:0] header_bytes;
  logic                beat_ready;
  logic                beat_valid;
  logic                beat_pop;
  logic [BEAT_W-1:0]   beat;
  logic                crc_ready;
  logic                crc_valid;
  logic                crc_pop;
  logic [31:0]         payload_crc;
  logic [$clog2(PACKET_DEPTH+2)-1:0] header_count;
  logic [$clog2(BEAT_DEPTH+2)-1:0]   beat_count;
  logic [$clog2(PACKET_DEPTH+2)-1:0] crc_count;

  ina_fifo #(.WIDTH(1 + QUADS_W + HEADER_W), .DEPTH(PACKET_DEPTH)) headers (
      .clk, .rst,
      .s_valid(s_header_valid), .s_ready(header_ready),
      .s_data({s_header_ce, s_header.quads, s_header.bytes}),
      .m_valid(header_valid), .m_ready(header_pop),
      .m_data({header_ce, header_quads, header_bytes}), .count(header_count));

  ina_fifo #(.WIDTH(BEAT_W), .DEPTH(BEAT_DEPTH)) beats (
      .clk, .rst,
      .s_valid(s_valid), .s_ready(beat_ready), .s_data(s_data),
      .m_valid(beat_valid), .m_ready(beat_pop), .m_data(beat), .count(beat_count));

  ina_fifo #(.WIDTH(32), .DEPTH(PACKET_DEPTH)) crcs (
      .clk, .rst,
      .s_valid(s_valid && s_last), .s_ready(crc_ready), .s_data(s_crc),
      .m_valid(crc_valid), .m_ready(crc_pop), .m_data(payload_crc), .count(crc_count));

  // The next packet's header, marked, and the CRC after it.
  logic                next_valid;
  logic [HEADER_W-1:0] next_bytes;
  logic [QUADS_W-1:0]  next_quads;
  logic [31:0]         next_crc;
  logic                next_taken;

  assign header_pop = !next_valid || next_taken;

  ina_header_crc header_crc (
      .clk     (clk),
      .s_valid (header_valid && header_pop),
      .s_header(header_bytes),  // marking changes nothing that the iCRC covers
      .m_crc   (next_crc)
  );

  // RFC 1624, equation 3: HC' = ~(~HC + ~m + m') for the 16-bit word m that holds the TOS.
  function automatic logic [15:0] marked_checksum(input logic [15:0] checksum,
                                                  input logic [15:0] word);
    logic [17:0] sum;
    sum = {2'b00, ~checksum} + {2'b00, ~word} + {2'b00, word[15:2], 2'b11};
    sum = 18'(sum[15:0]) + 18'(sum[17:16]);
    sum = 18'(sum[15:0]) + 18'(sum[17:16]);
    marked_checksum = ~sum[15:0];
  endfunction

  always_ff @(posedge clk) begin : prepare
    logic [15:0] checksum;
    if (rst) begin
      next_valid <= 1'b0;
      marked     <= 1'b0;
    end else begin
      if (header_valid && header_pop) next_valid <= 1'b1;
      else if (next_taken) next_valid <= 1'b0;
      marked <= header_valid && header_pop && header_ce
          && header_bytes[ina_pkg::IP_TOS_AT*8+:2] != 2'b11;
    end
    if (header_valid && header_pop) begin
      next_quads <= header_quads;
      next_bytes <= header_bytes;
      if (header_ce) begin
        checksum = marked_checksum(
            {header_bytes[ina_pkg::IP_CHECKSUM_AT*8+:8],
             header_bytes[(ina_pkg::IP_CHECKSUM_AT+1)*8+:8]},
            {header_bytes[ina_pkg::IP_AT*8+:8], header_bytes[ina_pkg::IP_TOS_AT*8+:8]});
        next_bytes[ina_pkg::IP_TOS_AT*8+:2]          <= 2'b11;
        next_bytes[ina_pkg::IP_CHECKSUM_AT*8+:8]     <= checksum[15:8];
        next_bytes[(ina_pkg::IP_CHECKSUM_AT+1)*8+:8] <= checksum[7:0];
      end
    end
  end

  // The frame on its way out: what is left of a payload beat goes in front of the next.
  typedef enum logic [1:0] {
    AT_HEADER,   // next: header and the payload's first bytes
    IN_PAYLOAD,  // next: the rest of one payload beat and the begin of another
    AT_ICRC      // next: the rest of the payload's last beat, and the iCRC
  } state_t;
  state_t state;

  logic [HEADER_W-1:0] rest;        // of the payload beat before
  logic [QUADS_W-1:0]  left;        // quads of payload whose beats have not been taken
  logic [2:0]          last_quads;  // of the beat taken last
  logic                free;        // the output register can be loaded
  logic [QUADS_W-1:0]  now_left;
  logic [2:0]          now_quads;
  logic [31:0]         crc;

  assign free       = !m_axis_tvalid || m_axis_tready;
  assign next_taken = free && state == AT_HEADER && next_valid && beat_valid;
  assign beat_pop   = next_taken || (free && state == IN_PAYLOAD && beat_valid);
  assign crc_pop    = free && state == AT_ICRC && crc_valid;
  assign now_left   = state == AT_HEADER ? next_quads : left;
  assign now_quads  = now_left > 9'd4 ? 3'd4 : now_left[2:0];

  ina_crc_state frame_crc (
      .clk    (clk),
      .s_valid(beat_pop),
      .s_first(state == AT_HEADER),
      .s_start(next_crc),
      .s_quads(now_quads),
      .s_crc  (32'd0),  // linear: the payload's part is added at the end
      .m_crc  (crc)
  );

  always_ff @(posedge clk) begin
    if (rst) begin
      state         <= AT_HEADER;
      m_axis_tvalid <= 1'b0;
    end else begin
      if (beat_pop || crc_pop) m_axis_tvalid <= 1'b1;
      else if (m_axis_tready) m_axis_tvalid <= 1'b0;
      if (beat_pop) state <= now_left > 9'd4 ? IN_PAYLOAD : AT_ICRC;
      if (crc_pop) state <= AT_HEADER;
    end
  end

  always_ff @(posedge clk) begin : assemble
    logic [31:0] icrc;
    if (beat_pop) begin
      m_axis_tdata[HEADER_W-1:0]         <= state == AT_HEADER ? next_bytes : rest;
      m_axis_tdata[BEAT_W-1-:CARRY_W]    <= beat[CARRY_W-1:0];
      m_axis_tkeep <= '1;
      m_axis_tlast <= 1'b0;
      rest         <= beat[BEAT_W-1:CARRY_W];
      left         <= now_left - 9'd4;
      last_quads   <= now_quads;
    end
    if (crc_pop) begin
      icrc         = ~(crc ^ payload_crc);
      m_axis_tlast <= 1'b1;
      case (last_quads)
        3'd1: begin
          m_axis_tdata <= BEAT_W'({icrc, rest[6*8-1:0]});
          m_axis_tkeep <= 64'h0000_0000_0000_03FF;
        end
        3'd2: begin
          m_axis_tdata <= BEAT_W'({icrc, rest[22*8-1:0]});
          m_axis_tkeep <= 64'h0000_0000_03FF_FFFF;
        end
        3'd3: begin
          m_axis_tdata <= BEAT_W'({icrc, rest[38*8-1:0]});
          m_axis_tkeep <= 64'h0000_03FF_FFFF_FFFF;
        end
        default: begin
          m_axis_tdata <= BEAT_W'({icrc, rest[54*8-1:0]});
          m_axis_tkeep <= 64'h03FF_FFFF_FFFF_FFFF;
        end
      endcase
    end
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      reserved <= '0;
    end else if (s_header_valid || beat_pop) begin
      reserved <= reserved + (s_header_valid ? packet_beats : '0) - RESERVED_W'(beat_pop);
    end
  end

  assign room = reserved <= RESERVED_W'(BEAT_DEPTH - 3 * PACKET_BEATS)
      && header_count < ($clog2(PACKET_DEPTH+2))'(PACKET_DEPTH - 3);
  assign busy = reserved != '0 || state != AT_HEADER || m_axis_tvalid;

  // Who minds `room` never finds a queue full.
  logic unused;
  assign unused = &{header_ready, beat_ready, crc_ready, beat_count, crc_count};

endmodule

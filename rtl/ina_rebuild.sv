// SPDX-License-Identifier: Apache-2.0
//
// One port's frames: its own headers in front of the shared payload, with a fresh iCRC.
// Headers and payload beats are queued apart; the frame is put together on the way out, in the
// form that it came in: the only module besides ina_parse that knows how they lie on the wire.

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
  logic [31:0]         header_crc;
  logic                header_mark;
  logic [1:0]          header_form;
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

  ina_fifo #(.WIDTH(32 + 3 + QUADS_W + HEADER_W), .DEPTH(PACKET_DEPTH)) headers (
      .clk, .rst,
      .s_valid(s_header_valid), .s_ready(header_ready),
      .s_data({s_header.crc, s_header_ce && !s_header.congested, s_header.is_ipv6, s_header.has_vlan,
               s_header.quads, s_header.bytes}),
      .m_valid(header_valid), .m_ready(header_pop),
      .m_data({header_crc, header_mark, header_form, header_quads, header_bytes}),
      .count(header_count));

  ina_fifo #(.WIDTH(BEAT_W), .DEPTH(BEAT_DEPTH)) beats (
      .clk, .rst,
      .s_valid(s_valid), .s_ready(beat_ready), .s_data(s_data),
      .m_valid(beat_valid), .m_ready(beat_pop), .m_data(beat), .count(beat_count));

  ina_fifo #(.WIDTH(32), .DEPTH(PACKET_DEPTH)) crcs (
      .clk, .rst,
      .s_valid(s_valid && s_last), .s_ready(crc_ready), .s_data(s_crc),
      .m_valid(crc_valid), .m_ready(crc_pop), .m_data(payload_crc), .count(crc_count));

  // The next packet's header as the wire has it, marked (the iCRC does not cover the mark), and the
  // CRC after it. That moves on by the quads of a last beat that is not full in advance, one a
  // clock, so that the frame's beats move it on by whole beats only.
  logic                next_valid;
  logic                next_ready;
  logic [1:0]          next_steps;
  logic [1:0]          next_form;
  logic [HEADER_W-1:0] next_bytes;
  logic [QUADS_W-1:0]  next_quads;
  logic [31:0]         next_crc;
  logic                next_taken;

  assign header_pop = !next_valid || next_taken;

  assign next_ready = next_valid && next_steps == '0;

  ina_crc_state #(.QUADS(1)) header_state (
      .clk      (clk),
      .s_valid  ((header_valid && header_pop) || next_steps != '0),
      .s_first  (next_steps == '0),
      .s_start  (header_crc),
      .s_advance(next_steps != '0),
      .s_crc    (32'd0),
      .m_crc    (next_crc)
  );

  // RFC 1624: the checksum's complement grows by as much as the header does. IPv6 has none.
  logic [1:0]  growth;
  logic [16:0] sum;
  logic [15:0] checksum;

  assign growth   = ~header_bytes[ina_pkg::IPV4_TOS_AT*8+:2];  // ECN becomes 3
  assign sum      = {1'b0, ~header_bytes[ina_pkg::IPV4_CHECKSUM_AT*8+:8],
                     ~header_bytes[(ina_pkg::IPV4_CHECKSUM_AT+1)*8+:8]} + 17'(growth);
  assign checksum = ~(sum[15:0] + 16'(sum[16]));

  always_ff @(posedge clk) begin
    if (rst) begin
      next_valid <= 1'b0;
      next_steps <= '0;
      marked     <= 1'b0;
    end else begin
      if (header_valid && header_pop) next_valid <= 1'b1;
      else if (next_taken) next_valid <= 1'b0;
      if (header_valid && header_pop) next_steps <= header_quads[1:0];
      else if (next_steps != '0) next_steps <= next_steps - 2'd1;
      marked <= header_valid && header_pop && header_mark;
    end
  end

  always_ff @(posedge clk) begin
    if (header_valid && header_pop) begin
      next_quads <= header_quads;
      next_form  <= header_form;
      case (header_form)
        ina_pkg::FORM_IPV4: begin
          next_bytes[54*8-1:0] <=
              {header_bytes[38*8+:40*8], header_bytes[16*8+:16], header_bytes[95:0]};
          if (header_mark) begin
            next_bytes[15*8+:2]  <= 2'b11;
            next_bytes[24*8+:16] <= {checksum[7:0], checksum[15:8]};
          end
        end
        ina_pkg::FORM_IPV4_VLAN: begin
          next_bytes[58*8-1:0] <= {header_bytes[38*8+:40*8], header_bytes[18*8-1:0]};
          if (header_mark) begin
            next_bytes[19*8+:2]  <= 2'b11;
            next_bytes[28*8+:16] <= {checksum[7:0], checksum[15:8]};
          end
        end
        ina_pkg::FORM_IPV6: begin
          next_bytes[74*8-1:0] <= {header_bytes[16*8+:62*8], header_bytes[95:0]};
          if (header_mark) next_bytes[15*8+4+:2] <= 2'b11;
        end
        default: begin
          next_bytes <= header_bytes;
          if (header_mark) next_bytes[19*8+4+:2] <= 2'b11;
        end
      endcase
    end
  end

  // The frame on its way out. An output beat has the upper bytes of the payload beat before and
  // the lower ones of the one that is taken. IPv6's headers fill a beat already: there the payload
  // is a beat later, `rest` is the payload beat before, and `tail` what is left of the one before
  // that, or of the header.
  typedef enum logic [1:0] {
    AT_HEADER,   // next: the header, and with IPv4 the payload's first bytes
    IN_PAYLOAD,  // next: takes another payload beat
    AT_END,      // next: the rest of the payload's last beat, and the iCRC
    AT_TAIL      // next: what of these two did not fit into that beat
  } state_t;
  state_t state;

  localparam int TAIL_W = HEADER_W - BEAT_W;

  logic [1:0]         form;
  logic [BEAT_W-1:0]  rest;
  logic [TAIL_W-1:0]  tail;
  logic [QUADS_W-1:0] left;        // quads of payload whose beats have not been taken
  logic [2:0]         last_quads;  // of the beat taken last
  logic               free;        // the output register can be loaded
  logic [1:0]         now_form;
  logic [QUADS_W-1:0] now_left;
  logic [2:0]         now_quads;
  logic               has_tail;
  logic               end_step;
  logic               tail_step;
  logic [31:0]        crc;

  assign free       = !m_axis_tvalid || m_axis_tready;
  assign next_taken = free && state == AT_HEADER && next_ready && beat_valid;
  assign beat_pop   = next_taken || (free && state == IN_PAYLOAD && beat_valid);
  assign end_step   = free && state == AT_END && crc_valid;
  assign tail_step  = free && state == AT_TAIL;
  assign has_tail   = form[1] && (last_quads == 3'd4 || (form[0] && last_quads == 3'd3));
  assign crc_pop    = (end_step && !has_tail) || tail_step;
  assign now_form   = state == AT_HEADER ? next_form : form;
  assign now_left   = state == AT_HEADER ? next_quads : left;
  assign now_quads  = now_left > 9'd4 ? 3'd4 : now_left[2:0];

  ina_crc_state frame_crc (
      .clk      (clk),
      .s_valid  (beat_pop),
      .s_first  (state == AT_HEADER),
      .s_start  (next_crc),
      .s_advance(now_quads == 3'd4),
      .s_crc    (32'd0),  // linear: the payload's part is added at the end
      .m_crc    (crc)
  );

  always_ff @(posedge clk) begin
    if (rst) begin
      state         <= AT_HEADER;
      m_axis_tvalid <= 1'b0;
    end else begin
      if (beat_pop || end_step || tail_step) m_axis_tvalid <= 1'b1;
      else if (m_axis_tready) m_axis_tvalid <= 1'b0;
      if (beat_pop) state <= now_left > 9'd4 ? IN_PAYLOAD : AT_END;
      if (end_step) state <= has_tail ? AT_TAIL : AT_HEADER;
      if (tail_step) state <= AT_HEADER;
    end
  end

  // The iCRC begins at byte 6, 10 or 14 of a quad; of the last it may be cut off after two bytes.
  logic [31:0] icrc;
  logic [1:0]  icrc_quad;
  assign icrc      = ~(crc ^ payload_crc);
  assign icrc_quad = 2'(last_quads - 3'(!form[1]));

  always_ff @(posedge clk) begin
    if (beat_pop || end_step) begin
      case (now_form)
        ina_pkg::FORM_IPV4:
          m_axis_tdata <= {beat[10*8-1:0],
                           state == AT_HEADER ? next_bytes[54*8-1:0] : rest[BEAT_W-1:10*8]};
        ina_pkg::FORM_IPV4_VLAN:
          m_axis_tdata <= {beat[6*8-1:0],
                           state == AT_HEADER ? next_bytes[58*8-1:0] : rest[BEAT_W-1:6*8]};
        ina_pkg::FORM_IPV6:
          m_axis_tdata <= state == AT_HEADER ? next_bytes[BEAT_W-1:0]
                                             : {rest[54*8-1:0], tail[10*8-1:0]};
        default:
          m_axis_tdata <= state == AT_HEADER ? next_bytes[BEAT_W-1:0]
                                             : {rest[50*8-1:0], tail};
      endcase
      m_axis_tkeep <= '1;
      m_axis_tlast <= 1'b0;
      if (state == AT_HEADER) tail <= next_bytes[HEADER_W-1:BEAT_W];
      else if (form[1]) tail <= form[0] ? rest[BEAT_W-1-:TAIL_W] : TAIL_W'(rest[BEAT_W-1:54*8]);
    end
    if (beat_pop) begin
      form       <= now_form;
      rest       <= beat;
      left       <= now_left - 9'd4;
      last_quads <= now_quads;
    end
    if (end_step) begin
      m_axis_tlast <= !has_tail;
      if (has_tail) begin
        if (last_quads == 3'd3) m_axis_tdata[62*8+:16] <= icrc[15:0];
      end else begin
        for (int q = 0; q < 4; q++) begin
          if (icrc_quad == 2'(q)) begin
            case (form)
              ina_pkg::FORM_IPV4: begin
                m_axis_tdata[(q*16+6)*8+:32] <= icrc;
                m_axis_tkeep                 <= 64'h3FF_FFFF_FFFF_FFFF >> ((3 - q) * 16);
              end
              ina_pkg::FORM_IPV6_VLAN: begin
                if (q < 3) m_axis_tdata[(q*16+14)*8+:32] <= icrc;
                m_axis_tkeep <= 64'hFFFF_FFFF_FFFF_FFFF >> ((3 - q) * 16 - 2);
              end
              default: begin
                m_axis_tdata[(q*16+10)*8+:32] <= icrc;
                m_axis_tkeep                  <= 64'h3FFF_FFFF_FFFF_FFFF >> ((3 - q) * 16);
              end
            endcase
          end
        end
      end
    end
    if (tail_step) begin
      m_axis_tlast <= 1'b1;
      if (!form[0]) begin
        m_axis_tdata[0+:14*8] <= {icrc, tail[10*8-1:0]};
        m_axis_tkeep          <= 64'h3FFF;
      end else if (last_quads == 3'd4) begin
        m_axis_tdata[0+:18*8] <= {icrc, tail};
        m_axis_tkeep          <= 64'h3_FFFF;
      end else begin
        m_axis_tdata[15:0] <= icrc[31:16];
        m_axis_tkeep       <= 64'h3;
      end
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

// SPDX-License-Identifier: Apache-2.0
//
// Builds the frames of one port: its own header, in its original form, the shared payload, and a
// fresh iCRC. Each of the two paths brings packets. Frames leave in the order in which their
// packets begin here, so no sum overtakes the answers that it has waited for.
//
// A VLAN tag leaves alongside its frame, and ina_merge inserts it. So this module has only two
// layouts, IPv4's and IPv6's. Only ina_parse, this module and ina_merge know the positions of the
// fields on the wire.

`default_nettype none

module ina_rebuild #(
    parameter int MTU = 4096  // largest payload in bytes
) (
    input  logic clk,
    input  logic rst,

    // For each path: headers and beats, as in ina_outbox; s*_begins comes one clock before the
    // first beat of a packet.
    input  logic                       s0_header_valid,
    input  ina_pkg::header_t           s0_header,
    input  logic                       s0_header_ce,
    input  logic                       s0_begins,
    input  logic                       s0_valid,
    input  logic                       s0_last,
    input  logic [ina_pkg::BEAT_W-1:0] s0_data,
    input  logic [31:0]                s0_crc,
    output logic                       s0_room,
    input  logic                       s1_header_valid,
    input  ina_pkg::header_t           s1_header,
    input  logic                       s1_header_ce,
    input  logic                       s1_begins,
    input  logic                       s1_valid,
    input  logic                       s1_last,
    input  logic [ina_pkg::BEAT_W-1:0] s1_data,
    input  logic [31:0]                s1_crc,
    output logic                       s1_room,

    output logic marked,  // one clock for each frame whose ECN header_ce changed to 3
    output logic busy,    // holds something, or waits for beats

    output logic                           m_axis_tvalid,
    input  logic                           m_axis_tready,
    output logic [ina_pkg::BEAT_W-1:0]     m_axis_tdata,
    output logic [ina_pkg::BEAT_BYTES-1:0] m_axis_tkeep,
    output logic                           m_axis_tlast,
    output logic                           m_tagged,  // valid with all beats of a frame
    output logic [31:0]                    m_tag
);
  localparam int BEAT_W     = ina_pkg::BEAT_W;
  localparam int HEADER_W   = ina_pkg::HEADER_W;
  localparam int QUADS_W    = ina_pkg::QUADS_W;

  // The paths, and the one that a packet is taken from.
  ina_pkg::header_t header_0;
  ina_pkg::header_t header_1;
  logic             beat_valid_0;
  logic             beat_valid_1;
  logic [BEAT_W-1:0] beat_0;
  logic [BEAT_W-1:0] beat_1;
  logic [31:0]      crc_0;
  logic [31:0]      crc_1;
  logic             busy_0;
  logic             busy_1;
  logic             header_pop;
  logic             beat_pop;
  logic             crc_pop;
  logic             header_path;  // path of the header that is taken
  logic             next_path;    // path of the header that was taken last
  logic             path_q;       // path of the frame that is on its way out
  logic             path;         // path of the payload beat that is taken

  ina_outbox #(.MTU(MTU)) outbox_0 (
      .clk, .rst, .s_header_valid(s0_header_valid), .s_header(s0_header), .s_header_ce(s0_header_ce),
      .s_valid(s0_valid), .s_last(s0_last), .s_data(s0_data), .s_crc(s0_crc), .room(s0_room),
      .m_header_ready(header_pop && !header_path), .m_header(header_0),
      .m_beat_valid(beat_valid_0), .m_beat_ready(beat_pop && !path), .m_beat(beat_0),
      .m_crc_ready(crc_pop && !path), .m_crc(crc_0), .busy(busy_0));

  ina_outbox #(.MTU(MTU)) outbox_1 (
      .clk, .rst, .s_header_valid(s1_header_valid), .s_header(s1_header), .s_header_ce(s1_header_ce),
      .s_valid(s1_valid), .s_last(s1_last), .s_data(s1_data), .s_crc(s1_crc), .room(s1_room),
      .m_header_ready(header_pop && header_path), .m_header(header_1),
      .m_beat_valid(beat_valid_1), .m_beat_ready(beat_pop && path), .m_beat(beat_1),
      .m_crc_ready(crc_pop && path), .m_crc(crc_1), .busy(busy_1));

  // The order of the packets. Two packets that begin in the same clock are one word; that of path 0
  // goes first.
  localparam int ORDER_DEPTH = 64;
  logic                             order_ready;
  logic                             order_valid;
  logic                             both;
  logic                             one;      // path of a single packet
  logic                             both_q;   // the first one of both has gone
  logic [$clog2(ORDER_DEPTH+2)-1:0] order_count;

  ina_fifo #(.WIDTH(2), .DEPTH(ORDER_DEPTH)) order (
      .clk, .rst, .s_valid(s0_begins || s1_begins), .s_ready(order_ready),
      .s_data({s0_begins && s1_begins, s1_begins}), .m_valid(order_valid),
      .m_ready(header_pop && !(both && !both_q)), .m_data({both, one}), .count(order_count));

  ina_pkg::header_t  header;
  logic              beat_valid;
  logic [BEAT_W-1:0] beat;
  logic [31:0]       payload_crc;

  assign header_path = both ? both_q : one;
  assign header      = header_path ? header_1 : header_0;
  assign beat_valid  = path ? beat_valid_1 : beat_valid_0;
  assign beat        = path ? beat_1 : beat_0;
  assign payload_crc = path ? crc_1 : crc_0;

  // The header of the next packet, marked if necessary (the iCRC does not cover the mark), and the
  // CRC after it. If the last beat is not full, the CRC is advanced by its quads beforehand, one a
  // clock. So the beats of the frame advance it by whole beats only.
  logic                next_valid;
  logic                next_ready;  // next_crc has been advanced
  logic [1:0]          next_steps;
  logic                next_ipv6;
  logic                next_vlan;
  logic [HEADER_W-1:0] next_bytes;
  logic [QUADS_W-1:0]  next_quads;
  logic [31:0]         next_crc;
  logic [31:0]         stepped_crc;
  logic                next_pop;

  // Not in the clock in which the previous header is taken, because that is known too late in it.
  assign header_pop = !next_valid && order_valid;
  assign next_ready = next_steps == '0;

  ina_crc_step #(.QUADS(1)) header_step (
      .s_valid  (!next_ready),
      .s_state  (next_crc),
      .s_advance(1'b1),
      .s_crc    (32'd0),
      .m_crc    (stepped_crc)
  );

  always_ff @(posedge clk) begin
    if (rst) begin
      next_valid <= 1'b0;
      next_steps <= '0;
      both_q     <= 1'b0;
      marked     <= 1'b0;
    end else begin
      next_valid <= next_valid ? !next_pop : header_pop;
      if (header_pop) next_steps <= header.quads[1:0];
      else if (next_steps != '0) next_steps <= next_steps - 2'd1;
      if (header_pop) both_q <= both && !both_q;
      marked <= header_pop && header.congested;
    end
  end

  // RFC 1624: the complement of the checksum grows by as much as the header does. IPv6 has no
  // checksum.
  always_ff @(posedge clk) begin : mark
    logic [1:0]  growth;
    logic [16:0] sum;
    logic [15:0] checksum;

    if (header_pop) begin
      growth   = ~header.bytes[ina_pkg::IPV4_TOS_AT*8+:2];  // ECN becomes 3
      sum      = {1'b0, ~header.bytes[ina_pkg::IPV4_CHECKSUM_AT*8+:8],
                  ~header.bytes[(ina_pkg::IPV4_CHECKSUM_AT+1)*8+:8]} + 17'(growth);
      checksum = ~(sum[15:0] + 16'(sum[16]));

      next_path  <= header_path;
      next_quads <= header.quads;
      next_ipv6  <= header.is_ipv6;
      next_vlan  <= header.has_vlan;
      next_bytes <= header.bytes;
      next_crc   <= header.crc;
      if (header.congested && header.is_ipv6) next_bytes[(ina_pkg::IP_AT+1)*8+4+:2] <= 2'b11;
      if (header.congested && !header.is_ipv6) begin
        next_bytes[ina_pkg::IPV4_TOS_AT*8+:2]       <= 2'b11;
        next_bytes[ina_pkg::IPV4_CHECKSUM_AT*8+:16] <= {checksum[7:0], checksum[15:8]};
      end
    end
    if (!next_ready) next_crc <= stepped_crc;
  end

  // The frame on its way out. The lower bytes of an output beat come from the previous payload beat
  // or from the header, the upper bytes from the payload beat that is taken. IPv4's header leaves
  // room for payload in the first beat. IPv6's header fills the first beat and ends in the second.
  localparam int HEADER_4_W = ina_pkg::IPV4_HEADER_BYTES * 8;
  localparam int HEADER_6_W = ina_pkg::IPV6_HEADER_BYTES * 8;
  localparam int TAG_AT     = ina_pkg::ETHERTYPE_AT * 8;
  localparam int TAG_W      = ina_pkg::VLAN_BYTES * 8;
  localparam int IP_AT      = ina_pkg::IP_AT * 8 - TAG_W;  // without a tag
  localparam int REST_W     = HEADER_4_W;
  localparam int TAIL_W     = HEADER_6_W - BEAT_W;

  typedef enum logic [1:0] {
    AT_START,    // next: the header
    AT_TAIL,     // next: the rest of IPv6's header, and payload
    IN_PAYLOAD,  // next: more payload
    AT_END       // next: the bytes that did not fit into the beat with the last payload
  } state_t;
  state_t state;

  logic               ipv6_q;
  logic [REST_W-1:0]  rest;        // of the previous payload beat
  logic [QUADS_W-1:0] left;        // quads of payload that have not been taken
  logic [2:0]         last_quads;  // of the payload beat that was taken last
  logic               free;        // the output register can be loaded
  logic               first;       // no payload beat of the packet has been taken
  logic               ipv6_d;
  logic [QUADS_W-1:0] beat_left;
  logic [2:0]         beat_quads;
  logic               last;        // the next payload beat is the packet's last one
  logic               wants;       // the inputs of the next output beat are valid
  logic               has_payload;  // takes a payload beat: not IPv6's first, nor the end
  logic               ends;        // the output beat is the frame's last one
  logic               load;         // the output beat is loaded
  logic [31:0]        frame_crc;
  logic [31:0]        beat_crc;
  logic [31:0]        stepped_frame_crc;
  logic [31:0]        icrc;

  assign free       = !m_axis_tvalid || m_axis_tready;
  assign first      = state == AT_START || state == AT_TAIL;
  assign path       = first ? next_path : path_q;
  assign ipv6_d     = state == AT_START ? next_ipv6 : ipv6_q;
  assign beat_left  = first ? next_quads : left;
  assign last       = beat_left <= 9'd4;
  assign beat_quads = last ? beat_left[2:0] : 3'd4;
  assign wants      = state == AT_END
      || (beat_valid && (!first || (next_valid && (next_ready || !has_payload))));
  assign has_payload = state == AT_START ? !next_ipv6 : state != AT_END;
  assign ends        = state == AT_END || (has_payload && last && ipv6_d && beat_quads != 3'd4);
  assign load        = free && wants;
  assign beat_pop    = load && has_payload;
  assign next_pop    = beat_pop && first;
  assign crc_pop     = load && ends;

  ina_crc_step frame_step (
      .s_valid  (beat_pop),
      .s_state  (beat_crc),
      .s_advance(beat_quads == 3'd4),
      .s_crc    (32'd0),  // linear: the CRC of the payload is added at the end
      .m_crc    (stepped_frame_crc)
  );

  // The CRC of the payload is valid with its last beat.
  assign beat_crc = first ? next_crc : frame_crc;
  assign icrc     = ~(beat_crc ^ payload_crc);

  always_ff @(posedge clk) begin
    if (rst) begin
      state         <= AT_START;
      m_axis_tvalid <= 1'b0;
    end else begin
      if (load) m_axis_tvalid <= 1'b1;
      else if (m_axis_tready) m_axis_tvalid <= 1'b0;
      if (load) state <= ends ? AT_START : !has_payload ? AT_TAIL : last ? AT_END : IN_PAYLOAD;
    end
  end

  // The iCRC follows the last quad of the payload: in the same beat, or in one more beat.
  always_ff @(posedge clk) begin : put_together
    logic [HEADER_6_W-1:0] header_6;
    logic [HEADER_4_W-1:0] header_4;
    logic [BEAT_W-1:0]     payload;

    if (load) begin
      header_6 = '0;
      if (first || !ina_pkg::SIMULATED)
        header_6 = {next_bytes[HEADER_W-1:TAG_AT+TAG_W], next_bytes[TAG_AT-1:0]};
      header_4 = {header_6[HEADER_6_W-1-:HEADER_4_W-IP_AT], header_6[IP_AT-1:0]};
      payload  = beat;
      for (int q = 1; q < ina_pkg::QUAD_COUNT; q++)
        if (last && beat_quads == 3'(q)) payload[q*ina_pkg::QUAD_W+:32] = icrc;
      if (state == AT_END) payload[31:0] = icrc;

      if (ipv6_d)
        m_axis_tdata <= state == AT_START ? header_6[BEAT_W-1:0]
            : {payload[BEAT_W-TAIL_W-1:0],
               state == AT_TAIL ? header_6[BEAT_W+:TAIL_W] : rest[REST_W-1-:TAIL_W]};
      else
        m_axis_tdata <= {payload[BEAT_W-REST_W-1:0],
                         state == AT_START ? header_4 : rest};
      rest         <= payload[BEAT_W-1-:REST_W];
      m_axis_tlast <= ends;
    end
  end

  // A frame ends 10 bytes into a quad with IPv4, and 14 bytes with IPv6.
  logic [1:0] end_quad;
  assign end_quad = state != AT_END ? beat_quads[1:0] : ipv6_q ? 2'd0 : 2'(last_quads - 3'd1);

  always_ff @(posedge clk) begin
    if (load) begin
      m_axis_tkeep <= '1;
      if (ends)
        m_axis_tkeep <= (ipv6_d ? 64'h3FFF_FFFF_FFFF_FFFF : 64'h3FF_FFFF_FFFF_FFFF)
            >> {2'd3 - end_quad, 4'd0};
    end
    if (load && state == AT_START) begin
      ipv6_q   <= next_ipv6;
      m_tagged <= next_vlan;
      m_tag    <= next_bytes[TAG_AT+:TAG_W];
    end
    if (beat_pop) begin
      left       <= beat_left - 9'd4;
      frame_crc  <= stepped_frame_crc;
      last_quads <= beat_quads;
      path_q     <= path;
    end
  end

  assign busy = busy_0 || busy_1 || state != AT_START || m_axis_tvalid;

  logic unused;
  assign unused = &{header.filler, order_ready, order_count};

endmodule

`default_nettype wire

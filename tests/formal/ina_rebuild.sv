// SPDX-License-Identifier: Apache-2.0
//
// ina_rebuild sends one whole frame for each packet. Each is as long as its form and payload say, whichever
// of the two paths the packet came by. The proof keeps a list of each path's packets that were given, with a
// byte of each header and payload. The lowest bit of that byte of the header is the path, so a frame tells
// where it came from. Packets are short (MTU 128) and the queues small (the constants in proofs.txt).
// ina_crc_step may give any result, so nothing is claimed of the iCRC's value.
//
//   1. The output obeys AXI4-Stream: a beat that is offered stays until it is taken.
//   2. Each packet gives one frame, those of a path in order. tlast is set once, with the beat that has its
//      last byte. tkeep has as many ones as there are bytes, and is all ones before.
//   3. A frame has the header, the tag and the payload of its own packet. Its payload's CRC has come when it
//      is needed.
//   4. Its ECN is that of its own header, or 3 if congestion is to be marked; 0, not ECN-capable, stays 0.
//
// ina_rebuild_room proves, with more packets, that nothing is lost and all frames come out.

module ina_crc_step #(
    parameter int QUADS = 4
) (
    input  logic        s_valid,
    input  logic [31:0] s_state,
    input  logic        s_advance,
    input  logic [31:0] s_crc,
    output logic [31:0] m_crc
);
  (* anyseq *) logic [31:0] any;
  assign m_crc = any;
endmodule

module formal_ina_rebuild (
    input logic clk
);
  localparam int PATHS    = 2;
  localparam int MTU      = 128;
  localparam int BEAT_W   = ina_pkg::BEAT_W;
  localparam int KEEP_W   = ina_pkg::BEAT_BYTES;
  localparam int HEADER_W = ina_pkg::HEADER_W;

  logic rst;
  formal_reset reset (.clk, .rst);

  // For each path. The solver chooses one header and one beat, which either path may take in a clock.
  (* anyseq *) logic [PATHS-1:0]    s_header_valid;
  (* anyseq *) logic                s_header_ce;
  (* anyseq *) logic                congested;
  (* anyseq *) logic [1:0]          form;
  (* anyseq *) logic [3:0]          quads;
  (* anyseq *) logic [HEADER_W-1:0] bytes;
  (* anyseq *) logic [PATHS-1:0]    s_valid;
  (* anyseq *) logic [BEAT_W-1:0]   s_data;
  (* anyseq *) logic [31:0]         s_crc;
  (* anyseq *) logic                m_axis_tready;
  ina_pkg::header_t  s_header;
  ina_pkg::header_t  s_header_0;
  ina_pkg::header_t  s_header_1;
  logic [PATHS-1:0]  s_begins;
  logic [PATHS-1:0]  s_last;
  logic [PATHS-1:0]  room;
  logic              m_axis_tvalid;
  logic [BEAT_W-1:0] m_axis_tdata;
  logic [KEEP_W-1:0] m_axis_tkeep;
  logic              m_axis_tlast;
  logic              m_tagged;
  logic [31:0]       m_tag;

  always_comb begin
    s_header            = '0;
    s_header.congested  = congested;
    s_header.is_ipv6    = form[1];
    s_header.has_vlan   = form[0];
    s_header.quads      = 9'(quads);
    s_header.bytes      = bytes;
    s_header_0          = s_header;
    s_header_0.bytes[0] = 1'b0;
    s_header_1          = s_header;
    s_header_1.bytes[0] = 1'b1;
  end

  ina_rebuild #(.MTU(MTU)) dut (
      .clk, .rst,
      .s0_header_valid(s_header_valid[0]), .s0_header(s_header_0), .s0_header_ce(s_header_ce),
      .s0_begins(s_begins[0]), .s0_valid(s_valid[0]), .s0_last(s_last[0]), .s0_data(s_data), .s0_crc(s_crc),
      .s0_room(room[0]),
      .s1_header_valid(s_header_valid[1]), .s1_header(s_header_1), .s1_header_ce(s_header_ce),
      .s1_begins(s_begins[1]), .s1_valid(s_valid[1]), .s1_last(s_last[1]), .s1_data(s_data), .s1_crc(s_crc),
      .s1_room(room[1]), .marked(), .busy(),
      .m_axis_tvalid, .m_axis_tready, .m_axis_tdata, .m_axis_tkeep, .m_axis_tlast, .m_tagged, .m_tag);

  // 1. For the data, only the bytes that property 3 reads; all are loaded together.
  formal_stream #(.WIDTH(33 + 24 + KEEP_W + 1)) output_rules (
      .clk, .rst, .valid(m_axis_tvalid), .ready(m_axis_tready),
      .payload({m_tagged, m_tag, m_axis_tdata[0 +: 8], m_axis_tdata[10*8 +: 8],
                m_axis_tdata[54*8 +: 8], m_axis_tkeep, m_axis_tlast}));

  // The frame at the output: its path is known from its first beat on.
  logic       out_path;
  logic       path_q;
  logic [2:0] out_beat;
  logic       moves;

  assign moves    = m_axis_tvalid && m_axis_tready;
  assign out_path = out_beat == '0 ? m_axis_tdata[0] : path_q;

  always_ff @(posedge clk) begin
    path_q <= out_path;
    if (rst) out_beat <= '0;
    else if (moves) out_beat <= m_axis_tlast ? '0 : out_beat + 1'b1;
  end

  // Each path's packets: those given, those with all their payload, and those sent. The expected properties
  // of the next frame of each path.
  logic [1:0] ecn;
  logic [PATHS*2-1:0] form_of;
  logic [PATHS*4-1:0] quads_of;
  logic [PATHS*8-1:0] header_of;
  logic [PATHS*8-1:0] tag_of;
  logic [PATHS*8-1:0] payload_of;
  logic [PATHS*2-1:0] ecn_of;
  logic [PATHS-1:0]   none;
  logic [PATHS*3-1:0] sent_of;

  // The traffic class begins 4 bits into IPv6's header, the TOS 8 bits into IPv4's.
  assign ecn = form[1] ? bytes[19*8+4 +: 2] : bytes[39*8 +: 2];

  for (genvar p = 0; p < PATHS; p++) begin : gen_path
    logic [1:0] forms    [4];
    logic [7:0] headers  [4];
    logic [7:0] tags     [4];
    logic [7:0] payloads [4];
    logic [1:0] ecns     [4];  // the ECN with which it must leave
    logic       in_packet;
    logic [2:0] given;
    logic [2:0] filled;
    logic [2:0] sent;

    formal_feeder feeder (
        .clk, .rst, .room(room[p]), .header_valid(s_header_valid[p]), .quads, .valid(s_valid[p]),
        .sent_one(moves && m_axis_tlast && out_path == 1'(p)), .begins(s_begins[p]), .last(s_last[p]),
        .in_packet, .given, .filled, .sent, .sent_quads(quads_of[p*4 +: 4]));

    always_ff @(posedge clk) begin
      if (s_header_valid[p]) begin
        forms[given[1:0]]   <= form;
        headers[given[1:0]] <= {bytes[7:1], 1'(p)};
        tags[given[1:0]]    <= bytes[12*8 +: 8];
        ecns[given[1:0]]    <= (s_header_ce && ecn != '0) ? 2'd3 : ecn;
      end
      if (s_valid[p] && !in_packet) payloads[filled[1:0]] <= s_data[7:0];
    end

    assign none[p]              = sent == given;
    assign sent_of[p*3 +: 3]    = sent;
    assign form_of[p*2 +: 2]    = forms[sent[1:0]];
    assign header_of[p*8 +: 8]  = headers[sent[1:0]];
    assign tag_of[p*8 +: 8]     = tags[sent[1:0]];
    assign payload_of[p*8 +: 8] = payloads[sent[1:0]];
    assign ecn_of[p*2 +: 2]     = ecns[sent[1:0]];
  end

  // The expected properties of the frame at the output.
  logic [1:0] its_form;
  logic [3:0] its_quads;
  logic [7:0] its_payload;
  logic [1:0] out_ecn;
  logic [8:0] before;  // the payload's first byte
  logic [8:0] length;
  logic [8:0] left;    // bytes, including this beat's

  assign its_form    = form_of[out_path*2 +: 2];
  assign its_quads   = quads_of[out_path*4 +: 4];
  assign its_payload = payload_of[out_path*8 +: 8];
  assign out_ecn     = its_form[1] ? m_axis_tdata[15*8+4 +: 2] : m_axis_tdata[15*8 +: 2];
  assign before      = its_form[1] ? 9'd74 : 9'd54;
  assign length      = before + {1'b0, its_quads, 4'd0} + 9'd4;
  assign left        = length - {out_beat, 6'd0};

  (* hierconn *) logic \dut.path ;
  (* hierconn *) logic \dut.beat_pop ;
  (* hierconn *) logic \dut.last ;
  (* hierconn *) logic \dut.crc_pop ;
  (* hierconn *) logic \dut.outbox_0.crc_valid ;
  (* hierconn *) logic \dut.outbox_1.crc_valid ;
  logic crc_valid;

  assign crc_valid = \dut.path ? \dut.outbox_1.crc_valid : \dut.outbox_0.crc_valid ;

  always_comb begin
    if (!rst) begin
      if (m_axis_tvalid) begin
        p2_packet: assert (!none[out_path]);
        p2_last:   assert (m_axis_tlast == (left <= 9'd64));
        p2_keep:   assert (m_axis_tkeep == (left >= 9'd64 ? '1 : ~({KEEP_W{1'b1}} << left[5:0])));
        if (out_beat == '0) begin
          p3_header: assert (m_axis_tdata[7:0] == header_of[out_path*8 +: 8]);
          p4_ecn:    assert (out_ecn == ecn_of[out_path*2 +: 2]);
        end
        if (!its_form[1] && out_beat == '0) begin
          p3_payload_4: assert (m_axis_tdata[54*8 +: 8] == its_payload);
        end
        if (its_form[1] && out_beat == 3'd1) begin
          p3_payload_6: assert (m_axis_tdata[10*8 +: 8] == its_payload);
        end
        p3_tag: assert (m_tagged == its_form[0] && m_tag[7:0] == tag_of[out_path*8 +: 8]);
      end
      p3_crc: assert (!((\dut.beat_pop && \dut.last ) || \dut.crc_pop ) || crc_valid);
    end
  end

  always_comb begin
    if (!rst) begin
      two:    cover (sent_of[2:0] == 3'd2);
      each:   cover (sent_of[2:0] == 3'd1 && sent_of[5:3] == 3'd1);
      tail:   cover (moves && m_axis_tlast && out_beat == 3'd2 && its_quads == 4'd4);
      marked: cover (m_axis_tvalid && out_beat == '0 && out_ecn == 2'd3 && sent_of[2:0] == 3'd1);
      turned: cover (sent_of[2:0] == 3'd1 && moves && out_path && its_form == 2'b11);
    end
  end
endmodule

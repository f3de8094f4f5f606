// SPDX-License-Identifier: Apache-2.0
//
// ina_rebuild: whole frames leave, one a packet, each as long as its form and payload say. The
// proof keeps a list of the packets that were given, with a byte of each header and payload.
// Packets are short (MTU 128) and the queues small (the constants in proofs.txt); what
// ina_crc_step says is any, so nothing is claimed of the iCRC's value.
//
//   1. The output obeys AXI4-Stream: what it offers stays until it is taken.
//   2. Each packet gives one frame, in order: tlast once, with the beat that has its last byte;
//      tkeep has as many ones as there are bytes, and is all ones before.
//   3. A frame has the header, the tag and the payload of its own packet, and its payload's CRC is
//      there when it is needed.
//   4. Its ECN is its own header's, or 3 where congestion is to be marked; 0, not ECN-capable,
//      stays 0.
//
// That nothing is lost and all comes out is proved in ina_rebuild_room, with more packets.

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
  localparam int MTU      = 128;
  localparam int BEAT_W   = ina_pkg::BEAT_W;
  localparam int KEEP_W   = ina_pkg::BEAT_BYTES;
  localparam int HEADER_W = ina_pkg::HEADER_W;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic                s_header_valid;
  (* anyseq *) logic                s_header_ce;
  (* anyseq *) logic                congested;
  (* anyseq *) logic [1:0]          form;
  (* anyseq *) logic [3:0]          quads;
  (* anyseq *) logic [HEADER_W-1:0] bytes;
  (* anyseq *) logic                s_valid;
  (* anyseq *) logic [BEAT_W-1:0]   s_data;
  (* anyseq *) logic [31:0]         s_crc;
  (* anyseq *) logic                m_axis_tready;
  ina_pkg::header_t  s_header;
  logic              s_last;
  logic              room;
  logic              m_axis_tvalid;
  logic [BEAT_W-1:0] m_axis_tdata;
  logic [KEEP_W-1:0] m_axis_tkeep;
  logic              m_axis_tlast;
  logic              m_tagged;
  logic [31:0]       m_tag;

  always_comb begin
    s_header           = '0;
    s_header.congested = congested;
    s_header.is_ipv6   = form[1];
    s_header.has_vlan  = form[0];
    s_header.quads     = 9'(quads);
    s_header.bytes     = bytes;
  end

  ina_rebuild #(.MTU(MTU)) dut (
      .clk, .rst, .s_header_valid, .s_header, .s_header_ce, .s_valid, .s_last, .s_data, .s_crc,
      .room, .marked(), .busy(),
      .m_axis_tvalid, .m_axis_tready, .m_axis_tdata, .m_axis_tkeep, .m_axis_tlast, .m_tagged, .m_tag);

  // 1. Of the data, the bytes that 3 looks at; all are loaded together.
  formal_stream #(.WIDTH(33 + 24 + KEEP_W + 1)) output_rules (
      .clk, .rst, .valid(m_axis_tvalid), .ready(m_axis_tready),
      .payload({m_tagged, m_tag, m_axis_tdata[0 +: 8], m_axis_tdata[10*8 +: 8],
                m_axis_tdata[54*8 +: 8], m_axis_tkeep, m_axis_tlast}));

  // ina_pick's rule: what is chosen, and what ina_rebuild was told of two clocks ago.
  (* anyseq *) logic choose;
  logic [2:0] to_come;  // chosen, their headers not given
  logic [2:0] unknown;  // as ina_pick counts
  logic       told_1, told_2;

  always_ff @(posedge clk) begin
    told_1  <= !rst && s_header_valid;
    told_2  <= !rst && told_1;
    to_come <= rst ? '0 : to_come + 3'(choose) - 3'(s_header_valid);
    unknown <= rst ? '0 : unknown + 3'(choose) - 3'(told_2);
  end

  always_comb begin
    assume (quads != '0 && quads <= 4'(MTU / 16));
    if (choose) assume (room && unknown < 3'd3);
    if (s_header_valid) assume (to_come != '0);
    if (rst) assume (!s_header_valid && !s_valid && !choose);
  end

  // The packets: given, of them with all their payload, of them sent.
  logic [1:0] forms    [4];
  logic [3:0] lengths  [4];
  logic [7:0] headers  [4];
  logic [7:0] tags     [4];
  logic [7:0] payloads [4];
  logic [1:0] ecns     [4];  // with which it must leave
  logic [2:0] given;
  logic [2:0] filled;
  logic [2:0] sent;
  logic [1:0] in_beat;
  logic [2:0] out_beat;
  logic [3:0] in_quads;
  logic       moves;
  logic [1:0] ecn;
  logic [1:0] out_ecn;

  // The traffic class begins 4 bits into IPv6's header, the TOS 8 into IPv4's.
  assign ecn     = form[1] ? bytes[19*8+4 +: 2] : bytes[39*8 +: 2];
  assign out_ecn = forms[sent[1:0]][1] ? m_axis_tdata[15*8+4 +: 2] : m_axis_tdata[15*8 +: 2];

  assign in_quads = (filled == given) ? quads : lengths[filled[1:0]];
  assign s_last   = 4'(in_beat) * 4 + 4 >= in_quads;
  assign moves    = m_axis_tvalid && m_axis_tready;

  always_comb begin
    if (s_valid) assume (filled != given || s_header_valid);
    assume (given - sent < 3'd4);
  end

  always_ff @(posedge clk) begin
    if (s_header_valid) begin
      forms[given[1:0]]   <= form;
      lengths[given[1:0]] <= quads;
      headers[given[1:0]] <= bytes[7:0];
      tags[given[1:0]]    <= bytes[12*8 +: 8];
      ecns[given[1:0]]    <= (s_header_ce && ecn != '0) ? 2'd3 : ecn;
    end
    if (s_valid && in_beat == '0) payloads[filled[1:0]] <= s_data[7:0];
    if (rst) begin
      given    <= '0;
      filled   <= '0;
      sent     <= '0;
      in_beat  <= '0;
      out_beat <= '0;
    end else begin
      given   <= given + 3'(s_header_valid);
      filled  <= filled + 3'(s_valid && s_last);
      sent    <= sent + 3'(moves && m_axis_tlast);
      if (s_valid) in_beat <= s_last ? '0 : in_beat + 1'b1;
      if (moves) out_beat <= m_axis_tlast ? '0 : out_beat + 1'b1;
    end
  end

  // The frame at the output.
  logic [8:0] before;  // the payload's first byte
  logic [8:0] length;
  logic [8:0] left;    // bytes, with this beat's

  assign before = forms[sent[1:0]][1] ? 9'd74 : 9'd54;
  assign length = before + {1'b0, lengths[sent[1:0]], 4'd0} + 9'd4;
  assign left   = length - {out_beat, 6'd0};

  (* hierconn *) logic \dut.beat_pop ;
  (* hierconn *) logic \dut.last ;
  (* hierconn *) logic \dut.crc_pop ;
  (* hierconn *) logic \dut.crc_valid ;

  always_comb begin
    if (!rst) begin
      if (m_axis_tvalid) begin
        p2_packet: assert (sent != given);
        p2_last:   assert (m_axis_tlast == (left <= 9'd64));
        p2_keep:   assert (m_axis_tkeep == (left >= 9'd64 ? '1 : ~({KEEP_W{1'b1}} << left[5:0])));
        if (out_beat == '0) begin
          p3_header: assert (m_axis_tdata[7:0] == headers[sent[1:0]]);
          p4_ecn:    assert (out_ecn == ecns[sent[1:0]]);
        end
        if (!forms[sent[1:0]][1] && out_beat == '0) begin
          p3_payload_4: assert (m_axis_tdata[54*8 +: 8] == payloads[sent[1:0]]);
        end
        if (forms[sent[1:0]][1] && out_beat == 3'd1) begin
          p3_payload_6: assert (m_axis_tdata[10*8 +: 8] == payloads[sent[1:0]]);
        end
        p3_tag: assert (m_tagged == forms[sent[1:0]][0] && m_tag[7:0] == tags[sent[1:0]]);
      end
      p3_crc: assert (!((\dut.beat_pop && \dut.last ) || \dut.crc_pop ) || \dut.crc_valid );
    end
  end

  always_comb begin
    if (!rst) begin
      two:    cover (sent == 3'd2);
      tail:   cover (moves && m_axis_tlast && out_beat == 3'd2 && lengths[sent[1:0]] == 4'd4);
      marked: cover (m_axis_tvalid && out_beat == '0 && out_ecn == 2'd3 && sent == 3'd1);
      turned: cover (sent == 3'd1 && moves && forms[sent[1:0]] != forms[0]);
    end
  end
endmodule

// SPDX-License-Identifier: Apache-2.0
//
// ina_parse makes one packet of every frame, whatever the frame contains. The proof keeps a list of the
// frames that went in, with their lengths and some of their bytes; their contents are any.
//
//   1. Each frame gives exactly one `first` and, with it or later, exactly one `last`, in order.
//   2. A frame that is no candidate gives one beat. Each beat of a candidate has four quads, except the last
//      one. All of them have as many quads as the header says, or the candidate has the wrong length.
//   3. A candidate has the right length if and only if its frame has the bytes of its form's headers, its
//      payload and the iCRC. Then it is trailed if and only if more bytes follow.
//   4. Header, candidate and roce_data stay constant during the packet.
//   5. A candidate's header and payload are those of its frame. The proof compares MAC's first byte, PSN's
//      first byte, and bytes of the payload's first, second, fourth and last quad, at the places of its form.
//   6. No packet waits: it is out three clocks of en after its frame's last beat.
//   7. A packet's headers come once, before its first beat. A candidate's headers are those of its record,
//      with zeros before IP.
//   8. After the iCRC of a candidate of the right length there are zeros.
//   9. After a candidate's last beat there is a clock of en without a beat.
//  10. A frame is a candidate if and only if it has the complete headers of a contribution in one of the four
//      forms.

module formal_ina_parse (
    input logic clk
);
  localparam int MTU    = 128;
  localparam int BEAT_W = ina_pkg::BEAT_W;
  localparam int KEEP_W = ina_pkg::BEAT_BYTES;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic              en;
  (* anyseq *) logic              offered;
  logic                           s_valid;  // taken
  (* anyseq *) logic              s_last;
  (* anyseq *) logic [BEAT_W-1:0] s_data;
  (* anyseq *) logic [5:0]        absent;  // bytes of the last beat
  logic [KEEP_W-1:0] s_keep;
  logic              m_head;
  logic              m_valid;
  logic              m_first;
  logic              m_last;
  ina_pkg::header_t  m_header;
  logic [BEAT_W-1:0] m_data;
  logic [2:0]        m_quads;
  logic              m_candidate;
  logic              m_roce_data;
  logic              m_wrong_length;
  logic              m_trailed;
  logic              busy;

  assign s_keep = {KEEP_W{1'b1}} >> (s_last ? absent : 6'd0);

  ina_parse #(.MTU(MTU)) dut (
      .clk, .rst, .en, .s_valid(offered), .s_last, .s_data, .s_keep,
      .m_head, .m_head_ipv6(), .m_valid, .m_first, .m_last, .m_header, .m_data, .m_after(), .m_quads,
      .m_candidate, .m_roce_data, .m_wrong_length, .m_trailed, .busy);

  assign s_valid = offered && en;

  // Frames: begun, ended, and sent on.
  logic [9:0] lengths  [8];
  logic [7:0] macs     [8];  // byte 0
  logic [7:0] psn_4    [8];  // bytes 51, 55, 71, 75
  logic [7:0] psn_4v   [8];
  logic [7:0] psn_6    [8];
  logic [7:0] psn_6v   [8];
  logic [2:0] ended;
  logic [2:0] begun;
  logic [2:0] out;
  logic       in_frame;
  logic [3:0] in_beat;
  logic       taken;
  logic       in_packet;
  logic [4:0] out_quads;  // of the packet, before this beat
  logic [1:0] recent;     // a beat went in with the latest clocks of en
  logic [2:0] heads;      // headers that have come
  logic [BEAT_W-1:0] head;  // the latest
  logic [BEAT_W-1:0] first_beat;
  logic [7:0]        contributes;  // of each frame, from its second beat on

  // 10: the bytes on the wire, as docs/protocol.md defines them.
  function automatic logic is_contribution(input logic [2*BEAT_W-1:0] wire_bytes);
    logic                tagged;
    logic [2*BEAT_W-1:0] ip;
    logic [2*BEAT_W-1:0] udp;
    logic [15:0]         ip_length;
    logic [15:0]         udp_length;
    logic                plain;  // UDP after a header without options, not a fragment
    logic [7:0]          traffic_class;

    tagged     = wire_bytes[12*8 +: 16] == 16'h0081;
    ip         = tagged ? wire_bytes >> 18*8 : wire_bytes >> 14*8;
    udp        = ip >> 20*8;
    ip_length  = {ip[2*8 +: 8], ip[3*8 +: 8]} - 16'd20;
    traffic_class = ip[15:8];
    plain      = ip[7:0] == 8'h45 && (ip[6*8 +: 16] & 16'hFF3F) == '0 && ip[9*8 +: 8] == 8'd17;
    if ((tagged ? wire_bytes[16*8 +: 16] : wire_bytes[12*8 +: 16]) == 16'hDD86) begin
      udp       = ip >> 40*8;
      ip_length = {ip[4*8 +: 8], ip[5*8 +: 8]};
      plain     = ip[7:4] == 4'd6 && ip[6*8 +: 8] == 8'd17;
      traffic_class = {ip[3:0], ip[15:12]};
    end else if ((tagged ? wire_bytes[16*8 +: 16] : wire_bytes[12*8 +: 16]) != 16'h0008) begin
      plain     = 1'b0;
    end
    udp_length = {udp[4*8 +: 8], udp[5*8 +: 8]};
    is_contribution = plain && udp[2*8 +: 16] == 16'hB712 && udp_length == ip_length
        && udp_length >= 16'd40 && udp_length <= 16'(MTU + 24) && udp_length[3:0] == 4'd8
        && (udp[8*8 +: 8] <= 8'd2 || udp[8*8 +: 8] == 8'd4) && udp[9*8+4 +: 2] == 2'd0  // no pad
        && traffic_class[7:2] == 6'd43;
  endfunction

  assign taken = m_valid && en;

  // The part of IPv6 in the second beat.
  logic headers_end;

  always_comb begin
    headers_end = 1'b1;
    if (first_beat[12*8 +: 16] == 16'hDD86) headers_end = s_keep[9];
    if (first_beat[12*8 +: 16] == 16'h0081 && first_beat[16*8 +: 16] == 16'hDD86)
      headers_end = s_keep[13];
  end

  always_ff @(posedge clk) begin
    if (s_valid) begin
      if (!in_frame) begin
        macs[begun]   <= s_data[7:0];
        psn_4[begun]  <= s_data[51*8 +: 8];
        psn_4v[begun] <= s_data[55*8 +: 8];
        first_beat    <= s_data;
        contributes[begun] <= 1'b0;
      end else if (in_beat == 4'd1) begin
        psn_6[ended]  <= s_data[7*8 +: 8];
        psn_6v[ended] <= s_data[11*8 +: 8];
        contributes[ended] <= is_contribution({s_data, first_beat}) && headers_end;
      end
      if (s_last) lengths[ended] <= {in_beat, 6'd0} + 10'd64 - 10'(absent);
    end
    if (en) recent <= {recent[0], s_valid};
    if (m_head && en) head <= m_data;
    if (rst) begin
      begun     <= '0;
      ended     <= '0;
      out       <= '0;
      in_frame  <= 1'b0;
      in_beat   <= '0;
      in_packet <= 1'b0;
      out_quads <= '0;
      recent    <= '0;
      heads     <= '0;
    end else begin
      if (s_valid) begin
        in_frame <= !s_last;
        in_beat  <= s_last ? '0 : in_beat + 1'b1;
        begun    <= begun + 3'(!in_frame);
        ended    <= ended + 3'(s_last);
      end
      if (m_head && en) heads <= heads + 1'b1;
      if (taken) begin
        in_packet <= !m_last;
        out_quads <= m_last ? '0 : out_quads + 5'(m_quads);
        out       <= out + 3'(m_last);
      end
    end
  end

  logic             pauses;  // a candidate's last beat was taken with the latest clock of en
  logic             goes_on;  // the packet had a beat in the previous clock of en
  ina_pkg::header_t header_before;
  logic             candidate_before;
  logic             roce_before;

  always_ff @(posedge clk) begin
    pauses           <= !rst && (en ? m_valid && m_last && m_candidate : pauses);
    goes_on          <= !rst && m_valid && !(en && m_last);
    header_before    <= m_header;
    candidate_before <= m_candidate;
    roce_before      <= m_roce_data;
  end

  logic       form_vlan;
  logic       form_ipv6;
  logic [9:0] before;
  logic [9:0] need;   // bytes
  logic [9:0] got;    // bytes that have come
  logic       right;

  assign form_vlan = m_header.has_vlan;
  assign form_ipv6 = m_header.is_ipv6;
  assign before    = form_ipv6 ? (form_vlan ? 10'd78 : 10'd74) : (form_vlan ? 10'd58 : 10'd54);
  assign need      = before + 10'({m_header.quads, 4'd0}) + 10'd4;
  assign got       = ended != out ? lengths[out] : {in_beat, 6'd0};
  assign right     = got >= need;

  // 5: one bit of each of these bytes of the payload, at its place in a frame of each form.
  logic [3:0] payload_right;

  for (genvar k = 0; k < 4; k++) begin : gen_payload
    localparam int AT = k == 0 ? 0 : k == 1 ? 31 : k == 2 ? 48 : 127;
    logic [7:0] v4, v4_vlan, v6, v6_vlan;  // of each frame
    logic       here;                      // in this beat

    always_ff @(posedge clk) begin
      if (s_valid) begin
        if (in_beat == 4'((AT + 54) / 64)) v4[ended]      <= s_data[(AT + 54) % 64 * 8];
        if (in_beat == 4'((AT + 58) / 64)) v4_vlan[ended] <= s_data[(AT + 58) % 64 * 8];
        if (in_beat == 4'((AT + 74) / 64)) v6[ended]      <= s_data[(AT + 74) % 64 * 8];
        if (in_beat == 4'((AT + 78) / 64)) v6_vlan[ended] <= s_data[(AT + 78) % 64 * 8];
      end
    end

    assign here = out_quads <= 5'(AT / 16) && out_quads + 5'(m_quads) > 5'(AT / 16);

    assign payload_right[k] = !here
        || m_data[AT % 64 * 8] == (form_ipv6 ? (form_vlan ? v6_vlan[out] : v6[out])
                                             : (form_vlan ? v4_vlan[out] : v4[out]));
  end

  always_comb begin
    if (!rst) begin
      if (m_valid) begin
        p1_frame: assert (out != begun);
        p1_first: assert (m_first == !in_packet);
        p7_once:  assert (!m_first || heads == out + 1'b1);
        p10_shape: assert (!m_first || m_candidate == contributes[out]);
        if (!m_candidate) begin
          p2_one:   assert (m_first && m_last);
        end else begin
          p2_quads: assert (m_quads >= 3'd1 && m_quads <= 3'd4);
          p2_short: assert (m_last || m_quads == 3'd4);
          p2_shape: assert (m_roce_data && m_header.quads != '0
              && m_header.quads <= 9'(MTU / 16));
          if (m_last) begin
            p2_all:   assert (m_wrong_length || 9'(out_quads) + 9'(m_quads) == m_header.quads);
            p3_right: assert (m_wrong_length == !right);
            p3_trailed: assert (!right || m_trailed == !(ended != out && got == need));
            p8_zeros: assert (m_wrong_length
                || ((m_quads > 3'd1 || m_data[288-1:160] == '0)
                    && (m_quads > 3'd2 || m_data[416-1:288] == '0)
                    && (m_quads > 3'd3 || m_data[512-1:416] == '0)));
          end
          p5_data: assert ((m_last && m_wrong_length) || payload_right == '1);
          p5_mac: assert (m_header.bytes[7:0] == macs[out]);
          p5_psn: assert (m_header.bytes[ina_pkg::BTH_PSN_AT*8 +: 8]
              == (form_ipv6 ? (form_vlan ? psn_6v[out] : psn_6[out])
                            : (form_vlan ? psn_4v[out] : psn_4[out])));
          if (m_first) begin
            p7_head: assert (head == {m_header.bytes[ina_pkg::HEADER_W-1:ina_pkg::IP_AT*8], 32'd0});
            p7_ipv4: assert (form_ipv6
                || m_header.bytes[ina_pkg::IPV4_AT*8-1:ina_pkg::IP_AT*8] == '0);
          end
        end
        if (goes_on && in_packet) begin
          p4_stays: assert (m_header == header_before && m_candidate == candidate_before
              && m_roce_data == roce_before);
        end
      end
      p9_pauses: assert (!(pauses && m_valid));
      p6_out:  assert (in_frame || busy || m_valid || out == begun);
      p6_busy: assert (!busy || recent != '0);
    end
  end

  logic [1:0] rights;

  always_ff @(posedge clk) begin
    if (rst) rights <= '0;
    else if (taken && m_last && m_candidate && !m_wrong_length && rights != '1)
      rights <= rights + 1'b1;
  end

  always_comb begin
    if (!rst) begin
      two:      cover (rights == 2'd2);
      ipv6:     cover (taken && m_last && !m_first && form_ipv6 && !form_vlan && right && m_candidate);
      ipv6vlan: cover (taken && m_last && !m_first && form_ipv6 && form_vlan && right && m_candidate);
      vlan:     cover (taken && m_last && !m_first && !form_ipv6 && form_vlan && right && m_candidate);
      astray:   cover (taken && m_last && m_candidate && m_wrong_length && rights == 2'd1);
      others:   cover (out == 3'd3 && rights == '0);
      trailed:  cover (taken && m_last && m_candidate && right && ended == out);
    end
  end
endmodule

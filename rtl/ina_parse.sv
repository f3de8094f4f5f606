// SPDX-License-Identifier: Apache-2.0
//
// Splits a frame into its header record (ina_pkg) and its payload, and realigns both to byte 0 of a
// beat. These are the positions of the fields on the wire; ina_rebuild and ina_merge build the same
// layout:
//
//   form            EtherType  IP  UDP  BTH  payload
//   IPv4                 12    14   34   42   54
//   IPv4 with VLAN       16    18   38   46   58
//   IPv6                 12    14   54   62   74
//   IPv6 with VLAN       16    18   58   66   78
//
// The output has as many beats as the input: first the end of the headers, which precede the
// payload in every form, then the payload. So headers and payload share one multiplexer, and every
// form runs at a beat a clock. IPv6's headers end in the second beat, but then the payload is a
// beat later too. A beat waits for the next one of its frame.
//
// The last beat of a packet leaves two clocks of en after the last beat of its frame came in, or
// sooner if bytes follow the iCRC. These bytes are not part of the packet, and no module gets them.
// Every frame has at least one beat at the output. A frame that is no candidate has exactly one,
// with first = last = 1. The header of the next frame follows a candidate's last beat, so there is
// a clock of en without a beat after it.

`default_nettype none

module ina_parse #(
    parameter int MTU = 4096  // the largest payload of a candidate, in bytes
) (
    input  logic clk,
    input  logic rst,
    input  logic en,  // every register holds while en = 0

    // Input beats: a valid beat is taken if en = 1.
    input  logic                            s_valid,
    input  logic                            s_last,
    input  logic [ina_pkg::BEAT_W-1:0]      s_data,
    input  logic [ina_pkg::BEAT_BYTES-1:0]  s_keep,

    // Precedes the first beat of a frame at m_*. m_data has the end of the headers: the record from
    // byte 14 on, with zeros in all bytes before IP.
    output logic                       m_head,
    output logic                       m_head_ipv6,

    output logic                       m_valid,
    output logic                       m_first,
    output logic                       m_last,
    output ina_pkg::header_t           m_header,        // stable over the packet
    output logic [ina_pkg::BEAT_W-1:0] m_data,          // zeros after the iCRC
    output logic [31:0]                m_after,         // the four bytes that follow m_data
    output logic [2:0]                 m_quads,         // quads of a candidate in m_data: 1 to 4
    output logic                       m_candidate,     // has the form of a contribution
    output logic                       m_roce_data,     // a marked RC request: m_header is valid
    output logic                       m_wrong_length,  // with m_last: shorter than UDP says
    output logic                       m_trailed,       // with m_last: not as long as UDP says

    output logic                       busy             // a beat will leave although none comes in
);
  localparam int BEAT_W  = ina_pkg::BEAT_W;
  localparam int QUADS_W = ina_pkg::QUADS_W;
  localparam int TAG_AT  = ina_pkg::ETHERTYPE_AT * 8;
  localparam int TAG_W   = ina_pkg::VLAN_BYTES * 8;

  localparam logic [15:0] ETHERTYPE_VLAN = 16'h8100;  // IEEE 802.1Q
  localparam logic [15:0] ETHERTYPE_IPV4 = 16'h0800;
  localparam logic [15:0] ETHERTYPE_IPV6 = 16'h86DD;
  localparam logic [7:0]  PROTOCOL_UDP   = 8'd17;

  // The UDP length counts 24 bytes more than the payload, a quad and a half: UDP 8, BTH 12, iCRC 4.
  // IPv4's total length includes the IPv4 header; IPv6's payload length does not include IPv6's.
  localparam logic [3:0]  UDP_REST      = 4'd8;
  localparam logic [11:0] UDP_QUADS_MAX = 12'(MTU / 16 + 1);
  localparam logic [15:0] IPV4_OVERHEAD = 16'd20;

  // A field of the wire, whose first byte is the most significant one.
  function automatic logic [15:0] wire16(input logic [15:0] bytes);
    wire16 = {bytes[7:0], bytes[15:8]};
  endfunction

  // RC packets that take one of the sender's PSNs: all except read responses, ACK and atomic ACK.
  function automatic logic is_request(input logic [7:0] opcode);
    is_request = opcode[7:5] == 3'b000 && (opcode < 8'h0D || opcode > 8'h12);
  endfunction

  function automatic logic is_send(input logic [7:0] opcode);
    is_send = opcode == ina_pkg::RC_SEND_FIRST || opcode == ina_pkg::RC_SEND_MIDDLE
        || opcode == ina_pkg::RC_SEND_LAST || opcode == ina_pkg::RC_SEND_ONLY;
  endfunction

  // First clock: the beat as it came, and the rest of the beat before it.
  logic              at_first;  // the next input beat is the first one of a frame
  logic              a_valid;
  logic              a_first;
  logic              a_last;
  logic [BEAT_W-1:0] a_data;
  logic [79:0]       a_before;
  logic [1:0]        form;
  logic              unlike;    // form[1] != form[0]
  logic              is_ip;
  logic              whole;     // if the headers end in this beat: they are complete
  logic [3:0]        reaches;   // bit i: the frame has the 4 bytes after border i of a quad
  logic [3:0]        ends;      // bit i: the frame ends right after these 4 bytes
  logic              advance;   // moves to the second clock

  assign advance = en && a_valid && (a_last || s_valid);
  assign busy    = (a_valid && a_last) || m_head;

  always_ff @(posedge clk) begin
    if (rst) begin
      at_first <= 1'b1;
      a_valid  <= 1'b0;
    end else if (en) begin
      if (s_valid) at_first <= s_last;
      a_valid <= s_valid || (a_valid && !advance);
    end
  end

  // A quad of the payload begins at byte 6 of a beat (IPv4), 10 (IPv4 with VLAN), 10 (IPv6) or 14
  // (IPv6 with VLAN), and at every 16th byte from there.
  always_ff @(posedge clk) begin
    if (en && s_valid) begin
      a_first  <= at_first;
      a_last   <= s_last;
      a_data   <= s_data;
      a_before <= a_data[BEAT_W-1 -: 80];
      for (int i = 0; i < 4; i++) begin
        case (form)
          ina_pkg::FORM_IPV4:      {reaches[i], ends[i]} <= {s_keep[i*16+9], s_keep[i*16+9] && !s_keep[i*16+10]};
          ina_pkg::FORM_IPV6_VLAN: {reaches[i], ends[i]} <= {s_keep[i*16+1], s_keep[i*16+1] && !s_keep[i*16+2]};
          default: {reaches[i], ends[i]} <= {s_keep[i*16+13], s_keep[i*16+13] && !s_keep[i*16+14]};
        endcase
      end
    end
    if (en && s_valid && at_first) begin
      if (wire16(s_data[TAG_AT+:16]) == ETHERTYPE_VLAN) begin
        is_ip  <= wire16(s_data[TAG_AT+TAG_W+:16]) == ETHERTYPE_IPV4
            || wire16(s_data[TAG_AT+TAG_W+:16]) == ETHERTYPE_IPV6;
        form   <= {wire16(s_data[TAG_AT+TAG_W+:16]) == ETHERTYPE_IPV6, 1'b1};
        unlike <= wire16(s_data[TAG_AT+TAG_W+:16]) != ETHERTYPE_IPV6;
        whole  <= s_keep[ina_pkg::IPV4_HEADER_BYTES+ina_pkg::VLAN_BYTES-1];
      end else begin
        is_ip  <= wire16(s_data[TAG_AT+:16]) == ETHERTYPE_IPV4
            || wire16(s_data[TAG_AT+:16]) == ETHERTYPE_IPV6;
        form   <= {wire16(s_data[TAG_AT+:16]) == ETHERTYPE_IPV6, 1'b0};
        unlike <= wire16(s_data[TAG_AT+:16]) == ETHERTYPE_IPV6;
        whole  <= s_keep[ina_pkg::IPV4_HEADER_BYTES-1];
      end
    end
  end

  // Second clock: the header, when it is at m_data. m_ethernet holds the bytes before IP.
  localparam int HEAD_AT    = ina_pkg::HEADER_BYTES - ina_pkg::BEAT_BYTES;  // byte 0 in the record
  localparam int ETHERNET_W = ina_pkg::IP_AT * 8;

  logic [ETHERNET_W-1:0]        m_ethernet;
  logic                         m_has_vlan;
  logic                         m_is_ip;
  logic                         m_complete;
  logic                         m_one_beat;  // the frame has only one beat
  logic                         udp;         // no IP options, fragments, extension headers
  logic [15:0]                  port;
  logic [15:0]                  udp_length;
  logic [15:0]                  ip_length;   // the UDP length that the IP length implies
  logic [7:0]                   opcode;
  logic [1:0]                   ecn;
  logic [5:0]                   dscp;
  logic [1:0]                   pad;
  logic [QUADS_W-1:0]           quads;       // quads of payload, if it is a candidate
  logic                         request;
  logic                         candidate;

  always_comb begin
    port       = '0;
    udp_length = '0;
    ip_length  = '0;
    opcode     = '0;
    ecn        = '0;
    dscp       = '0;
    pad        = '0;
    udp        = 1'b0;
    quads      = '0;
    request    = 1'b0;
    candidate  = 1'b0;
    if (m_head || !ina_pkg::SIMULATED) begin
      port       = wire16(m_data[(ina_pkg::UDP_CHECKSUM_AT-HEAD_AT-4)*8 +: 16]);
      udp_length = wire16(m_data[(ina_pkg::UDP_CHECKSUM_AT-HEAD_AT-2)*8 +: 16]);
      opcode     = m_data[(ina_pkg::BTH_OPCODE_AT-HEAD_AT)*8 +: 8];
      pad        = m_data[(ina_pkg::BTH_PAD_AT-HEAD_AT)*8+4 +: 2];
      if (m_head_ipv6) begin
        udp       = m_data[(ina_pkg::IP_AT-HEAD_AT)*8+4 +: 4] == 4'd6
            && m_data[(ina_pkg::IP_AT-HEAD_AT+6)*8 +: 8] == PROTOCOL_UDP;
        ecn       = m_data[(ina_pkg::IP_AT-HEAD_AT+1)*8+4 +: 2];
        // Spread over two bytes, after the version.
        dscp      = {m_data[(ina_pkg::IP_AT-HEAD_AT)*8 +: 4],
                     m_data[(ina_pkg::IP_AT-HEAD_AT+1)*8+6 +: 2]};
        ip_length = wire16(m_data[(ina_pkg::IP_AT-HEAD_AT+4)*8 +: 16]);
      end else begin
        udp       = m_data[(ina_pkg::IPV4_AT-HEAD_AT)*8 +: 8] == 8'h45
            && (wire16(m_data[(ina_pkg::IPV4_AT-HEAD_AT+6)*8 +: 16]) & 16'h3FFF) == '0
            && m_data[(ina_pkg::IPV4_AT-HEAD_AT+9)*8 +: 8] == PROTOCOL_UDP;
        {dscp, ecn} = m_data[(ina_pkg::IPV4_TOS_AT-HEAD_AT)*8 +: 8];
        ip_length = wire16(m_data[(ina_pkg::IPV4_AT-HEAD_AT+2)*8 +: 16]) - IPV4_OVERHEAD;
      end
      quads     = udp_length[4 +: QUADS_W] - 1'b1;
      request   = m_is_ip && udp && m_complete && port == ina_pkg::ROCE_UDP_PORT
          && is_request(opcode) && dscp == ina_pkg::DSCP;
      candidate = request && is_send(opcode) && pad == '0 && !m_one_beat && ip_length == udp_length
          && udp_length[15:4] > 12'd1 && udp_length[15:4] <= UDP_QUADS_MAX
          && udp_length[3:0] == UDP_REST;
    end
  end

  always_ff @(posedge clk) begin
    if (rst) m_head <= 1'b0;
    else if (en) m_head <= advance && a_first;
  end

  always_ff @(posedge clk) begin
    if (advance && a_first) begin
      m_ethernet  <= form[0] ? a_data[ETHERNET_W-1:0]
                             : {a_data[TAG_AT +: 16], TAG_W'(0), a_data[TAG_AT-1:0]};
      m_has_vlan  <= form[0];
      m_head_ipv6 <= form[1];
      m_is_ip     <= is_ip;
      m_complete  <= form[1] ? !a_last && s_keep[form[0] ? 13 : 9] : whole;
      m_one_beat  <= a_last;
    end
    if (en && m_head) begin
      m_candidate <= candidate;
      m_roce_data <= request;
    end
    if (en && m_head && m_is_ip) begin
      m_header.filler    <= '0;
      m_header.crc       <= '0;  // ina_check fills it in
      m_header.congested <= ecn == 2'b11;
      m_header.is_ipv6   <= m_head_ipv6;
      m_header.has_vlan  <= m_has_vlan;
      m_header.quads     <= candidate ? quads : '0;
      m_header.bytes     <= {m_data[BEAT_W-1:(ina_pkg::IP_AT-HEAD_AT)*8], m_ethernet};
    end
  end

  // The payload. If its last quads are complete before the frame's last beat has come, they wait at
  // m_data for the next beat. That beat has the iCRC or half of it, or the bytes after the packet.
  logic               body_valid;  // a beat of the frame, but not the first one
  logic [QUADS_W-1:0] left;        // quads of the payload that have not left
  logic [QUADS_W-1:0] beat_left;   // the same before this beat, if any are left
  logic               any_left;
  logic               final_one;    // all remaining quads are in this beat
  logic               final_waits;  // they wait at m_data
  logic               first;        // no beat has left
  logic               emit;
  logic [1:0]         end_at;      // which bit of `ends` means that the frame ends with the iCRC
  logic               next_too;    // the iCRC ends in the beat after that of the last quads

  assign body_valid = advance && !a_first;
  assign beat_left  = m_head ? quads : left;
  assign any_left   = m_head ? candidate : left != '0;
  assign final_one  = beat_left <= 9'd4;
  assign emit       = body_valid && any_left && (final_waits || a_last || !final_one);

  always_comb begin
    case (form)
      ina_pkg::FORM_IPV6: begin
        end_at   = beat_left[1:0];
        next_too = beat_left == 9'd4;
      end
      ina_pkg::FORM_IPV6_VLAN: begin
        end_at   = beat_left[1:0] + 2'd1;
        next_too = beat_left >= 9'd3;
      end
      default: begin
        end_at   = beat_left[1:0] - 2'd1;
        next_too = 1'b0;
      end
    endcase
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      m_valid     <= 1'b0;
      final_waits <= 1'b0;
      left        <= '0;
    end else if (en) begin
      m_valid <= emit || (m_head && !candidate);
      if (body_valid) final_waits <= any_left && final_one && !final_waits && !a_last;
      if (emit) left <= (final_one || a_last) ? '0 : beat_left - 9'd4;
      else if (m_head) left <= candidate ? quads : '0;
    end
  end

  always_ff @(posedge clk) begin
    if (en && (m_head || emit)) begin
      first          <= !emit && candidate;
      m_first        <= m_head || first;
      m_last         <= !emit || final_one || a_last;
      m_quads        <= final_one ? beat_left[2:0] : 3'd4;
      m_wrong_length <= !(final_one && (next_too ? final_waits && reaches[end_at]
                                                 : final_waits || reaches[end_at]));
      m_trailed      <= !(a_last && final_waits == next_too && ends[end_at]);
    end
  end

  // Bytes after the iCRC are zeros. In a last beat of fewer than four quads the iCRC is in m_data
  // too. In a header, bytes that the record does not have, or that m_ethernet has, are zeros.
  localparam int BYTES_W    = 80 + BEAT_W + 18 * 8;
  localparam int ALIGNED_W  = BEAT_W + 32;
  localparam int IPV4_FROM  = 0;  // first byte in `bytes`: byte 54 of the previous beat
  localparam int IPV6_FROM  = ina_pkg::IPV6_EXTRA_BYTES * 8;  // byte 10 of this beat
  // Quads 1 to 3 of the beat that the payload does not have. Their first lane may hold the iCRC.
  logic [2:0] absent;

  for (genvar q = 0; q < 3; q++) begin : gen_quad
    assign absent[q] = !a_first && beat_left <= QUADS_W'(q + 1);
  end

  // A multiplexer of four inputs is a LUT of six inputs for each bit. The pairs are selected by
  // `unlike`, not by form[0]. So the pairs of IPv4 are not those of IPv6, and no mapper shares them
  // at twice the cost.
  always_ff @(posedge clk) begin : align
    logic [BYTES_W-1:0] bytes;
    if (advance && !final_waits && (a_first || m_head || left != '0)) begin
      bytes = {s_data[18*8-1:0], a_data, a_before};
      {m_after, m_data} <= form[1]
          ? (unlike ? bytes[IPV6_FROM +: ALIGNED_W] : bytes[IPV6_FROM+TAG_W +: ALIGNED_W])
          : (unlike ? bytes[IPV4_FROM+TAG_W +: ALIGNED_W] : bytes[IPV4_FROM +: ALIGNED_W]);
      if (absent[0]) m_data[288-1:160]  <= '0;
      if (absent[1]) m_data[416-1:288]  <= '0;
      if (absent[2]) m_data[512-1:416]  <= '0;
      if (a_first) m_data[31:0] <= '0;
      if (a_first && !form[1]) m_data[191:32] <= '0;
    end
  end

endmodule

`default_nettype wire

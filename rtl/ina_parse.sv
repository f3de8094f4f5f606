// SPDX-License-Identifier: Apache-2.0
//
// Splits a frame into its header record (ina_pkg) and its payload, and realigns both to byte 0 of a
// beat. What lies where on the wire; ina_rebuild and ina_merge put it together again:
//
//   form            EtherType  IP  UDP  BTH  payload
//   IPv4                 12    14   34   42   54
//   IPv4 with VLAN       16    18   38   46   58
//   IPv6                 12    14   54   62   74
//   IPv6 with VLAN       16    18   58   66   78
//
// As many beats come out as go in: first the end of the headers, which stand right before the
// payload in every form, then the payload. So headers and payload share one multiplexer, and every
// form runs at a beat a clock: IPv6's headers end in the second beat, but then the payload is a
// beat behind too. A beat waits for the next one of its frame.
//
// A packet's last beat comes out two clocks of en after its frame's last beat went in, or sooner where
// bytes follow the iCRC: these are not the packet's, and come to nobody. Every frame has at least one
// beat; one that is no candidate exactly one (first = last = 1). The next frame's
// header follows a candidate's last beat, so there is a clock of en without a beat.

`default_nettype none

module ina_parse #(
    parameter int MTU = 4096  // the largest payload of a candidate, in bytes
) (
    input  logic clk,
    input  logic rst,
    input  logic en,  // every register holds while en = 0

    // Input beats: one that is there with en = 1 is taken.
    input  logic                            s_valid,
    input  logic                            s_last,
    input  logic [ina_pkg::BEAT_W-1:0]      s_data,
    input  logic [ina_pkg::BEAT_BYTES-1:0]  s_keep,

    // Before a frame's first beat at m_*: its headers are in m_data, which is byte 14 of the record
    // and what follows, with zeros before IP.
    output logic                       m_head,
    output logic                       m_head_ipv6,

    output logic                       m_valid,
    output logic                       m_first,
    output logic                       m_last,
    output ina_pkg::header_t           m_header,        // stable over the packet
    output logic [ina_pkg::BEAT_W-1:0] m_data,          // zeros past the iCRC
    output logic [31:0]                m_after,         // the four bytes that follow m_data
    output logic [2:0]                 m_quads,         // of a candidate: 1 to 4 valid quads in it
    output logic                       m_candidate,     // has the shape of a contribution
    output logic                       m_roce_data,     // marked RC request: m_header means something
    output logic                       m_wrong_length,  // with its m_last: shorter than UDP says
    output logic                       m_trailed,       // ... or longer, or so it seems: wrong too

    output logic                       busy             // a beat comes without another one going in
);
  localparam int BEAT_W  = ina_pkg::BEAT_W;
  localparam int QUADS_W = ina_pkg::QUADS_W;

  localparam logic [15:0] ETHERTYPE_VLAN = 16'h8100;  // IEEE 802.1Q
  localparam logic [15:0] ETHERTYPE_IPV4 = 16'h0800;
  localparam logic [15:0] ETHERTYPE_IPV6 = 16'h86DD;
  localparam logic [7:0]  PROTOCOL_UDP   = 8'd17;

  // The UDP length has 24 bytes besides the payload, a quad and a half: UDP 8, BTH 12, iCRC 4.
  // IPv4's total length counts its own header, IPv6's payload length does not.
  localparam logic [3:0]  UDP_REST      = 4'd8;
  localparam logic [11:0] UDP_QUADS_MAX = 12'(MTU / 16 + 1);
  localparam logic [15:0] IPV4_OVERHEAD = 16'd20;

  // A field of the wire, whose first byte is the high one.
  function automatic logic [15:0] wire16(input logic [15:0] bytes);
    wire16 = {bytes[7:0], bytes[15:8]};
  endfunction

  // RC packets that take a PSN of the sender's own: all but read responses, ACK and atomic ACK.
  function automatic logic is_request(input logic [7:0] opcode);
    is_request = opcode[7:5] == 3'b000 && (opcode < 8'h0D || opcode > 8'h12);
  endfunction

  function automatic logic is_send(input logic [7:0] opcode);
    is_send = opcode == ina_pkg::RC_SEND_FIRST || opcode == ina_pkg::RC_SEND_MIDDLE
        || opcode == ina_pkg::RC_SEND_LAST || opcode == ina_pkg::RC_SEND_ONLY;
  endfunction

  // First clock: the beat as it came, with what is left of the one before.
  logic              at_first;  // the next beat that comes in is a frame's first
  logic              a_valid;
  logic              a_first;
  logic              a_last;
  logic [BEAT_W-1:0] a_data;
  logic [79:0]       a_before;
  logic [1:0]        form;
  logic              unlike;    // form[1] != form[0]
  logic              is_ip;
  logic              whole;     // the headers are complete, if they end in this beat
  logic [3:0]        reaches;   // the frame has 4 bytes past a quad's border, the ith
  logic [3:0]        ends;      // ... and no more
  logic              advance;   // to the second clock

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

  // Quads of the payload begin at byte 6 (IPv4), 10, 10 or 14 of a beat, each the first byte of its
  // form or 16 more.
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
      if (wire16(s_data[12*8+:16]) == ETHERTYPE_VLAN) begin
        is_ip  <= wire16(s_data[16*8+:16]) == ETHERTYPE_IPV4
            || wire16(s_data[16*8+:16]) == ETHERTYPE_IPV6;
        form   <= {wire16(s_data[16*8+:16]) == ETHERTYPE_IPV6, 1'b1};
        unlike <= wire16(s_data[16*8+:16]) != ETHERTYPE_IPV6;
        whole  <= s_keep[57];
      end else begin
        is_ip  <= wire16(s_data[12*8+:16]) == ETHERTYPE_IPV4
            || wire16(s_data[12*8+:16]) == ETHERTYPE_IPV6;
        form   <= {wire16(s_data[12*8+:16]) == ETHERTYPE_IPV6, 1'b0};
        unlike <= wire16(s_data[12*8+:16]) == ETHERTYPE_IPV6;
        whole  <= s_keep[53];
      end
    end
  end

  // Second clock: the header, when it is at m_data. What stands before IP is beside it.
  localparam int HEAD_AT    = ina_pkg::HEADER_BYTES - ina_pkg::BEAT_BYTES;  // byte 0 in the record
  localparam int ETHERNET_W = ina_pkg::IP_AT * 8;

  logic [ETHERNET_W-1:0]        m_ethernet;
  logic                         m_has_vlan;
  logic                         m_is_ip;
  logic                         m_complete;
  logic                         m_alone;     // the frame has one beat
  logic                         udp;         // without options, fragments, extension headers
  logic [15:0]                  port;
  logic [15:0]                  udp_length;
  logic [15:0]                  ip_length;   // as UDP must say it
  logic [7:0]                   opcode;
  logic [1:0]                   ecn;
  logic [5:0]                   dscp;
  logic [1:0]                   pad;
  logic [QUADS_W-1:0]           quads;       // of a candidate
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
        // Across two bytes, behind the version.
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
      candidate = request && is_send(opcode) && pad == '0 && !m_alone && ip_length == udp_length
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
                             : {a_data[12*8 +: 16], 32'd0, a_data[12*8-1:0]};
      m_has_vlan  <= form[0];
      m_head_ipv6 <= form[1];
      m_is_ip     <= is_ip;
      m_complete  <= form[1] ? !a_last && s_keep[form[0] ? 13 : 9] : whole;
      m_alone     <= a_last;
    end
    if (en && m_head) begin
      m_candidate <= candidate;
      m_roce_data <= request;
    end
    if (en && m_head && m_is_ip) begin
      m_header.filler    <= '0;
      m_header.crc       <= '0;  // not known yet
      m_header.congested <= ecn == 2'b11;
      m_header.is_ipv6   <= m_head_ipv6;
      m_header.has_vlan  <= m_has_vlan;
      m_header.quads     <= candidate ? quads : '0;
      m_header.bytes     <= {m_data[BEAT_W-1:(ina_pkg::IP_AT-HEAD_AT)*8], m_ethernet};
    end
  end

  // The payload. Where its last quads are complete before the frame's last beat has come, they wait
  // at m_data for the next one, which has the iCRC or half of it, or what follows the packet.
  logic               body_valid;  // a beat of the frame, behind its first
  logic [QUADS_W-1:0] left;        // quads of the payload that have not left
  logic [QUADS_W-1:0] now_left;    // ... before this beat, if there are any
  logic               any_left;
  logic               final_one;   // all that are left are in this beat
  logic               held;        // they wait at m_data
  logic               first;       // no beat has left
  logic               emit;
  logic [1:0]         end_at;      // which of `ends` would be right behind the iCRC
  logic               next_too;    // the iCRC of the last quads ends in the beat that follows theirs

  assign body_valid = advance && !a_first;
  assign now_left   = m_head ? quads : left;
  assign any_left   = m_head ? candidate : left != '0;
  assign final_one  = now_left <= 9'd4;
  assign emit       = body_valid && any_left && (held || a_last || !final_one);

  always_comb begin
    case (form)
      ina_pkg::FORM_IPV6: begin
        end_at   = now_left[1:0];
        next_too = now_left == 9'd4;
      end
      ina_pkg::FORM_IPV6_VLAN: begin
        end_at   = now_left[1:0] + 2'd1;
        next_too = now_left >= 9'd3;
      end
      default: begin
        end_at   = now_left[1:0] - 2'd1;
        next_too = 1'b0;
      end
    endcase
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      m_valid <= 1'b0;
      held    <= 1'b0;
      left    <= '0;
    end else if (en) begin
      m_valid <= emit || (m_head && !candidate);
      if (body_valid) held <= any_left && final_one && !held && !a_last;
      if (emit) left <= (final_one || a_last) ? '0 : now_left - 9'd4;
      else if (m_head) left <= candidate ? quads : '0;
    end
  end

  always_ff @(posedge clk) begin
    if (en && (m_head || emit)) begin
      first          <= !emit && candidate;
      m_first        <= m_head || first;
      m_last         <= !emit || final_one || a_last;
      m_quads        <= final_one ? now_left[2:0] : 3'd4;
      m_wrong_length <= !(final_one && (next_too ? held && reaches[end_at] : held || reaches[end_at]));
      m_trailed      <= !(a_last && held == next_too && ends[end_at]);
    end
  end

  // Past the iCRC there are zeros: in a last beat of fewer than four quads it is in m_data too. In
  // a header, what the record has not, or has in m_ethernet.
  localparam int BYTES_W    = 80 + BEAT_W + 18 * 8;
  localparam int ALIGNED_W  = BEAT_W + 32;
  localparam int IPV4_FROM  = 0;       // of `bytes`: byte 54 of the beat before
  localparam int IPV6_FROM  = 20 * 8;  // byte 10 of this one
  localparam int TAG_W      = 4 * 8;   // a VLAN tag moves them on
  logic [2:0] absent;  // quads from the second on, their first lane apart

  for (genvar q = 0; q < 3; q++) begin : gen_quad
    assign absent[q] = !a_first && now_left <= QUADS_W'(q + 1);
  end

  // Four to one is a LUT of six inputs a bit: asked for `unlike` and not for form[0], the pairs of
  // IPv4 are not those of IPv6, so that no mapper shares them at twice the cost.
  always_ff @(posedge clk) begin : align
    logic [BYTES_W-1:0] bytes;
    if (advance && !held && (a_first || m_head || left != '0)) begin
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

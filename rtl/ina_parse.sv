// SPDX-License-Identifier: Apache-2.0
//
// Splits a frame into its header record (ina_pkg) and its payload, and realigns the payload to
// byte 0 of a beat. The only module that knows how the four forms of a frame lie on the wire:
//
//   form            EtherType  IP  UDP  BTH  payload
//   IPv4                 12    14   34   42   54
//   IPv4 with VLAN       16    18   38   46   58
//   IPv6                 12    14   54   62   74
//   IPv6 with VLAN       16    18   58   66   78
//
// No frame gives anything in the clock of its first beat, but it may in the clock after its last
// one, when the next frame's first beat comes in: so a beat goes in every clock, although the last
// beat of an IPv6 frame may complete two beats of payload. Latency: one clock of en from the input
// beat that completes a payload beat, or two. Every frame gives at least one beat; a frame that is
// no candidate exactly one (first = last = 1).

module ina_parse #(
    parameter int MTU = 4096  // the largest payload of a candidate, in bytes
) (
    input  logic clk,
    input  logic rst,
    input  logic en,  // every register holds while en = 0

    // Accepted input beats: s_valid is tvalid && tready, and only with en = 1.
    input  logic                            s_valid,
    input  logic                            s_last,
    input  logic [ina_pkg::BEAT_W-1:0]      s_data,
    input  logic [ina_pkg::BEAT_BYTES-1:0]  s_keep,

    output logic                       m_valid,
    output logic                       m_first,
    output logic                       m_last,
    output ina_pkg::header_t           m_header,        // stable over the packet
    output logic [ina_pkg::BEAT_W-1:0] m_data,          // bytes past the payload's end are zero
    output logic [2:0]                 m_quads,         // 1 to 4 valid quads in this beat
    output logic                       m_candidate,     // has the shape of a contribution
    output logic                       m_roce_data,     // RC request: m_header means something
    output logic [31:0]                m_icrc,          // with m_last: as received
    output logic                       m_wrong_length,  // with m_last: not as long as UDP says

    output logic                       busy             // a beat comes without another one going in
);
  localparam int BEAT_W  = ina_pkg::BEAT_W;
  localparam int QUADS_W = ina_pkg::QUADS_W;

  localparam logic [15:0] ETHERTYPE_VLAN = 16'h8100;  // IEEE 802.1Q
  localparam logic [15:0] ETHERTYPE_IPV4 = 16'h0800;
  localparam logic [15:0] ETHERTYPE_IPV6 = 16'h86DD;
  localparam logic [7:0]  PROTOCOL_UDP   = 8'd17;

  // A candidate's payload, in quads, and the UDP length around it: UDP 8, BTH 12, iCRC 4. IPv4's
  // total length counts its own header, IPv6's payload length does not.
  localparam logic [15:0] UDP_OVERHEAD  = 16'd24;
  localparam logic [15:0] IPV4_OVERHEAD = 16'd20;
  localparam logic [15:0] PAYLOAD_MAX   = 16'(MTU);

  typedef enum logic [1:0] {
    AT_FIRST,    // the next beat is a frame's first
    AT_SECOND,   // and its second: with it the header is complete
    IN_PAYLOAD,  // of a candidate
    AT_REST      // of a frame whose last beat has been sent on
  } state_t;
  state_t state;

  logic [BEAT_W-1:0] prior;    // the input beat before
  logic [3:1]        ended;    // it ended right behind an iCRC after so many quads
  logic              alone;    // it was a whole frame, which has given nothing yet
  logic              flush;    // it was a candidate's last, and holds the payload's last beat
  logic              is_ip;    // of the frame: IPv4 or IPv6, with one VLAN tag at most
  logic [1:0]        form;
  logic              whole;    // IPv4 with its header complete in the first beat
  logic [QUADS_W-1:0] left;    // quads of payload not sent on yet
  logic              first;    // none has been

  assign busy = alone || flush;

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

  // The header, when its second beat comes, or none will.
  logic        decide;
  logic        udp;         // without IPv4 options, fragments, IPv6 extension headers
  logic        complete;
  logic [15:0] port;
  logic [15:0] udp_length;
  logic [15:0] ip_length;   // as UDP must say it
  logic [7:0]  opcode;
  logic [1:0]  ecn;
  logic [15:0] payload;
  logic        request;
  logic        candidate;

  assign decide = alone || (s_valid && state == AT_SECOND);

  always_comb begin
    udp        = 1'b0;
    complete   = 1'b0;
    port       = '0;
    udp_length = '0;
    ip_length  = '0;
    opcode     = '0;
    ecn        = '0;
    if (decide) begin
      case (form)
        ina_pkg::FORM_IPV4: begin
          udp = prior[14*8+:8] == 8'h45 && (wire16(prior[20*8+:16]) & 16'h3FFF) == '0
              && prior[23*8+:8] == PROTOCOL_UDP;
          complete   = whole;
          ecn        = prior[15*8+:2];
          ip_length  = wire16(prior[16*8+:16]) - IPV4_OVERHEAD;
          port       = wire16(prior[36*8+:16]);
          udp_length = wire16(prior[38*8+:16]);
          opcode     = prior[42*8+:8];
        end
        ina_pkg::FORM_IPV4_VLAN: begin
          udp = prior[18*8+:8] == 8'h45 && (wire16(prior[24*8+:16]) & 16'h3FFF) == '0
              && prior[27*8+:8] == PROTOCOL_UDP;
          complete   = whole;
          ecn        = prior[19*8+:2];
          ip_length  = wire16(prior[20*8+:16]) - IPV4_OVERHEAD;
          port       = wire16(prior[40*8+:16]);
          udp_length = wire16(prior[42*8+:16]);
          opcode     = prior[46*8+:8];
        end
        ina_pkg::FORM_IPV6: begin
          udp        = prior[14*8+4+:4] == 4'd6 && prior[20*8+:8] == PROTOCOL_UDP;
          complete   = !alone && s_keep[9];
          ecn        = prior[15*8+4+:2];
          ip_length  = wire16(prior[18*8+:16]);
          port       = wire16(prior[56*8+:16]);
          udp_length = wire16(prior[58*8+:16]);
          opcode     = prior[62*8+:8];
        end
        default: begin
          udp        = prior[18*8+4+:4] == 4'd6 && prior[24*8+:8] == PROTOCOL_UDP;
          complete   = !alone && s_keep[13];
          ecn        = prior[19*8+4+:2];
          ip_length  = wire16(prior[22*8+:16]);
          port       = wire16(prior[60*8+:16]);
          udp_length = wire16(prior[62*8+:16]);
          opcode     = s_data[2*8+:8];
        end
      endcase
    end
  end

  assign payload   = udp_length - UDP_OVERHEAD;
  assign request   = is_ip && udp && complete && port == ina_pkg::ROCE_UDP_PORT
      && is_request(opcode);
  assign candidate = request && is_send(opcode) && !alone && ip_length == udp_length
      && payload != 16'd0 && payload <= PAYLOAD_MAX && payload[3:0] == 4'd0;

  // A payload beat lies in two input beats: the one that comes in and the one before. An IPv4
  // frame's first comes with the header's second beat, an IPv6 frame's a beat later, or alone.
  logic               give;
  logic [QUADS_W-1:0] now_left;
  logic               now_last;
  logic [2:0]         now_quads;

  assign give      = (decide && !form[1]) || (s_valid && state == IN_PAYLOAD) || flush;
  assign now_left  = decide ? payload[4+:QUADS_W] : left;
  assign now_last  = now_left <= 9'd4 || flush || (!form[1] && s_last);
  assign now_quads = now_left > 9'd4 ? 3'd4 : now_left[2:0];

  // The iCRC follows the last quad; nothing may follow the iCRC. ends: the beat that comes in does
  // so right behind an iCRC at base, base + 16, base + 32 or base + 48.
  logic [67:0] keep;          // of this beat and of what no beat has
  logic [3:0]  ends;
  logic        ends_astride;  // the same where the iCRC began in the beat before
  logic [31:0] icrc;
  logic        right;

  assign keep = {4'd0, s_keep};

  always_comb begin
    ends = '0;
    if (s_valid) begin
      for (int i = 0; i < 4; i++) begin
        case (form)
          ina_pkg::FORM_IPV4:      ends[i] = keep[i*16+9] && !keep[i*16+10];       // base 6
          ina_pkg::FORM_IPV6_VLAN: ends[i] = keep[i*16+17] && !keep[i*16+18];      // base 14
          default:                 ends[i] = keep[i*16+13] && !keep[i*16+14];      // base 10
        endcase
      end
    end
  end
  assign ends_astride = s_keep[1] && !s_keep[2];

  always_comb begin
    icrc  = '0;
    right = 1'b0;
    if (give) begin
      case ({form, now_quads})
        {ina_pkg::FORM_IPV4, 3'd1}:      icrc = s_data[6*8+:32];
        {ina_pkg::FORM_IPV4, 3'd2}:      icrc = s_data[22*8+:32];
        {ina_pkg::FORM_IPV4, 3'd3}:      icrc = s_data[38*8+:32];
        {ina_pkg::FORM_IPV4, 3'd4}:      icrc = s_data[54*8+:32];
        {ina_pkg::FORM_IPV4_VLAN, 3'd1}: icrc = s_data[10*8+:32];
        {ina_pkg::FORM_IPV4_VLAN, 3'd2}: icrc = s_data[26*8+:32];
        {ina_pkg::FORM_IPV4_VLAN, 3'd3}: icrc = s_data[42*8+:32];
        {ina_pkg::FORM_IPV4_VLAN, 3'd4}: icrc = s_data[58*8+:32];
        {ina_pkg::FORM_IPV6, 3'd1}:      icrc = prior[26*8+:32];
        {ina_pkg::FORM_IPV6, 3'd2}:      icrc = prior[42*8+:32];
        {ina_pkg::FORM_IPV6, 3'd3}:      icrc = prior[58*8+:32];
        {ina_pkg::FORM_IPV6, 3'd4}:      icrc = s_data[10*8+:32];
        {ina_pkg::FORM_IPV6_VLAN, 3'd1}: icrc = prior[30*8+:32];
        {ina_pkg::FORM_IPV6_VLAN, 3'd2}: icrc = prior[46*8+:32];
        {ina_pkg::FORM_IPV6_VLAN, 3'd3}: icrc = {s_data[15:0], prior[62*8+:16]};
        default:                         icrc = s_data[14*8+:32];
      endcase
      if (!form[1]) right = s_last && ends[2'(now_quads-3'd1)];
      else if (now_quads == 3'd4) right = !flush && s_last && ends[0];
      else if (form[0] && now_quads == 3'd3) right = !flush && s_last && ends_astride;
      else right = flush && ended[now_quads[1:0]];
    end
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      state   <= AT_FIRST;
      alone   <= 1'b0;
      flush   <= 1'b0;
      m_valid <= 1'b0;
    end else if (en) begin
      m_valid <= decide ? !candidate || !form[1] : give;
      alone   <= s_valid && s_last && state == AT_FIRST;
      flush   <= s_valid && s_last && form[1]
          && ((state == AT_SECOND && candidate) || (state == IN_PAYLOAD && left > 9'd4));
      if (s_valid) begin
        if (s_last) state <= AT_FIRST;
        else if (state == AT_FIRST) state <= AT_SECOND;
        else if (state == AT_REST || (state == AT_SECOND && !candidate)
                 || (give && now_left <= 9'd4)) state <= AT_REST;
        else state <= IN_PAYLOAD;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (en && s_valid && state != AT_REST) begin
      prior <= s_data;
      ended  <= ends[3:1];
    end
    if (en && s_valid && state == AT_FIRST) begin
      if (wire16(s_data[12*8+:16]) == ETHERTYPE_VLAN) begin
        is_ip <= wire16(s_data[16*8+:16]) == ETHERTYPE_IPV4
            || wire16(s_data[16*8+:16]) == ETHERTYPE_IPV6;
        form  <= {wire16(s_data[16*8+:16]) == ETHERTYPE_IPV6, 1'b1};
        whole <= s_keep[57];
      end else begin
        is_ip <= wire16(s_data[12*8+:16]) == ETHERTYPE_IPV4
            || wire16(s_data[12*8+:16]) == ETHERTYPE_IPV6;
        form  <= {wire16(s_data[12*8+:16]) == ETHERTYPE_IPV6, 1'b0};
        whole <= s_keep[53];
      end
    end
  end

  always_ff @(posedge clk) begin
    if (en && decide) begin
      m_candidate <= candidate;
      m_roce_data <= request;
    end
    if (en && decide && is_ip) begin
      m_header.crc       <= '0;  // not known yet
      m_header.congested <= ecn == 2'b11;
      m_header.is_ipv6   <= form[1];
      m_header.has_vlan  <= form[0];
      m_header.quads     <= candidate ? payload[4+:QUADS_W] : '0;
      case (form)
        ina_pkg::FORM_IPV4:
          m_header.bytes <= {prior[14*8+:40*8], 160'd0, prior[12*8+:16], 32'd0, prior[95:0]};
        ina_pkg::FORM_IPV4_VLAN:
          m_header.bytes <= {prior[18*8+:40*8], 160'd0, prior[18*8-1:0]};
        ina_pkg::FORM_IPV6:
          m_header.bytes <= {s_data[10*8-1:0], prior[12*8+:52*8], 32'd0, prior[95:0]};
        default:
          m_header.bytes <= {s_data[14*8-1:0], prior};
      endcase
    end
    if (en && (decide || give)) begin
      first          <= !give;
      left           <= give ? now_left - 9'd4 : now_left;
      m_first        <= decide || first;
      m_last         <= now_last;
      m_quads        <= now_quads;
      m_icrc         <= icrc;
      m_wrong_length <= now_left > 9'd4 || !right;
      if (decide && !candidate) begin
        m_last         <= 1'b1;
        m_quads        <= 3'd1;
        m_wrong_length <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (en && give) begin
      case (form)
        ina_pkg::FORM_IPV4:      m_data <= {s_data[54*8-1:0], prior[BEAT_W-1:54*8]};
        ina_pkg::FORM_IPV4_VLAN: m_data <= {s_data[58*8-1:0], prior[BEAT_W-1:58*8]};
        ina_pkg::FORM_IPV6:      m_data <= {s_data[10*8-1:0], prior[BEAT_W-1:10*8]};
        default:                 m_data <= {s_data[14*8-1:0], prior[BEAT_W-1:14*8]};
      endcase
      if (now_quads == 3'd1) m_data[255:128] <= '0;
      if (now_quads <= 3'd2) m_data[383:256] <= '0;
      if (now_quads <= 3'd3) m_data[511:384] <= '0;
    end
  end

endmodule

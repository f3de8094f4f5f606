// SPDX-License-Identifier: Apache-2.0
//
// Splits a frame into its header and its payload, and realigns the payload to byte 0 of a beat.
// Latency: one clock of en from the input beat that completes a payload beat. Every frame gives
// at least one beat; a frame that is no candidate exactly one (first = last = 1, from its first
// input beat).

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
    output logic                       m_roce_data,     // RC request: flow and PSN are valid
    output logic [31:0]                m_icrc,          // with m_last: as received
    output logic                       m_wrong_length   // with m_last: not as long as UDP says
);
  localparam int HEADER_BYTES = ina_pkg::HEADER_BYTES;
  localparam int HEADER_W     = ina_pkg::HEADER_W;
  localparam int CARRY_W      = ina_pkg::BEAT_W - HEADER_W;

  // A candidate's payload, in quads, and the UDP length around it: UDP 8, BTH 12, iCRC 4.
  localparam logic [15:0] UDP_OVERHEAD = 16'd24;
  localparam logic [15:0] IP_OVERHEAD  = 16'd20;
  localparam logic [15:0] PAYLOAD_MAX  = 16'(MTU);

  typedef enum logic [1:0] {
    AT_HEADER,   // the next beat is a frame's first
    IN_PAYLOAD,  // of a candidate
    AT_REST      // of a frame whose last beat has been sent on
  } state_t;
  state_t state;

  logic [CARRY_W-1:0]          carry;  // the payload bytes of the input beat before
  logic [ina_pkg::QUADS_W-1:0] left;   // quads of payload not sent on yet
  logic                        first;  // none has been

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

  always_ff @(posedge clk) begin : parse
    logic [HEADER_W-1:0]        bytes;
    logic [7:0]                 opcode;
    logic [15:0]                ip_length;
    logic [15:0]                udp_length;
    logic [15:0]                payload;
    logic                       request;
    logic                       candidate;
    logic [ina_pkg::BEAT_W-1:0] data;

    if (rst) begin
      state   <= AT_HEADER;
      m_valid <= 1'b0;
    end else if (en) begin
      m_valid <= 1'b0;
      if (s_valid && state == AT_HEADER) begin
        bytes = s_data[HEADER_W-1:0];
        if (!s_keep[HEADER_BYTES-1]) begin
          for (int i = 0; i < HEADER_BYTES; i++) begin
            if (!s_keep[i]) bytes[i*8+:8] = 8'd0;
          end
        end
        opcode     = bytes[ina_pkg::BTH_OPCODE_AT*8+:8];
        ip_length  = wire16(bytes[ina_pkg::IP_LENGTH_AT*8+:16]);
        udp_length = wire16(bytes[ina_pkg::UDP_LENGTH_AT*8+:16]);
        payload    = udp_length - UDP_OVERHEAD;
        // IPv4 without options and not a fragment, UDP to RoCE.
        request = s_keep[HEADER_BYTES-1]
            && wire16(bytes[ina_pkg::ETHERTYPE_AT*8+:16]) == 16'h0800
            && bytes[ina_pkg::IP_AT*8+:8] == 8'h45
            && (wire16(bytes[ina_pkg::IP_FRAGMENT_AT*8+:16]) & 16'h3FFF) == 16'h0000
            && bytes[ina_pkg::IP_PROTOCOL_AT*8+:8] == 8'd17
            && wire16(bytes[ina_pkg::UDP_DPORT_AT*8+:16]) == ina_pkg::ROCE_UDP_PORT
            && is_request(opcode);
        candidate = request && is_send(opcode) && !s_last
            && ip_length == udp_length + IP_OVERHEAD
            && payload != 16'd0 && payload <= PAYLOAD_MAX && payload[3:0] == 4'd0;

        m_header.bytes <= bytes;
        m_header.quads <= candidate ? payload[4+:ina_pkg::QUADS_W] : '0;
        m_candidate    <= candidate;
        m_roce_data    <= request;
        carry          <= s_data[ina_pkg::BEAT_W-1-:CARRY_W];
        left           <= payload[4+:ina_pkg::QUADS_W];
        first          <= 1'b1;
        if (candidate) begin
          state <= IN_PAYLOAD;
        end else begin
          state          <= s_last ? AT_HEADER : AT_REST;
          m_valid        <= 1'b1;
          m_first        <= 1'b1;
          m_last         <= 1'b1;
          m_quads        <= 3'd1;
          m_wrong_length <= 1'b0;
        end
      end else if (s_valid && state == IN_PAYLOAD) begin
        data    = {s_data[HEADER_W-1:0], carry};
        carry   <= s_data[ina_pkg::BEAT_W-1-:CARRY_W];
        left    <= left - 9'd4;
        first   <= 1'b0;
        m_valid <= 1'b1;
        m_first <= first;
        m_last  <= s_last;
        m_quads <= 3'd4;
        m_wrong_length <= s_last;  // too early, unless this is the beat below
        if (s_last) state <= AT_HEADER;
        // The iCRC follows the last quad; nothing may follow the iCRC.
        if (left <= 9'd4) begin
          m_last  <= 1'b1;
          m_quads <= left[2:0];
          if (!s_last) state <= AT_REST;
          case (left[2:0])
            3'd1: begin
              data[511:128]  = '0;
              m_icrc         <= s_data[6*8+:32];
              m_wrong_length <= !(s_last && s_keep[9] && !s_keep[10]);
            end
            3'd2: begin
              data[511:256]  = '0;
              m_icrc         <= s_data[22*8+:32];
              m_wrong_length <= !(s_last && s_keep[25] && !s_keep[26]);
            end
            3'd3: begin
              data[511:384]  = '0;
              m_icrc         <= s_data[38*8+:32];
              m_wrong_length <= !(s_last && s_keep[41] && !s_keep[42]);
            end
            default: begin
              m_icrc         <= s_data[54*8+:32];
              m_wrong_length <= !(s_last && s_keep[57] && !s_keep[58]);
            end
          endcase
        end
        m_data <= data;
      end else if (s_valid) begin
        if (s_last) state <= AT_HEADER;
      end
    end
  end

endmodule

// SPDX-License-Identifier: Apache-2.0
//
// Writes this switch's place into the TRACEs among the frames that pass (docs/protocol.md, TRACE).
// All other frames go through a clock later, at a beat a clock.
//
// A TRACE is rare, so this takes little logic and many clocks: each of its three beats goes round
// once, 16 bits a clock, and what is new is written on the way. The CRC of what the slot differs in
// goes along to the iCRC behind it: a CRC is linear, so the iCRC differs in that.

`default_nettype none

module ina_trace (
    input  logic clk,
    input  logic rst,

    input  ina_pkg::trace_t mark,  // stays as it is, except its jobs

    input  logic                           s_axis_tvalid,
    output logic                           s_axis_tready,
    input  logic [ina_pkg::BEAT_W-1:0]     s_axis_tdata,
    input  logic [ina_pkg::BEAT_BYTES-1:0] s_axis_tkeep,
    input  logic                           s_axis_tlast,
    input  logic                           s_trace,  // with all beats of a TRACE to write into

    output logic                           m_axis_tvalid,
    input  logic                           m_axis_tready,
    output logic [ina_pkg::BEAT_W-1:0]     m_axis_tdata,
    output logic [ina_pkg::BEAT_BYTES-1:0] m_axis_tkeep,
    output logic                           m_axis_tlast,

    output logic busy  // a beat is in here
);
  localparam int BEAT_W = ina_pkg::BEAT_W;
  localparam int HALF_W = 16;
  localparam int AT_W   = 8;
  localparam int TURN_W = $clog2(BEAT_W / HALF_W);

  // Positions in units of 16 bits from the payload on: with IPv4 and no tag it begins at byte 54.
  localparam logic [AT_W-1:0] PAYLOAD_AT      = AT_W'(54 / 2);
  localparam logic [AT_W-1:0] UDP_CHECKSUM_AT = AT_W'((1 << AT_W) - 14 / 2);
  localparam logic [AT_W-1:0] ICRC_AT         = AT_W'(ina_pkg::TRACE_QUADS * 8);
  localparam logic [AT_W-1:0] VLAN_HALVES     = AT_W'(4 / 2);
  localparam logic [AT_W-1:0] IPV6_HALVES     = AT_W'(20 / 2);

  logic [1:0]      level;
  logic [3:0]      port;
  logic [6:0]      jobs;
  logic [63:0]     id;
  logic [AT_W-4:0] slot_quad;

  assign {level, port, jobs, id} = mark;

  always_ff @(posedge clk) slot_quad <= (AT_W-3)'(level) + 1'b1;

  logic in_frame;  // the next beat is not a frame's first
  logic turning;
  logic load;

  assign s_axis_tready = !busy || (m_axis_tvalid && m_axis_tready);
  assign load          = s_axis_tvalid && s_axis_tready;

  // Where a frame begins, as its EtherTypes tell.
  logic [7:0]      type_byte;
  logic            has_vlan;
  logic [AT_W-1:0] begin_at;

  assign has_vlan  = s_axis_tdata[12*8+:8] == 8'h81;
  assign type_byte = has_vlan ? s_axis_tdata[16*8+:8] : s_axis_tdata[12*8+:8];
  assign begin_at  = -(PAYLOAD_AT + (has_vlan ? VLAN_HALVES : '0)
      + (type_byte == 8'h86 ? IPV6_HALVES : '0));

  // The 16 bits whose turn it is. A slot is a quad, eight of them, and slot l is quad l + 1.
  logic [TURN_W-1:0] turn;
  logic [AT_W-1:0]   at;
  logic              in_slot;
  logic              in_icrc;
  logic [HALF_W-1:0] half;
  logic [HALF_W-1:0] slot_half;
  logic [HALF_W-1:0] difference;
  logic [HALF_W-1:0] new_half;
  logic [31:0]       crc;
  logic [31:0]       next_crc;

  assign in_slot    = at[AT_W-1:3] == slot_quad;
  assign in_icrc    = at[AT_W-1:1] == ICRC_AT[AT_W-1:1];
  assign half       = m_axis_tdata[HALF_W-1:0];
  assign slot_half  = !at[2] ? id[at[1:0]*HALF_W+:HALF_W]
      : at[1:0] == 2'd0 ? HALF_W'(port) : at[1:0] == 2'd2 ? HALF_W'(jobs) : '0;
  assign difference = in_slot ? half ^ slot_half : '0;
  assign new_half   = in_slot ? slot_half : in_icrc ? half ^ crc[HALF_W-1:0]
      : at == UDP_CHECKSUM_AT ? '0 : half;

  always_comb begin
    next_crc = crc ^ 32'(difference);
    for (int i = 0; i < HALF_W; i++)
      next_crc = (next_crc >> 1) ^ (!in_icrc && next_crc[0] ? ina_crc_pkg::POLYNOMIAL : '0);
  end

  always_ff @(posedge clk) begin
    if (s_axis_tready) busy <= s_axis_tvalid;
    if (load) begin
      in_frame      <= !s_axis_tlast;
      turning       <= s_trace;
      m_axis_tvalid <= !s_trace;
    end else if (turning && &turn) begin
      turning       <= 1'b0;
      m_axis_tvalid <= 1'b1;
    end else if (m_axis_tready) begin
      m_axis_tvalid <= 1'b0;
    end
    if (rst) {busy, in_frame, turning, m_axis_tvalid} <= '0;
  end

  always_ff @(posedge clk) begin
    if (load) begin
      m_axis_tdata <= s_axis_tdata;
      m_axis_tkeep <= s_axis_tkeep;
      m_axis_tlast <= s_axis_tlast;
      turn         <= '0;
      if (!in_frame) begin
        at  <= begin_at;
        crc <= '0;
      end
    end else if (turning) begin
      m_axis_tdata <= {new_half, m_axis_tdata[BEAT_W-1:HALF_W]};
      turn         <= turn + 1'b1;
      at           <= at + 1'b1;
      crc          <= next_crc;
    end
  end

endmodule

`default_nettype wire

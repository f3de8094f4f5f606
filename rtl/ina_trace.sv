// SPDX-License-Identifier: Apache-2.0
//
// Fills this switch's slot in the TRACEs among the frames that pass (docs/protocol.md, TRACE).
// Every frame leaves one clock later, and a TRACE takes no longer than its beats.
//
// The slot is zero before it is filled (ina_ingress), so filling it is an XOR. The CRC is linear:
// the iCRC changes by the CRC of the slot, which ina_trace_mark has computed.

`default_nettype none

module ina_trace (
    input  logic clk,
    input  logic rst,

    input  ina_pkg::trace_t mark,

    input  logic                           s_axis_tvalid,
    output logic                           s_axis_tready,
    input  logic [ina_pkg::BEAT_W-1:0]     s_axis_tdata,
    input  logic [ina_pkg::BEAT_BYTES-1:0] s_axis_tkeep,
    input  logic                           s_axis_tlast,
    input  logic                           s_trace,  // with each beat of a TRACE with an empty slot

    output logic                           m_axis_tvalid,
    input  logic                           m_axis_tready,
    output logic [ina_pkg::BEAT_W-1:0]     m_axis_tdata,
    output logic [ina_pkg::BEAT_BYTES-1:0] m_axis_tkeep,
    output logic                           m_axis_tlast
);
  localparam int BEAT_W     = ina_pkg::BEAT_W;
  localparam int SLOT_W     = ina_pkg::TRACE_SLOT_W;

  // Positions in bytes, with IPv4 and no tag. The first slot follows the message header; the
  // trailer and the iCRC follow the last slot.
  localparam int PAYLOAD_AT    = ina_pkg::IPV4_HEADER_BYTES;
  localparam int SLOTS_AT      = PAYLOAD_AT + ina_pkg::MESSAGE_HEADER_BYTES;
  localparam int CHECKSUM_AT   = PAYLOAD_AT - (ina_pkg::HEADER_BYTES - ina_pkg::UDP_CHECKSUM_AT);
  localparam int FORM_COUNT    = 4;
  localparam int TRACE_BEATS   = 3;
  localparam int ETHERTYPE_AT  = ina_pkg::ETHERTYPE_AT * 8;
  localparam int TAGGED_AT     = ETHERTYPE_AT + ina_pkg::VLAN_BYTES * 8;

  logic load;

  assign s_axis_tready = !m_axis_tvalid || m_axis_tready;
  assign load          = s_axis_tvalid && s_axis_tready;

  // The form of the frame. Bit 0: it has a VLAN tag. Bit 1: it is IPv6.
  logic [1:0] beat;  // index in the frame; stops at the last beat of a TRACE
  logic [1:0] form;
  logic [1:0] form_q;
  logic [7:0] type_byte;

  always_comb begin
    form      = form_q;
    type_byte = s_axis_tdata[ETHERTYPE_AT +: 8] == 8'h81
        ? s_axis_tdata[TAGGED_AT +: 8] : s_axis_tdata[ETHERTYPE_AT +: 8];
    if (beat == '0) form = {type_byte == 8'h86, s_axis_tdata[ETHERTYPE_AT +: 8] == 8'h81};
  end

  // The number of jobs may change between the beats of a frame, so it is stored together with
  // its CRC.
  logic [6:0]  jobs;
  logic [31:0] crc;

  // The bytes from the first slot to the iCRC.
  localparam int SLOTS_W = 4 * SLOT_W + 32;
  logic [SLOTS_W-1:0] slots;

  always_comb begin
    slots = '0;
    for (int l = 1; l <= 3; l++)
      if (mark.level == 2'(l)) slots[(l-1)*SLOT_W+:SLOT_W] = {32'(jobs), 32'(mark.port), mark.id};
    slots[4*SLOT_W+:32] = crc;
  end

  logic [BEAT_W-1:0]             filled;
  logic [TRACE_BEATS*BEAT_W-1:0] added;    // to the whole frame
  logic [TRACE_BEATS*BEAT_W-1:0] cleared;  // its UDP checksum

  always_comb begin
    filled  = s_axis_tdata;
    added   = '0;
    cleared = '0;
    for (int f = 0; f < FORM_COUNT; f++)
      if (s_trace && form == 2'(f)) begin
        added[(SLOTS_AT + f % 2 * ina_pkg::VLAN_BYTES + f / 2 * ina_pkg::IPV6_EXTRA_BYTES)*8
              +: SLOTS_W] = slots;
        cleared[(CHECKSUM_AT + f % 2 * ina_pkg::VLAN_BYTES + f / 2 * ina_pkg::IPV6_EXTRA_BYTES)*8
                +: 16] = '1;
      end
    for (int b = 0; b < TRACE_BEATS; b++)
      if (s_trace && beat == 2'(b))
        filled = (s_axis_tdata ^ added[b*BEAT_W +: BEAT_W]) & ~cleared[b*BEAT_W +: BEAT_W];
  end

  always_ff @(posedge clk) begin
    if (load) begin
      m_axis_tvalid <= 1'b1;
      beat          <= s_axis_tlast ? '0 : beat[1] ? beat : beat + 1'b1;
    end else if (m_axis_tready) begin
      m_axis_tvalid <= 1'b0;
    end
    if (rst) {m_axis_tvalid, beat} <= '0;
  end

  always_ff @(posedge clk) begin
    if (load) begin
      m_axis_tdata <= filled;
      m_axis_tkeep <= s_axis_tkeep;
      m_axis_tlast <= s_axis_tlast;
      form_q       <= form;
      if (beat == '0) {jobs, crc} <= {mark.jobs, mark.crc};
    end
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// Computes the CRC of the payload once for all output ports, from start state 0 and without the
// final complement: the linear part of the iCRC. The beats leave two clocks later; m_crc is valid
// with the packet's last beat.

`default_nettype none

module ina_payload_crc #(
    parameter int SIDE_W = 1  // width of the side data of each beat
) (
    input  logic clk,
    input  logic rst,

    input  logic                       s_valid,
    input  logic                       s_first,
    input  logic                       s_last,
    input  logic [2:0]                 s_quads,  // 1 to 4; 4 unless s_last
    input  logic [ina_pkg::BEAT_W-1:0] s_data,   // zeros after the end
    input  logic [SIDE_W-1:0]          s_side,

    output logic                       begins,   // a packet's first beat leaves in the next clock
    output logic [SIDE_W-1:0]          begins_side,
    output logic                       m_valid,
    output logic                       m_last,
    output logic [ina_pkg::BEAT_W-1:0] m_data,
    output logic [SIDE_W-1:0]          m_side,
    output logic [31:0]                m_crc,    // valid with m_last

    output logic                       busy      // a beat is in this module
);
  // First clock: the CRC of this beat only.
  logic                       c_valid;
  logic                       c_first;
  logic                       c_last;
  logic [1:0]                 c_absent;
  logic [ina_pkg::BEAT_W-1:0] c_data;
  logic [SIDE_W-1:0]          c_side;
  logic [31:0]                c_crc;

  ina_crc beat_crc (
      .clk     (clk),
      .s_valid (s_valid),
      .s_first (1'b0),
      .s_other (1'b0),
      .s_data  (s_data),
      .m_crc   (c_crc)
  );

  // Second clock: the CRC of the packet up to this beat, including the zeros that fill the last
  // beat.
  logic [1:0]  m_absent;
  logic [31:0] next_crc;
  logic [31:0] filled_crc;

  ina_crc_step packet_crc (
      .s_valid  (c_valid),
      .s_state  (c_first ? 32'd0 : filled_crc),
      .s_advance(1'b1),
      .s_crc    (c_crc),
      .m_crc    (next_crc)
  );

  // The same before these zeros.
`ifdef SYNTHESIS
  logic [31:0] half_crc;
  for (genvar r = 0; r < 32; r++) begin : row
    localparam logic [31:0] ROW_1 = ina_crc_pkg::retreat_row(5'(r), 1);
    localparam logic [31:0] ROW_2 = ina_crc_pkg::retreat_row(5'(r), 2);
    assign half_crc[r] = m_absent[0] ? ^(filled_crc & ROW_1) : filled_crc[r];
    assign m_crc[r]    = m_absent[1] ? ^(half_crc & ROW_2) : half_crc[r];
  end
`else
  always_comb begin
    m_crc = filled_crc;
    if (m_valid && m_last && m_absent != '0)
      m_crc = ina_crc_pkg::retreat(filled_crc, 32'(m_absent) * ina_crc_pkg::QUAD_W);
  end
`endif

  assign begins      = c_valid && c_first;
  assign begins_side = c_side;
  assign busy        = c_valid || m_valid;

  always_ff @(posedge clk) begin
    if (rst) begin
      c_valid <= 1'b0;
      m_valid <= 1'b0;
    end else begin
      c_valid <= s_valid;
      m_valid <= c_valid;
    end
  end

  always_ff @(posedge clk) begin
    if (s_valid) begin
      c_first  <= s_first;
      c_last   <= s_last;
      c_absent <= 2'(3'd4 - s_quads);
      c_data   <= s_data;
      c_side   <= s_side;
    end
    if (c_valid) begin
      m_last     <= c_last;
      m_absent   <= c_absent;
      m_data     <= c_data;
      m_side     <= c_side;
      filled_crc <= next_crc;
    end
  end

endmodule

`default_nettype wire

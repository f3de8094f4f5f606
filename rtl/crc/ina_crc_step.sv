// SPDX-License-Identifier: Apache-2.0
//
// One step of a CRC register: advances it over QUADS quads of zeros, and adds another CRC. This
// chains the CRCs of a packet's beats, each of which covers its beat only. Combinational: the
// parent module has the register.

`default_nettype none

module ina_crc_step #(
    parameter int QUADS = ina_pkg::QUAD_COUNT  // 1 or 4
) (
    input  logic        s_valid,    // m_crc is used
    input  logic [31:0] s_state,
    input  logic        s_advance,  // 0: does not advance the register
    input  logic [31:0] s_crc,      // CRC that is added

    output logic [31:0] m_crc
);
`ifdef SYNTHESIS
  for (genvar r = 0; r < 32; r++) begin : row
    localparam logic [31:0] ROW = ina_crc_pkg::advance_row(5'(r), QUADS);
    assign m_crc[r] = s_crc[r] ^ (s_advance ? ^(s_state & ROW) : s_state[r]);
  end

  logic unused;
  assign unused = s_valid;
`else
  always_comb begin
    m_crc = s_crc;
    if (s_valid) begin
      if (!s_advance) m_crc = m_crc ^ s_state;
      else if (QUADS == 1) begin
        for (int b = 0; b < 4; b++)
          m_crc = m_crc ^ ina_crc_pkg::AFTER_QUAD[{2'(b), s_state[b*8+:8]}];
      end else begin
        for (int b = 0; b < 4; b++)
          m_crc = m_crc ^ ina_crc_pkg::AFTER_BEAT[{2'(b), s_state[b*8+:8]}];
      end
    end
  end
`endif

endmodule

`default_nettype wire

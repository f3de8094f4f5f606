// SPDX-License-Identifier: Apache-2.0
//
// A CRC register that moves on by QUADS quads of zeros, and to which another CRC is added: so the
// CRCs of a packet's beats are chained, each of them that of the beat alone.

module ina_crc_state #(
    parameter int QUADS  = ina_pkg::QUAD_COUNT,
    parameter bit TABLES = ina_crc_pkg::TABLES
) (
    input  logic clk,

    input  logic        s_valid,
    input  logic        s_first,
    input  logic [31:0] s_start,    // with s_first: the register before
    input  logic        s_advance,  // 0: it does not move on
    input  logic [31:0] s_crc,      // is added

    output logic [31:0] m_crc       // a clock later
);
  if (TABLES) begin : by_table
    // Entry [byte][value of the byte].
    localparam int TABLE_SIZE = 256;
    logic [31:0] rom[0:4*TABLE_SIZE-1];

    // Linear: the entry of several bits is that of the lowest one, and that of the others.
    initial begin : fill
      for (int k = 0; k < 4; k++) begin
        for (int x = 0; x < TABLE_SIZE; x++) begin
          if ((x & (x - 1)) != 0) begin
            rom[k*TABLE_SIZE+x] = rom[k*TABLE_SIZE+(x&(x-1))] ^ rom[k*TABLE_SIZE+(x&-x)];
          end else begin
            rom[k*TABLE_SIZE+x] =
                ina_crc_pkg::advance(32'(x) << k * 8, QUADS * ina_crc_pkg::QUAD_W);
          end
        end
      end
    end

    always_ff @(posedge clk) begin : look_up
      logic [31:0] state;
      logic [31:0] crc;
      if (s_valid) begin
        state = s_first ? s_start : m_crc;
        crc   = s_advance ? s_crc : state ^ s_crc;
        if (s_advance) begin
          for (int b = 0; b < 4; b++) begin
            crc = crc ^ rom[{2'(b), state[b*8+:8]}];
          end
        end
        m_crc <= crc;
      end
    end
  end else begin : by_row
    logic [31:0] state;
    assign state = s_first ? s_start : m_crc;
    for (genvar r = 0; r < 32; r++) begin : row
      localparam logic [31:0] ROW = ina_crc_pkg::advance_row(5'(r), QUADS);
      always_ff @(posedge clk) begin
        if (s_valid) m_crc[r] <= s_crc[r] ^ (s_advance ? ^(state & ROW) : state[r]);
      end
    end
  end

endmodule

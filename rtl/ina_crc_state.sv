// SPDX-License-Identifier: Apache-2.0
//
// Chains the CRCs of a packet's beats: m_crc is the register after every beat so far. A beat of
// q quads moves the register on by q quads of zeros, and then adds the beat's own CRC.

module ina_crc_state #(
    parameter bit TABLES = ina_crc_pkg::TABLES
) (
    input  logic clk,

    input  logic        s_valid,
    input  logic        s_first,
    input  logic [31:0] s_start,  // the register before the packet, with s_first
    input  logic [2:0]  s_quads,  // 1 to 4
    input  logic [31:0] s_crc,    // of the beat alone, from ina_crc

    output logic [31:0] m_crc     // a clock later
);
  if (TABLES) begin : by_table
    // Entry [(quads - 1) * 4 + byte][value of the byte].
    localparam int TABLE_SIZE = 256;
    logic [31:0] rom[0:4*4*TABLE_SIZE-1];

    // Linear: the entry of several bits is that of the lowest one, and that of the others.
    initial begin : fill
      for (int k = 0; k < 16; k++) begin
        for (int x = 0; x < TABLE_SIZE; x++) begin
          if ((x & (x - 1)) != 0) begin
            rom[k*TABLE_SIZE+x] = rom[k*TABLE_SIZE+(x&(x-1))] ^ rom[k*TABLE_SIZE+(x&-x)];
          end else begin
            rom[k*TABLE_SIZE+x] =
                ina_crc_pkg::advance(32'(x) << (k % 4) * 8, (k / 4 + 1) * ina_crc_pkg::QUAD_W);
          end
        end
      end
    end

    always_ff @(posedge clk) begin : look_up
      logic [31:0] state;
      logic [31:0] crc;
      if (s_valid) begin
        state = s_first ? s_start : m_crc;
        crc   = s_crc;
        for (int b = 0; b < 4; b++) begin
          crc = crc ^ rom[{2'(s_quads-3'd1), 2'(b), state[b*8+:8]}];
        end
        m_crc <= crc;
      end
    end
  end else begin : by_row
    logic [31:0] state;
    assign state = s_first ? s_start : m_crc;
    for (genvar r = 0; r < 32; r++) begin : row
      localparam logic [31:0] ROW_1 = ina_crc_pkg::advance_row(5'(r), 1);
      localparam logic [31:0] ROW_2 = ina_crc_pkg::advance_row(5'(r), 2);
      localparam logic [31:0] ROW_3 = ina_crc_pkg::advance_row(5'(r), 3);
      localparam logic [31:0] ROW_4 = ina_crc_pkg::advance_row(5'(r), 4);
      always_ff @(posedge clk) begin
        if (s_valid) begin
          case (s_quads)
            3'd1:    m_crc[r] <= s_crc[r] ^ ^(state & ROW_1);
            3'd2:    m_crc[r] <= s_crc[r] ^ ^(state & ROW_2);
            3'd3:    m_crc[r] <= s_crc[r] ^ ^(state & ROW_3);
            default: m_crc[r] <= s_crc[r] ^ ^(state & ROW_4);
          endcase
        end
      end
    end
  end

endmodule

// SPDX-License-Identifier: Apache-2.0
//
// The CRC register over the beats of a packet, from 0, made of the CRCs of each beat alone.

module ina_crc_chain #(
    parameter bit TABLES = ina_crc_pkg::TABLES
) (
    input  logic clk,
    input  logic rst,

    input  logic        s_valid,
    input  logic        s_last,  // the packet's last beat: the register begins anew
    input  logic [31:0] s_crc,   // of the beat

    output logic [31:0] next_crc,  // the register with this beat
    output logic [31:0] crc        // without it
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
            rom[k*TABLE_SIZE+x] = ina_crc_pkg::advance(32'(x) << k * 8, ina_pkg::BEAT_W);
          end
        end
      end
    end

    always_comb begin
      next_crc = s_crc;
      if (s_valid) begin
        for (int b = 0; b < 4; b++) next_crc = next_crc ^ rom[{2'(b), crc[b*8+:8]}];
      end
    end
  end else begin : by_row
    for (genvar r = 0; r < 32; r++) begin : row
      localparam logic [31:0] ROW = ina_crc_pkg::advance_row(5'(r), ina_pkg::QUAD_COUNT);
      assign next_crc[r] = s_crc[r] ^ ^(crc & ROW);
    end
  end

  always_ff @(posedge clk) begin
    if (rst || (s_valid && s_last)) crc <= '0;
    else if (s_valid) crc <= next_crc;
  end

endmodule

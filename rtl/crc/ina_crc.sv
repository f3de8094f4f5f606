// SPDX-License-Identifier: Apache-2.0
//
// The CRC register after one beat, one clock later: a constant matrix times the beat's bits. With
// s_first (or s_other) the bits of FIRST_ONES (or OTHER_ONES) are read as ones, and FIRST_START (or
// OTHER_START) is added. The latter is the register before the message, at the place where the
// message begins (ina_crc_pkg).

`default_nettype none

module ina_crc #(
    parameter logic [ina_pkg::BEAT_W-1:0] FIRST_ONES  = '0,
    parameter logic [ina_pkg::BEAT_W-1:0] FIRST_START = '0,
    parameter logic [ina_pkg::BEAT_W-1:0] OTHER_ONES  = '0,
    parameter logic [ina_pkg::BEAT_W-1:0] OTHER_START = '0
) (
    input  logic clk,

    input  logic                       s_valid,
    input  logic                       s_first,
    input  logic                       s_other,  // not with s_first
    input  logic [ina_pkg::BEAT_W-1:0] s_data,

    output logic [31:0] m_crc  // holds until the next s_valid
);
  localparam int W = ina_pkg::BEAT_W;

`ifdef SYNTHESIS
  // Bit W - 1 - e of `data` is the coefficient of x^e. Powers from A_AT on are folded onto lower
  // ones, then those from B_AT on.
  localparam int A_AT       = ina_crc_pkg::FOLD_A_AT;
  localparam int B_AT       = ina_crc_pkg::FOLD_B_AT;
  localparam int EXPONENT_W = ina_crc_pkg::EXPONENT_W;
  logic [W-1:0] data;

  always_comb begin
    data = s_data & ~(s_first ? FIRST_ONES : '0) & ~(s_other ? OTHER_ONES : '0);
    for (int i = 0; i < W - A_AT; i++)
      for (int t = 0; t < ina_crc_pkg::FOLD_A_TERMS; t++)
        data[i + A_AT - 32'(ina_crc_pkg::FOLD_A_ONTO[t*EXPONENT_W+:EXPONENT_W])] =
            data[i + A_AT - 32'(ina_crc_pkg::FOLD_A_ONTO[t*EXPONENT_W+:EXPONENT_W])] ^ data[i];
    for (int i = W - A_AT; i < W - B_AT; i++)
      for (int t = 0; t < ina_crc_pkg::FOLD_B_TERMS; t++)
        data[i + B_AT - 32'(ina_crc_pkg::FOLD_B_ONTO[t*EXPONENT_W+:EXPONENT_W])] =
            data[i + B_AT - 32'(ina_crc_pkg::FOLD_B_ONTO[t*EXPONENT_W+:EXPONENT_W])] ^ data[i];
  end

  // The remaining bits are multiplied by the matrix. The bits of each row are summed in groups of
  // six, one LUT each. These sums are the registers, because the whole sum would be too slow for
  // the first clock. The part that does not come from s_data is added at the end.
  for (genvar r = 0; r < 32; r++) begin : row
    localparam logic [W-1:0] ROW = ina_crc_pkg::beat_row(5'(r));
    localparam int ONE_COUNT = ina_crc_pkg::one_count(ROW[W-1-:B_AT]);
    localparam int SIX_COUNT = (ONE_COUNT + 5) / 6;
    localparam logic [B_AT*8-1:0] ONES_AT = ina_crc_pkg::ones_at(ROW[W-1-:B_AT]);
    localparam logic FIRST_ADDED = ^((FIRST_ONES ^ FIRST_START) & ROW);
    localparam logic OTHER_ADDED = ^((OTHER_ONES ^ OTHER_START) & ROW);
    logic [SIX_COUNT*6-1:0] ones;
    logic [SIX_COUNT-1:0]   sums;
    logic [SIX_COUNT-1:0]   sums_q;
    logic                   added;

    for (genvar n = 0; n < SIX_COUNT * 6; n++) begin : one
      if (n < ONE_COUNT) assign ones[n] = data[W - B_AT + 32'(ONES_AT[n*8+:8])];
      else assign ones[n] = 1'b0;
    end
    for (genvar n = 0; n < SIX_COUNT; n++) begin : six
      ina_xor6 xor6 (.s_bits(ones[n*6+:6]), .m_bit(sums[n]));
    end
    always_ff @(posedge clk) begin
      if (s_valid) sums_q <= sums;
      if (s_valid) added <= (s_first && FIRST_ADDED) || (s_other && OTHER_ADDED);
    end
    assign m_crc[r] = ^sums_q ^ added;
  end
`elsif INA_NATIVE_CRC
  always_ff @(posedge clk) begin : call
    logic [W-1:0] data;
    if (s_valid) begin
      data = s_data;
      if (s_first) data = (s_data | FIRST_ONES) ^ FIRST_START;
      if (s_other) data = (s_data | OTHER_ONES) ^ OTHER_START;
      m_crc <= ina_crc_pkg::ina_native_crc(data);
    end
  end
`else
  always_ff @(posedge clk) begin : look_up
    logic [W-1:0] data;
    logic [31:0]  crc;
    if (s_valid) begin
      data = s_data;
      if (s_first) data = (s_data | FIRST_ONES) ^ FIRST_START;
      if (s_other) data = (s_data | OTHER_ONES) ^ OTHER_START;
      crc  = '0;
      // Two loops, because Verilator unrolls at most 64 iterations of one loop.
      for (int word = 0; word < W / 32; word++)
        for (int b = 0; b < 4; b++)
          crc = crc ^ ina_crc_pkg::OF_BEAT[(word*4+b)*256+32'(data[(word*4+b)*8+:8])];
      m_crc <= crc;
    end
  end
`endif

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// Rounds a beat after the tree, in two clocks. Whole words do not change. Two float32 numbers are
// rounded to half precision: to nearest, ties to even, overflow to infinity, with subnormals. A NaN
// keeps its sign and the upper bits of its fraction. All NaNs that reach this module, those of
// ina_widen and the canonical one, have zeros in the lower bits.

`default_nettype none

module ina_round (
    input  logic clk,
    input  logic [1:0] step,  // step[i]: stage i takes a beat in this clock

    input  logic                           s_half,   // as at the input of ina_widen
    input  logic [ina_pkg::LANE_COUNT-1:0] s_pairs,
    input  logic                           s_float16,
    input  logic [ina_pkg::BEAT_W-1:0]     s_low,
    input  logic [ina_pkg::BEAT_W-1:0]     s_high,
    input  logic [ina_pkg::LANE_COUNT-1:0] s_overflow,  // delayed with the beat

    output logic [ina_pkg::BEAT_W-1:0]     m_data,
    output logic [ina_pkg::LANE_COUNT-1:0] m_overflow
);
  localparam int LANES = ina_pkg::LANE_COUNT;

  // The magnitude rounded down, and above it one bit that says whether 1 is to be added. The carry
  // runs into the exponent, up to infinity.
  function automatic logic [16:0] cut_bfloat16(input logic [31:0] x);
    cut_bfloat16 = {x[30:23] != 8'hFF && x[15] && (x[16] || x[14:0] != 15'd0), x[31:16]};
  endfunction

  // Exponents in float32: 143 is 2^16, too large; 113 is 2^-14, the smallest normal number; below
  // 101 the number is less than half of the smallest subnormal. The bits of a subnormal are 112 -
  // exponent places lower than those of 2^-15, 0 to 11. The lowest four bits of the exponent give
  // this number.
  function automatic logic [16:0] cut_float16(input logic [31:0] x);
    logic [3:0]  places;
    logic [34:0] shifted;  // 10 bits, and 25 that are dropped
    places  = -x[26:23];
    shifted = {1'b1, x[22:0], 11'd0} >> places;
    cut_float16[15] = x[31];
    if (x[30:23] >= 8'd143)
      {cut_float16[16], cut_float16[14:0]} =
          {1'b0, 5'd31, (x[30:23] == 8'hFF) ? x[22:13] : 10'd0};
    else if (x[30:23] >= 8'd113)
      {cut_float16[16], cut_float16[14:0]} =
          {x[12] && (x[13] || x[11:0] != 12'd0), 5'(x[30:23] - 8'd112), x[22:13]};
    else if (x[30:23] >= 8'd101)
      {cut_float16[16], cut_float16[14:0]} =
          {shifted[24] && (shifted[25] || shifted[23:0] != 24'd0), 5'd0, shifted[34:25]};
    else {cut_float16[16], cut_float16[14:0]} = '0;
  endfunction

  logic [ina_pkg::BEAT_W-1:0] a_data;
  logic [LANES-1:0]           a_low_up;
  logic [LANES-1:0]           a_high_up;
  logic [LANES-1:0]           a_overflow;

  always_ff @(posedge clk) begin : cut
    logic [16:0] low;
    logic [16:0] high;
    if (step[0]) begin
      a_overflow <= s_overflow;
      a_data     <= s_low;
      a_low_up   <= '0;
      a_high_up  <= '0;
      if (s_half) begin
        for (int i = 0; i < LANES; i++) begin
          if (s_pairs[i]) begin
            low  = s_float16 ? cut_float16(s_low[32*i +: 32]) : cut_bfloat16(s_low[32*i +: 32]);
            high = s_float16 ? cut_float16(s_high[32*i +: 32]) : cut_bfloat16(s_high[32*i +: 32]);
            a_data[32*i +: 32] <= {high[15:0], low[15:0]};
            a_low_up[i]        <= low[16];
            a_high_up[i]       <= high[16];
          end
        end
      end
    end
  end

  always_ff @(posedge clk) begin
    if (step[1]) begin
      m_overflow <= a_overflow;
      m_data     <= a_data;
      if (!ina_pkg::SIMULATED || (a_low_up | a_high_up) != '0) begin
        for (int i = 0; i < LANES; i++)
          m_data[32*i +: 32] <= {a_data[32*i + 16 +: 16] + 16'(a_high_up[i]),
                                 a_data[32*i +: 16] + 16'(a_low_up[i])};
      end
    end
  end

endmodule

`default_nettype wire

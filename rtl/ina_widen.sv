// SPDX-License-Identifier: Apache-2.0
//
// Widens a port's beat before it enters the tree, in one clock. Whole words do not change. Two
// half-precision numbers in a lane become two float32 numbers, exactly. A NaN keeps its sign and
// fraction, so ina_round restores the same 16 bits.

`default_nettype none

module ina_widen (
    input  logic clk,
    input  logic step,  // there is a beat

    input  logic                           s_half,     // the beat has numbers of 16 bits
    input  logic [ina_pkg::LANE_COUNT-1:0] s_pairs,    // lanes with two of them; others: a word
    input  logic                           s_float16,  // IEEE 754 binary16; else bfloat16
    input  logic [ina_pkg::BEAT_W-1:0]     s_data,

    output logic [ina_pkg::BEAT_W-1:0] m_low,  // the words, or the lower halves widened
    output logic [ina_pkg::BEAT_W-1:0] m_high  // the upper halves widened; else unchanged
);

  // binary16: exponent bias 15, 10 bits of fraction. Subnormals become normal in float32: with z
  // zeros before the leading one the value is 1.f * 2^(-15 - z).
  function automatic logic [31:0] widen_float16(input logic [15:0] x);
    logic [9:0] rest;
    logic [3:0] zeros;
    zeros = 4'd0;
    rest  = x[9:0];
    if (rest[9:2] == 8'd0) begin
      zeros = zeros | 4'd8;
      rest  = rest << 8;
    end
    if (rest[9:6] == 4'd0) begin
      zeros = zeros | 4'd4;
      rest  = rest << 4;
    end
    if (rest[9:8] == 2'd0) begin
      zeros = zeros | 4'd2;
      rest  = rest << 2;
    end
    if (!rest[9]) begin
      zeros = zeros | 4'd1;
      rest  = rest << 1;
    end
    if (x[14:10] == 5'd31) widen_float16 = {x[15], 8'd255, x[9:0], 13'd0};
    else if (x[14:10] != 5'd0) widen_float16 = {x[15], 8'(x[14:10]) + 8'd112, x[9:0], 13'd0};
    else if (x[9:0] == 10'd0) widen_float16 = {x[15], 31'd0};
    else widen_float16 = {x[15], 8'd112 - 8'(zeros), rest[8:0], 14'd0};
  endfunction

  always_ff @(posedge clk) begin
    if (step) begin
      m_low <= s_data;
      if (s_half) begin
        for (int i = 0; i < ina_pkg::LANE_COUNT; i++) begin
          if (s_pairs[i]) begin
            m_low[32*i +: 32]  <= s_float16 ? widen_float16(s_data[32*i +: 16])
                                            : {s_data[32*i +: 16], 16'd0};
            m_high[32*i +: 32] <= s_float16 ? widen_float16(s_data[32*i + 16 +: 16])
                                            : {s_data[32*i + 16 +: 16], 16'd0};
          end
        end
      end
    end
  end

endmodule

`default_nettype wire

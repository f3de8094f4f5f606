// SPDX-License-Identifier: Apache-2.0
//
// IEEE 754 float32 addition in five clocks: round to nearest, ties to even, subnormals kept.
// Every NaN result is 0x7FC00000. Where s_use = 0 the result is what `other` carries one clock
// later, so that a lane has one row of registers for all its operations.
//
//   order   the operand of larger magnitude first; what needs no addition is known here
//   add     align the smaller one, add or subtract
//   count   the zeros before the leading one, but never past exponent 1: subnormals stay so
//   shift   the leading one to the top
//   round
//
// Intermediate values are those of functions: Verilator keeps them in registers of the processor,
// the variables of a block in memory.

module ina_fadd #(
    parameter int OTHER_W = 32  // 32 at least; above bit 31 a sum of floats is 0
) (
    input  logic clk,
    input  logic [4:0] step,  // step[i]: stage i takes a beat in this clock

    input  logic        s_use,  // with step[0]: add a and b
    input  logic [31:0] s_a,
    input  logic [31:0] s_b,

    input  logic [OTHER_W-1:0] other,  // with step[1]: the result where s_use was 0

    output logic [OTHER_W-1:0] m_y
);

  // Of the larger magnitude, of the smaller one.
  function automatic logic [31:0] larger(input logic [31:0] a, input logic [31:0] b);
    larger = (a[30:0] < b[30:0]) ? b : a;
  endfunction

  function automatic logic [31:0] smaller(input logic [31:0] a, input logic [31:0] b);
    smaller = (a[30:0] < b[30:0]) ? a : b;
  endfunction

  // Subnormals have exponent 1 and no leading one.
  function automatic logic [31:0] significand(input logic [30:0] x);
    significand = {8'd0, x[30:23] != 8'd0, x[22:0]};
  endfunction

  // Sign and exponent.
  function automatic logic [8:0] head(input logic [8:0] x);
    head = x | 9'(x[7:0] == 8'd0);
  endfunction

  // At 31 nothing but the sticky bit is left of the smaller operand.
  function automatic logic [4:0] shift_of(input logic [7:0] distance);
    shift_of = (distance[7:5] != 3'd0) ? 5'd31 : distance[4:0];
  endfunction

  // Of an infinity or NaN and something smaller, perhaps the opposite infinity.
  function automatic logic [31:0] special_sum(input logic [31:0] high, input logic opposite);
    special_sum = (high[22:0] != 23'd0 || opposite) ? 32'h7FC0_0000 : high;
  endfunction

  // Guard, round and sticky bits below the 24 bits of the larger one.
  function automatic logic [27:0] aligned(input logic [23:0] low, input logic [4:0] shift);
    logic [54:0] shifted;
    shifted = {low, 31'd0} >> shift;
    aligned = {1'b0, shifted[54:29], shifted[28:0] != 29'd0};
  endfunction

  // Carry, 24 bits, guard, round, sticky.
  function automatic logic [27:0] added(input logic subtract, input logic [23:0] high,
                                        input logic [27:0] low);
    added = subtract ? {1'b0, high, 3'b000} - low : {1'b0, high, 3'b000} + low;
  endfunction

  // Not all zeros.
  function automatic logic [4:0] leading_zeros(input logic [27:0] x);
    logic [27:0] rest;
    rest = x;
    leading_zeros[4] = rest[27:12] == 16'd0;
    rest = leading_zeros[4] ? rest << 16 : rest;
    leading_zeros[3] = rest[27:20] == 8'd0;
    rest = leading_zeros[3] ? rest << 8 : rest;
    leading_zeros[2] = rest[27:24] == 4'd0;
    rest = leading_zeros[2] ? rest << 4 : rest;
    leading_zeros[1] = rest[27:26] == 2'd0;
    rest = leading_zeros[1] ? rest << 2 : rest;
    leading_zeros[0] = !rest[27];
  endfunction

  // 24 bits, and whether to round up.
  function automatic logic [24:0] cut(input logic [27:0] sum, input logic [4:0] zeros);
    logic [27:0] top;
    top = sum << zeros;
    cut = {top[27:4], top[3] && (top[4] || top[2:0] != 3'd0)};
  endfunction

  // The leading one and the carry of rounding run into the exponent by themselves.
  function automatic logic [31:0] rounded(input logic [8:0] top, input logic [24:0] sum);
    logic [31:0] y;
    y = 32'(({top, 23'd0, 1'b1} + {8'd0, sum}) >> 1);
    rounded = (y[30:23] == 8'hFF) ? {y[31:23], 23'd0} : y;
  endfunction

  // Stage 0. Infinities, NaNs and x - x need no addition: their result is in a_low.
  logic        a_use;
  logic        a_done;
  logic        a_subtract;
  logic [8:0]  a_head;  // sign and exponent of the larger operand
  logic [4:0]  a_shift;
  logic [23:0] a_high;
  logic [31:0] a_low;

  always_ff @(posedge clk) begin
    if (step[0]) begin
      a_use <= s_use;
      if (s_use) begin
        a_subtract <= s_a[31] ^ s_b[31];
        a_head     <= head(9'(larger(s_a, s_b) >> 23));
        a_shift    <= shift_of(8'(head(9'(larger(s_a, s_b) >> 23))
                                  - head(9'(smaller(s_a, s_b) >> 23))));
        a_high     <= 24'(significand(31'(larger(s_a, s_b))));
        if (s_a[30:23] == 8'hFF || s_b[30:23] == 8'hFF) begin
          a_done <= 1'b1;
          a_low  <= special_sum(larger(s_a, s_b), (s_a ^ s_b) == 32'h8000_0000);
        end else if ((s_a ^ s_b) == 32'h8000_0000) begin
          a_done <= 1'b1;
          a_low  <= '0;
        end else begin
          a_done <= 1'b0;
          a_low  <= significand(31'(smaller(s_a, s_b)));
        end
      end
    end
  end

  // Stage 1. The sum: carry, 24 bits, guard, round, sticky. Or what is no sum.
  logic               b_use;
  logic [8:0]         b_head;
  logic [OTHER_W-1:0] b_sum;

  always_ff @(posedge clk) begin
    if (step[1]) begin
      b_use <= a_use && !a_done;
      if (!a_use) begin
        b_sum <= other;
      end else if (a_done) begin
        b_sum <= OTHER_W'(a_low);
      end else begin
        b_head <= a_head;
        b_sum  <= OTHER_W'(added(a_subtract, a_high, aligned(a_low[23:0], a_shift)));
      end
    end
  end

  // Stage 2.
  logic               c_use;
  logic [8:0]         c_head;
  logic [4:0]         c_zeros;
  logic [OTHER_W-1:0] c_sum;

  always_ff @(posedge clk) begin
    if (step[2]) begin
      c_use <= b_use;
      c_sum <= b_sum;
      if (b_use) begin
        c_head  <= b_head;
        c_zeros <= leading_zeros(b_sum[27:0] | 28'h800_0000 >> b_head[7:0]);
      end
    end
  end

  // Stage 3. The exponent becomes one less than that of the leading bit's place.
  logic               d_use;
  logic [8:0]         d_head;
  logic [OTHER_W-1:0] d_sum;

  always_ff @(posedge clk) begin
    if (step[3]) begin
      d_use <= c_use;
      if (c_use) begin
        d_head <= c_head - 9'(c_zeros);
        d_sum  <= OTHER_W'(cut(c_sum[27:0], c_zeros));
      end else begin
        d_sum <= c_sum;
      end
    end
  end

  // Stage 4.
  always_ff @(posedge clk) begin
    if (step[4]) m_y <= d_use ? OTHER_W'(rounded(d_head, d_sum[24:0])) : d_sum;
  end

endmodule

// SPDX-License-Identifier: Apache-2.0
//
// IEEE 754 float32 addition in four clocks: round to nearest, ties to even, subnormals kept.
// Every NaN result is 0x7FC00000. Where s_use = 0 the result is what m_other carries three clocks
// later, so that a lane has one result register for all its operations.

module ina_fadd (
    input  logic clk,
    input  logic [3:0] step,  // step[i]: stage i takes a beat in this clock

    input  logic        s_use,  // with step[0]: add a and b
    input  logic [31:0] s_a,
    input  logic [31:0] s_b,

    input  logic [31:0] other,  // with step[3]: the result where s_use was 0

    output logic [31:0] m_y
);
  // From shift 26 on nothing but the sticky bit is left of the smaller operand.
  localparam logic [7:0] SHIFT_MAX = 8'd26;

  // Stage 0: the operand of larger magnitude first, the distance between the two.
  logic        a_use;
  logic        a_sign;
  logic        a_subtract;
  logic        a_nan;
  logic        a_infinite;
  logic [7:0]  a_exponent;  // of the larger operand; 1 for subnormals
  logic [4:0]  a_shift;
  logic [23:0] a_high;
  logic [23:0] a_low;

  always_ff @(posedge clk) begin : order
    logic [31:0] high;
    logic [31:0] low;
    logic [7:0]  high_exponent;
    logic [7:0]  low_exponent;
    logic [7:0]  distance;
    if (step[0]) begin
      a_use <= s_use;
      if (s_use) begin
        high = s_a;
        low = s_b;
        if (s_a[30:0] < s_b[30:0]) begin
          high = s_b;
          low = s_a;
        end
        high_exponent = high[30:23] | 8'(high[30:23] == 8'd0);
        low_exponent = low[30:23] | 8'(low[30:23] == 8'd0);
        distance       = high_exponent - low_exponent;
        a_sign     <= high[31];
        a_subtract <= high[31] ^ low[31];
        a_infinite <= high[30:23] == 8'hFF;
        a_nan      <= high[30:0] > 31'h7F80_0000
            || (low[30:0] == 31'h7F80_0000 && (high[31] ^ low[31]));
        a_exponent <= high_exponent;
        a_shift    <= distance > SHIFT_MAX ? SHIFT_MAX[4:0] : distance[4:0];
        a_high    <= {high[30:23] != 8'd0, high[22:0]};
        a_low    <= {low[30:23] != 8'd0, low[22:0]};
      end
    end
  end

  // Stage 1: align the smaller one, with guard, round and sticky bits, and add or subtract.
  logic        b_use;
  logic        b_sign;
  logic        b_subtract;
  logic        b_nan;
  logic        b_infinite;
  logic [7:0]  b_exponent;
  logic [27:0] b_sum;  // carry, 24 bits, guard, round, sticky

  always_ff @(posedge clk) begin : add
    logic [49:0] shifted;
    logic [27:0] aligned;
    if (step[1]) begin
      b_use <= a_use;
      if (a_use) begin
        shifted = {a_low, 26'd0} >> a_shift;
        aligned = {1'b0, shifted[49:24], shifted[23:0] != 24'd0};
        b_sum <= a_subtract ? {1'b0, a_high, 3'b000} - aligned
                            : {1'b0, a_high, 3'b000} + aligned;
        b_sign     <= a_sign;
        b_subtract <= a_subtract;
        b_nan      <= a_nan;
        b_infinite <= a_infinite;
        b_exponent <= a_exponent;
      end
    end
  end

  // Stage 2: move the leading one to the top, but never past exponent 1: subnormals stay so.
  logic        c_use;
  logic        c_sign;
  logic        c_nan;
  logic        c_infinite;
  logic [7:0]  c_exponent;  // one less than the exponent of the leading bit's place
  logic [27:0] c_sum;

  always_ff @(posedge clk) begin : normalise
    logic [31:0] rest;
    logic [4:0]  zeros;
    logic [7:0]  shift;
    if (step[2]) begin
      c_use <= b_use;
      if (b_use) begin
        rest     = {b_sum, 4'b1000};
        zeros[4] = rest[31:16] == 16'd0;
        rest     = zeros[4] ? rest << 16 : rest;
        zeros[3] = rest[31:24] == 8'd0;
        rest     = zeros[3] ? rest << 8 : rest;
        zeros[2] = rest[31:28] == 4'd0;
        rest     = zeros[2] ? rest << 4 : rest;
        zeros[1] = rest[31:30] == 2'd0;
        rest     = zeros[1] ? rest << 2 : rest;
        zeros[0] = !rest[31];
        shift    = 8'(zeros) < b_exponent ? 8'(zeros) : b_exponent;
        c_sum      <= b_sum << shift[4:0];
        c_exponent <= b_sum == 28'd0 ? 8'd0 : b_exponent - shift;
        c_sign     <= b_sign && !(b_subtract && b_sum == 28'd0);  // x - x is +0
        c_nan      <= b_nan;
        c_infinite <= b_infinite;
      end
    end
  end

  // Stage 3: round. The leading one and the carry of rounding run into the exponent by themselves.
  always_ff @(posedge clk) begin : round
    logic        up;
    logic [30:0] magnitude;
    if (step[3]) begin
      up        = c_sum[3] && (c_sum[4] || c_sum[2:0] != 3'd0);
      magnitude = {c_exponent, 23'd0} + 31'(c_sum[27:4]) + 31'(up);
      if (!c_use) m_y <= other;
      else if (c_nan) m_y <= 32'h7FC0_0000;
      else if (c_infinite || magnitude[30:23] == 8'hFF) m_y <= {c_sign, 31'h7F80_0000};
      else m_y <= {c_sign, magnitude};
    end
  end

endmodule

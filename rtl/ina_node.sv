// SPDX-License-Identifier: Apache-2.0
//
// One node of the adder tree, for all lanes of a beat: five clocks for every operation. Floats are
// added as IEEE 754 float32, to nearest, ties to even, with subnormals. Every NaN that the node
// makes is 0x7FC00000.
//
//   order   puts the operand of larger magnitude first, or the word that is the result
//   add     aligns the smaller operand, adds or subtracts
//   count   counts the zeros before the leading one
//   shift   shifts the leading one to the top, but never past exponent 1: subnormals stay subnormal
//   round
//
// A lane that adds no floats has its result after the first stage. The later stages add zero to it,
// which leaves all its bits unchanged, as long as they do not treat exponent 255 as special.
//
// A stage is one loop over the lanes. Each value has 32 bits in a vector of all lanes, although
// most values need fewer (synthesis removes constant bits). So Verilator's C++ does the same
// operations on adjacent words, and a compiler makes vector instructions of them. For that reason
// there are no `if`s, and no two selections by one condition (Verilator makes an `if` of these);
// comparisons are signed, and shift amounts have five bits.

`default_nettype none

module ina_node #(
    parameter bit                         HAS_INT     = 1'b1,  // max of int32, and OR
    parameter bit [ina_pkg::LANE_COUNT-1:0] ADD_INT     = '1,    // lanes that add int32
    parameter bit                         HAS_MAX_MIN = 1'b1   // min, and max of floats
) (
    input  logic clk,
    // step[i]: stage i takes a beat in this clock. step[0] goes with the operands. The tree shifts
    // the bits along, so that all nodes of a level share one set of valid bits.
    input  logic [4:0] step,

    input  logic [ina_pkg::LANE_COUNT*ina_pkg::LANE_OP_W-1:0] s_op,  // ina_pkg::LANE_*
    input  logic                           s_a_valid,  // a missing operand: the other one passes
    input  logic                           s_b_valid,
    input  logic [ina_pkg::BEAT_W-1:0]     s_a,
    input  logic [ina_pkg::BEAT_W-1:0]     s_b,
    input  logic [ina_pkg::LANE_COUNT-1:0] s_overflow,  // in an earlier node

    output logic [ina_pkg::BEAT_W-1:0]     m_y,
    output logic [ina_pkg::LANE_COUNT-1:0] m_overflow  // of int32, in this node or an earlier one
);
  localparam int LANES  = ina_pkg::LANE_COUNT;
  localparam int BEAT_W = ina_pkg::BEAT_W;
  localparam int OP_W   = ina_pkg::LANE_OP_W;

  localparam logic [31:0] SIGN      = 32'h8000_0000;
  localparam logic [31:0] MAGNITUDE = 32'h7FFF_FFFF;
  localparam logic [31:0] INFINITE  = 32'h7F80_0000;
  localparam logic [31:0] FRACTION  = 32'h007F_FFFF;
  localparam logic [31:0] ONE       = 32'h0080_0000;  // the leading one; also 1 in the exponent
  localparam logic [31:0] NAN       = 32'h7FC0_0000;

  // This bit of a_shift: the lane adds no floats.
  localparam logic [31:0] WORD = 32'h0000_0100;

  logic both;
  logic mixed;
  assign both  = s_a_valid && s_b_valid;
  // Some lane may do another operation than adding floats. The exact value saves time in
  // simulation.
  assign mixed = !ina_pkg::SIMULATED || s_op != {LANES{ina_pkg::LANE_ADD_FLOAT}};

  // Stage 0.
  logic [BEAT_W-1:0] a_high;
  logic [BEAT_W-1:0] a_low;    // significand; bit 31: subtract
  logic [BEAT_W-1:0] a_shift;  // at 31 only the sticky bit of a_low is left
  logic [LANES-1:0]  a_overflow;

  always_ff @(posedge clk) begin : order
    logic [BEAT_W-1:0] swap;  // the XOR that exchanges the operands, or 0
    logic [31:0]       a;
    logic [31:0]       b;
    logic [31:0]       low;
    logic [31:0]       sum;
    logic [31:0]       a_exponent;
    logic [31:0]       b_exponent;
    logic [31:0]       distance;
    logic [OP_W-1:0]   op;
    logic              less;
    logic              floats;
    logic              nan;
    if (step[0]) begin
      a_overflow <= s_overflow;
      for (int i = 0; i < LANES; i++) begin
        a = s_a[32*i +: 32];
        b = s_b[32*i +: 32];
        swap[32*i +: 32] = $signed(a & MAGNITUDE) < $signed(b & MAGNITUDE) ? a ^ b : 32'd0;
      end
      if (mixed && (HAS_INT || HAS_MAX_MIN)) begin
        // The largest or smallest. If both signs are equal, the magnitudes of two's complement
        // numbers are in order too.
        for (int i = 0; i < LANES; i++) begin
          a      = s_a[32*i +: 32];
          b      = s_b[32*i +: 32];
          op     = s_op[OP_W*i +: OP_W];
          floats = !HAS_INT || (HAS_MAX_MIN && op[ina_pkg::LANE_OP_FLOAT]);
          less   = $signed(a & MAGNITUDE) < $signed(b & MAGNITUDE);
          less   = a[31] == b[31] ? less ^ (floats && a[31]) : a[31];
          if (op != ina_pkg::LANE_ADD_FLOAT)
            swap[32*i +: 32] = less ^ (HAS_MAX_MIN && op[ina_pkg::LANE_OP_MIN]) ? a ^ b : 32'd0;
        end
      end

      // Subnormals have exponent 1 and no leading one.
      for (int i = 0; i < LANES; i++) begin
        a          = s_a[32*i +: 32];
        b          = s_b[32*i +: 32];
        low        = b ^ swap[32*i +: 32];
        a_exponent = (a >> 23) & 32'hFF;
        b_exponent = (b >> 23) & 32'hFF;
        a_exponent = $signed(a_exponent) < 1 ? 32'd1 : a_exponent;
        b_exponent = $signed(b_exponent) < 1 ? 32'd1 : b_exponent;
        distance   = $signed(a_exponent) < $signed(b_exponent) ? b_exponent - a_exponent
                                                               : a_exponent - b_exponent;
        a_high[32*i +: 32]  <= a ^ swap[32*i +: 32];
        a_low[32*i +: 32]   <= ((a ^ b) & SIGN) | (low & FRACTION)
            | ((low & INFINITE) != 0 ? ONE : 32'd0);
        a_shift[32*i +: 32] <= ($signed(distance) < 31 ? distance : 32'd31) & 32'd31;
      end

      if (!both) begin
        for (int i = 0; i < LANES; i++) begin
          a_high[32*i +: 32]  <= s_a_valid ? s_a[32*i +: 32] : s_b[32*i +: 32];
          a_low[32*i +: 32]   <= 32'd0;
          a_shift[32*i +: 32] <= WORD;
        end
      end else if (mixed) begin
        for (int i = 0; i < LANES; i++) begin
          a   = s_a[32*i +: 32];
          b   = s_b[32*i +: 32];
          op  = s_op[OP_W*i +: OP_W];
          sum = a + b;
          nan = $signed(a & MAGNITUDE) > $signed(INFINITE)
              || $signed(b & MAGNITUDE) > $signed(INFINITE);
          if (op != ina_pkg::LANE_ADD_FLOAT) begin
            a_low[32*i +: 32]   <= 32'd0;
            a_shift[32*i +: 32] <= WORD;
          end
          if (ADD_INT[i] && op == ina_pkg::LANE_ADD_INT32) begin
            a_high[32*i +: 32] <= sum;
            if (a[31] == b[31] && sum[31] != a[31]) a_overflow[i] <= 1'b1;
          end
          if (HAS_INT && op == ina_pkg::LANE_OR) a_high[32*i +: 32] <= a | b;
          if (HAS_MAX_MIN && nan
              && (op == ina_pkg::LANE_MAX_FLOAT || op == ina_pkg::LANE_MIN_FLOAT))
            a_high[32*i +: 32] <= NAN;
        end
      end
    end
  end

  // Stage 1. The sum: carry in bit 28, 24 bits of the larger operand, guard, round and sticky bit.
  logic [BEAT_W-1:0] b_head;  // sign in bit 31, exponent
  logic [BEAT_W-1:0] b_kind;  // bit 0: infinity or NaN; 1: NaN; 2: subtracted
  logic [BEAT_W-1:0] b_sum;
  logic [LANES-1:0]  b_overflow;

  always_ff @(posedge clk) begin : add
    logic [31:0] high;
    logic [31:0] low;
    logic [31:0] exponent;
    logic [31:0] minus;
    logic [31:0] lost;
    logic [31:0] special;
    logic [31:0] nan;
    logic [31:0] sum;
    if (step[1]) begin
      b_overflow <= a_overflow;
      for (int i = 0; i < LANES; i++) begin
        high     = a_high[32*i +: 32];
        exponent = (high >> 23) & 32'hFF;
        minus    = $signed(a_low[32*i +: 32]) < 0 ? 32'hFFFF_FFFF : 32'd0;
        low      = a_low[32*i +: 32] << 3;
        lost     = low & ~(32'hFFFF_FFFF << a_shift[32*i +: 5]);
        low      = (low >> a_shift[32*i +: 5]) | (lost != 0 ? 32'd1 : 32'd0);
        // One adder does both: bit 0 is the carry that turns the complement into the negative.
        sum      = (((high & FRACTION) << 4) | (exponent != 0 ? 32'h0800_0001 : 32'd1))
            + ((low << 1) ^ minus);
        b_sum[32*i +: 32]  <= sum & 32'h1FFF_FFFE;
        b_head[32*i +: 32] <= (high & SIGN) | (exponent != 0 ? exponent : 32'd1);
        // Infinity minus infinity is a NaN: then both exponents are 255.
        special  = (exponent | (a_shift[32*i +: 32] & WORD)) == 32'hFF ? 32'd3 : 32'd0;
        nan      = (high & FRACTION) | (a_shift[32*i +: 32] == 0 ? minus : 32'd0);
        b_kind[32*i +: 32] <= (special & (nan != 0 ? 32'd3 : 32'd1)) | (minus & 32'd4);
      end
    end
  end

  // Stage 2. If the sum is zero, the number of zeros is 31.
  logic [BEAT_W-1:0] c_head;
  logic [BEAT_W-1:0] c_kind;
  logic [BEAT_W-1:0] c_sum;
  logic [BEAT_W-1:0] c_zeros;
  logic [LANES-1:0]  c_overflow;

  always_ff @(posedge clk) begin : count
    logic [31:0] rest;
    logic [31:0] zeros;
    logic [31:0] more;
    if (step[2]) begin
      c_overflow <= b_overflow;
      c_head     <= b_head;
      c_sum      <= b_sum;
      for (int i = 0; i < LANES; i++) begin
        rest  = b_sum[32*i +: 32] << 3;
        zeros = (rest & 32'hFFFF_0000) == 0 ? 32'd16 : 32'd0;
        rest  = rest << zeros[4:0];
        more  = (rest & 32'hFF00_0000) == 0 ? 32'd8 : 32'd0;
        rest  = rest << more[4:0];
        zeros = zeros | more;
        more  = (rest & 32'hF000_0000) == 0 ? 32'd4 : 32'd0;
        rest  = rest << more[4:0];
        zeros = zeros | more;
        more  = (rest & 32'hC000_0000) == 0 ? 32'd2 : 32'd0;
        rest  = rest << more[4:0];
        c_zeros[32*i +: 32] <= zeros | more | (~rest >> 31);
        // A carry out of the largest exponent makes infinity.
        c_kind[32*i +: 32]  <= b_kind[32*i +: 32]
            | ((b_head[32*i +: 32] & 32'hFF) == 32'hFE ? b_sum[32*i +: 32] >> 28 : 32'd0);
      end
    end
  end

  // Stage 3. The leading one, now at bit 28, is added to an exponent that is smaller by one.
  logic [BEAT_W-1:0] d_word;
  logic [BEAT_W-1:0] d_more;  // bit 23: the leading one; bit 0: round up
  logic [LANES-1:0]  d_overflow;

  always_ff @(posedge clk) begin : shift
    logic [31:0] zeros;
    logic [31:0] exponent;
    logic [31:0] steps;
    logic [31:0] top;
    logic [31:0] up;
    logic [31:0] none;
    logic [31:0] sign;
    logic [31:0] finite;
    logic [31:0] kind;
    if (step[3]) begin
      d_overflow <= c_overflow;
      for (int i = 0; i < LANES; i++) begin
        kind     = c_kind[32*i +: 32];
        zeros    = c_zeros[32*i +: 32];
        none     = zeros == 32'd31 ? 32'hFFFF_FFFF : 32'd0;
        exponent = c_head[32*i +: 32] & 32'hFF;
        steps    = $signed(zeros) < $signed(exponent) ? zeros : exponent;
        exponent = (exponent - steps) & 32'hFF & ~none;
        top      = c_sum[32*i +: 32] << steps[4:0];
        up       = (top >> 4) & ((top & 32'h2F) != 0 ? 32'd1 : 32'd0);
        // x - x is +0.
        sign     = (kind & ((none & 32'd4) | 32'd2)) != 0 ? 32'd0 : SIGN;
        finite   = (kind & 32'd1) != 0 ? 32'd0 : 32'hFFFF_FFFF;
        d_word[32*i +: 32] <= (c_head[32*i +: 32] & sign)
            | (((exponent << 23) | ((top >> 5) & FRACTION)) & finite)
            | ((INFINITE | ((kind & 32'd2) << 21)) & ~finite);
        d_more[32*i +: 32] <= (((top >> 5) & ONE) | up) & finite;
      end
    end
  end

  // Stage 4. The carry of the rounding runs into the exponent.
  always_ff @(posedge clk) begin : round
    if (step[4]) begin
      m_overflow <= d_overflow;
      for (int i = 0; i < LANES; i++)
        m_y[32*i +: 32] <= d_word[32*i +: 32] + d_more[32*i +: 32];
    end
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// One node of the adder tree, for one lane of 32 bits: five clocks for every operation.

module ina_lane_add #(
    parameter bit HAS_INT     = 1'b1,  // any integer operation; else m_overflow is 0
    parameter bit HAS_ADD_INT = 1'b1,
    parameter bit HAS_MAX_MIN = 1'b1   // min, and max of floats
) (
    input  logic clk,
    // step[i]: stage i takes a beat in this clock. step[0] goes with the operands; the tree shifts
    // it along, so that all lanes share one set of valid bits.
    input  logic [4:0] step,

    input  logic [ina_pkg::LANE_OP_W-1:0] s_op,  // ina_pkg::LANE_*
    input  logic        s_a_valid,   // a missing operand is a bypass of the other one, bit by bit
    input  logic        s_b_valid,
    input  logic [31:0] s_a,
    input  logic [31:0] s_b,
    input  logic        s_a_overflow,
    input  logic        s_b_overflow,

    output logic [31:0] m_y,
    output logic        m_overflow  // in this node or in one before it
);

  // What is no float addition is done in the first clock and takes ina_fadd's registers from there.
  logic [32:0] a_y;  // with the overflow on top

  always_ff @(posedge clk) begin : operate
    logic [31:0] sum;
    logic [31:0] a_key;
    logic [31:0] b_key;
    logic        floats;
    logic        nan;
    logic        least;
    if (step[0]) begin
      if (!s_b_valid) begin
        a_y <= {s_a_overflow, s_a};
      end else if (!s_a_valid) begin
        a_y <= {s_b_overflow, s_b};
      end else if (HAS_ADD_INT && s_op == ina_pkg::LANE_ADD_INT32) begin
        sum = s_a + s_b;
        a_y <= {s_a_overflow || s_b_overflow || (s_a[31] == s_b[31] && sum[31] != s_a[31]), sum};
      end else if (HAS_INT && s_op == ina_pkg::LANE_OR) begin
        a_y <= {1'b0, s_a | s_b};
      end else if ((HAS_INT || HAS_MAX_MIN) && s_op != ina_pkg::LANE_ADD_FLOAT) begin
        // The largest or smallest. Floats are in the order of integers when the magnitude of the
        // negative ones is inverted, -0 before +0; a NaN makes the result one.
        floats = !HAS_INT || (HAS_MAX_MIN && s_op[ina_pkg::LANE_OP_FLOAT]);
        a_key  = s_a ^ {1'b0, {31{floats && s_a[31]}}};
        b_key  = s_b ^ {1'b0, {31{floats && s_b[31]}}};
        nan    = floats && (s_a[30:0] > 31'h7F80_0000 || s_b[30:0] > 31'h7F80_0000);
        least  = HAS_MAX_MIN && s_op[ina_pkg::LANE_OP_MIN];
        a_y <= {1'b0, nan ? 32'h7FC0_0000
                      : (($signed(a_key) > $signed(b_key)) ^ least) ? s_a : s_b};
      end
    end
  end

  ina_fadd #(.OTHER_W(33)) fadd (
      .clk  (clk),
      .step (step),
      .s_use(s_op == ina_pkg::LANE_ADD_FLOAT && s_a_valid && s_b_valid),
      .s_a  (s_a),
      .s_b  (s_b),
      .other(a_y),
      .m_y  ({m_overflow, m_y})
  );

endmodule

// SPDX-License-Identifier: Apache-2.0
//
// One node of the adder tree, for one lane of 32 bits: NODE_LATENCY = 4 clocks for every operation.

module ina_lane_add (
    input  logic clk,
    // step[i]: stage i takes a beat in this clock. step[0] goes with the operands; the tree shifts
    // it along, so that all lanes share one set of valid bits.
    input  logic [3:0] step,

    input  logic [1:0]  s_op,        // ina_pkg::LANE_*
    input  logic        s_a_valid,   // a missing operand is a bypass of the other one, bit by bit
    input  logic        s_b_valid,
    input  logic [31:0] s_a,
    input  logic [31:0] s_b,
    input  logic        s_overflow,  // of the nodes before this one

    output logic [31:0] m_y,
    output logic        m_overflow
);
  logic float;

  assign float = s_op == ina_pkg::LANE_ADD_FLOAT32 && s_a_valid && s_b_valid;

  // What is no float addition is done in the first clock and waits for three.
  logic [31:0] a_y;
  logic [31:0] b_y;
  logic [31:0] c_y;
  logic        a_overflow;
  logic        b_overflow;
  logic        c_overflow;

  always_ff @(posedge clk) begin : operate
    logic [31:0] sum;
    if (step[0]) begin
      sum        = s_a + s_b;
      a_overflow <= s_overflow;
      if (!s_b_valid) begin
        a_y <= s_a;
      end else if (!s_a_valid) begin
        a_y <= s_b;
      end else begin
        case (s_op)
          ina_pkg::LANE_ADD_INT32: begin
            a_y        <= sum;
            a_overflow <= s_overflow || (s_a[31] == s_b[31] && sum[31] != s_a[31]);
          end
          ina_pkg::LANE_MAX: a_y <= $signed(s_a) > $signed(s_b) ? s_a : s_b;
          default:           a_y <= s_a | s_b;  // LANE_OR; LANE_ADD_FLOAT32 is ina_fadd's
        endcase
      end
    end
    if (step[1]) begin
      b_y        <= a_y;
      b_overflow <= a_overflow;
    end
    if (step[2]) begin
      c_y        <= b_y;
      c_overflow <= b_overflow;
    end
    if (step[3]) m_overflow <= c_overflow;
  end

  ina_fadd fadd (
      .clk  (clk),
      .step (step),
      .s_use(float),
      .s_a  (s_a),
      .s_b  (s_b),
      .other(c_y),
      .m_y  (m_y)
  );

endmodule

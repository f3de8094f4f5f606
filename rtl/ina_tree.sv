// SPDX-License-Identifier: Apache-2.0
//
// The balanced adder tree over the ports, by port number: ((p0+p1)+(p2+p3))+((p4+p5)+(p6+p7)),
// padded with missing operands to a power of two. It never stalls.
//
// Two numbers of 16 bits share a lane. They are widened to float32 before the first level. The
// upper ones have a second tree, and both are rounded once, after the last level.
//
// Latency: five clocks a level, and with HALF_FORMATS three more to widen and round. It is the same
// for every operation.

`default_nettype none

module ina_tree #(
    parameter int PORT_COUNT   = 4,
    parameter bit HALF_FORMATS = 1'b1,  // bfloat16 and float16
    parameter bit MAX_MIN      = 1'b1,  // operations max and min
    parameter bit INT32        = 1'b1,  // int32 elements
    parameter int SIDE_W       = 1      // width of the side data of each beat
) (
    input  logic clk,
    input  logic rst,

    input  logic                                           s_load,  // valid, or cancelled; early
    input  logic                                           s_valid,
    input  logic [PORT_COUNT-1:0]                          s_mask,  // the ports that contribute
    input  logic [PORT_COUNT*ina_pkg::BEAT_W-1:0]          s_data,
    input  logic [ina_pkg::LANE_COUNT*ina_pkg::LANE_OP_W-1:0] s_op,
    input  logic [ina_pkg::FORMAT_W-1:0]                   s_format,  // of the float lanes
    input  logic [SIDE_W-1:0]                              s_side,

    output logic                           m_valid,
    output logic [ina_pkg::BEAT_W-1:0]     m_data,
    output logic [ina_pkg::LANE_COUNT-1:0] m_overflow,  // an int32 addition in the lane overflowed
    output logic [SIDE_W-1:0]              m_side,

    output logic                           busy  // a beat is in the tree
);
  localparam int NODE_LATENCY = 5;  // of ina_node
  localparam int ROUND_CLOCKS = 2;  // of ina_round
  localparam int LEVELS       = $clog2(PORT_COUNT);
  localparam int LEAVES       = 1 << LEVELS;
  localparam int FIRST_ENTRY  = HALF_FORMATS ? 1 : 0;  // stage in which the first level begins
  localparam int ROUND_ENTRY  = FIRST_ENTRY + LEVELS * NODE_LATENCY;
  localparam int LATENCY      = ROUND_ENTRY + (HALF_FORMATS ? ROUND_CLOCKS : 0);
  localparam int BEAT_W       = ina_pkg::BEAT_W;
  localparam int LANE_COUNT   = ina_pkg::LANE_COUNT;
  localparam int LANE_OP_W    = ina_pkg::LANE_OP_W;
  localparam int OP_W         = LANE_COUNT * LANE_OP_W;

  // valid[i] is for the beat that entered i clocks ago, and so is the side data of stage i.
  logic [LATENCY-1:0] entered;
  logic [LATENCY:0]   valid;
  assign valid = {entered, s_valid};
  always_ff @(posedge clk) begin
    if (rst) entered <= '0;
    else entered <= valid[LATENCY-1:0];
  end

  // Operations and masks, up to the stage in which the last level needs them.
  for (genvar i = 0; i <= ROUND_ENTRY - NODE_LATENCY; i++) begin : ride
    logic [OP_W-1:0]   op;
    logic [LEAVES-1:0] mask;
    if (i == 0) begin : entry
      assign op   = s_op;
      assign mask = LEAVES'(s_mask);
    end else begin : move
      always_ff @(posedge clk) begin
        if (valid[i-1]) begin
          op   <= ride[i-1].op;
          mask <= ride[i-1].mask;
        end
      end
    end
  end

  for (genvar i = 1; i <= LATENCY; i++) begin : along
    logic [SIDE_W-1:0] side;
    if (i == 1) begin : entry
      always_ff @(posedge clk) if (valid[0]) side <= s_side;
    end else begin : move
      always_ff @(posedge clk) if (valid[i-1]) side <= along[i-1].side;
    end
  end

  // For HALF_FORMATS only, of a beat with numbers of 16 bits: its valid bits, as valid[i]; the
  // lanes that hold two of them; which format.
  logic [LATENCY-1:0]    half_entered;
  logic [LATENCY:0]      half_valid;
  logic [LANE_COUNT-1:0] pairs;
  logic                  float16;

  always_comb begin
    pairs = '0;
    for (int lane = 0; lane < LANE_COUNT; lane++)
      pairs[lane] = s_op[lane*LANE_OP_W + ina_pkg::LANE_OP_FLOAT];
  end

  assign float16    = s_format == ina_pkg::FORMAT_FLOAT16;
  assign half_valid = {half_entered, HALF_FORMATS && s_valid && s_format != ina_pkg::FORMAT_WORD};
  always_ff @(posedge clk) begin
    if (rst) half_entered <= '0;
    else half_entered <= half_valid[LATENCY-1:0];
  end

  // Node `i` of level l adds leaves i * 2^l to (i + 1) * 2^l - 1. Level 0 has the operands: words,
  // or the lower halves. `high` has the upper halves; without HALF_FORMATS it is 0.
  for (genvar l = 0; l <= LEVELS; l++) begin : level
    for (genvar i = 0; i < (PORT_COUNT + (1 << l) - 1) >> l; i++) begin : node
      logic [BEAT_W-1:0]     y;
      logic [BEAT_W-1:0]     high;
      logic [LANE_COUNT-1:0] overflow;
      localparam int SPAN  = (1 << l) / 2;  // leaves below one operand
      localparam int ENTRY = FIRST_ENTRY + (l - 1) * NODE_LATENCY;

      if (l == 0) begin : leaf
        assign overflow = '0;
        if (HALF_FORMATS) begin : upper
          // s_valid comes late in a clock. Without it the loaded data does not matter.
          ina_widen widen (
              .clk(clk), .step(s_load), .s_half(s_format != ina_pkg::FORMAT_WORD), .s_pairs(pairs),
              .s_float16(float16), .s_data(s_data[i*BEAT_W+:BEAT_W]), .m_low(y), .m_high(high));
        end else begin : word
          assign y    = s_data[i*BEAT_W+:BEAT_W];
          assign high = '0;
        end

      end else if (i * 2 * SPAN + SPAN >= PORT_COUNT) begin : unpaired
        // This node never has a second operand: registers with the same latency.
        for (genvar stage = 0; stage < NODE_LATENCY; stage++) begin : wait_
          logic [BEAT_W-1:0]     word;
          logic [LANE_COUNT-1:0] word_overflow;
          if (stage == 0) begin : entry
            always_ff @(posedge clk) begin
              if (valid[ENTRY]) begin
                word          <= level[l-1].node[2*i].y;
                word_overflow <= level[l-1].node[2*i].overflow;
              end
            end
          end else begin : move
            always_ff @(posedge clk) begin
              if (valid[ENTRY+stage]) begin
                word          <= wait_[stage-1].word;
                word_overflow <= wait_[stage-1].word_overflow;
              end
            end
          end
        end
        assign y        = wait_[NODE_LATENCY-1].word;
        assign overflow = wait_[NODE_LATENCY-1].word_overflow;
        if (HALF_FORMATS) begin : upper
          for (genvar stage = 0; stage < NODE_LATENCY; stage++) begin : wait_
            logic [BEAT_W-1:0] word;
            if (stage == 0) begin : entry
              always_ff @(posedge clk)
                if (half_valid[ENTRY]) word <= level[l-1].node[2*i].high;
            end else begin : move
              always_ff @(posedge clk)
                if (half_valid[ENTRY+stage]) word <= upper.wait_[stage-1].word;
            end
          end
          assign high = upper.wait_[NODE_LATENCY-1].word;
        end else begin : words
          assign high = level[l-1].node[2*i].high;
        end

      end else begin : sum
        logic a_valid;
        logic b_valid;
        assign a_valid = ride[ENTRY].mask[2*i*SPAN+:SPAN] != '0;
        assign b_valid = ride[ENTRY].mask[(2*i+1)*SPAN+:SPAN] != '0;
        // The trailer's contributors are added in every configuration. (yosys 0.23 would make '1 a
        // single one here.)
        ina_node #(.HAS_INT(1'b1), .ADD_INT(INT32 ? {LANE_COUNT{1'b1}} : {LANE_COUNT/4{4'b0001}}),
                   .HAS_MAX_MIN(MAX_MIN)) add (
            .clk(clk), .step(valid[ENTRY+:NODE_LATENCY]), .s_op(ride[ENTRY].op),
            .s_a_valid(a_valid), .s_b_valid(b_valid),
            .s_a(level[l-1].node[2*i].y), .s_b(level[l-1].node[2*i+1].y),
            .s_overflow(level[l-1].node[2*i].overflow | level[l-1].node[2*i+1].overflow),
            .m_y(y), .m_overflow(overflow));
        if (HALF_FORMATS) begin : upper
          logic [LANE_COUNT-1:0] unused_overflow;
          ina_node #(.HAS_INT(1'b0), .ADD_INT('0), .HAS_MAX_MIN(MAX_MIN)) add (
              .clk(clk), .step(half_valid[ENTRY+:NODE_LATENCY]), .s_op(ride[ENTRY].op),
              .s_a_valid(a_valid), .s_b_valid(b_valid),
              .s_a(level[l-1].node[2*i].high), .s_b(level[l-1].node[2*i+1].high),
              .s_overflow('0), .m_y(high), .m_overflow(unused_overflow));
        end else begin : words
          assign high = level[l-1].node[2*i].high | level[l-1].node[2*i+1].high;
        end
      end
    end
  end

  if (HALF_FORMATS) begin : halves
    // The data of the beat that ina_round needs.
    for (genvar i = 1; i <= ROUND_ENTRY; i++) begin : mark
      logic [LANE_COUNT-1:0] its_pairs;
      logic                  its_float16;
      if (i == 1) begin : entry
        always_ff @(posedge clk) if (half_valid[0]) {its_pairs, its_float16} <= {pairs, float16};
      end else begin : move
        always_ff @(posedge clk) begin
          if (half_valid[i-1]) begin
            its_pairs   <= halves.mark[i-1].its_pairs;
            its_float16 <= halves.mark[i-1].its_float16;
          end
        end
      end
    end

    ina_round round (
        .clk(clk), .step(valid[ROUND_ENTRY+:ROUND_CLOCKS]), .s_half(half_valid[ROUND_ENTRY]),
        .s_pairs(halves.mark[ROUND_ENTRY].its_pairs),
        .s_float16(halves.mark[ROUND_ENTRY].its_float16),
        .s_low(level[LEVELS].node[0].y), .s_high(level[LEVELS].node[0].high),
        .s_overflow(level[LEVELS].node[0].overflow),
        .m_data(m_data), .m_overflow(m_overflow));
  end else begin : words
    assign m_data     = level[LEVELS].node[0].y;
    assign m_overflow = level[LEVELS].node[0].overflow;
    logic unused_format;
    assign unused_format = ^{s_load, half_valid, pairs, float16, level[LEVELS].node[0].high};
  end

  assign m_valid = valid[LATENCY];
  assign m_side  = along[LATENCY].side;
  assign busy    = entered != '0;

endmodule

`default_nettype wire

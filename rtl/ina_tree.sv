// SPDX-License-Identifier: Apache-2.0
//
// The balanced adder tree over the ports, by port number: ((p0+p1)+(p2+p3))+((p4+p5)+(p6+p7)),
// padded with missing operands to a power of two. Never stalls.
//
// Numbers of 16 bits come two in a lane. They are widened to float32 before the first level, the
// upper ones have a tree of their own, and both are rounded once, after the last level.
//
// Latency: five clocks a level, and three to widen and round where HALF_FORMATS has it done; the
// same for every operation.

module ina_tree #(
    parameter int PORT_COUNT   = 4,
    parameter bit HALF_FORMATS = 1'b1,  // bfloat16 and float16
    parameter bit MAX_MIN      = 1'b1,  // operations max and min
    parameter bit INT32        = 1'b1,  // int32 elements
    parameter int SIDE_W       = 1      // what rides along with each beat
) (
    input  logic clk,
    input  logic rst,

    input  logic                                           s_valid,
    input  logic [PORT_COUNT-1:0]                          s_mask,  // the ports that contribute
    input  logic [PORT_COUNT*ina_pkg::BEAT_W-1:0]          s_data,
    input  logic [ina_pkg::LANE_COUNT*ina_pkg::LANE_OP_W-1:0] s_op,
    input  logic [ina_pkg::FORMAT_W-1:0]                   s_format,  // of the lanes of floats
    input  logic [SIDE_W-1:0]                              s_side,

    output logic                           m_valid,
    output logic [ina_pkg::BEAT_W-1:0]     m_data,
    output logic [ina_pkg::LANE_COUNT-1:0] m_overflow,  // an int32 addition in the lane did
    output logic [SIDE_W-1:0]              m_side,

    output logic                           busy  // a beat is in here
);
  localparam int NODE_LATENCY = 5;  // ina_lane_add's
  localparam int ROUND_CLOCKS = 2;  // ina_round's
  localparam int LEVELS       = $clog2(PORT_COUNT);
  localparam int LEAVES       = 1 << LEVELS;
  localparam int FIRST_ENTRY  = HALF_FORMATS ? 1 : 0;  // where the first level begins
  localparam int ROUND_ENTRY  = FIRST_ENTRY + LEVELS * NODE_LATENCY;
  localparam int LATENCY      = ROUND_ENTRY + (HALF_FORMATS ? ROUND_CLOCKS : 0);
  localparam int BEAT_W       = ina_pkg::BEAT_W;
  localparam int LANE_W       = ina_pkg::LANE_W;
  localparam int LANE_COUNT   = ina_pkg::LANE_COUNT;
  localparam int LANE_OP_W    = ina_pkg::LANE_OP_W;
  localparam int OP_W         = LANE_COUNT * LANE_OP_W;

  // valid[i] belongs to the beat that entered i clocks ago, and so does what it takes along.
  logic [LATENCY-1:0] entered;
  logic [LATENCY:0]   valid;
  assign valid = {entered, s_valid};
  always_ff @(posedge clk) begin
    if (rst) entered <= '0;
    else entered <= valid[LATENCY-1:0];
  end

  // As far as the last level needs them.
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

  // Node `i` of level l adds leaves i * 2^l to (i + 1) * 2^l - 1. Level 0 are the operands: words,
  // or numbers of the lower half.
  for (genvar lane = 0; lane < LANE_COUNT; lane++) begin : lanes
    for (genvar l = 0; l <= LEVELS; l++) begin : level
      for (genvar i = 0; i < (LEAVES >> l); i++) begin : node
        logic [LANE_W-1:0] y;
        logic              overflow;
        if (l == 0) begin : leaf
          assign overflow = 1'b0;
          if (i >= PORT_COUNT) begin : missing
            assign y = '0;
          end else if (HALF_FORMATS) begin : widened
            assign y = halves.uppers[lane].level[0].node[i].leaf.present.low;
          end else begin : present
            assign y = s_data[i*BEAT_W+lane*LANE_W+:LANE_W];
          end
        end else begin : sum
          localparam int ENTRY = FIRST_ENTRY + (l - 1) * NODE_LATENCY;
          localparam int SPAN  = 1 << (l - 1);
          // The trailer's contributors are added in every configuration.
          ina_lane_add #(.HAS_INT(1'b1), .HAS_ADD_INT(INT32 || lane % 4 == 0),
                         .HAS_MAX_MIN(MAX_MIN)) add (
              .clk         (clk),
              .step        (valid[ENTRY+:NODE_LATENCY]),
              .s_op        (ride[ENTRY].op[lane*LANE_OP_W+:LANE_OP_W]),
              .s_a_valid   (ride[ENTRY].mask[2*i*SPAN+:SPAN] != '0),
              .s_b_valid   (ride[ENTRY].mask[(2*i+1)*SPAN+:SPAN] != '0),
              .s_a         (lanes[lane].level[l-1].node[2*i].y),
              .s_b         (lanes[lane].level[l-1].node[2*i+1].y),
              .s_a_overflow(lanes[lane].level[l-1].node[2*i].overflow),
              .s_b_overflow(lanes[lane].level[l-1].node[2*i+1].overflow),
              .m_y         (y),
              .m_overflow  (overflow)
          );
        end
      end
    end
  end

  // The upper halves, and what is done before and after the tree.
  if (HALF_FORMATS) begin : halves
    // valid[i], of a beat with numbers of 16 bits.
    logic [LATENCY-1:0] half_entered;
    logic [LATENCY:0]   half_valid;
    assign half_valid = {half_entered, s_valid && s_format != ina_pkg::FORMAT_WORD};
    always_ff @(posedge clk) begin
      if (rst) half_entered <= '0;
      else half_entered <= half_valid[LATENCY-1:0];
    end

    // What ina_round must know of such a beat.
    for (genvar i = 1; i <= ROUND_ENTRY; i++) begin : mark
      logic [LANE_COUNT-1:0] pairs;  // the lanes with two numbers
      logic                  float16;
      if (i == 1) begin : entry
        always_ff @(posedge clk) begin
          if (half_valid[0]) begin
            float16 <= s_format == ina_pkg::FORMAT_FLOAT16;
            for (int lane = 0; lane < LANE_COUNT; lane++)
              pairs[lane] <= s_op[lane*LANE_OP_W + ina_pkg::LANE_OP_FLOAT];
          end
        end
      end else begin : move
        always_ff @(posedge clk) begin
          if (half_valid[i-1]) begin
            float16 <= halves.mark[i-1].float16;
            pairs   <= halves.mark[i-1].pairs;
          end
        end
      end
    end

    for (genvar lane = 0; lane < LANE_COUNT; lane++) begin : uppers
      for (genvar l = 0; l <= LEVELS; l++) begin : level
        for (genvar i = 0; i < (LEAVES >> l); i++) begin : node
          logic [LANE_W-1:0] y;
          if (l == 0) begin : leaf
            if (i < PORT_COUNT) begin : present
              logic [LANE_W-1:0] low;
              ina_widen widen (
                  .clk      (clk),
                  .step     (valid[0]),
                  .s_half   (half_valid[0] && s_op[lane*LANE_OP_W + ina_pkg::LANE_OP_FLOAT]),
                  .s_float16(s_format == ina_pkg::FORMAT_FLOAT16),
                  .s_word   (s_data[i*BEAT_W+lane*LANE_W+:LANE_W]),
                  .m_low    (low),
                  .m_high   (y)
              );
            end else begin : missing
              assign y = '0;
            end
          end else begin : sum
            localparam int ENTRY = FIRST_ENTRY + (l - 1) * NODE_LATENCY;
            localparam int SPAN  = 1 << (l - 1);
            logic unused_overflow;
            ina_lane_add #(.HAS_INT(1'b0), .HAS_ADD_INT(1'b0), .HAS_MAX_MIN(MAX_MIN)) add (
                .clk         (clk),
                .step        (half_valid[ENTRY+:NODE_LATENCY]),
                .s_op        (ride[ENTRY].op[lane*LANE_OP_W+:LANE_OP_W]),
                .s_a_valid   (ride[ENTRY].mask[2*i*SPAN+:SPAN] != '0),
                .s_b_valid   (ride[ENTRY].mask[(2*i+1)*SPAN+:SPAN] != '0),
                .s_a         (halves.uppers[lane].level[l-1].node[2*i].y),
                .s_b         (halves.uppers[lane].level[l-1].node[2*i+1].y),
                .s_a_overflow(1'b0),
                .s_b_overflow(1'b0),
                .m_y         (y),
                .m_overflow  (unused_overflow)
            );
          end
        end
      end

      ina_round round (
          .clk       (clk),
          .step      (valid[ROUND_ENTRY+:ROUND_CLOCKS]),
          .s_half    (half_valid[ROUND_ENTRY] && halves.mark[ROUND_ENTRY].pairs[lane]),
          .s_float16 (halves.mark[ROUND_ENTRY].float16),
          .s_low     (lanes[lane].level[LEVELS].node[0].y),
          .s_high    (level[LEVELS].node[0].y),
          .s_overflow(lanes[lane].level[LEVELS].node[0].overflow),
          .m_word    (m_data[lane*LANE_W+:LANE_W]),
          .m_overflow(m_overflow[lane])
      );
    end
  end else begin : words
    logic unused_format;
    assign unused_format = s_format != ina_pkg::FORMAT_WORD;
    for (genvar lane = 0; lane < LANE_COUNT; lane++) begin : outs
      assign m_data[lane*LANE_W+:LANE_W] = lanes[lane].level[LEVELS].node[0].y;
      assign m_overflow[lane]            = lanes[lane].level[LEVELS].node[0].overflow;
    end
  end

  assign m_valid = valid[LATENCY];
  assign m_side  = along[LATENCY].side;
  assign busy    = entered != '0;

endmodule

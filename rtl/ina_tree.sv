// SPDX-License-Identifier: Apache-2.0
//
// The balanced adder tree over the ports, by port number: ((p0+p1)+(p2+p3))+((p4+p5)+(p6+p7)),
// padded with missing operands to a power of two. Never stalls.
// Latency: LATENCY = 4 * $clog2(PORT_COUNT) clocks.

module ina_tree #(
    parameter int PORT_COUNT = 4,
    parameter int SIDE_W     = 1   // what rides along with each beat
) (
    input  logic clk,
    input  logic rst,

    input  logic                                           s_valid,
    input  logic [PORT_COUNT-1:0]                          s_mask,  // the ports that contribute
    input  logic [PORT_COUNT*ina_pkg::BEAT_W-1:0]          s_data,
    input  logic [ina_pkg::LANE_COUNT*ina_pkg::LANE_OP_W-1:0] s_op,
    input  logic [SIDE_W-1:0]                              s_side,

    output logic                           m_valid,
    output logic [ina_pkg::BEAT_W-1:0]     m_data,
    output logic [ina_pkg::LANE_COUNT-1:0] m_overflow,  // an int32 addition in the lane did
    output logic [SIDE_W-1:0]              m_side,

    output logic                           busy  // a beat is in here
);
  localparam int NODE_LATENCY = 4;  // ina_lane_add's
  localparam int LEVELS       = $clog2(PORT_COUNT);
  localparam int LEAVES       = 1 << LEVELS;
  localparam int LATENCY      = LEVELS * NODE_LATENCY;
  localparam int BEAT_W       = ina_pkg::BEAT_W;
  localparam int LANE_W       = ina_pkg::LANE_W;
  localparam int LANE_COUNT   = ina_pkg::LANE_COUNT;
  localparam int OP_W         = LANE_COUNT * ina_pkg::LANE_OP_W;

  // valid[i] belongs to the beat that entered i clocks ago, and so does what it takes along.
  logic [LATENCY-1:0] entered;
  logic [LATENCY:0]   valid;
  assign valid = {entered, s_valid};
  always_ff @(posedge clk) begin
    if (rst) entered <= '0;
    else entered <= valid[LATENCY-1:0];
  end

  // As far as the last level needs them.
  for (genvar i = 0; i <= LATENCY - NODE_LATENCY; i++) begin : ride
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

  // Node `i` of level l adds leaves i * 2^l to (i + 1) * 2^l - 1. Level 0 are the operands.
  for (genvar lane = 0; lane < LANE_COUNT; lane++) begin : lanes
    for (genvar l = 0; l <= LEVELS; l++) begin : level
      for (genvar i = 0; i < (LEAVES >> l); i++) begin : node
        logic [LANE_W-1:0] y;
        logic              overflow;
        if (l == 0) begin : leaf
          assign overflow = 1'b0;
          if (i < PORT_COUNT) begin : present
            assign y = s_data[i*BEAT_W+lane*LANE_W+:LANE_W];
          end else begin : missing
            assign y = '0;
          end
        end else begin : sum
          localparam int ENTRY = (l - 1) * NODE_LATENCY;
          localparam int SPAN  = 1 << (l - 1);
          ina_lane_add add (
              .clk       (clk),
              .step      (valid[ENTRY+:NODE_LATENCY]),
              .s_op      (ride[ENTRY].op[lane*ina_pkg::LANE_OP_W+:ina_pkg::LANE_OP_W]),
              .s_a_valid (ride[ENTRY].mask[2*i*SPAN+:SPAN] != '0),
              .s_b_valid (ride[ENTRY].mask[(2*i+1)*SPAN+:SPAN] != '0),
              .s_a       (lanes[lane].level[l-1].node[2*i].y),
              .s_b       (lanes[lane].level[l-1].node[2*i+1].y),
              .s_overflow(lanes[lane].level[l-1].node[2*i].overflow
                          || lanes[lane].level[l-1].node[2*i+1].overflow),
              .m_y       (y),
              .m_overflow(overflow)
          );
        end
      end
    end
    assign m_data[lane*LANE_W+:LANE_W] = level[LEVELS].node[0].y;
    assign m_overflow[lane]            = level[LEVELS].node[0].overflow;
  end

  assign m_valid = valid[LATENCY];
  assign m_side  = along[LATENCY].side;
  assign busy    = entered != '0;

endmodule

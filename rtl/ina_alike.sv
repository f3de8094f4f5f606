// SPDX-License-Identifier: Apache-2.0
//
// Compares packets that belong together: opcode, partition (P_Key) and length of each packet and,
// if a message starts, the EQUAL lanes of the first beats. The result comes one clock later.
//
// If all packets have the same bits, the OR over them equals each of them. They differ if one of
// them lacks a bit of that OR.

`default_nettype none

module ina_alike #(
    parameter  int HEADER_COUNT = 2,
    parameter  int BEAT_COUNT   = 2,
    localparam int EQUAL_W      = ina_pkg::EQUAL_LANES * ina_pkg::LANE_W
) (
    input  logic clk,

    input  logic                                        s_valid,
    input  logic [HEADER_COUNT-1:0]                     s_header_mask,
    input  logic [HEADER_COUNT*ina_pkg::HEADER_T_W-1:0] s_header,
    input  logic [BEAT_COUNT-1:0]                       s_beat_mask,
    input  logic [BEAT_COUNT*EQUAL_W-1:0]               s_lanes,
    input  logic                                        s_starts,  // the packets start a message
    input  logic                                        s_join,    // a JOIN: places may differ

    output logic m_differs  // stays until the next result
);

  localparam int LANE_W     = ina_pkg::LANE_W;
  localparam int HEADER_T_W = ina_pkg::HEADER_T_W;
  localparam int OPCODE_AT  = ina_pkg::BTH_OPCODE_AT * 8;
  localparam int PKEY_AT    = ina_pkg::BTH_PKEY_AT * 8;
  localparam int QUADS_AT   = ina_pkg::QUADS_AT;
  localparam int QUADS_W    = ina_pkg::QUADS_W;

  // Each bit compares two lanes. All lanes in one bit would be too slow for one clock.
  localparam int PAIRS = (ina_pkg::EQUAL_LANES + 1) / 2;
  logic             header_differs;
  logic [PAIRS-1:0] lanes_differ;

  assign m_differs = header_differs || lanes_differ != '0;

  always_ff @(posedge clk) begin : compare
    logic [QUADS_W+23:0] header;
    logic [QUADS_W+23:0] header_ones;
    logic [QUADS_W+23:0] header_zeros;
    logic [LANE_W-1:0]  lane;
    logic [LANE_W-1:0]  ones;
    logic [LANE_W-1:0]  zeros;
    logic [PAIRS-1:0]   differs;

    if (s_valid) begin
      header_ones  = '0;
      header_zeros = '0;
      for (int i = 0; i < HEADER_COUNT; i++) begin
        header = {s_header[i*HEADER_T_W + QUADS_AT +: QUADS_W],
                  s_header[i*HEADER_T_W + PKEY_AT +: 16],
                  s_header[i*HEADER_T_W + OPCODE_AT +: 8]};
        if (s_header_mask[i]) begin
          header_ones  = header_ones | header;
          header_zeros = header_zeros | ~header;
        end
      end
      differs = '0;
      for (int l = 0; l < ina_pkg::EQUAL_LANES; l++) begin
        ones  = '0;
        zeros = '0;
        for (int i = 0; i < BEAT_COUNT; i++) begin
          lane = s_lanes[i*EQUAL_W + l*LANE_W +: LANE_W];
          if (s_beat_mask[i]) begin
            ones  = ones | lane;
            zeros = zeros | ~lane;
          end
        end
        if ((ones & zeros) != '0 && !(l == ina_pkg::PLACE_LANE && s_join)) differs[l/2] = 1'b1;
      end
      header_differs <= (header_ones & header_zeros) != '0;
      lanes_differ   <= s_starts ? differs : '0;
    end
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// Locates a duplicate: it still waits in the queue, or was sent raw, or its sum is in a slot of the
// history. All distances count packets backwards, from the state of the queue's ring:
//
//         sums             raw            fill
//   |--- history ---|-- sent raw --|--- waiting ---| next PSN
//                   ^ reach 0      ^ from_head 0   ^ distance 0

`default_nettype none

module ina_judge_slot #(
    parameter  int SLOT_COUNT = 128,
    localparam int SLOT_W     = $clog2(SLOT_COUNT),
    localparam int FILL_W     = $clog2(SLOT_COUNT + 1)
) (
    input  logic clk,

    input  logic [SLOT_W-1:0]             window,    // of the job: packets, less one
    input  logic [23:0]                   distance,  // from the next PSN; -1: the latest packet
    input  logic [FILL_W-1:0]             fill,
    input  logic [ina_pkg::RAW_W-1:0]     raw,
    input  logic [FILL_W-1:0]             sums,
    input  logic [ina_pkg::ORDINAL_W-1:0] sum_count,
    input  logic [SLOT_W-1:0]             sum_slot,  // slot of the next sum

    output logic in_queue,
    output logic in_raw,
    output logic in_history,

    // Of the packet that was decided in the previous clock.
    input  logic                          decide,
    output logic [SLOT_W-1:0]             slot,
    output logic [ina_pkg::ORDINAL_W-1:0] ordinal
);

  logic signed [25:0] from_head;  // distance from the oldest packet in the queue
  logic signed [25:0] reach;      // from the next packet to leave as a sum; -1: the latest sum
  logic [ina_pkg::ORDINAL_W-1:0] reach_q;
  logic signed [25:0] oldest;     // from the oldest sum in the history
  // From the oldest sum within a window: earlier sums have been overwritten.
  logic signed [25:0] eldest;

  assign from_head  = $signed({{2{distance[23]}}, distance}) + $signed(26'(fill));
  assign reach      = from_head + $signed(26'(raw));
  assign oldest     = reach + $signed(26'(sums));
  assign eldest     = reach + $signed(26'(window)) + 26'sd1;
  assign in_queue   = from_head >= 0;
  assign in_raw     = from_head < 0 && reach >= 0;
  assign in_history = reach < 0 && oldest >= 0 && eldest >= 0;

  logic [SLOT_W-1:0]             sum_slot_q;
  logic [SLOT_W-1:0]             window_q;
  logic [ina_pkg::ORDINAL_W-1:0] sum_count_q;

  always_ff @(posedge clk) begin
    if (decide) begin
      reach_q     <= reach[ina_pkg::ORDINAL_W-1:0];
      sum_slot_q  <= sum_slot;
      window_q    <= window;
      sum_count_q <= sum_count;
    end
  end

  assign slot    = (sum_slot_q + reach_q[SLOT_W-1:0]) & window_q;
  assign ordinal = sum_count_q + reach_q;

endmodule

`default_nettype wire

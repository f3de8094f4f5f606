// SPDX-License-Identifier: Apache-2.0
//
// Round robin over four kinds of packets, like ina_turn. `wanted` comes late in a clock here, so
// `choice` is a register after one table of six inputs.

`default_nettype none

module ina_pick_kind (
    input  logic clk,
    input  logic rst,

    input  logic       asks,
    input  logic [3:0] wanted,
    output logic [3:0] choice,  // one-hot; 0 if none was wanted
    input  logic       served   // the choice is served in this clock
);

  logic [1:0] first;  // the kind after the one that was served last
  logic [3:0] choice_d;

  always_comb begin
    choice_d = '0;
    for (int i = 3; i >= 0; i--)
      if (wanted[first + 2'(i)]) choice_d = 4'd1 << (first + 2'(i));
  end

  always_ff @(posedge clk) begin
    if (asks) choice <= choice_d;
    if (served) first <= {choice[2] || choice[1], choice[2] || choice[0]};
    if (rst) first <= '0;
  end

endmodule

`default_nettype wire

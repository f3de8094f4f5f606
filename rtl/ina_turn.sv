// SPDX-License-Identifier: Apache-2.0
//
// Round-robin arbiter: grants the first requester after the one that was served last. `wanted` is
// registered with `asks`. `choice` is valid from the next clock on, until the next `asks`.

`default_nettype none

module ina_turn #(
    parameter int WIDTH = 2
) (
    input  logic clk,
    input  logic rst,

    input  logic             asks,
    input  logic [WIDTH-1:0] wanted,
    output logic [WIDTH-1:0] choice,  // one-hot; 0 if none was wanted
    input  logic             served,  // `which` is served in this clock: a choice, now or before
    input  logic [WIDTH-1:0] which
);

  logic [WIDTH-1:0] above;  // requesters after the one that was served last
  logic [WIDTH-1:0] preferred;

  assign choice = preferred & (~preferred + 1'b1);

  always_ff @(posedge clk) begin
    if (asks) preferred <= ((wanted & above) != '0) ? wanted & above : wanted;
    if (served) above <= ~(which | (which - 1'b1));
    if (rst) above <= '1;
  end

endmodule

`default_nettype wire

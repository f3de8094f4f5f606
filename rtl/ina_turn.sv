// SPDX-License-Identifier: Apache-2.0
//
// Whose turn it is: of those that want one, the first behind the one that was served last.

module ina_turn #(
    parameter int WIDTH = 2
) (
    input  logic clk,
    input  logic rst,

    input  logic [WIDTH-1:0] wanted,
    output logic [WIDTH-1:0] choice,  // one of them, or none where none is wanted
    input  logic             served   // the choice is, in this clock
);

  logic [WIDTH-1:0] above;  // those behind the one that was served last
  logic [WIDTH-1:0] preferred;

  assign preferred = ((wanted & above) != '0) ? (wanted & above) : wanted;
  assign choice    = preferred & (~preferred + 1'b1);

  always_ff @(posedge clk) begin
    if (served) above <= ~(choice | (choice - 1'b1));
    if (rst) above <= '1;
  end

endmodule

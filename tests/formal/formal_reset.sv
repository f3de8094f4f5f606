// SPDX-License-Identifier: Apache-2.0
//
// One clock of reset, then no more: registers without a reset start with values of the solver's choice.

module formal_reset (
    input  logic clk,
    output logic rst
);
  logic started = 1'b0;

  always_ff @(posedge clk) started <= 1'b1;
  assign rst = !started;

endmodule

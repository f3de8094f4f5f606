// SPDX-License-Identifier: Apache-2.0
//
// One clock of reset, then none: registers without a reset start as the solver likes.

module formal_reset (
    input  logic clk,
    output logic rst
);
  logic started = 1'b0;

  always_ff @(posedge clk) started <= 1'b1;
  assign rst = !started;

endmodule

// SPDX-License-Identifier: Apache-2.0
//
// One clock of reset, then no more: registers without a reset start with values of the solver's choice.
// prove.py sets LAST to the last clock of the bounded proof. If the assumptions contradict each other before
// that, the clock is not reached, and what seemed proved was not.

module formal_reset (
    input  logic clk,
    output logic rst
);
  logic started = 1'b0;

  always_ff @(posedge clk) started <= 1'b1;
  assign rst = !started;

  logic [7:0] clock = '0;

  always_ff @(posedge clk) clock <= clock + 1'b1;
  always_comb begin
    lasts: cover (clock == 8'd`LAST);
  end

endmodule

// SPDX-License-Identifier: Apache-2.0
//
// The rule of the handshake of AXI4-Stream (IHI 0051, 2.2.1): valid waits for ready, and the data do not
// change while it waits. The rule is asserted of outputs; if ASSUME is 1, it is assumed of inputs.

module formal_stream #(
    parameter int WIDTH  = 1,
    parameter bit ASSUME = 1'b0
) (
    input logic             clk,
    input logic             rst,
    input logic             valid,
    input logic             ready,
    input logic [WIDTH-1:0] payload
);
  logic             waits = 1'b0;
  logic [WIDTH-1:0] promised;
  logic             kept;

  always_ff @(posedge clk) begin
    waits    <= !rst && valid && !ready;
    promised <= payload;
  end
  assign kept = !waits || (valid && payload == promised);

  if (ASSUME) begin : gen_assume
    always_comb if (!rst) assume (kept);
  end else begin : gen_assert
    always_comb begin
      if (!rst) begin
        handshake: assert (kept);
      end
    end
  end
endmodule

// SPDX-License-Identifier: Apache-2.0
//
// The only FIFO: a RAM with a registered read, so that m_data is a register (block RAM maps onto
// it) and m_valid/m_ready a plain handshake. A word that is written in clock t can be read from t+2
// on. It holds DEPTH words in the RAM and one more in the output register; count is their sum.

`default_nettype none

module ina_fifo #(
    parameter  int WIDTH = 8,
    parameter  int DEPTH = 16,  // a power of two
    localparam int COUNT_W = $clog2(DEPTH + 2)
) (
    input  logic clk,
    input  logic rst,

    input  logic             s_valid,
    output logic             s_ready,
    input  logic [WIDTH-1:0] s_data,

    output logic             m_valid,
    input  logic             m_ready,
    output logic [WIDTH-1:0] m_data,

    output logic [COUNT_W-1:0] count
);
  localparam int ADDRESS_W = $clog2(DEPTH);

  logic [WIDTH-1:0]   ram[0:DEPTH-1];
  logic [ADDRESS_W:0] write_at;  // one bit more than an address: the difference is the fill
  logic [ADDRESS_W:0] read_at;
  logic [ADDRESS_W:0] fill;
  logic               load;

  assign fill    = write_at - read_at;
  assign s_ready = fill != (ADDRESS_W + 1)'(DEPTH);
  assign load    = fill != '0 && (!m_valid || m_ready);
  assign count   = COUNT_W'(fill) + COUNT_W'(m_valid);

  always_ff @(posedge clk) begin
    if (rst) begin
      write_at <= '0;
      read_at  <= '0;
      m_valid  <= 1'b0;
    end else begin
      if (s_valid && s_ready) write_at <= write_at + 1'b1;
      if (load) read_at <= read_at + 1'b1;
      if (load) m_valid <= 1'b1;
      else if (m_ready) m_valid <= 1'b0;
    end
  end

  always_ff @(posedge clk) begin
    if (s_valid && s_ready) ram[write_at[ADDRESS_W-1:0]] <= s_data;
    if (load) m_data <= ram[read_at[ADDRESS_W-1:0]];
  end

`ifdef FORMAL
  // One arbitrary slot of the RAM, which tests/formal/ina_fifo.sv cannot see from outside.
  (* anyconst *) logic [ADDRESS_W-1:0] proof_address;
  logic [WIDTH-1:0] proof_word;

  assign proof_word = ram[proof_address];
`endif

endmodule

`default_nettype wire

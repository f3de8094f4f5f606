// SPDX-License-Identifier: Apache-2.0
//
// The XOR of six bits: one LUT. It is a module because mappers turn one long XOR into a tree of
// least depth, with LUTs of four inputs, and because a kept hierarchy stops them from merging
// across it.

`default_nettype none

module ina_xor6 (
    input  logic [5:0] s_bits,
    output logic       m_bit
);
  assign m_bit = ^s_bits;
endmodule

`default_nettype wire

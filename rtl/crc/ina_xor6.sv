// SPDX-License-Identifier: Apache-2.0
//
// Six bits' sum: a LUT. A module, because mappers make of one long XOR a tree of least depth, whose
// LUTs have four inputs, and because no border of a module is crossed where the hierarchy is kept.

`default_nettype none

module ina_xor6 (
    input  logic [5:0] s_bits,
    output logic       m_bit
);
  assign m_bit = ^s_bits;
endmodule

`default_nettype wire

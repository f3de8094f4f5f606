// SPDX-License-Identifier: Apache-2.0
//
// The ports of ina_crc, for yosys; ina_crc.v has its contents.

(* blackbox *)
module ina_crc #(
    parameter logic [511:0] FIRST_ONES  = '0,
    parameter logic [511:0] FIRST_START = '0,
    parameter logic [511:0] OTHER_ONES  = '0,
    parameter logic [511:0] OTHER_START = '0
) (
    input  logic         clk,
    input  logic         s_valid,
    input  logic         s_first,
    input  logic         s_other,
    input  logic [511:0] s_data,
    output logic [31:0]  m_crc
);
endmodule

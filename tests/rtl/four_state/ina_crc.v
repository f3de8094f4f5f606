// SPDX-License-Identifier: Apache-2.0
//
// rtl/crc/ina_crc.sv for the simulator with four states, which would take a thousand XORs of one
// bit for each beat: by a table, of the CRC of a beat that has one byte. An X among the inputs
// makes the whole CRC one.

`default_nettype none

module ina_crc #(
    parameter [511:0] FIRST_ONES  = 0,
    parameter [511:0] FIRST_START = 0,
    parameter [511:0] OTHER_ONES  = 0,
    parameter [511:0] OTHER_START = 0
) (
    input wire clk,

    input wire         s_valid,
    input wire         s_first,
    input wire         s_other,
    input wire [511:0] s_data,

    output reg [31:0] m_crc
);
  localparam [31:0] POLYNOMIAL = 32'hEDB88320;

  reg [31:0] table_of_beat [0:64*256-1];  // [byte of the beat][its value]
  reg [511:0] data;
  reg [31:0]  crc;
  integer     at, value, i;

  // The last byte's is that of a message of one byte. A byte that is followed by one more is a byte
  // of zeros further.
  initial begin
    for (at = 63; at >= 0; at = at - 1)
      for (value = 0; value < 256; value = value + 1) begin
        crc = at == 63 ? value : table_of_beat[(at+1)*256+value];
        for (i = 0; i < 8; i = i + 1) crc = (crc >> 1) ^ (crc[0] ? POLYNOMIAL : 32'd0);
        table_of_beat[at*256+value] = crc;
      end
  end

  always @(posedge clk) begin
    if (s_valid !== 1'b0) begin
      data = s_first ? (s_data | FIRST_ONES) ^ FIRST_START
          : s_other ? (s_data | OTHER_ONES) ^ OTHER_START : s_data;
      crc = s_valid ? 32'd0 : 32'dx;
      for (at = 0; at < 64; at = at + 1) crc = crc ^ table_of_beat[at*256+data[at*8+:8]];
      m_crc <= crc;
    end
  end

endmodule

`default_nettype wire

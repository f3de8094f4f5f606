// SPDX-License-Identifier: Apache-2.0
//
// The CRC register with which a frame's payload begins: after the headers that the iCRC covers.
//
// The iCRC (IBTA vol. 1, 7.8.1; annex A17.3.3) is the complement of CRC-32 over 8 bytes of ones (in
// place of the link header of InfiniBand), then IP, UDP and BTH with the fields that may change on
// the way read as ones, then the payload.

module ina_header_crc (
    input  logic clk,

    input  logic                         s_valid,
    input  logic [ina_pkg::HEADER_W-1:0] s_header,

    output logic [31:0] m_crc  // a clock later; holds until the next s_valid
);
  localparam int FROM  = ina_pkg::IP_AT;
  localparam int BYTES = ina_pkg::HEADER_BYTES - FROM;

  function automatic logic [BYTES*8-1:0] changing_fields(input logic [7:0] ones);
    changing_fields = '0;
    changing_fields[(ina_pkg::IP_TOS_AT-FROM)*8+:8]       = ones;
    changing_fields[(ina_pkg::IP_TTL_AT-FROM)*8+:8]       = ones;
    changing_fields[(ina_pkg::IP_CHECKSUM_AT-FROM)*8+:16]  = {ones, ones};
    changing_fields[(ina_pkg::UDP_CHECKSUM_AT-FROM)*8+:16] = {ones, ones};
    changing_fields[(ina_pkg::BTH_RESERVED_AT-FROM)*8+:8]  = ones;
  endfunction

  // 8 bytes of ones from start value ones: the first four cancel the start value, the register is 0
  // then, and the other four are a message of their own.
  ina_crc #(
      .BYTES(BYTES),
      .ONES (changing_fields(8'hFF)),
      .START(ina_crc_pkg::advance(32'hFFFF_FFFF, 32))
  ) covered_crc (
      .clk     (clk),
      .s_valid (s_valid),
      .s_absent(3'd0),
      .s_data  (s_header[ina_pkg::HEADER_W-1-:BYTES*8]),
      .m_crc   (m_crc)
  );

  // The Ethernet header is not covered.
  logic unused;
  assign unused = ^s_header[FROM*8-1:0];

endmodule

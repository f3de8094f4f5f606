// SPDX-License-Identifier: Apache-2.0
//
// The CRC register with which a frame's payload begins: after the headers that the iCRC covers.
//
// The iCRC (IBTA vol. 1, 7.8.1; annex A17.3.3) is the complement of CRC-32 over 8 bytes of ones (in
// place of the link header of InfiniBand), then IP, UDP and BTH with the fields that may change on
// the way read as ones, then the payload. Ethernet and VLAN tag are not covered.

module ina_header_crc (
    input  logic clk,

    input  logic                         s_valid,
    input  logic                         s_ipv6,
    input  logic [ina_pkg::HEADER_W-1:0] s_header,

    output logic [31:0] m_crc  // a clock later; holds until the next s_valid
);
  localparam int FROM  = ina_pkg::IP_AT;
  localparam int BYTES = ina_pkg::HEADER_BYTES - FROM;

  // Traffic class and flow label follow the four bits of the version.
  function automatic logic [BYTES*8-1:0] changing_fields(input bit ipv6);
    changing_fields = '0;
    if (ipv6) begin
      changing_fields[3:0]                                 = '1;
      changing_fields[31:8]                                = '1;
      changing_fields[(ina_pkg::IPV6_HOPS_AT-FROM)*8+:8]   = '1;
    end else begin
      changing_fields[(ina_pkg::IPV4_TOS_AT-FROM)*8+:8]       = '1;
      changing_fields[(ina_pkg::IPV4_TTL_AT-FROM)*8+:8]       = '1;
      changing_fields[(ina_pkg::IPV4_CHECKSUM_AT-FROM)*8+:16] = '1;
    end
    changing_fields[(ina_pkg::UDP_CHECKSUM_AT-FROM)*8+:16] = '1;
    changing_fields[(ina_pkg::BTH_RESERVED_AT-FROM)*8+:8]  = '1;
  endfunction

  // 8 bytes of ones from start value ones: the first four cancel the start value, the register is 0
  // then, and the other four are a message of their own. The zeros before IPv4's header in the
  // record leave a register of 0 as it is: what counts comes in behind them.
  localparam logic [BYTES*8-1:0] START = (BYTES*8)'(ina_crc_pkg::advance(32'hFFFF_FFFF, 32));

  ina_crc #(
      .BYTES      (BYTES),
      .ONES       (changing_fields(1'b1)),
      .START      (START),
      .OTHER_ONES (changing_fields(1'b0)),
      .OTHER_START(START << (ina_pkg::IPV4_AT - FROM) * 8)
  ) covered_crc (
      .clk     (clk),
      .s_valid (s_valid),
      .s_other (!s_ipv6),
      .s_data  (s_header[ina_pkg::HEADER_W-1-:BYTES*8]),
      .m_crc   (m_crc)
  );

  logic unused;
  assign unused = ^s_header[FROM*8-1:0];

endmodule

// SPDX-License-Identifier: Apache-2.0
//
// The CRC of one beat as the iCRC covers it: of headers (from ina_parse), or of payload.
//
// The iCRC (IBTA vol. 1, 7.8.1; annex A17.3.3) is the complement of a CRC-32. It covers 8 bytes of
// ones (in place of InfiniBand's link header), then IP, UDP and BTH, and then the payload. Header
// fields that may change on the way are read as ones. Ethernet and the VLAN tag are not covered.

`default_nettype none

module ina_beat_crc (
    input  logic clk,

    input  logic                       s_valid,
    input  logic                       s_head,  // the end of the headers, with zeros before IP
    input  logic                       s_ipv6,
    input  logic [ina_pkg::BEAT_W-1:0] s_data,

    output logic [31:0] m_crc  // one clock later; holds until the next s_valid
);
  localparam int BEAT_W = ina_pkg::BEAT_W;
  localparam int FROM   = ina_pkg::HEADER_BYTES - ina_pkg::BEAT_BYTES;  // byte 0 in the record

  // Traffic class and flow label follow the four bits of the version. The ones are written out,
  // because yosys 0.23 makes '1 a single one in a constant function.
  function automatic logic [BEAT_W-1:0] changing_fields(input bit ipv6);
    changing_fields = '0;
    if (ipv6) begin
      changing_fields[(ina_pkg::IP_AT-FROM)*8+:4]        = 4'hF;
      changing_fields[(ina_pkg::IP_AT-FROM+1)*8+:24]     = 24'hFF_FFFF;
      changing_fields[(ina_pkg::IPV6_HOPS_AT-FROM)*8+:8] = 8'hFF;
    end else begin
      changing_fields[(ina_pkg::IPV4_TOS_AT-FROM)*8+:8]       = 8'hFF;
      changing_fields[(ina_pkg::IPV4_TTL_AT-FROM)*8+:8]       = 8'hFF;
      changing_fields[(ina_pkg::IPV4_CHECKSUM_AT-FROM)*8+:16] = 16'hFFFF;
    end
    changing_fields[(ina_pkg::UDP_CHECKSUM_AT-FROM)*8+:16] = 16'hFFFF;
    changing_fields[(ina_pkg::BTH_RESERVED_AT-FROM)*8+:8]  = 8'hFF;
  endfunction

  // 8 bytes of ones from a start value of ones: the first four cancel the start value, so the
  // register is 0. The other four are then a message from start value 0. Zeros do not change a
  // register of 0, so the register after these four bytes is added at IP's first byte.
  localparam logic [BEAT_W-1:0] START = BEAT_W'(ina_crc_pkg::advance(32'hFFFF_FFFF, 32));

  ina_crc #(
      .FIRST_ONES (changing_fields(1'b1)),
      .FIRST_START(START << (ina_pkg::IP_AT - FROM) * 8),
      .OTHER_ONES (changing_fields(1'b0)),
      .OTHER_START(START << (ina_pkg::IPV4_AT - FROM) * 8)
  ) covered_crc (
      .clk     (clk),
      .s_valid (s_valid),
      .s_first (s_head && s_ipv6),
      .s_other (s_head && !s_ipv6),
      .s_data  (s_data),
      .m_crc   (m_crc)
  );

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// CRC-32 as linear algebra. Let c(m) be the register of zlib's CRC-32 after message m, from start
// value 0 and without the final complement:
//
//   c(m xor n) = c(m) xor c(n)                for messages of one length
//   c(m | n)   = advance(c(m), |n|) xor c(n)  where advance feeds zero bits
//   c(s, m)    = c(m with s xored into its first 32 bits)  from start value s
//
// So a beat's CRC is a matrix times its bits (ina_crc), beats are chained by a constant matrix
// (ina_crc_step), and frames that share a payload share its CRC (ina_payload_crc).
//
// The last beat of a payload is filled with zeros. Their effect is undone at the end of the packet,
// on 32 bits: either by the inverse of advance (retreat), or by advancing both sides of a
// comparison (ina_check).

`default_nettype none

package ina_crc_pkg;

  localparam logic [31:0] POLYNOMIAL = 32'hEDB88320;  // of CRC-32, bit-reflected

  // The same as in ina_pkg: yosys 0.23 does not let a package read another one.
  localparam int BEAT_W = 512;
  localparam int QUAD_W = 128;

  // The register after `count` zero bits.
  function automatic logic [31:0] advance(input logic [31:0] state, input int count);
    advance = state;
    for (int i = 0; i < count; i++) begin
      advance = (advance >> 1) ^ (advance[0] ? POLYNOMIAL : 32'd0);
    end
  endfunction

  // The register before `count` zero bits: the highest bit says what the last step added.
  function automatic logic [31:0] retreat(input logic [31:0] state, input int count);
    retreat = state;
    for (int i = 0; i < count; i++) begin
      retreat = {retreat[30:0] ^ (retreat[31] ? POLYNOMIAL[30:0] : 31'd0), retreat[31]};
    end
  endfunction

  // Each matrix is written twice, and the benches compare both with zlib: as XORs of chosen bits
  // for synthesis, and as tables for simulation, which are several times as fast in Verilator. With
  // INA_NATIVE_CRC a C function computes a beat's CRC (ina_native_crc.c), with a fifth of the
  // instructions and no tables.
`ifdef SYNTHESIS

  // The bits of the register whose XOR is bit `r` of the register before the last `quads` quads of
  // zeros. One step back moves bit i to bit i + 1, so bit i is bit 0 with i more steps back.
  function automatic logic [31:0] retreat_row(input logic [4:0] r, input int quads);
    logic [31:0] column;
    column = retreat(32'd1, quads * QUAD_W);
    for (int i = 0; i < 32; i++) begin
      retreat_row[i] = column[r];
      column = {column[30:0] ^ (column[31] ? POLYNOMIAL[30:0] : 31'd0), column[31]};
    end
  endfunction

  // Before the matrix, the upper powers of a beat are folded onto lower ones, with these multiples
  // of the polynomial:
  //
  //   x^274 + x^93 + x^75 + x^19 + x^11 + 1
  //   x^161 + x^93 + x^77 + x^69 + x^68 + x^37 + 1
  //
  // So a bit needs five or six XORs, where half a column of the matrix would need some 16. There
  // are multiples of as few terms at lower degrees. But their second powers are just below their
  // first ones, so a bit would be folded again and again. *_AT is the degree of a multiple, *_ONTO
  // are the exponents of its other terms, with EXPONENT_W bits each.
  localparam int EXPONENT_W   = 9;
  localparam int FOLD_A_AT    = 274;
  localparam int FOLD_A_TERMS = 5;
  localparam logic [FOLD_A_TERMS*EXPONENT_W-1:0] FOLD_A_ONTO = {9'd93, 9'd75, 9'd19, 9'd11, 9'd0};
  localparam int FOLD_B_AT    = 161;
  localparam int FOLD_B_TERMS = 6;
  localparam logic [FOLD_B_TERMS*EXPONENT_W-1:0] FOLD_B_ONTO =
      {9'd93, 9'd77, 9'd69, 9'd68, 9'd37, 9'd0};

  function automatic int one_count(input logic [FOLD_B_AT-1:0] row);
    one_count = 0;
    for (int i = 0; i < FOLD_B_AT; i++) one_count = one_count + 32'(row[i]);
  endfunction

  // The positions of the ones in a row, 8 bits each.
  function automatic logic [FOLD_B_AT*8-1:0] ones_at(input logic [FOLD_B_AT-1:0] row);
    int n;
    n = 0;
    ones_at = '0;
    for (int i = 0; i < FOLD_B_AT; i++) begin
      if (row[i]) begin
        ones_at[n*8+:8] = 8'(i);
        n = n + 1;
      end
    end
  endfunction

  // The bits of a beat whose XOR is bit `r` of the register after the beat: a row of ina_crc's
  // matrix. The last byte of the beat is the last byte of the message.
  function automatic logic [BEAT_W-1:0] beat_row(input logic [4:0] r);
    logic [31:0] column;
    column = POLYNOMIAL;
    for (int i = BEAT_W - 1; i >= 0; i--) begin
      beat_row[i] = column[r];
      column = (column >> 1) ^ (column[0] ? POLYNOMIAL : 32'd0);
    end
  endfunction

  // The bits of the register whose XOR is bit `r` of the register after `quads` quads of zeros:
  // those of a message that begins with the register and has that length.
  function automatic logic [31:0] advance_row(input logic [4:0] r, input int quads);
    logic [BEAT_W-1:0] row;
    row = beat_row(r);
    advance_row = row[BEAT_W-quads*QUAD_W+:32];
  endfunction

`else

  // All instances share the tables, so the tables stay in the processor's cache.
  typedef logic [31:0] register_table_t [4*256];  // [byte of the register][its value]

`ifdef INA_NATIVE_CRC
  import "DPI-C" pure function int unsigned ina_native_crc(input bit [BEAT_W-1:0] beat);
`else
  localparam int BYTES = BEAT_W / 8;
  typedef logic [31:0] beat_table_t [BYTES*256];  // [byte of the beat][its value]

  // The CRC of a beat that has one nonzero byte. From one byte to the byte before it, one more byte
  // of zeros follows.
  function automatic beat_table_t beat_table();
    logic [31:0] entry;
    for (int k = BYTES - 1; k >= 0; k--) begin
      for (int x = 0; x < 256; x++) begin
        entry = k == BYTES - 1 ? 32'(x) : beat_table[(k+1)*256+x];
        beat_table[k*256+x] = advance(entry, 8);
      end
    end
  endfunction

  beat_table_t OF_BEAT = beat_table();
`endif

  // advance() of a register that has one nonzero byte. It is linear: the entry for several bits is
  // the XOR of the entry for the lowest bit and the entry for the others.
  function automatic register_table_t advance_table(input int count);
    for (int k = 0; k < 4; k++) begin
      for (int x = 0; x < 256; x++) begin
        if ((x & (x - 1)) == 0) advance_table[k*256+x] = advance(32'(x) << k * 8, count);
        else advance_table[k*256+x] = advance_table[k*256+(x&(x-1))] ^ advance_table[k*256+(x&-x)];
      end
    end
  endfunction

  register_table_t AFTER_QUAD = advance_table(QUAD_W);
  register_table_t AFTER_BEAT = advance_table(BEAT_W);
`endif

endpackage

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// The latest sums of each job, for retransmissions: as many as the job's block has packets. The sum
// of the packets in slot s of the queues is in slot s of the same block here. The hosts' window
// makes this enough: a sum is overwritten only after every rank has received it. After the end of a
// sum there may be any bytes, also of other jobs.

`default_nettype none

module ina_history #(
    parameter  int MEMORY  = 512,  // packets of all jobs
    parameter  int MTU     = 4096,
    localparam int INDEX_W = $clog2(MEMORY)
) (
    input  logic clk,

    input  logic                             write_valid,
    input  logic [INDEX_W-1:0]               write_index,
    input  logic [ina_pkg::BEAT_INDEX_W-1:0] write_beat,
    input  logic [ina_pkg::BEAT_W-1:0]       write_data,
    input  logic                             write_last,
    input  logic [2:0]                       write_quads,

    // The length of a sum is valid in the next clock, and stays until the next read.
    input  logic                             peek_read,
    input  logic [INDEX_W-1:0]               peek_index,
    output logic [ina_pkg::QUADS_W-1:0]      peek_quads,

    // The data is valid in the next clock.
    input  logic                             read_valid,
    input  logic [INDEX_W-1:0]               read_index,
    input  logic [ina_pkg::BEAT_INDEX_W-1:0] read_beat,
    output logic [ina_pkg::BEAT_W-1:0]       read_data
);

  localparam int BEATS   = MTU / ina_pkg::BEAT_BYTES;
  localparam int BEATS_W = $clog2(BEATS);

  logic [ina_pkg::BEAT_W-1:0]  sums    [MEMORY*BEATS];
  logic [ina_pkg::QUADS_W-1:0] lengths [MEMORY];

  always_ff @(posedge clk) begin
    if (write_valid) sums[{write_index, write_beat[BEATS_W-1:0]}] <= write_data;
    if (read_valid) read_data <= sums[{read_index, read_beat[BEATS_W-1:0]}];
  end

  always_ff @(posedge clk) begin
    if (write_valid && write_last)
      lengths[write_index] <= {1'b0, write_beat, 2'd0} + ina_pkg::QUADS_W'(write_quads);
    if (peek_read) peek_quads <= lengths[peek_index];
  end

  // A smaller MTU has fewer beats.
  logic unused;
  assign unused = &{write_beat, read_beat};

endmodule

`default_nettype wire

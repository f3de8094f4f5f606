// SPDX-License-Identifier: Apache-2.0
//
// The latest SLOT_COUNT sums of each job, for retransmissions: the sum of the packets that were at
// head slot s of the queues is here at slot s. The hosts' window, at most SLOT_COUNT packets, is
// why that is enough: a sum is overwritten only after every rank has received it.

module ina_history #(
    parameter int JOB_COUNT  = 4,
    parameter int SLOT_COUNT = 128,
    parameter int JOB_W      = $clog2(JOB_COUNT),
    parameter int SLOT_W     = $clog2(SLOT_COUNT)
) (
    input  logic clk,

    input  logic                             write_valid,
    input  logic [JOB_W-1:0]                 write_job,
    input  logic [SLOT_W-1:0]                write_slot,
    input  logic [ina_pkg::BEAT_INDEX_W-1:0] write_beat,
    input  logic [ina_pkg::BEAT_W-1:0]       write_data,

    // The data comes in the next clock.
    input  logic                             read_valid,
    input  logic [JOB_W-1:0]                 read_job,
    input  logic [SLOT_W-1:0]                read_slot,
    input  logic [ina_pkg::BEAT_INDEX_W-1:0] read_beat,
    output logic [ina_pkg::BEAT_W-1:0]       read_data
);

  logic [ina_pkg::BEAT_W-1:0] sums [JOB_COUNT*SLOT_COUNT*ina_pkg::PACKET_BEATS];

  always_ff @(posedge clk) begin
    if (write_valid) sums[{write_job, write_slot, write_beat}] <= write_data;
    if (read_valid) read_data <= sums[{read_job, read_slot, read_beat}];
  end

endmodule

// SPDX-License-Identifier: Apache-2.0
//
// What one port has taken and the join has not yet sent: for each job a ring of packets in PSN
// order. `head` moves at the end of a packet's transaction, when its sum is in the history, so a
// retransmission finds a packet either here or there. Packets that ina_pick has chosen, and whose
// transaction still runs, are ahead of `head`; it counts them.

module ina_queue #(
    parameter int JOB_COUNT  = 4,
    parameter int SLOT_COUNT = 128,
    parameter int JOB_W      = $clog2(JOB_COUNT),
    parameter int SLOT_W     = $clog2(SLOT_COUNT),
    parameter int FILL_W     = SLOT_W + 1,
    parameter int RAW_W      = 24
) (
    input  logic clk,
    input  logic rst,

    input  logic [JOB_COUNT-1:0] job_valid,  // the ring of a free context is empty

    // From ina_judge: a beat into the tail slot, and the commit of the slot.
    input  logic                             write_valid,
    input  logic [JOB_W-1:0]                 write_job,
    input  logic [ina_pkg::BEAT_INDEX_W-1:0] write_beat,
    input  logic [ina_pkg::BEAT_W-1:0]       write_data,
    input  logic                             commit_valid,
    input  ina_pkg::header_t                 commit_header,

    // The end of a transaction of this port.
    input  logic             pop_valid,
    input  logic             pop_raw,
    input  logic [JOB_W-1:0] pop_job,

    // Reads: the result comes in the next clock, and stays until the next read.
    input  logic                             peek_read,    // the length of a packet
    input  logic [JOB_W-1:0]                 peek_job,
    input  logic [SLOT_W-1:0]                peek_slot,
    output logic [ina_pkg::QUADS_W-1:0]      peek_quads,
    input  logic                             header_read,
    input  logic                             beat_read,
    input  logic [JOB_W-1:0]                 read_job,
    input  logic [SLOT_W-1:0]                read_slot,
    input  logic [ina_pkg::BEAT_INDEX_W-1:0] read_beat,
    output ina_pkg::header_t                 read_header,
    output logic [ina_pkg::BEAT_W-1:0]       read_data,

    // For each job: packets here; packets that have left raw, since the job broke (at most
    // RAW_MAX); packets that left as sums before that and are still in the history; the head slot.
    output logic [JOB_COUNT*FILL_W-1:0] fill,
    output logic [JOB_COUNT*RAW_W-1:0]  raw,
    output logic [JOB_COUNT*FILL_W-1:0] sums,
    output logic [JOB_COUNT*SLOT_W-1:0] head
);

  localparam int SLOTS = JOB_COUNT * SLOT_COUNT;
  localparam logic [RAW_W-1:0] RAW_MAX = RAW_W'(1) << (RAW_W - 1);  // no PSN is further back

  logic [ina_pkg::BEAT_W-1:0]  payloads [SLOTS*ina_pkg::PACKET_BEATS];
  ina_pkg::header_t            headers  [SLOTS];
  logic [ina_pkg::QUADS_W-1:0] lengths  [SLOTS];

  logic [SLOT_W-1:0] write_slot;

  assign write_slot = head[write_job*SLOT_W +: SLOT_W] + fill[write_job*FILL_W +: SLOT_W];

  always_ff @(posedge clk) begin
    if (write_valid) payloads[{write_job, write_slot, write_beat}] <= write_data;
    if (beat_read) read_data <= payloads[{read_job, read_slot, read_beat}];
  end

  always_ff @(posedge clk) begin
    if (commit_valid) headers[{write_job, write_slot}] <= commit_header;
    if (header_read) read_header <= headers[{read_job, read_slot}];
  end

  always_ff @(posedge clk) begin
    if (commit_valid) lengths[{write_job, write_slot}] <= commit_header.quads;
    if (peek_read) peek_quads <= lengths[{peek_job, peek_slot}];
  end

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_ring
    logic push;
    logic pop;

    assign push = commit_valid && write_job == JOB_W'(j);
    assign pop  = pop_valid && pop_job == JOB_W'(j);

    always_ff @(posedge clk) begin
      if (rst || !job_valid[j]) begin
        fill[j*FILL_W +: FILL_W] <= '0;
        raw[j*RAW_W +: RAW_W]    <= '0;
        sums[j*FILL_W +: FILL_W] <= '0;
        head[j*SLOT_W +: SLOT_W] <= '0;
      end else begin
        if (push != pop)
          fill[j*FILL_W +: FILL_W] <= push ? fill[j*FILL_W +: FILL_W] + 1'b1
                                           : fill[j*FILL_W +: FILL_W] - 1'b1;
        if (pop) begin
          head[j*SLOT_W +: SLOT_W] <= head[j*SLOT_W +: SLOT_W] + 1'b1;
          if (pop_raw && raw[j*RAW_W +: RAW_W] != RAW_MAX)
            raw[j*RAW_W +: RAW_W] <= raw[j*RAW_W +: RAW_W] + 1'b1;
          if (!pop_raw && sums[j*FILL_W +: FILL_W] != FILL_W'(SLOT_COUNT))
            sums[j*FILL_W +: FILL_W] <= sums[j*FILL_W +: FILL_W] + 1'b1;
        end
      end
    end
  end

endmodule

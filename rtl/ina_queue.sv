// SPDX-License-Identifier: Apache-2.0
//
// The packets of one port that were taken and have not left: for each job a ring of packets in PSN
// order, with three places:
//
//   tail   where the next packet that is taken goes
//   next   the oldest packet that ina_pick has not chosen for a sum
//   head   the oldest packet that has not left. A packet that left as a sum is in the history, so
//          a retransmission finds its packet either here or there
//
// The packets between head and next are on their way, or wait for the sum of all ranks from above.
// If the job breaks, its packets are sent raw, from the head on.
//
// A place counts the packets of its job modulo twice the largest ring, so that a full ring differs
// from an empty one. A slot is a place modulo the ring, which is a power of two. A ring starts
// again with the JOIN of its flow.

`default_nettype none

module ina_queue #(
    parameter  int JOB_COUNT  = 4,
    parameter  int SLOT_COUNT = 128,  // most packets of one job: a power of two
    parameter  int MEMORY     = 512,  // packets of all jobs
    parameter  int MTU        = 4096,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int SLOT_W     = $clog2(SLOT_COUNT),
    localparam int FILL_W     = $clog2(SLOT_COUNT + 1),
    localparam int INDEX_W    = $clog2(MEMORY)
) (
    input  logic clk,
    input  logic rst,

    input  logic [JOB_COUNT-1:0] job_valid,  // no packet of a free context is chosen

    // From ina_memory: the ring of each job, as its first packet in the memory, and its packets
    // less one.
    input  logic [JOB_COUNT*INDEX_W-1:0] job_base,
    input  logic [JOB_COUNT*SLOT_W-1:0]  job_window,

    // From ina_judge: a beat into the tail slot, and the commit of that slot; or the header of a
    // retransmission, which is stored under the number of its entry in ina_resend.
    input  logic                             write_valid,
    input  logic [JOB_W-1:0]                 write_job,
    input  logic                             write_opens,  // a JOIN: the first packet of its ring
    input  logic [ina_pkg::BEAT_INDEX_W-1:0] write_beat,
    input  logic [ina_pkg::BEAT_W-1:0]       write_data,
    input  logic                             commit_valid,
    input  logic                             resend_valid,
    input  logic [ina_pkg::RESEND_ENTRY_W-1:0] resend_entry,
    input  ina_pkg::header_t                 commit_header,  // of the packet or the retransmission

    // From ina_pick: the packet at `next` is chosen. Its slot is valid in the next clock and stays
    // until the next choice. `next` moves on in that clock, so two choices of one job are at least
    // two clocks apart. A raw packet is chosen at the head, when no packet of its job is on its
    // way.
    input  logic              issue_valid,
    input  logic              issue_raw,
    input  logic [JOB_W-1:0]  issue_job,
    output logic [SLOT_W-1:0] issue_slot,

    output logic [JOB_COUNT-1:0] ready,    // jobs that have a packet at `next`
    output logic [JOB_COUNT-1:0] waiting,  // jobs that have a packet at the head

    // A packet of this port has left.
    input  logic             pop_valid,
    input  logic             pop_raw,
    input  logic [JOB_W-1:0] pop_job,

    // Reads of a slot of the memory. The result is valid in the next clock, and stays until the
    // next read. With header_resend: the header of the retransmission at header_entry.
    input  logic                             peek_read,    // the length of a packet
    input  logic [INDEX_W-1:0]               peek_index,
    output logic [ina_pkg::QUADS_W-1:0]      peek_quads,
    input  logic                             header_read,
    input  logic [INDEX_W-1:0]               header_index,
    input  logic                             header_resend,
    input  logic [ina_pkg::RESEND_ENTRY_W-1:0] header_entry,
    output ina_pkg::header_t                 read_header,
    input  logic                             beat_read,
    input  logic [INDEX_W-1:0]               beat_index,
    input  logic [ina_pkg::BEAT_INDEX_W-1:0] beat_at,
    output logic [ina_pkg::BEAT_W-1:0]       read_data,

    // For the judge: the state of one job's ring, read in every clock of watch_read and valid in
    // the next clock. It is the number of packets in the ring; of packets that were sent raw since
    // the job broke (at most RAW_MAX); of packets that left as sums before that (at most
    // SLOT_COUNT); of all sums up to now; and the slot after that of the last sum.
    input  logic                          watch_read,
    input  logic [JOB_W-1:0]              watch_job,
    output logic [FILL_W-1:0]             fill,
    output logic [ina_pkg::RAW_W-1:0]              raw,
    output logic [FILL_W-1:0]             sums,
    output logic [ina_pkg::ORDINAL_W-1:0] sum_count,
    output logic [SLOT_W-1:0]             sum_slot
);

  localparam int BEATS     = MTU / ina_pkg::BEAT_BYTES;
  localparam int BEATS_W   = $clog2(BEATS);
  localparam int PLACE_W   = 1 + SLOT_W;
  localparam int ORDINAL_W = ina_pkg::ORDINAL_W;
  // No PSN is farther back.
  localparam logic [ina_pkg::RAW_W-1:0] RAW_MAX = ina_pkg::RAW_W'(1) << (ina_pkg::RAW_W - 1);

  // The headers of retransmissions follow the slots.
  localparam int HEADERS   = MEMORY + ina_pkg::RESEND_DEPTH;
  localparam int HEADER_INDEX_W = $clog2(HEADERS);

  // yosys 0.23 would make one register of an array of header_t.
  logic [ina_pkg::BEAT_W-1:0]     payloads [MEMORY*BEATS];
  logic [ina_pkg::HEADER_T_W-1:0] headers  [HEADERS];
  logic [ina_pkg::QUADS_W-1:0]    lengths  [MEMORY];

  logic [PLACE_W-1:0]   tail_place    [JOB_COUNT];
  logic [PLACE_W-1:0]   newest_place  [JOB_COUNT];  // tail_place - 1, stored to save a subtraction
  logic [PLACE_W-1:0]   next_place    [JOB_COUNT];
  logic [PLACE_W-1:0]   head_place    [JOB_COUNT];
  logic [ina_pkg::RAW_W-1:0]     raw_of        [JOB_COUNT];
  logic [FILL_W-1:0]    sums_of       [JOB_COUNT];
  logic [ORDINAL_W-1:0] sum_count_of  [JOB_COUNT];
  logic [SLOT_W-1:0]    sum_slot_of   [JOB_COUNT];

  function automatic logic [PLACE_W-1:0] place_after(input logic [PLACE_W-1:0] place);
    place_after = place + 1'b1;
  endfunction

  function automatic logic [SLOT_W-1:0] slot_of(input logic [PLACE_W-1:0] place,
                                                input logic [SLOT_W-1:0] window);
    logic unused_lap;

    {unused_lap, slot_of} = place & PLACE_W'(window);
  endfunction

  logic [INDEX_W-1:0] base_of   [JOB_COUNT];
  logic [SLOT_W-1:0]  window_of [JOB_COUNT];

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_job
    assign base_of[j]   = job_base[j*INDEX_W +: INDEX_W];
    assign window_of[j] = job_window[j*SLOT_W +: SLOT_W];
  end

  function automatic logic [HEADER_INDEX_W-1:0] header_index_of(
      input logic is_resend, input logic [ina_pkg::RESEND_ENTRY_W-1:0] entry,
      input logic [INDEX_W-1:0] index);
    header_index_of = is_resend ? HEADER_INDEX_W'(MEMORY) + HEADER_INDEX_W'(entry)
                                : HEADER_INDEX_W'(index);
  endfunction

  // Payloads, headers and lengths.
  logic [SLOT_W-1:0]         write_slot;
  logic [INDEX_W-1:0]        write_index;
  logic [HEADER_INDEX_W-1:0] header_write_index;
  logic [HEADER_INDEX_W-1:0] header_read_index;

  assign write_slot  = write_opens ? '0 : slot_of(tail_place[write_job], window_of[write_job]);
  assign write_index = base_of[write_job] | INDEX_W'(write_slot);

  assign header_write_index = header_index_of(resend_valid, resend_entry, write_index);
  assign header_read_index  = header_index_of(header_resend, header_entry, header_index);

  always_ff @(posedge clk) begin
    if (write_valid) payloads[{write_index, write_beat[BEATS_W-1:0]}] <= write_data;
    if (beat_read) read_data <= payloads[{beat_index, beat_at[BEATS_W-1:0]}];
  end

  always_ff @(posedge clk) begin
    if (commit_valid || resend_valid) headers[header_write_index] <= commit_header;
    if (header_read) read_header <= headers[header_read_index];
  end

  always_ff @(posedge clk) begin
    if (commit_valid) lengths[write_index] <= commit_header.quads;
    if (peek_read) peek_quads <= lengths[peek_index];
  end

  // A smaller MTU has fewer beats.
  logic unused;
  assign unused = &{write_beat, beat_at};

  // The places. issue_valid comes late in a clock, so `next` moves on one clock later.
  logic             opens;
  logic             issue_q;
  logic [JOB_W-1:0] issue_job_q;

  assign opens = commit_valid && write_opens;

  always_ff @(posedge clk) begin
    if (commit_valid) begin
      tail_place[write_job]   <= write_opens ? PLACE_W'(1) : place_after(tail_place[write_job]);
      newest_place[write_job] <= write_opens ? '0 : tail_place[write_job];
    end
    if (issue_valid)
      issue_slot <= slot_of(issue_raw ? head_place[issue_job] : next_place[issue_job],
                            window_of[issue_job]);
    issue_q     <= issue_valid && !rst;
    issue_job_q <= issue_job;
    if (issue_q) next_place[issue_job_q] <= place_after(next_place[issue_job_q]);
    if (opens) next_place[write_job] <= '0;
  end

  // issue_valid comes late in a clock, so it is the last input of the logic.
  (* keep *) logic      is_last;  // stops synthesis from mixing issue_valid into it
  logic                 pops_last;
  logic [JOB_COUNT-1:0] emptied;
  logic [JOB_COUNT-1:0] popped;
  logic [JOB_COUNT-1:0] filled;

  assign is_last   = next_place[issue_job] == newest_place[issue_job];
  assign pops_last = pop_valid && head_place[pop_job] == newest_place[pop_job];
  assign emptied   = JOB_COUNT'(is_last) << issue_job;
  assign popped    = JOB_COUNT'(pops_last) << pop_job;
  assign filled    = JOB_COUNT'(commit_valid) << write_job;

  always_ff @(posedge clk) begin
    ready   <= job_valid & (filled | (issue_valid ? ready & ~emptied : ready));
    waiting <= job_valid & (filled | (waiting & ~popped));
    if (rst) ready <= '0;
    if (rst) waiting <= '0;
  end

  // The packets that have left.
  always_ff @(posedge clk) begin
    if (pop_valid) begin
      head_place[pop_job] <= place_after(head_place[pop_job]);
      if (pop_raw) begin
        if (raw_of[pop_job] != RAW_MAX) raw_of[pop_job] <= raw_of[pop_job] + 1'b1;
      end else begin
        if (sums_of[pop_job] != FILL_W'(SLOT_COUNT)) sums_of[pop_job] <= sums_of[pop_job] + 1'b1;
        sum_count_of[pop_job] <= sum_count_of[pop_job] + 1'b1;
        sum_slot_of[pop_job]  <= slot_of(place_after(head_place[pop_job]), window_of[pop_job]);
      end
    end
    if (opens) begin
      head_place[write_job]   <= '0;
      raw_of[write_job]       <= '0;
      sums_of[write_job]      <= '0;
      sum_count_of[write_job] <= '0;
      sum_slot_of[write_job]  <= '0;
    end
  end

  // The watched ring, including the changes of this clock.
  logic               watch_push;
  logic               watch_pop;
  logic [PLACE_W-1:0] tail_then;
  logic [PLACE_W-1:0] head_then;

  assign watch_push = commit_valid && (JOB_COUNT == 1 || write_job == watch_job);
  assign watch_pop  = pop_valid && (JOB_COUNT == 1 || pop_job == watch_job);
  assign tail_then  = watch_push ? place_after(tail_place[watch_job]) : tail_place[watch_job];
  assign head_then  = watch_pop ? place_after(head_place[watch_job]) : head_place[watch_job];

  always_ff @(posedge clk) begin
    if (watch_read) begin
      fill <= tail_then - head_then;
      raw       <= raw_of[watch_job];
      sums      <= sums_of[watch_job];
      sum_count <= sum_count_of[watch_job];
      sum_slot  <= sum_slot_of[watch_job];
      if (watch_pop) begin
        if (pop_raw) begin
          if (raw_of[watch_job] != RAW_MAX) raw <= raw_of[watch_job] + 1'b1;
        end else begin
          if (sums_of[watch_job] != FILL_W'(SLOT_COUNT)) sums <= sums_of[watch_job] + 1'b1;
          sum_count <= sum_count_of[watch_job] + 1'b1;
          sum_slot  <= slot_of(head_then, window_of[watch_job]);
        end
      end
      if (watch_push && write_opens) begin
        fill      <= FILL_W'(1);
        raw       <= '0;
        sums      <= '0;
        sum_count <= '0;
        sum_slot  <= '0;
      end
    end
  end

endmodule

`default_nettype wire

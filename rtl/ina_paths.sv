// SPDX-License-Identifier: Apache-2.0
//
// The two paths of packets from the queues to the ports, shared by all ports:
//
//   ina_join, ina_tree, ina_trailer    sum packets; raw packets of hosts go through the tree too
//   ina_relay                          takes packets that need no addition past the tree
//   ina_history, ina_payload_crc       one a path: store the sum, compute its CRC
//   ina_ends                           reports the ends of the packets of both paths

`default_nettype none

module ina_paths #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    parameter  int SLOT_COUNT = 128,
    parameter  int MEMORY     = 512,
    parameter  int MTU        = 4096,
    parameter  bit HALF_FORMATS = 1'b1,
    parameter  bit MAX_MIN      = 1'b1,
    parameter  bit INT32        = 1'b1,
    parameter  bit UPLINKS      = 1'b1,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int COUNT_W    = $clog2(JOB_COUNT + 1),
    localparam int SLOT_W     = $clog2(SLOT_COUNT),
    localparam int MEMORY_W   = $clog2(MEMORY),
    localparam int BEAT_W     = ina_pkg::BEAT_W,
    localparam int INDEX_W    = ina_pkg::BEAT_INDEX_W,
    localparam int QUADS_W    = ina_pkg::QUADS_W,
    localparam int HEADER_T_W = ina_pkg::HEADER_T_W
) (
    input  logic       clk,
    input  logic       rst,
    input  logic [1:0] level,  // of this switch, 1 to 3; constant

    // The packet that each path has chosen (ina_pick).
    input  logic                  join_pick_valid,
    output logic                  join_pick_ready,
    input  logic                  join_pick_raw,
    input  logic [JOB_W-1:0]      join_pick_job,
    input  logic [SLOT_W-1:0]     join_pick_slot,
    input  logic [PORT_COUNT-1:0] join_pick_from,
    input  logic [PORT_COUNT-1:0] join_pick_mask,
    input  logic                  join_pick_part,
    input  logic                  relay_pick_valid,
    output logic                  relay_pick_ready,
    input  logic [1:0]            relay_pick_kind,
    input  logic [JOB_W-1:0]      relay_pick_job,
    input  logic [SLOT_W-1:0]     relay_pick_slot,
    input  logic [PORT_COUNT-1:0] relay_pick_from,
    input  logic [PORT_COUNT-1:0] relay_pick_mask,
    input  logic                  relay_pick_above,
    input  logic                  relay_pick_probe,
    input  logic                  relay_pick_dropped,
    input  logic [QUADS_W-1:0]    relay_pick_quads,

    // Reads of the queues, at slots of the packet memory (ina_queue).
    output logic                             join_peek_read,
    output logic [MEMORY_W-1:0]              join_peek_index,
    output logic [PORT_COUNT-1:0]            join_header_read,
    output logic [PORT_COUNT-1:0]            join_beat_read,
    output logic [MEMORY_W-1:0]              join_read_index,
    output logic [INDEX_W-1:0]               join_read_beat,
    output logic                             relay_peek_read,
    output logic [MEMORY_W-1:0]              relay_peek_index,
    output logic [PORT_COUNT-1:0]            relay_header_read,
    output logic                             relay_read_resend,
    output logic [PORT_COUNT-1:0]            relay_beat_read,
    output logic [MEMORY_W-1:0]              relay_read_index,
    output logic [INDEX_W-1:0]               relay_read_beat,
    input  logic [PORT_COUNT*QUADS_W-1:0]    peek_quads,
    input  logic [PORT_COUNT*HEADER_T_W-1:0] queue_header,
    input  logic [PORT_COUNT*BEAT_W-1:0]     queue_data,
    output logic [PORT_COUNT-1:0]            resend_pop,

    // The state of all jobs (ina_jobs, ina_memory).
    input  logic [JOB_COUNT-1:0]            job_valid,
    input  logic [JOB_COUNT-1:0]            job_broken,
    input  logic [JOB_COUNT*MEMORY_W-1:0]   job_base,
    input  logic [JOB_COUNT*SLOT_W-1:0]     job_window,
    input  logic [JOB_COUNT*COUNT_W-1:0]    job_before,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] job_mask,
    input  logic [JOB_COUNT-1:0]            context_wanted,

    // Jobs, as in ina_verdict.
    output logic [JOB_COUNT-1:0] job_closing,  // one clock later
    output logic [JOB_COUNT-1:0] mismatch,     // these jobs break
    output logic                 join_undo,
    output logic [JOB_W-1:0]     join_undo_job,
    output logic                 relay_undo,
    output logic [JOB_W-1:0]     relay_undo_job,

    // For ina_counters: retransmissions that are answered, or dropped because their length differs.
    output logic [PORT_COUNT-1:0] answer_sent,
    output logic [PORT_COUNT-1:0] answer_differed,

    // To the ports: the headers, and the beats with the CRC of their payload.
    output logic [PORT_COUNT-1:0]            join_settled,
    output logic [PORT_COUNT-1:0]            join_header_valid,
    output logic [PORT_COUNT*HEADER_T_W-1:0] join_header,
    output logic                             join_header_ce,
    output logic [PORT_COUNT-1:0]            relay_settled,
    output logic [PORT_COUNT-1:0]            relay_header_valid,
    output logic [PORT_COUNT*HEADER_T_W-1:0] relay_header,
    output logic                             relay_header_ce,
    output logic                             sum_begins,
    output logic [PORT_COUNT-1:0]            sum_begins_mask,
    output logic                             sum_out_valid,
    output logic                             sum_out_last,
    output logic [BEAT_W-1:0]                sum_out_data,
    output logic [PORT_COUNT-1:0]            sum_out_mask,
    output logic [31:0]                      sum_out_crc,
    output logic                             relay_begins,
    output logic [PORT_COUNT-1:0]            relay_begins_mask,
    output logic                             relay_out_valid,
    output logic                             relay_out_last,
    output logic [BEAT_W-1:0]                relay_out_data,
    output logic [PORT_COUNT-1:0]            relay_out_mask,
    output logic [31:0]                      relay_out_crc,

    // The end of a packet (ina_ends).
    output logic                  done_valid,
    output logic                  done_raw,
    output logic                  done_up,
    output logic                  done_leave,
    output logic [PORT_COUNT-1:0] done_left,
    output logic [JOB_W-1:0]      done_job,
    output logic [PORT_COUNT-1:0] done_mask,
    output logic [PORT_COUNT-1:0] done_counted,
    output logic [INDEX_W-1:0]    done_beat,
    output logic [2:0]            done_quads,

    output logic [6:0] busy  // one bit for each module that can be busy
);

  // The slots of the packet memory where each path reads, computed once for all ports, because it
  // is known late in a clock which job is read.
  logic [MEMORY_W-1:0]         base_of [JOB_COUNT];
  logic [JOB_COUNT*SLOT_W-1:0] job_granted;  // window: half of the block if a child may be a switch
  logic [JOB_W-1:0]            join_read_job, relay_read_job;
  logic [SLOT_W-1:0]           join_read_slot, relay_read_slot;

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_job
    assign job_granted[j*SLOT_W +: SLOT_W] = job_window[j*SLOT_W +: SLOT_W] >> (level > 2'd1);
    assign base_of[j] = job_base[j*MEMORY_W +: MEMORY_W];
  end

  assign join_peek_index  = base_of[join_pick_job] | MEMORY_W'(join_pick_slot);
  assign join_read_index  = base_of[join_read_job] | MEMORY_W'(join_read_slot);
  assign relay_peek_index = base_of[relay_pick_job] | MEMORY_W'(relay_pick_slot);
  assign relay_read_index = base_of[relay_read_job] | MEMORY_W'(relay_read_slot);

  // Beats into the tree and out of it.
  typedef struct packed {  // accompanies each beat
    logic                  raw;
    logic                  part;
    logic [JOB_W-1:0]      job;
    logic [SLOT_W-1:0]     slot;
    logic [INDEX_W-1:0]    beat;
    logic                  first;
    logic                  last;
    logic [2:0]            quads;
    logic                  leave;
    logic [PORT_COUNT-1:0] mask;
  } side_t;

  logic                                              join_load, join_valid;
  logic [PORT_COUNT*BEAT_W-1:0]                      join_data;
  logic [ina_pkg::LANE_COUNT*ina_pkg::LANE_OP_W-1:0] join_op;
  logic [ina_pkg::FORMAT_W-1:0]                      join_format;
  logic [PORT_COUNT-1:0]                             join_from, join_mask;
  logic                                              join_raw, join_part;
  logic [JOB_W-1:0]                                  join_job;
  logic [SLOT_W-1:0]                                 join_slot;
  logic [INDEX_W-1:0]                                join_beat;
  logic                                              join_first, join_last;
  logic [2:0]                                        join_quads;
  logic                                              join_starts, join_ends, join_leave;
  logic                                              join_reads_headers, join_busy;

  logic                           tree_valid, tree_marked, tree_starts, tree_ends, tree_busy;
  logic [BEAT_W-1:0]              tree_data;
  logic [ina_pkg::LANE_COUNT-1:0] tree_overflow;
  side_t                          tree_side;
  localparam int SIDE_W = $bits(tree_side);

  // Beats after the trailer, and relayed beats.
  logic                  sum_valid, sum_raw, sum_part, sum_first, sum_last, sum_leave;
  logic [BEAT_W-1:0]     sum_data;
  logic [SIDE_W-1:0]     sum_side;
  logic [JOB_W-1:0]      sum_job;
  logic [SLOT_W-1:0]     sum_slot;
  logic [INDEX_W-1:0]    sum_beat;
  logic [2:0]            sum_quads;
  logic [PORT_COUNT-1:0] sum_mask;
  logic                  sum_crc_busy;

  logic                  relay_valid, relay_first, relay_last, relay_leave, relay_marked;
  logic [BEAT_W-1:0]     relay_data;
  logic [1:0]            relay_kind;
  logic [JOB_W-1:0]      relay_job;
  logic [SLOT_W-1:0]     relay_slot;
  logic [INDEX_W-1:0]    relay_beat;
  logic [2:0]            relay_quads;
  logic [PORT_COUNT-1:0] relay_mask;
  logic                  relay_busy, relay_crc_busy, ends_busy;

  // The histories of the sums made here and of those from above.
  logic               history_read;
  logic [BEAT_W-1:0]  here_data, above_data;
  logic [QUADS_W-1:0] here_quads, above_quads;

  // Jobs, as in ina_verdict.
  logic [JOB_COUNT-1:0] join_stopped, join_closing, join_mismatch;
  logic [JOB_COUNT-1:0] relay_stopped, relay_closing, relay_mismatch;
  logic [JOB_COUNT-1:0] lacking;  // the sum of its LEAVEs lacks a rank

  assign mismatch = join_mismatch | relay_mismatch | lacking;
  assign busy     = {join_busy, tree_busy, sum_valid, sum_crc_busy, relay_busy, relay_crc_busy,
                     ends_busy};

  // Registered, because ina_pick has much logic after it. ina_pick cancels what it has chosen in
  // the clock of delay.
  always_ff @(posedge clk) job_closing <= join_closing | relay_closing;

  ina_join #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT),
             .HALF_FORMATS(HALF_FORMATS), .MAX_MIN(MAX_MIN), .INT32(INT32)) join_ (
      .clk, .rst,
      .s_valid(join_pick_valid), .s_ready(join_pick_ready), .s_raw(join_pick_raw),
      .s_job(join_pick_job), .s_slot(join_pick_slot), .s_from(join_pick_from),
      .s_mask(join_pick_mask), .s_part(join_pick_part),
      .peek_read(join_peek_read), .peek_quads, .reads_headers(join_reads_headers),
      .header_read(join_header_read),
      .beat_read(join_beat_read), .read_job(join_read_job), .read_slot(join_read_slot),
      .read_beat(join_read_beat), .queue_header, .queue_data,
      .job_valid, .job_broken, .others_stopped(relay_stopped), .stopped(join_stopped),
      .closing(join_closing), .undo_valid(join_undo), .undo_job(join_undo_job),
      .mismatch(join_mismatch),
      .settled(join_settled), .header_valid(join_header_valid), .header(join_header),
      .header_ce(join_header_ce),
      .m_load(join_load), .m_valid(join_valid), .m_mask(join_mask), .m_from(join_from),
      .m_data(join_data), .m_op(join_op), .m_format(join_format),
      .m_raw(join_raw), .m_part(join_part), .m_job(join_job), .m_slot(join_slot),
      .m_beat(join_beat), .m_first(join_first), .m_last(join_last), .m_quads(join_quads),
      .m_starts(join_starts), .m_ends(join_ends), .m_leave(join_leave), .busy(join_busy));

  ina_tree #(.PORT_COUNT(PORT_COUNT), .HALF_FORMATS(HALF_FORMATS), .MAX_MIN(MAX_MIN), .INT32(INT32),
             .SIDE_W(SIDE_W + 3)) tree (
      .clk, .rst,
      .s_load(join_load), .s_valid(join_valid), .s_mask(join_from), .s_data(join_data),
      .s_op(join_op), .s_format(join_format),
      .s_side({join_raw, join_part, join_job, join_slot, join_beat, join_first, join_last,
               join_quads, join_leave, join_mask, join_header_ce, join_starts, join_ends}),
      .m_valid(tree_valid), .m_data(tree_data), .m_overflow(tree_overflow),
      .m_side({tree_side, tree_marked, tree_starts, tree_ends}), .busy(tree_busy));

  ina_trailer #(.JOB_COUNT(JOB_COUNT), .SIDE_W(SIDE_W), .SLOT_W(SLOT_W)) trailer (
      .clk, .rst, .job_valid, .job_window(job_granted), .job_before, .context_wanted,
      .down_marked(relay_valid && relay_first && relay_marked), .down_job(relay_job),
      .s_valid(tree_valid), .s_data(tree_data), .s_overflow(tree_overflow), .s_side(tree_side),
      .s_raw(tree_side.raw), .s_part(tree_side.part), .s_marked(tree_marked),
      .s_job(tree_side.job), .s_first(tree_side.first), .s_last(tree_side.last),
      .s_quads(tree_side.quads), .s_starts(tree_starts), .s_ends(tree_ends),
      .m_valid(sum_valid), .m_data(sum_data), .m_side(sum_side));

  assign {sum_raw, sum_part, sum_job, sum_slot, sum_beat, sum_first, sum_last, sum_quads, sum_leave,
          sum_mask} = sum_side;

  ina_relay #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT)) relay (
      .clk, .rst,
      .s_valid(relay_pick_valid), .s_ready(relay_pick_ready), .s_kind(relay_pick_kind),
      .s_job(relay_pick_job), .s_slot(relay_pick_slot), .s_from(relay_pick_from),
      .s_mask(relay_pick_mask), .s_above(relay_pick_above), .s_probe(relay_pick_probe),
      .s_dropped(relay_pick_dropped), .s_quads(relay_pick_quads),
      .peek_read(relay_peek_read), .peek_quads, .others_read(join_reads_headers),
      .header_read(relay_header_read), .read_resend(relay_read_resend),
      .beat_read(relay_beat_read), .read_job(relay_read_job), .read_slot(relay_read_slot),
      .read_beat(relay_read_beat), .queue_header, .queue_data,
      .history_read, .here_data, .here_quads, .above_data, .above_quads,
      .resend_pop, .resend_answered(answer_sent), .resend_differed(answer_differed),
      .job_valid, .job_broken, .others_stopped(join_stopped), .stopped(relay_stopped),
      .closing(relay_closing), .undo_valid(relay_undo), .undo_job(relay_undo_job),
      .mismatch(relay_mismatch),
      .settled(relay_settled), .header_valid(relay_header_valid), .header(relay_header),
      .header_ce(relay_header_ce),
      .m_valid(relay_valid), .m_mask(relay_mask), .m_data(relay_data), .m_kind(relay_kind),
      .m_job(relay_job), .m_slot(relay_slot), .m_beat(relay_beat), .m_first(relay_first),
      .m_last(relay_last), .m_quads(relay_quads), .m_leave(relay_leave), .m_marked(relay_marked),
      .busy(relay_busy));

  // A LEAVE is one beat: its header has the rank count, its trailer the contributors. If they
  // differ, a switch below no longer sums for the job. Then the job breaks, one clock before it
  // ends.
  localparam int RANKS_AT        = ina_pkg::MESSAGE_RANKS_AT * 8;
  localparam int CONTRIBUTORS_AT =
      (ina_pkg::MESSAGE_HEADER_BYTES + ina_pkg::TRAILER_CONTRIBUTORS_AT) * 8;

  always_comb begin
    lacking = '0;
    if (sum_valid && sum_leave && !sum_raw
        && sum_data[CONTRIBUTORS_AT +: 32] != 32'(sum_data[RANKS_AT +: 16]))
      lacking[sum_job] = 1'b1;
    if (relay_valid && relay_leave && relay_kind == ina_pkg::KIND_DOWN
        && relay_data[CONTRIBUTORS_AT +: 32] != 32'(relay_data[RANKS_AT +: 16]))
      lacking[relay_job] = 1'b1;
  end

  ina_ends #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) ends (
      .clk, .rst,
      .join_valid(sum_valid && sum_last), .join_raw(sum_raw), .join_part(sum_part),
      .join_leave(sum_leave), .join_job(sum_job), .join_mask(sum_mask), .join_beat(sum_beat),
      .join_quads(sum_quads),
      .relay_valid(relay_valid && relay_last && relay_kind != ina_pkg::KIND_RESEND),
      .relay_raw(relay_kind == ina_pkg::KIND_RAW), .relay_leave(relay_leave),
      .relay_job(relay_job), .relay_mask(relay_mask), .relay_beat(relay_beat),
      .relay_quads(relay_quads), .job_mask,
      .m_valid(done_valid), .m_raw(done_raw), .m_up(done_up), .m_leave(done_leave),
      .m_left(done_left), .m_job(done_job), .m_mask(done_mask), .m_counted(done_counted),
      .m_beat(done_beat), .m_quads(done_quads), .busy(ends_busy));

  ina_history #(.MEMORY(MEMORY), .MTU(MTU)) here (
      .clk,
      .write_valid(sum_valid && !sum_raw), .write_index(base_of[sum_job] | MEMORY_W'(sum_slot)),
      .write_beat(sum_beat), .write_data(sum_data), .write_last(sum_last), .write_quads(sum_quads),
      .peek_read(relay_peek_read), .peek_index(relay_peek_index), .peek_quads(here_quads),
      .read_valid(history_read), .read_index(relay_read_index), .read_beat(relay_read_beat),
      .read_data(here_data));

  if (UPLINKS) begin : gen_above
    ina_history #(.MEMORY(MEMORY), .MTU(MTU)) above (
        .clk,
        .write_valid(relay_valid && relay_kind == ina_pkg::KIND_DOWN),
        .write_index(base_of[relay_job] | MEMORY_W'(relay_slot)), .write_beat(relay_beat),
        .write_data(relay_data), .write_last(relay_last), .write_quads(relay_quads),
        .peek_read(relay_peek_read), .peek_index(relay_peek_index), .peek_quads(above_quads),
        .read_valid(history_read), .read_index(relay_read_index), .read_beat(relay_read_beat),
        .read_data(above_data));
  end else begin : gen_no_above
    assign above_data  = '0;
    assign above_quads = '0;
    logic unused_slot;
    assign unused_slot = ^relay_slot;
  end

  ina_payload_crc #(.SIDE_W(PORT_COUNT)) sum_crc (
      .clk, .rst,
      .s_valid(sum_valid), .s_first(sum_first), .s_last(sum_last), .s_quads(sum_quads),
      .s_data(sum_data), .s_side(sum_mask),
      .begins(sum_begins), .begins_side(sum_begins_mask), .m_valid(sum_out_valid),
      .m_last(sum_out_last), .m_data(sum_out_data), .m_side(sum_out_mask),
      .m_crc(sum_out_crc), .busy(sum_crc_busy));

  ina_payload_crc #(.SIDE_W(PORT_COUNT)) relay_crc (
      .clk, .rst,
      .s_valid(relay_valid), .s_first(relay_first), .s_last(relay_last), .s_quads(relay_quads),
      .s_data(relay_data), .s_side(relay_mask),
      .begins(relay_begins), .begins_side(relay_begins_mask), .m_valid(relay_out_valid),
      .m_last(relay_out_last), .m_data(relay_out_data), .m_side(relay_out_mask),
      .m_crc(relay_out_crc), .busy(relay_crc_busy));

endmodule

`default_nettype wire

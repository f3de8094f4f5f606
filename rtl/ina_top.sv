// SPDX-License-Identifier: Apache-2.0
//
// The aggregator, in the order of a packet's life:
//
//   ina_port: ina_ingress                    one a port     is it ours, intact, expected?
//             ina_queue                      one a port     waits for the other ranks
//   ina_jobs, ina_pick, ina_join             shared         meets them
//   ina_tree, ina_trailer, ina_history       shared         is added to theirs, and remembered
//                                                           (what a higher switch adds up waits on)
//   ina_payload_crc                          shared
//   ina_port: ina_rebuild, ina_merge         one a port     goes on in its own headers

`default_nettype none

module ina_top #(
    parameter int PORT_COUNT = 4,    // 2 to 16
    parameter int JOB_COUNT  = 4,    // contexts, and flows of each port: 1 to 64
    parameter int SLOT_COUNT = 128,  // packets of each queue and history: 2 to 32768
    parameter int MTU        = 4096, // the largest payload in bytes: 256, 512, 1024, 2048 or 4096
    // What the tree can do; a message that needs what is not there breaks its job.
    parameter bit HALF_FORMATS = 1'b1,  // bfloat16 and float16
    parameter bit MAX_MIN      = 1'b1,  // operations max and min
    parameter bit INT32        = 1'b1,  // int32 elements
    parameter bit UPLINKS      = 1'b1   // there may be some: a history of parts
) (
    input  logic clk,
    input  logic rst,

    // One clock now and then, from a timer: jobs that were silent since the last time have expired.
    input  logic age,
    // One clock at intervals of the quiet time, from a timer. Always 1: there is no quiet time.
    input  logic tick,

    // Where it stands in a tree of switches (docs/protocol.md, Several switches); zeros: alone. They
    // stay as they are while it runs.
    input  logic [1:0]            place_level,    // 1 for a switch of hosts (1 also as 0)
    input  logic [PORT_COUNT-1:0] place_uplinks,  // the ports that lead up; not all ports
    input  logic [63:0]           place_id,       // what it writes into a TRACE; 0: nothing

    // Ethernet frames without FCS; port p has slice p of each bus, the first byte in its lowest 8
    // bits. tkeep must be all ones but in a frame's last beat.
    input  logic [PORT_COUNT-1:0]                     s_axis_tvalid,
    output logic [PORT_COUNT-1:0]                     s_axis_tready,
    input  logic [PORT_COUNT*ina_pkg::BEAT_W-1:0]     s_axis_tdata,
    input  logic [PORT_COUNT*ina_pkg::BEAT_BYTES-1:0] s_axis_tkeep,
    input  logic [PORT_COUNT-1:0]                     s_axis_tlast,

    output logic [PORT_COUNT-1:0]                     m_axis_tvalid,
    input  logic [PORT_COUNT-1:0]                     m_axis_tready,
    output logic [PORT_COUNT*ina_pkg::BEAT_W-1:0]     m_axis_tdata,
    output logic [PORT_COUNT*ina_pkg::BEAT_BYTES-1:0] m_axis_tkeep,
    output logic [PORT_COUNT-1:0]                     m_axis_tlast,

    // More clocks would move something. Packets that wait for other ranks do not count.
    output logic                                                 busy,
    output logic [ina_pkg::COUNTER_COUNT*ina_pkg::COUNTER_W-1:0] counters  // 64 bits each
);

  if (PORT_COUNT < 2 || PORT_COUNT > ina_pkg::PORT_MAX) begin : gen_port_count
    $error("ina_top: PORT_COUNT must be 2 to 16");
  end
  if (JOB_COUNT < 1 || JOB_COUNT > ina_pkg::JOB_MAX) begin : gen_job_count
    $error("ina_top: JOB_COUNT must be 1 to 64");
  end
  if (SLOT_COUNT < 2 || SLOT_COUNT > ina_pkg::SLOT_MAX) begin : gen_slot_count
    $error("ina_top: SLOT_COUNT must be 2 to 32768");
  end
  if (MTU != 256 && MTU != 512 && MTU != 1024 && MTU != 2048 && MTU != 4096) begin : gen_mtu
    $error("ina_top: MTU must be 256, 512, 1024, 2048 or 4096");
  end

  localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1;
  localparam int SLOT_W     = $clog2(SLOT_COUNT);
  localparam int BEAT_W     = ina_pkg::BEAT_W;
  localparam int KEEP_W     = ina_pkg::BEAT_BYTES;
  localparam int INDEX_W    = ina_pkg::BEAT_INDEX_W;
  localparam int HEADER_T_W = ina_pkg::HEADER_T_W;
  localparam int ASK_W      = ina_pkg::ASK_T_W;
  localparam int RESEND_W   = ina_pkg::RESEND_T_W;
  localparam int EVENTS_W   = ina_pkg::COUNTER_COUNT;

  logic [1:0]            level;
  logic [PORT_COUNT-1:0] uplinks;

  assign level   = place_level == '0 ? 2'd1 : place_level;
  assign uplinks = UPLINKS ? place_uplinks : '0;

  // Jobs.
  logic [PORT_COUNT-1:0]           ask_valid;
  logic [PORT_COUNT*ASK_W-1:0]     ask;
  logic [PORT_COUNT-1:0]           answer_valid;
  logic                            answer_granted;
  logic                            answer_held;
  logic [JOB_W-1:0]                answer_job;
  logic [PORT_COUNT-1:0]           break_valid;
  logic [PORT_COUNT-1:0]           leave_valid;
  logic [PORT_COUNT-1:0]           hit_valid;
  logic [PORT_COUNT*JOB_W-1:0]     hit_job;
  logic [JOB_COUNT-1:0]            job_valid;
  logic [JOB_COUNT-1:0]            job_complete;
  logic [JOB_COUNT-1:0]            job_broken;
  logic [JOB_COUNT-1:0]            job_closing;
  logic [JOB_COUNT-1:0]            job_quiet;
  logic [JOB_COUNT-1:0]            job_freed;
  logic [JOB_COUNT-1:0]            job_begun;
  logic [JOB_COUNT-1:0]            job_early;
  logic [PORT_COUNT*JOB_COUNT-1:0] job_mask;
  logic [PORT_COUNT*JOB_COUNT-1:0] job_border;
  logic [PORT_COUNT*JOB_COUNT-1:0] job_down;
  logic                            job_opened;
  logic [JOB_COUNT-1:0]            job_newly_broken;
  logic [JOB_COUNT-1:0]            job_newly_expired;

  // The flows of each port, and those of the other ports: first those of the port behind it.
  localparam int OTHER_PORTS = PORT_COUNT - 1;
  localparam int KNOWN_W     = JOB_COUNT * ina_pkg::KNOWN_T_W;
  localparam int SEARCH_W    = ina_pkg::SEARCH_T_W;
  localparam int FOUND_W     = ina_pkg::FOUND_T_W;

  logic [PORT_COUNT*KNOWN_W-1:0]  known;
  logic [PORT_COUNT*SEARCH_W-1:0] search;
  logic [PORT_COUNT*FOUND_W-1:0]  found;

  // Queues and retransmissions.
  logic [PORT_COUNT*JOB_COUNT-1:0]          queue_ready;
  logic [PORT_COUNT*JOB_COUNT-1:0]          queue_waiting;
  logic [PORT_COUNT-1:0]                    commit_valid;
  logic [PORT_COUNT*JOB_W-1:0]              commit_job;
  logic [PORT_COUNT*HEADER_T_W-1:0]         queue_header;
  logic [PORT_COUNT*BEAT_W-1:0]             queue_data;
  logic [PORT_COUNT*ina_pkg::QUADS_W-1:0]   peek_quads;
  logic [PORT_COUNT-1:0]                    resend_valid;
  logic [PORT_COUNT-1:0]                    resend_pop;
  logic [PORT_COUNT*RESEND_W-1:0]           resend;
  logic [PORT_COUNT*JOB_COUNT-1:0]          resend_pending;
  logic [PORT_COUNT*JOB_COUNT-1:0]          resend_behind;

  // The chosen packet, and the reads for it.
  logic                  pick_valid;
  logic                  pick_ready;
  logic [1:0]            pick_kind;
  logic [JOB_W-1:0]      pick_job;
  logic [SLOT_W-1:0]     pick_slot;
  logic [PORT_COUNT-1:0] pick_from;
  logic [PORT_COUNT-1:0] pick_mask;
  logic                  pick_part;
  logic                  pick_probe;
  logic                  pick_dropped;
  logic [PORT_COUNT-1:0] issue_valid;
  logic                  issue_raw;
  logic [JOB_W-1:0]      issue_job;
  logic [PORT_COUNT*SLOT_W-1:0] issue_slot;
  logic                  peek_read;
  logic [PORT_COUNT-1:0] header_read;
  logic [PORT_COUNT-1:0] beat_read;
  logic [JOB_W-1:0]      read_job;
  logic [SLOT_W-1:0]     read_slot;
  logic                  read_resend;
  logic [INDEX_W-1:0]    read_beat;
  logic                  history_read;
  logic                  history_part;
  logic [BEAT_W-1:0]     history_data;
  logic [ina_pkg::QUADS_W-1:0] history_quads;
  logic                  mismatch_valid;
  logic                  undo_valid;
  logic                  undo_part;
  logic [JOB_W-1:0]      undo_job;

  // Beats into the tree, out of it, behind the trailer, and with their CRC.
  typedef struct packed {  // what rides along with them
    logic [1:0]            kind;
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
  localparam int SIDE_W = 3 + JOB_W + SLOT_W + INDEX_W + 2 + 3 + 1 + PORT_COUNT;

  logic                                              join_load;
  logic                                              join_valid;
  logic [PORT_COUNT-1:0]                             join_mask;
  logic [PORT_COUNT-1:0]                             join_leaves;
  logic [PORT_COUNT*BEAT_W-1:0]                      join_data;
  logic [ina_pkg::LANE_COUNT*ina_pkg::LANE_OP_W-1:0] join_op;
  logic [ina_pkg::FORMAT_W-1:0]                      join_format;
  logic [1:0]                                        join_kind;
  logic                                              join_part;
  logic [JOB_W-1:0]                                  join_job;
  logic [SLOT_W-1:0]                                 join_slot;
  logic [INDEX_W-1:0]                                join_beat;
  logic                                              join_first;
  logic                                              join_last;
  logic [2:0]                                        join_quads;
  logic                                              join_starts;
  logic                                              join_ends;
  logic                                              join_leave;

  logic                           tree_valid;
  logic [BEAT_W-1:0]              tree_data;
  logic [ina_pkg::LANE_COUNT-1:0] tree_overflow;
  side_t                          tree_side;
  logic                           tree_starts;
  logic                           tree_ends;

  logic                  sum_valid;
  logic [BEAT_W-1:0]     sum_data;
  logic [SIDE_W-1:0]     sum_side;
  logic [1:0]            sum_kind;
  logic                  sum_part;
  logic [JOB_W-1:0]      sum_job;
  logic [SLOT_W-1:0]     sum_slot;
  logic [INDEX_W-1:0]    sum_beat;
  logic                  sum_first;
  logic                  sum_last;
  logic [2:0]            sum_quads;
  logic                  sum_leave;
  logic [PORT_COUNT-1:0] sum_mask;

  logic                  out_valid;
  logic                  out_last;
  logic [BEAT_W-1:0]     out_data;
  logic [PORT_COUNT-1:0] out_mask;
  logic [31:0]           out_crc;

  // The end of a transaction: its last beat is in the history.
  logic                  done_valid;
  logic                  done_raw;
  logic                  done_up;
  logic                  done_leave;
  logic [PORT_COUNT-1:0] done_left;     // with done_leave, whose
  logic [PORT_COUNT-1:0] done_counted;  // whose payloads it took, but for one from above

  // Outputs of each port.
  logic [PORT_COUNT-1:0]            settled;
  logic [PORT_COUNT-1:0]            header_valid;
  logic [PORT_COUNT*HEADER_T_W-1:0] header;
  logic                             header_ce;
  logic [PORT_COUNT-1:0]            rebuild_room;
  logic [PORT_COUNT-1:0]            marked;
  logic [PORT_COUNT-1:0]            passed;
  logic [PORT_COUNT*EVENTS_W-1:0]   judged;

  logic [PORT_COUNT-1:0] port_busy;
  logic                  jobs_busy;
  logic [PORT_COUNT-1:0] answer_sent;
  logic [PORT_COUNT-1:0] answer_differed;
  logic [PORT_COUNT-1:0] answer_dropped;
  logic                  pick_busy;
  logic                  join_busy;
  logic                  tree_busy;
  logic                  crc_busy;
  logic                  counters_busy;

  // Who is busy says so late in a clock, so it counts from the next one on; what comes from outside
  // counts from the edge that takes it, and bridges that clock.
  localparam int PARTS = PORT_COUNT + 7;
  logic             input_d;
  logic             input_q;
  logic [PARTS-1:0] busy_q;

  assign input_d = s_axis_tvalid != '0 || age;

  always_ff @(posedge clk) begin
    input_q <= input_d;
    busy_q  <= {port_busy, jobs_busy, pick_busy, join_busy, tree_busy, sum_valid, crc_busy,
                  counters_busy};
    busy    <= input_d || input_q || busy_q != '0;
  end

  ina_jobs #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT)) jobs (
      .clk, .rst, .age, .level, .uplinks,
      .ask_valid, .ask,
      .answer_valid, .answer_granted, .answer_held, .answer_job,
      .hit_valid, .break_valid, .leave_valid, .hit_job, .mismatch_valid, .mismatch_job(undo_job),
      .done_valid(done_leave), .done_job(sum_job), .done_mask(done_left),
      .job_begun, .job_quiet, .queue_waiting, .job_valid, .job_complete, .job_broken, .job_mask,
      .job_border, .job_down, .job_freed,
      .opened(job_opened), .newly_broken(job_newly_broken), .newly_expired(job_newly_expired),
      .busy(jobs_busy));

  ina_parts #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) parts (
      .clk, .opened(job_opened), .opened_job(answer_job), .up_valid(done_up), .up_job(sum_job),
      .commit_valid, .commit_job, .job_down, .begun(job_begun), .early(job_early));

  ina_keys #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) keys (
      .clk, .rst, .learn(answer_granted ? answer_valid : '0), .learn_job(answer_job),
      .search, .found);

  ina_pick #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT)) pick (
      .clk, .rst,
      .job_valid, .job_complete, .job_broken, .job_closing, .job_mask, .job_border, .job_down,
      .queue_ready, .queue_waiting,
      .opened(job_opened), .opened_job(answer_job),
      .resend_valid, .resend, .resend_pending, .resend_behind, .resend_pop,
      .rebuild_room, .settled,
      .done_valid, .done_job(sum_job),
      .undo_valid, .undo_job, .undo_part, .issue_valid, .issue_raw, .issue_job, .issue_slot,
      .m_valid(pick_valid), .m_ready(pick_ready), .m_kind(pick_kind), .m_job(pick_job),
      .m_slot(pick_slot), .m_from(pick_from), .m_mask(pick_mask), .m_part(pick_part),
      .m_probe(pick_probe),
      .m_dropped(pick_dropped), .job_quiet, .dropped(answer_dropped), .busy(pick_busy));

  ina_join #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT),
             .HALF_FORMATS(HALF_FORMATS), .MAX_MIN(MAX_MIN), .INT32(INT32)) join_ (
      .clk, .rst,
      .s_valid(pick_valid), .s_ready(pick_ready), .s_kind(pick_kind), .s_job(pick_job),
      .s_slot(pick_slot), .s_from(pick_from), .s_mask(pick_mask), .s_part(pick_part),
      .s_probe(pick_probe), .s_dropped(pick_dropped),
      .peek_read, .peek_quads, .header_read, .beat_read, .read_job, .read_slot, .read_resend,
      .read_beat, .queue_header, .queue_data, .history_read, .history_part, .history_data,
      .history_quads,
      .resend_pop, .resend_answered(answer_sent), .resend_differed(answer_differed),
      .job_valid, .job_broken, .job_closing, .mismatch_valid, .undo_valid, .undo_part, .undo_job,
      .settled, .header_valid, .header, .header_ce,
      .m_load(join_load), .m_valid(join_valid), .m_mask(join_mask), .m_leaves(join_leaves), .m_data(join_data),
      .m_op(join_op), .m_format(join_format),
      .m_kind(join_kind), .m_part(join_part), .m_job(join_job), .m_slot(join_slot), .m_beat(join_beat),
      .m_first(join_first), .m_last(join_last), .m_quads(join_quads), .m_starts(join_starts),
      .m_ends(join_ends), .m_leave(join_leave), .busy(join_busy));

  ina_tree #(.PORT_COUNT(PORT_COUNT), .HALF_FORMATS(HALF_FORMATS), .MAX_MIN(MAX_MIN), .INT32(INT32),
             .SIDE_W(SIDE_W + 2)) tree (
      .clk, .rst,
      .s_load(join_load), .s_valid(join_valid), .s_mask(join_leaves), .s_data(join_data), .s_op(join_op),
      .s_format(join_format),
      .s_side({join_kind, join_part, join_job, join_slot, join_beat, join_first, join_last, join_quads,
               join_leave, join_mask, join_starts, join_ends}),
      .m_valid(tree_valid), .m_data(tree_data), .m_overflow(tree_overflow),
      .m_side({tree_side, tree_starts, tree_ends}), .busy(tree_busy));

  ina_trailer #(.JOB_COUNT(JOB_COUNT), .SIDE_W(SIDE_W)) trailer (
      .clk, .rst,
      .s_valid(tree_valid), .s_data(tree_data), .s_overflow(tree_overflow), .s_side(tree_side),
      .s_kind(tree_side.kind), .s_job(tree_side.job), .s_first(tree_side.first),
      .s_last(tree_side.last), .s_quads(tree_side.quads), .s_starts(tree_starts), .s_ends(tree_ends),
      .m_valid(sum_valid), .m_data(sum_data), .m_side(sum_side));

  assign {sum_kind, sum_part, sum_job, sum_slot, sum_beat, sum_first, sum_last, sum_quads, sum_leave,
          sum_mask} = sum_side;

  assign done_valid = sum_valid && sum_last && sum_kind != ina_pkg::KIND_RESEND;
  assign done_raw   = sum_kind == ina_pkg::KIND_RAW;
  assign done_up    = done_valid && sum_kind == ina_pkg::KIND_JOIN && sum_part;
  assign done_leave = done_valid && sum_leave;
  assign done_left  = done_raw ? sum_mask : {PORT_COUNT{1'b1}};

  always_comb begin
    done_counted = done_raw ? sum_mask : '0;
    for (int p = 0; p < PORT_COUNT; p++)
      if (sum_kind == ina_pkg::KIND_JOIN) done_counted[p] = job_mask[p*JOB_COUNT + 32'(sum_job)];
  end

  ina_history #(.JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT), .MTU(MTU), .UPLINKS(UPLINKS))
      history (
      .clk,
      .write_valid(sum_valid && (sum_kind == ina_pkg::KIND_JOIN || sum_kind == ina_pkg::KIND_DOWN)),
      .write_part(sum_kind == ina_pkg::KIND_JOIN && sum_part), .write_job(sum_job),
      .write_slot(sum_slot), .write_beat(sum_beat), .write_data(sum_data),
      .write_last(sum_last), .write_quads(sum_quads),
      .peek_read, .peek_part(pick_part), .peek_job(pick_job), .peek_slot(pick_slot),
      .peek_quads(history_quads),
      .read_valid(history_read), .read_part(history_part), .read_job, .read_slot, .read_beat, .read_data(history_data));

  ina_payload_crc #(.SIDE_W(PORT_COUNT)) payload_crc (
      .clk, .rst,
      .s_valid(sum_valid), .s_first(sum_first), .s_last(sum_last), .s_quads(sum_quads),
      .s_data(sum_data), .s_side(sum_mask),
      .m_valid(out_valid), .m_last(out_last), .m_data(out_data),
      .m_side(out_mask), .m_crc(out_crc), .busy(crc_busy));

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_port
    logic [OTHER_PORTS*KNOWN_W-1:0] others;

    for (genvar o = 0; o < OTHER_PORTS; o++) begin : gen_other
      assign others[o*KNOWN_W +: KNOWN_W] = known[(p + 1 + o) % PORT_COUNT * KNOWN_W +: KNOWN_W];
    end

    ina_port #(.JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT), .MTU(MTU),
               .OTHER_PORTS(OTHER_PORTS)) port (
        .clk, .rst, .tick, .uplink(uplinks[p]), .probes(uplinks[p] || level > 2'd1),
        .s_axis_tvalid(s_axis_tvalid[p]), .s_axis_tready(s_axis_tready[p]),
        .s_axis_tdata(s_axis_tdata[p*BEAT_W +: BEAT_W]),
        .s_axis_tkeep(s_axis_tkeep[p*KEEP_W +: KEEP_W]), .s_axis_tlast(s_axis_tlast[p]),
        .m_axis_tvalid(m_axis_tvalid[p]), .m_axis_tready(m_axis_tready[p]),
        .m_axis_tdata(m_axis_tdata[p*BEAT_W +: BEAT_W]),
        .m_axis_tkeep(m_axis_tkeep[p*KEEP_W +: KEEP_W]), .m_axis_tlast(m_axis_tlast[p]),
        .writes_traces(place_id != '0 && !uplinks[p]),
        .trace_mark({level, 4'(p), place_id}),
        .ask_valid(ask_valid[p]), .ask(ask[p*ASK_W +: ASK_W]),
        .answer_valid(answer_valid[p]), .answer_granted, .answer_held, .answer_job,
        .job_valid, .job_complete, .job_broken, .job_border(job_border[p*JOB_COUNT +: JOB_COUNT]),
        .job_early(job_early & job_down[p*JOB_COUNT +: JOB_COUNT]), .job_freed,
        .break_valid(break_valid[p]), .leave_valid(leave_valid[p]), .hit_valid(hit_valid[p]),
        .hit_job(hit_job[p*JOB_W +: JOB_W]),
        .known(known[p*KNOWN_W +: KNOWN_W]), .others,
        .search(search[p*SEARCH_W +: SEARCH_W]), .found(found[p*FOUND_W +: FOUND_W]),
        .queue_ready(queue_ready[p*JOB_COUNT +: JOB_COUNT]),
        .queue_waiting(queue_waiting[p*JOB_COUNT +: JOB_COUNT]),
        .commit_valid(commit_valid[p]), .commit_job(commit_job[p*JOB_W +: JOB_W]),
        .issue_valid(issue_valid[p]), .issue_raw, .issue_job, .issue_slot(issue_slot[p*SLOT_W +: SLOT_W]),
        .resend_valid(resend_valid[p]), .resend(resend[p*RESEND_W +: RESEND_W]),
        .resend_pending(resend_pending[p*JOB_COUNT +: JOB_COUNT]),
        .resend_behind(resend_behind[p*JOB_COUNT +: JOB_COUNT]), .room(rebuild_room[p]),
        .peek_read(peek_read && pick_from[p]), .peek_job(pick_job), .peek_slot(pick_slot),
        .peek_resend(pick_kind == ina_pkg::KIND_RESEND),
        .peek_quads(peek_quads[p*ina_pkg::QUADS_W +: ina_pkg::QUADS_W]),
        .header_read(header_read[p]), .beat_read(beat_read[p]), .read_job, .read_slot,
        .read_resend, .read_beat, .read_header(queue_header[p*HEADER_T_W +: HEADER_T_W]),
        .read_data(queue_data[p*BEAT_W +: BEAT_W]), .resend_pop(resend_pop[p]),
        .header_valid(header_valid[p]), .header(header[p*HEADER_T_W +: HEADER_T_W]), .header_ce,
        .done_valid(done_valid && sum_mask[p]), .done_raw, .done_job(sum_job),
        .out_valid(out_valid && out_mask[p]), .out_last, .out_data, .out_crc,
        .judged(judged[p*EVENTS_W +: EVENTS_W]), .passed(passed[p]), .marked(marked[p]),
        .busy(port_busy[p]));
  end

  ina_counters #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) counters_ (
      .clk, .rst,
      .judged, .passed, .marked,
      .opened(job_opened), .freed(job_freed), .newly_broken(job_newly_broken),
      .newly_expired(job_newly_expired), .answered(answer_sent), .differed(answer_differed),
      .dropped(answer_dropped),
      .done_valid, .done_raw, .done_mask(done_counted), .done_last_beat(sum_beat),
      .done_last_quads(sum_quads),
      .counters, .busy(counters_busy));

endmodule

`default_nettype wire

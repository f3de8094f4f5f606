// SPDX-License-Identifier: Apache-2.0
//
// The aggregator. The modules stand in the order in which a packet passes them:
//
//   ina_port: ina_ingress              one a port   parses, checks and judges the packet
//             ina_queue                one a port   stores it until the other ranks' arrive
//   ina_jobs, ina_memory, ina_parts    shared       know which jobs and ranks there are
//   ina_pick                           shared       chooses the packets to be summed or relayed
//   ina_paths                          shared       sums them, or relays sums that exist already
//   ina_port: ina_rebuild, ina_merge   one a port   send it on in each packet's own headers

`default_nettype none

module ina_top #(
    parameter int PORT_COUNT = 4,    // 2 to 16
    parameter int JOB_COUNT  = 16,   // contexts, and flows of each port: 1 to 64
    parameter int SLOT_COUNT = 128,  // most packets of one job: a power of two, 2 to 32768
    // Packets of each port's queue and of each history, shared by all jobs.
    parameter int MEMORY     = 512,
    parameter int GRAIN      = 8,    // fewest packets of one job: a power of two
    parameter int MTU        = 4096, // largest payload in bytes: 256, 512, 1024, 2048 or 4096
    // Functions of the tree. A message that needs one that is not built in breaks its job.
    parameter bit HALF_FORMATS = 1'b1,  // bfloat16 and float16
    parameter bit MAX_MIN      = 1'b1,  // operations max and min
    parameter bit INT32        = 1'b1,  // int32 elements
    parameter bit UPLINKS      = 1'b1   // uplinks are possible: a history of the sums from above
) (
    input  logic clk,
    input  logic rst,

    // One clock at intervals of the time-to-live, from a timer: jobs that were silent since the
    // last pulse expire. While contexts are lacked, which a counter shows, the timer should use a
    // shorter interval (docs/protocol.md, Silent jobs).
    input  logic age,
    // One clock at intervals of the quiet time, from a timer. If it is always 1, there is no quiet
    // time.
    input  logic tick,
    // One clock at intervals of the patience with silent flows, from a timer (docs/protocol.md,
    // Suspects). If it is always 1, there is no patience.
    input  logic patience,

    // Place of this switch in a tree of switches (docs/protocol.md, Several switches). If all are
    // 0, the switch is alone. Constant during operation.
    input  logic [1:0]            place_level,    // 1 if only hosts are below; 0 means 1
    input  logic [PORT_COUNT-1:0] place_uplinks,  // ports that lead up; never all ports
    input  logic [63:0]           place_id,       // id written into TRACEs; 0: fills no TRACE
    // Most jobs lacking a rank that one port may have opened; 0: all but one. Constant.
    input  logic [6:0]            quota,
    input  logic [6:0]            vlan_quota,     // most jobs of one VLAN; 0: all. Constant
    // Ports where the VLAN tag of a JOIN sets the VLAN and the priority of its job. Constant.
    input  logic [PORT_COUNT-1:0] trusted_ports,
    // Priority of a port's JOINs that have no tag, or one that is not trusted: 0 (lowest) to 7.
    // Port 0 has the lowest 3 bits. Constant.
    input  logic [PORT_COUNT*3-1:0] port_priority,

    // Ethernet frames without FCS. Port p has slice p of each bus, with the first byte in its
    // lowest 8 bits. tkeep must be all ones except in the last beat of a frame.
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

    // More clocks would change something. Packets that wait for other ranks do not count.
    output logic                                                 busy,
    output logic [ina_pkg::COUNTER_COUNT*ina_pkg::COUNTER_W-1:0] counters  // 64 bits each
);

  if (PORT_COUNT < 2 || PORT_COUNT > ina_pkg::PORT_MAX) begin : gen_port_count
    $error("ina_top: PORT_COUNT must be 2 to 16");
  end
  if (JOB_COUNT < 1 || JOB_COUNT > ina_pkg::JOB_MAX) begin : gen_job_count
    $error("ina_top: JOB_COUNT must be 1 to 64");
  end
  if (SLOT_COUNT < 2 || SLOT_COUNT > ina_pkg::SLOT_MAX || 1 << $clog2(SLOT_COUNT) != SLOT_COUNT)
  begin : gen_slot_count
    $error("ina_top: SLOT_COUNT must be a power of two, 2 to 32768");
  end
  if (GRAIN < 2 || GRAIN > SLOT_COUNT || 1 << $clog2(GRAIN) != GRAIN) begin : gen_grain
    $error("ina_top: GRAIN must be a power of two, 2 to SLOT_COUNT");
  end
  if (MEMORY < SLOT_COUNT || MEMORY < JOB_COUNT * GRAIN || MEMORY > ina_pkg::MEMORY_MAX
      || MEMORY % GRAIN != 0) begin : gen_memory
    $error("ina_top: MEMORY must be a multiple of GRAIN, no less than SLOT_COUNT and JOB_COUNT * GRAIN, 65536 at most");
  end
  if (MTU != 256 && MTU != 512 && MTU != 1024 && MTU != 2048 && MTU != 4096) begin : gen_mtu
    $error("ina_top: MTU must be 256, 512, 1024, 2048 or 4096");
  end

  localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1;
  localparam int COUNT_W    = $clog2(JOB_COUNT + 1);
  localparam int SLOT_W     = $clog2(SLOT_COUNT);
  localparam int MEMORY_W   = $clog2(MEMORY);
  localparam int BEAT_W     = ina_pkg::BEAT_W;
  localparam int KEEP_W     = ina_pkg::BEAT_BYTES;
  localparam int INDEX_W    = ina_pkg::BEAT_INDEX_W;
  localparam int QUADS_W    = ina_pkg::QUADS_W;
  localparam int HEADER_T_W = ina_pkg::HEADER_T_W;
  localparam int ASK_W      = ina_pkg::ASK_T_W;
  localparam int RESEND_W   = ina_pkg::RESEND_T_W;
  localparam int EVENTS_W   = ina_pkg::COUNTER_COUNT;
  localparam int TRACE_T_W  = ina_pkg::TRACE_T_W;

  logic [1:0]            level;
  logic [PORT_COUNT-1:0] uplinks;

  assign level   = place_level == '0 ? 2'd1 : place_level;
  assign uplinks = UPLINKS ? place_uplinks : '0;

  // Jobs, and their memory.
  logic [PORT_COUNT-1:0]           ask_valid, answer_valid;
  logic [PORT_COUNT*ASK_W-1:0]     ask;
  logic                            answer_granted, answer_held;
  logic [JOB_W-1:0]                answer_job;
  logic [JOB_COUNT-1:0]            context_wanted;
  logic [PORT_COUNT-1:0]           break_valid, leave_valid, hit_valid;
  logic [PORT_COUNT*JOB_W-1:0]     hit_job;
  logic [JOB_COUNT-1:0]            job_valid, job_complete, job_broken, job_lingers, job_closing;
  logic [JOB_COUNT-1:0]            job_quiet, job_freed, job_begun, job_early, job_answered;
  logic [COUNT_W-1:0]              job_count;
  logic [JOB_COUNT*COUNT_W-1:0]    job_before;
  logic [PORT_COUNT*JOB_COUNT-1:0] job_mask, job_border, job_down;
  logic [JOB_COUNT-1:0]            job_idle, job_has_block;
  logic [JOB_COUNT*MEMORY_W-1:0]   job_base;
  logic [JOB_COUNT*SLOT_W-1:0]     job_window;
  logic                            job_opened, job_lacked;
  logic [JOB_COUNT-1:0]            job_newly_closed, job_newly_broken, job_newly_expired;
  logic                            memory_look, memory_take;
  logic [31:0]                     memory_asked;
  logic [JOB_W-1:0]                memory_take_job;
  logic                            has_quota;
  logic [PORT_COUNT-1:0]           port_stuck;
  logic [JOB_COUNT-1:0]            mismatch;

  // The flows of each port, and those of the other ports in turn, from the next port on.
  localparam int OTHER_PORTS = PORT_COUNT - 1;
  localparam int KNOWN_W     = JOB_COUNT * ina_pkg::KNOWN_T_W;
  localparam int SEARCH_W    = ina_pkg::SEARCH_T_W;
  localparam int FOUND_W     = ina_pkg::FOUND_T_W;

  logic [PORT_COUNT*KNOWN_W-1:0]  known;
  logic [PORT_COUNT*SEARCH_W-1:0] search;
  logic [PORT_COUNT*FOUND_W-1:0]  found;
  logic [PORT_COUNT-1:0]          contest_valid, contest_breaks, contest_leaves;
  logic [JOB_W-1:0]               contest_job;

  // Queues and retransmissions.
  logic [PORT_COUNT*JOB_COUNT-1:0]  queue_ready, queue_waiting;
  logic [PORT_COUNT-1:0]            commit_valid;
  logic [PORT_COUNT*JOB_W-1:0]      commit_job;
  logic [PORT_COUNT*HEADER_T_W-1:0] queue_header;
  logic [PORT_COUNT*BEAT_W-1:0]     queue_data;
  logic [PORT_COUNT*QUADS_W-1:0]    peek_quads;
  logic [PORT_COUNT-1:0]            resend_valid, resend_pop;
  logic [PORT_COUNT*RESEND_W-1:0]   resend;
  logic [PORT_COUNT*JOB_COUNT-1:0]  resend_pending, resend_behind;

  // The packet that each path has chosen, and the reads for it.
  logic                         join_pick_valid, join_pick_ready, join_pick_raw, join_pick_part;
  logic [JOB_W-1:0]             join_pick_job, join_issue_job;
  logic [SLOT_W-1:0]            join_pick_slot;
  logic [PORT_COUNT-1:0]        join_pick_from, join_pick_mask, join_issue;
  logic                         join_issue_raw, join_peek_read;
  logic [PORT_COUNT-1:0]        join_header_read, join_beat_read;
  logic [MEMORY_W-1:0]          join_peek_index, join_read_index;
  logic [INDEX_W-1:0]           join_read_beat;
  logic                         relay_pick_valid, relay_pick_ready;
  logic [1:0]                   relay_pick_kind;
  logic [JOB_W-1:0]             relay_pick_job, relay_issue_job;
  logic [SLOT_W-1:0]            relay_pick_slot;
  logic [PORT_COUNT-1:0]        relay_pick_from, relay_pick_mask, relay_issue;
  logic                         relay_pick_above, relay_pick_probe, relay_pick_dropped;
  logic [QUADS_W-1:0]           relay_pick_quads;
  logic                         relay_issue_raw, relay_peek_read, relay_read_resend;
  logic [PORT_COUNT-1:0]        relay_header_read, relay_beat_read;
  logic [MEMORY_W-1:0]          relay_peek_index, relay_read_index;
  logic [INDEX_W-1:0]           relay_read_beat;
  logic [PORT_COUNT*SLOT_W-1:0] issue_slot;
  logic                         join_undo, relay_undo;
  logic [JOB_W-1:0]             join_undo_job, relay_undo_job;

  // The headers and beats that each path sends to the ports, and the end of a packet (ina_ends).
  logic [PORT_COUNT-1:0]            join_settled, join_room, join_header_valid;
  logic [PORT_COUNT*HEADER_T_W-1:0] join_header;
  logic                             join_header_ce, sum_begins, sum_out_valid, sum_out_last;
  logic [PORT_COUNT-1:0]            sum_begins_mask, sum_out_mask;
  logic [BEAT_W-1:0]                sum_out_data;
  logic [31:0]                      sum_out_crc;
  logic [PORT_COUNT-1:0]            relay_settled, relay_room, relay_header_valid;
  logic [PORT_COUNT*HEADER_T_W-1:0] relay_header;
  logic                             relay_header_ce, relay_begins, relay_out_valid, relay_out_last;
  logic [PORT_COUNT-1:0]            relay_begins_mask, relay_out_mask;
  logic [BEAT_W-1:0]                relay_out_data;
  logic [31:0]                      relay_out_crc;
  logic                             done_valid, done_raw, done_up, done_leave;
  logic [PORT_COUNT-1:0]            done_left, done_mask, done_counted;
  logic [JOB_W-1:0]                 done_job;
  logic [INDEX_W-1:0]               done_beat;
  logic [2:0]                       done_quads;

  // For the counters.
  logic [PORT_COUNT-1:0]          answer_sent, answer_differed, answer_dropped, marked, passed;
  logic [PORT_COUNT*EVENTS_W-1:0] judged;

  // Submodules raise `busy` late in a clock, so it counts from the next clock on. Inputs count from
  // the edge that takes them, which bridges that clock. A tick may free a job that has ended.
  logic [PORT_COUNT-1:0]  port_busy;
  logic [6:0]             paths_busy;
  logic                   jobs_busy, memory_busy, pick_busy, counters_busy;
  logic                   input_d, input_q;
  logic [PORT_COUNT+10:0] busy_q;

  assign input_d = s_axis_tvalid != '0 || age || (tick && job_lingers != '0);

  always_ff @(posedge clk) begin
    input_q <= input_d;
    busy_q  <= {port_busy, jobs_busy, memory_busy, pick_busy, paths_busy, counters_busy};
    busy    <= input_d || input_q || busy_q != '0;
  end

  ina_jobs #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) jobs (
      .clk, .rst, .age, .tick, .level, .uplinks, .quota, .vlan_quota,
      .ask_valid, .ask,
      .answer_valid, .answer_granted, .answer_held, .answer_job, .context_wanted,
      .hit_valid, .break_valid, .leave_valid, .hit_job,
      .contest_breaks, .contest_leaves, .contest_job, .mismatch,
      .done_valid(done_leave), .done_job, .done_mask(done_left),
      .job_begun, .job_quiet, .queue_waiting, .job_valid, .job_complete, .job_broken, .job_lingers,
      .job_mask, .job_border, .job_down, .job_freed, .job_count, .job_before,
      .look(memory_look), .look_asked(memory_asked), .take(memory_take),
      .take_job(memory_take_job), .job_idle, .job_has_block, .resend_pending, .stuck(port_stuck),
      .opened(job_opened), .lacked(job_lacked), .newly_closed(job_newly_closed),
      .newly_broken(job_newly_broken), .newly_expired(job_newly_expired), .busy(jobs_busy));

  // Constant: some quota is below its default.
  always_ff @(posedge clk)
    has_quota <= (quota != '0 && 32'(quota) + 1 < JOB_COUNT)
        || (vlan_quota != '0 && 32'(vlan_quota) < JOB_COUNT);

  ina_memory #(.JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT), .MEMORY(MEMORY),
               .GRAIN(GRAIN)) memory (
      .clk, .rst, .has_quota, .look(memory_look), .asked(memory_asked), .take(memory_take),
      .take_job(memory_take_job), .idle(job_idle), .has_block(job_has_block), .job_base,
      .job_window, .busy(memory_busy));

  ina_parts #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) parts (
      .clk, .opened(job_opened), .opened_job(answer_job), .up_valid(done_up), .up_job(done_job),
      .sum_valid(done_valid && !done_raw && !done_up), .sum_job(done_job),
      .commit_valid, .commit_job, .job_down, .begun(job_begun), .early(job_early),
      .answered(job_answered));

  ina_keys #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) keys (
      .clk, .rst, .learn(answer_granted ? answer_valid : '0), .learn_job(answer_job),
      .search, .found, .contest_valid, .contest_job);

  ina_pick #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT)) pick (
      .clk, .rst,
      .job_window, .job_valid, .job_complete, .job_broken, .job_closing, .job_mask, .job_border,
      .job_down, .queue_ready, .queue_waiting, .opened(job_opened), .opened_job(answer_job),
      .resend_valid, .resend, .resend_pending, .resend_behind, .resend_pop,
      .uplinks, .join_room, .join_settled, .join_undo, .join_undo_job,
      .relay_room, .relay_settled, .relay_undo, .relay_undo_job, .done_valid, .done_job,
      .join_issue, .join_issue_raw, .join_issue_job, .relay_issue, .relay_issue_raw,
      .relay_issue_job, .issue_slot,
      .m_join_valid(join_pick_valid), .m_join_ready(join_pick_ready), .m_join_raw(join_pick_raw),
      .m_join_job(join_pick_job), .m_join_slot(join_pick_slot), .m_join_from(join_pick_from),
      .m_join_mask(join_pick_mask), .m_join_part(join_pick_part),
      .m_relay_valid(relay_pick_valid), .m_relay_ready(relay_pick_ready),
      .m_relay_kind(relay_pick_kind), .m_relay_job(relay_pick_job),
      .m_relay_slot(relay_pick_slot), .m_relay_from(relay_pick_from),
      .m_relay_mask(relay_pick_mask), .m_relay_above(relay_pick_above),
      .m_relay_probe(relay_pick_probe), .m_relay_dropped(relay_pick_dropped),
      .m_relay_quads(relay_pick_quads),
      .job_quiet, .dropped(answer_dropped), .busy(pick_busy));

  ina_paths #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT),
              .MEMORY(MEMORY), .MTU(MTU), .HALF_FORMATS(HALF_FORMATS), .MAX_MIN(MAX_MIN),
              .INT32(INT32), .UPLINKS(UPLINKS)) paths (
      .clk, .rst, .level,
      .join_pick_valid, .join_pick_ready, .join_pick_raw, .join_pick_job, .join_pick_slot,
      .join_pick_from, .join_pick_mask, .join_pick_part,
      .relay_pick_valid, .relay_pick_ready, .relay_pick_kind, .relay_pick_job, .relay_pick_slot,
      .relay_pick_from, .relay_pick_mask, .relay_pick_above, .relay_pick_probe,
      .relay_pick_dropped, .relay_pick_quads,
      .join_peek_read, .join_peek_index, .join_header_read, .join_beat_read, .join_read_index,
      .join_read_beat, .relay_peek_read, .relay_peek_index, .relay_header_read,
      .relay_read_resend, .relay_beat_read, .relay_read_index, .relay_read_beat,
      .peek_quads, .queue_header, .queue_data, .resend_pop,
      .job_valid, .job_broken, .job_base, .job_window, .job_before, .job_mask, .context_wanted,
      .job_closing, .mismatch, .join_undo, .join_undo_job, .relay_undo, .relay_undo_job,
      .answer_sent, .answer_differed,
      .join_settled, .join_header_valid, .join_header, .join_header_ce,
      .relay_settled, .relay_header_valid, .relay_header, .relay_header_ce,
      .sum_begins, .sum_begins_mask, .sum_out_valid, .sum_out_last, .sum_out_data, .sum_out_mask,
      .sum_out_crc, .relay_begins, .relay_begins_mask, .relay_out_valid, .relay_out_last,
      .relay_out_data, .relay_out_mask, .relay_out_crc,
      .done_valid, .done_raw, .done_up, .done_leave, .done_left, .done_job, .done_mask,
      .done_counted, .done_beat, .done_quads, .busy(paths_busy));

  logic [PORT_COUNT*TRACE_T_W-1:0] trace_marks;

  ina_trace_mark #(.PORT_COUNT(PORT_COUNT)) trace_mark (
      .clk, .level, .id(place_id), .jobs(7'(job_count)), .m_marks(trace_marks));

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_port
    logic [OTHER_PORTS*KNOWN_W-1:0] others;
    logic                           header_relay;  // ina_relay reads the headers now

    assign header_relay = relay_header_read[p];

    for (genvar o = 0; o < OTHER_PORTS; o++) begin : gen_other
      assign others[o*KNOWN_W +: KNOWN_W] = known[(p + 1 + o) % PORT_COUNT * KNOWN_W +: KNOWN_W];
    end

    ina_port #(.JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT), .MEMORY(MEMORY), .MTU(MTU),
               .OTHER_PORTS(OTHER_PORTS)) port (
        .clk, .rst, .tick, .patience, .uplink(uplinks[p]), .probes(uplinks[p] || level > 2'd1),
        .s_axis_tvalid(s_axis_tvalid[p]), .s_axis_tready(s_axis_tready[p]),
        .s_axis_tdata(s_axis_tdata[p*BEAT_W +: BEAT_W]),
        .s_axis_tkeep(s_axis_tkeep[p*KEEP_W +: KEEP_W]), .s_axis_tlast(s_axis_tlast[p]),
        .m_axis_tvalid(m_axis_tvalid[p]), .m_axis_tready(m_axis_tready[p]),
        .m_axis_tdata(m_axis_tdata[p*BEAT_W +: BEAT_W]),
        .m_axis_tkeep(m_axis_tkeep[p*KEEP_W +: KEEP_W]), .m_axis_tlast(m_axis_tlast[p]),
        .drops(port_stuck[p]),
        .fills_traces(place_id != '0 && !uplinks[p]),
        .trace_mark(trace_marks[p*TRACE_T_W +: TRACE_T_W]),
        .trusts_tags(trusted_ports[p]), .priority_untagged(port_priority[p*3 +: 3]),
        .ask_valid(ask_valid[p]), .ask(ask[p*ASK_W +: ASK_W]),
        .answer_valid(answer_valid[p]), .answer_granted, .answer_held, .answer_job,
        .job_valid, .job_base, .job_window, .job_complete, .job_broken, .job_lingers,
        .job_border(job_border[p*JOB_COUNT +: JOB_COUNT]),
        .job_early(job_early & job_down[p*JOB_COUNT +: JOB_COUNT]),
        .job_unanswered(job_border[p*JOB_COUNT +: JOB_COUNT] & ~job_answered), .job_freed,
        .break_valid(break_valid[p]), .leave_valid(leave_valid[p]), .hit_valid(hit_valid[p]),
        .hit_job(hit_job[p*JOB_W +: JOB_W]),
        .known(known[p*KNOWN_W +: KNOWN_W]), .others,
        .search(search[p*SEARCH_W +: SEARCH_W]), .found(found[p*FOUND_W +: FOUND_W]),
        .contest_valid(contest_valid[p]), .contest_job,
        .contest_breaks(contest_breaks[p]), .contest_leaves(contest_leaves[p]),
        .queue_ready(queue_ready[p*JOB_COUNT +: JOB_COUNT]),
        .queue_waiting(queue_waiting[p*JOB_COUNT +: JOB_COUNT]),
        .commit_valid(commit_valid[p]), .commit_job(commit_job[p*JOB_W +: JOB_W]),
        .issue_valid(join_issue[p] || relay_issue[p]),
        .issue_raw(uplinks[p] ? relay_issue_raw : join_issue_raw),
        .issue_job(uplinks[p] ? relay_issue_job : join_issue_job),
        .issue_slot(issue_slot[p*SLOT_W +: SLOT_W]),
        .resend_valid(resend_valid[p]), .resend(resend[p*RESEND_W +: RESEND_W]),
        .resend_pending(resend_pending[p*JOB_COUNT +: JOB_COUNT]),
        .resend_behind(resend_behind[p*JOB_COUNT +: JOB_COUNT]),
        .join_room(join_room[p]), .relay_room(relay_room[p]),
        .peek_read(uplinks[p] ? relay_peek_read && relay_pick_from[p]
                              : join_peek_read && join_pick_from[p]),
        .peek_index(uplinks[p] ? relay_peek_index : join_peek_index),
        .peek_quads(peek_quads[p*ina_pkg::QUADS_W +: ina_pkg::QUADS_W]),
        .header_read(join_header_read[p] || header_relay),
        .header_index(header_relay ? relay_read_index : join_read_index),
        .header_resend(header_relay && relay_read_resend),
        .read_header(queue_header[p*HEADER_T_W +: HEADER_T_W]),
        .beat_read(join_beat_read[p] || relay_beat_read[p]),
        .beat_index(uplinks[p] ? relay_read_index : join_read_index),
        .beat_at(uplinks[p] ? relay_read_beat : join_read_beat),
        .read_data(queue_data[p*BEAT_W +: BEAT_W]), .resend_pop(resend_pop[p]),
        .join_header_valid(join_header_valid[p]),
        .join_header(join_header[p*HEADER_T_W +: HEADER_T_W]), .join_header_ce,
        .join_begins(sum_begins && sum_begins_mask[p]),
        .join_valid(sum_out_valid && sum_out_mask[p]), .join_last(sum_out_last),
        .join_data(sum_out_data), .join_crc(sum_out_crc),
        .relay_header_valid(relay_header_valid[p]),
        .relay_header(relay_header[p*HEADER_T_W +: HEADER_T_W]), .relay_header_ce,
        .relay_begins(relay_begins && relay_begins_mask[p]),
        .relay_valid(relay_out_valid && relay_out_mask[p]), .relay_last(relay_out_last),
        .relay_data(relay_out_data), .relay_crc(relay_out_crc),
        .done_valid(done_valid && done_mask[p]), .done_raw, .done_job,
        .judged(judged[p*EVENTS_W +: EVENTS_W]), .passed(passed[p]), .marked(marked[p]),
        .busy(port_busy[p]));
  end

  ina_counters #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) counters_ (
      .clk, .rst,
      .judged, .passed, .marked,
      .opened(job_opened), .lacked(job_lacked), .newly_closed(job_newly_closed),
      .newly_broken(job_newly_broken), .newly_expired(job_newly_expired),
      .answered(answer_sent), .differed(answer_differed), .dropped(answer_dropped),
      .done_valid, .done_raw, .done_mask(done_counted), .done_last_beat(done_beat),
      .done_last_quads(done_quads),
      .counters, .busy(counters_busy));

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// The aggregator. The modules stand in the order in which a packet passes them:
//
//   ina_port: ina_ingress                    one a port     parses, checks and judges the packet
//             ina_queue                      one a port     stores it until the other ranks' arrive
//   ina_jobs, ina_pick                       shared         choose the packets to be summed
//   ina_join, ina_tree, ina_trailer          shared         sum them
//   ina_relay                                shared         relays sums that exist already
//   ina_history, ina_payload_crc             one a path     store the sum, compute its CRC
//   ina_port: ina_rebuild, ina_merge         one a port     send it on in each packet's own headers

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
  logic [JOB_COUNT-1:0]            context_wanted;
  logic [PORT_COUNT-1:0]           break_valid;
  logic [PORT_COUNT-1:0]           leave_valid;
  logic [PORT_COUNT-1:0]           hit_valid;
  logic [PORT_COUNT*JOB_W-1:0]     hit_job;
  logic [JOB_COUNT-1:0]            job_valid;
  logic [JOB_COUNT-1:0]            job_complete;
  logic [JOB_COUNT-1:0]            job_broken;
  logic [JOB_COUNT-1:0]            job_lingers;
  logic [JOB_COUNT-1:0]            job_closing;
  logic [JOB_COUNT-1:0]            job_quiet;
  logic [JOB_COUNT-1:0]            job_freed;
  logic [COUNT_W-1:0]              job_count;
  logic [JOB_COUNT*COUNT_W-1:0]    job_before;
  logic [JOB_COUNT-1:0]            job_begun;
  logic [JOB_COUNT-1:0]            job_early;
  logic [JOB_COUNT-1:0]            job_answered;
  logic [PORT_COUNT*JOB_COUNT-1:0] job_mask;
  logic [PORT_COUNT*JOB_COUNT-1:0] job_border;
  logic [PORT_COUNT*JOB_COUNT-1:0] job_down;
  logic [JOB_COUNT-1:0]            job_idle;
  logic [JOB_COUNT-1:0]            job_has_block;
  logic [JOB_COUNT*MEMORY_W-1:0]   job_base;
  logic [JOB_COUNT*SLOT_W-1:0]     job_window;
  // The window that the job is granted: half of its block if a child may be a switch.
  logic [JOB_COUNT*SLOT_W-1:0]     job_granted;
  logic                            job_opened;
  logic                            job_lacked;
  logic [JOB_COUNT-1:0]            job_newly_closed;
  logic [JOB_COUNT-1:0]            job_newly_broken;
  logic [JOB_COUNT-1:0]            job_newly_expired;

  // The flows of each port, and those of the other ports in turn, from the next port on.
  localparam int OTHER_PORTS = PORT_COUNT - 1;
  localparam int KNOWN_W     = JOB_COUNT * ina_pkg::KNOWN_T_W;
  localparam int SEARCH_W    = ina_pkg::SEARCH_T_W;
  localparam int FOUND_W     = ina_pkg::FOUND_T_W;

  logic [PORT_COUNT*KNOWN_W-1:0]  known;
  logic [PORT_COUNT*SEARCH_W-1:0] search;
  logic [PORT_COUNT*FOUND_W-1:0]  found;
  logic [PORT_COUNT-1:0]          contest_valid;
  logic [JOB_W-1:0]               contest_job;
  logic [PORT_COUNT-1:0]          contest_breaks;
  logic [PORT_COUNT-1:0]          contest_leaves;

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

  // The packet that each path has chosen, and the reads for it.
  logic                        join_pick_valid;
  logic                        join_pick_ready;
  logic                        join_pick_raw;
  logic [JOB_W-1:0]            join_pick_job;
  logic [SLOT_W-1:0]           join_pick_slot;
  logic [PORT_COUNT-1:0]       join_pick_from;
  logic [PORT_COUNT-1:0]       join_pick_mask;
  logic                        join_pick_part;
  logic [PORT_COUNT-1:0]       join_issue;
  logic                        join_issue_raw;
  logic [JOB_W-1:0]            join_issue_job;
  logic                        join_peek_read;
  logic                        join_reads_headers;
  logic [PORT_COUNT-1:0]       join_header_read;
  logic [PORT_COUNT-1:0]       join_beat_read;
  logic [JOB_W-1:0]            join_read_job;
  logic [SLOT_W-1:0]           join_read_slot;
  logic [INDEX_W-1:0]          join_read_beat;
  logic                        relay_pick_valid;
  logic                        relay_pick_ready;
  logic [1:0]                  relay_pick_kind;
  logic [JOB_W-1:0]            relay_pick_job;
  logic [SLOT_W-1:0]           relay_pick_slot;
  logic [PORT_COUNT-1:0]       relay_pick_from;
  logic [PORT_COUNT-1:0]       relay_pick_mask;
  logic                        relay_pick_above;
  logic                        relay_pick_probe;
  logic                        relay_pick_dropped;
  logic [ina_pkg::QUADS_W-1:0] relay_pick_quads;
  logic [PORT_COUNT-1:0]       relay_issue;
  logic                        relay_issue_raw;
  logic [JOB_W-1:0]            relay_issue_job;
  logic                        relay_peek_read;
  logic [PORT_COUNT-1:0]       relay_header_read;
  logic                        relay_read_resend;
  logic [PORT_COUNT-1:0]       relay_beat_read;
  logic [JOB_W-1:0]            relay_read_job;
  logic [SLOT_W-1:0]           relay_read_slot;
  logic [INDEX_W-1:0]          relay_read_beat;
  logic [PORT_COUNT*SLOT_W-1:0] issue_slot;

  // What each path reports about jobs.
  logic [JOB_COUNT-1:0] join_stopped;
  logic [JOB_COUNT-1:0] join_closing;
  logic                 join_undo;
  logic [JOB_W-1:0]     join_undo_job;
  logic [JOB_COUNT-1:0] join_mismatch;
  logic [JOB_COUNT-1:0] relay_stopped;
  logic [JOB_COUNT-1:0] relay_closing;
  logic                 relay_undo;
  logic [JOB_W-1:0]     relay_undo_job;
  logic [JOB_COUNT-1:0] relay_mismatch;
  logic [JOB_COUNT-1:0] lacking;         // the sum of its LEAVEs lacks a rank

  // The slots of the packet memory where each path reads.
  logic [MEMORY_W-1:0] base_of [JOB_COUNT];
  logic [MEMORY_W-1:0] join_peek_index;
  logic [MEMORY_W-1:0] join_read_index;
  logic [MEMORY_W-1:0] relay_peek_index;
  logic [MEMORY_W-1:0] relay_read_index;

  // The histories of the sums made here and of those from above.
  logic                        history_read;
  logic [BEAT_W-1:0]           here_data;
  logic [ina_pkg::QUADS_W-1:0] here_quads;
  logic [BEAT_W-1:0]           above_data;
  logic [ina_pkg::QUADS_W-1:0] above_quads;

  // Beats into the tree, out of it, after the trailer, and with their CRC.
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

  logic                                              join_load;
  logic                                              join_valid;
  logic [PORT_COUNT-1:0]                             join_mask;
  logic [PORT_COUNT-1:0]                             join_from;
  logic [PORT_COUNT*BEAT_W-1:0]                      join_data;
  logic [ina_pkg::LANE_COUNT*ina_pkg::LANE_OP_W-1:0] join_op;
  logic [ina_pkg::FORMAT_W-1:0]                      join_format;
  logic                                              join_raw;
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
  localparam int SIDE_W = $bits(tree_side);
  logic                           tree_marked;
  logic                           tree_starts;
  logic                           tree_ends;

  logic                  sum_valid;
  logic [BEAT_W-1:0]     sum_data;
  logic [SIDE_W-1:0]     sum_side;
  logic                  sum_raw;
  logic                  sum_part;
  logic [JOB_W-1:0]      sum_job;
  logic [SLOT_W-1:0]     sum_slot;
  logic [INDEX_W-1:0]    sum_beat;
  logic                  sum_first;
  logic                  sum_last;
  logic [2:0]            sum_quads;
  logic                  sum_leave;
  logic [PORT_COUNT-1:0] sum_mask;

  logic                  sum_begins;
  logic [PORT_COUNT-1:0] sum_begins_mask;
  logic                  sum_out_valid;
  logic                  sum_out_last;
  logic [BEAT_W-1:0]     sum_out_data;
  logic [PORT_COUNT-1:0] sum_out_mask;
  logic [31:0]           sum_out_crc;

  // Beats that are relayed, and with their CRC.
  logic                  relay_valid;
  logic [BEAT_W-1:0]     relay_data;
  logic [1:0]            relay_kind;
  logic [JOB_W-1:0]      relay_job;
  logic [SLOT_W-1:0]     relay_slot;
  logic [INDEX_W-1:0]    relay_beat;
  logic                  relay_first;
  logic                  relay_last;
  logic [2:0]            relay_quads;
  logic                  relay_leave;
  logic                  relay_marked;
  logic [PORT_COUNT-1:0] relay_mask;

  logic                  relay_begins;
  logic [PORT_COUNT-1:0] relay_begins_mask;
  logic                  relay_out_valid;
  logic                  relay_out_last;
  logic [BEAT_W-1:0]     relay_out_data;
  logic [PORT_COUNT-1:0] relay_out_mask;
  logic [31:0]           relay_out_crc;

  // The end of a packet (ina_ends).
  logic                  done_valid;
  logic                  done_raw;
  logic                  done_up;
  logic                  done_leave;
  logic [PORT_COUNT-1:0] done_left;
  logic [JOB_W-1:0]      done_job;
  logic [PORT_COUNT-1:0] done_mask;
  logic [PORT_COUNT-1:0] done_counted;
  logic [INDEX_W-1:0]    done_beat;
  logic [2:0]            done_quads;

  // Outputs of each port.
  logic [PORT_COUNT-1:0]            join_settled;
  logic [PORT_COUNT-1:0]            join_header_valid;
  logic [PORT_COUNT*HEADER_T_W-1:0] join_header;
  logic                             join_header_ce;
  logic [PORT_COUNT-1:0]            join_room;
  logic [PORT_COUNT-1:0]            relay_settled;
  logic [PORT_COUNT-1:0]            relay_header_valid;
  logic [PORT_COUNT*HEADER_T_W-1:0] relay_header;
  logic                             relay_header_ce;
  logic [PORT_COUNT-1:0]            relay_room;
  logic [PORT_COUNT-1:0]            marked;
  logic [PORT_COUNT-1:0]            passed;
  logic [PORT_COUNT*EVENTS_W-1:0]   judged;

  logic [PORT_COUNT-1:0] port_busy;
  logic                  jobs_busy;
  logic                  memory_busy;
  logic                  has_quota;
  logic [PORT_COUNT-1:0] port_stuck;
  logic                  memory_look;
  logic [31:0]           memory_asked;
  logic                  memory_take;
  logic [JOB_W-1:0]      memory_take_job;
  logic [PORT_COUNT-1:0] answer_sent;
  logic [PORT_COUNT-1:0] answer_differed;
  logic [PORT_COUNT-1:0] answer_dropped;
  logic                  pick_busy;
  logic                  join_busy;
  logic                  relay_busy;
  logic                  tree_busy;
  logic                  sum_crc_busy;
  logic                  relay_crc_busy;
  logic                  ends_busy;
  logic                  counters_busy;

  // Submodules raise `busy` late in a clock, so it counts from the next clock on. Inputs count from
  // the edge that takes them, which bridges that clock. A tick may free a job that has ended.
  localparam int BUSY_COUNT = PORT_COUNT + 11;
  logic             input_d;
  logic             input_q;
  logic [BUSY_COUNT-1:0] busy_q;

  assign input_d = s_axis_tvalid != '0 || age || (tick && job_lingers != '0);

  always_ff @(posedge clk) begin
    input_q <= input_d;
    busy_q  <= {port_busy, jobs_busy, memory_busy, pick_busy, join_busy, tree_busy, sum_valid, sum_crc_busy,
                relay_busy, relay_crc_busy, ends_busy, counters_busy};
    busy    <= input_d || input_q || busy_q != '0;
  end

  ina_jobs #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) jobs (
      .clk, .rst, .age, .tick, .level, .uplinks, .quota, .vlan_quota,
      .ask_valid, .ask,
      .answer_valid, .answer_granted, .answer_held, .answer_job, .context_wanted,
      .hit_valid, .break_valid, .leave_valid, .hit_job,
      .contest_breaks, .contest_leaves, .contest_job,
      .mismatch(join_mismatch | relay_mismatch | lacking),
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

  ina_memory #(.JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT), .MEMORY(MEMORY), .GRAIN(GRAIN)) memory (
      .clk, .rst, .has_quota, .look(memory_look), .asked(memory_asked), .take(memory_take),
      .take_job(memory_take_job), .idle(job_idle), .has_block(job_has_block), .job_base, .job_window,
      .busy(memory_busy));

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_job
    assign job_granted[j*SLOT_W +: SLOT_W] = job_window[j*SLOT_W +: SLOT_W] >> (level > 2'd1);
    assign base_of[j] = job_base[j*MEMORY_W +: MEMORY_W];
  end

  // Computed once for all ports, because it is known late in a clock which job is read.
  assign join_peek_index  = base_of[join_pick_job] | MEMORY_W'(join_pick_slot);
  assign join_read_index  = base_of[join_read_job] | MEMORY_W'(join_read_slot);
  assign relay_peek_index = base_of[relay_pick_job] | MEMORY_W'(relay_pick_slot);
  assign relay_read_index = base_of[relay_read_job] | MEMORY_W'(relay_read_slot);

  ina_parts #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) parts (
      .clk, .opened(job_opened), .opened_job(answer_job), .up_valid(done_up), .up_job(done_job),
      .sum_valid(done_valid && !done_raw && !done_up), .sum_job(done_job),
      .commit_valid, .commit_job, .job_down, .begun(job_begun), .early(job_early), .answered(job_answered));

  ina_keys #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) keys (
      .clk, .rst, .learn(answer_granted ? answer_valid : '0), .learn_job(answer_job),
      .search, .found, .contest_valid, .contest_job);

  // Registered, because ina_pick has much logic after it. ina_pick cancels what it has chosen in
  // the clock of delay.
  always_ff @(posedge clk) job_closing <= join_closing | relay_closing;

  ina_pick #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT)) pick (
      .clk, .rst,
      .job_window, .job_valid, .job_complete, .job_broken, .job_closing, .job_mask, .job_border, .job_down,
      .queue_ready, .queue_waiting,
      .opened(job_opened), .opened_job(answer_job),
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
      .job_valid, .job_broken, .others_stopped(relay_stopped), .stopped(join_stopped), .closing(join_closing),
      .undo_valid(join_undo), .undo_job(join_undo_job), .mismatch(join_mismatch),
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
      .s_load(join_load), .s_valid(join_valid), .s_mask(join_from), .s_data(join_data), .s_op(join_op),
      .s_format(join_format),
      .s_side({join_raw, join_part, join_job, join_slot, join_beat, join_first, join_last, join_quads,
               join_leave, join_mask, join_header_ce, join_starts, join_ends}),
      .m_valid(tree_valid), .m_data(tree_data), .m_overflow(tree_overflow),
      .m_side({tree_side, tree_marked, tree_starts, tree_ends}), .busy(tree_busy));

  ina_trailer #(.JOB_COUNT(JOB_COUNT), .SIDE_W(SIDE_W), .SLOT_W(SLOT_W)) trailer (
      .clk, .rst, .job_valid, .job_window(job_granted), .job_before, .context_wanted,
      .down_marked(relay_valid && relay_first && relay_marked), .down_job(relay_job),
      .s_valid(tree_valid), .s_data(tree_data), .s_overflow(tree_overflow), .s_side(tree_side),
      .s_raw(tree_side.raw), .s_part(tree_side.part), .s_marked(tree_marked), .s_job(tree_side.job), .s_first(tree_side.first),
      .s_last(tree_side.last), .s_quads(tree_side.quads), .s_starts(tree_starts), .s_ends(tree_ends),
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
  // differ, a switch below no longer sums for the job, and the job breaks, one clock before it ends.
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
      .begins(sum_begins), .begins_side(sum_begins_mask), .m_valid(sum_out_valid), .m_last(sum_out_last), .m_data(sum_out_data),
      .m_side(sum_out_mask), .m_crc(sum_out_crc), .busy(sum_crc_busy));

  ina_payload_crc #(.SIDE_W(PORT_COUNT)) relay_crc (
      .clk, .rst,
      .s_valid(relay_valid), .s_first(relay_first), .s_last(relay_last), .s_quads(relay_quads),
      .s_data(relay_data), .s_side(relay_mask),
      .begins(relay_begins), .begins_side(relay_begins_mask), .m_valid(relay_out_valid), .m_last(relay_out_last), .m_data(relay_out_data),
      .m_side(relay_out_mask), .m_crc(relay_out_crc), .busy(relay_crc_busy));

  localparam int TRACE_T_W = ina_pkg::TRACE_T_W;
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
      .newly_broken(job_newly_broken), .newly_expired(job_newly_expired), .answered(answer_sent), .differed(answer_differed),
      .dropped(answer_dropped),
      .done_valid, .done_raw, .done_mask(done_counted), .done_last_beat(done_beat),
      .done_last_quads(done_quads),
      .counters, .busy(counters_busy));

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// The modules that every port has: the ingress, the queue before the join, and the egress. The
// modules between them are shared by all ports: jobs, pick, join, tree, history and the payload's
// CRC.

`default_nettype none

module ina_port #(
    parameter  int JOB_COUNT  = 4,
    parameter  int SLOT_COUNT = 128,
    parameter  int MEMORY     = 512,
    parameter  int MTU        = 4096,
    parameter  int OTHER_PORTS = 1,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int SLOT_W     = $clog2(SLOT_COUNT),
    localparam int INDEX_W    = $clog2(MEMORY),
    localparam int KNOWN_W    = ina_pkg::KNOWN_T_W
) (
    input  logic clk,
    input  logic rst,
    input  logic tick,
    input  logic patience,
    input  logic uplink,
    input  logic probes,

    input  logic                           s_axis_tvalid,
    output logic                           s_axis_tready,
    input  logic [ina_pkg::BEAT_W-1:0]     s_axis_tdata,
    input  logic [ina_pkg::BEAT_BYTES-1:0] s_axis_tkeep,
    input  logic                           s_axis_tlast,

    output logic                           m_axis_tvalid,  // also means busy
    input  logic                           m_axis_tready,
    output logic [ina_pkg::BEAT_W-1:0]     m_axis_tdata,
    output logic [ina_pkg::BEAT_BYTES-1:0] m_axis_tkeep,
    output logic                           m_axis_tlast,
    input  logic                           drops,  // beats that m_axis does not take are lost

    input  logic            fills_traces,
    input  ina_pkg::trace_t trace_mark,

    // To and from ina_jobs.
    input  logic                 trusts_tags,        // the VLAN tag of a JOIN counts
    input  logic [2:0]           priority_untagged,  // of JOINs without such a tag
    output logic                 ask_valid,
    output ina_pkg::ask_t        ask,
    input  logic                 answer_valid,
    input  logic                 answer_granted,
    input  logic                 answer_held,
    input  logic [JOB_W-1:0]     answer_job,
    input  logic [JOB_COUNT-1:0] job_valid,
    input  logic [JOB_COUNT*INDEX_W-1:0] job_base,
    input  logic [JOB_COUNT*SLOT_W-1:0] job_window,
    input  logic [JOB_COUNT-1:0] job_complete,
    input  logic [JOB_COUNT-1:0] job_broken,
    input  logic [JOB_COUNT-1:0] job_lingers,
    input  logic [JOB_COUNT-1:0] job_border,
    input  logic [JOB_COUNT-1:0] job_early,
    input  logic [JOB_COUNT-1:0] job_unanswered,
    input  logic [JOB_COUNT-1:0] job_freed,
    output logic                 break_valid,
    output logic                 leave_valid,
    output logic                 hit_valid,
    output logic [JOB_W-1:0]     hit_job,

    // The flows of this port and of the others, and ina_keys (see ina_elsewhere).
    output logic [JOB_COUNT*KNOWN_W-1:0]             known,
    input  logic [OTHER_PORTS*JOB_COUNT*KNOWN_W-1:0] others,
    output ina_pkg::search_t                         search,
    input  ina_pkg::found_t                          found,
    input  logic                                     contest_valid,
    input  logic [JOB_W-1:0]                         contest_job,
    output logic                                     contest_breaks,
    output logic                                     contest_leaves,

    // To and from ina_pick.
    output logic [JOB_COUNT-1:0]          queue_ready,
    output logic [JOB_COUNT-1:0]          queue_waiting,
    output logic                          commit_valid,
    output logic [JOB_W-1:0]              commit_job,
    input  logic                          issue_valid,
    input  logic                          issue_raw,
    input  logic [JOB_W-1:0]              issue_job,
    output logic [SLOT_W-1:0]             issue_slot,
    output logic                          resend_valid,
    output ina_pkg::resend_t              resend,
    output logic [JOB_COUNT-1:0]          resend_pending,
    output logic [JOB_COUNT-1:0]          resend_behind,
    output logic                          join_room,
    output logic                          relay_room,

    // Reads of the queue (see ina_queue).
    input  logic                             peek_read,
    input  logic [INDEX_W-1:0]               peek_index,
    output logic [ina_pkg::QUADS_W-1:0]      peek_quads,
    input  logic                             header_read,
    input  logic [INDEX_W-1:0]               header_index,
    input  logic                             header_resend,
    output ina_pkg::header_t                 read_header,
    input  logic                             beat_read,
    input  logic [INDEX_W-1:0]               beat_index,
    input  logic [ina_pkg::BEAT_INDEX_W-1:0] beat_at,
    output logic [ina_pkg::BEAT_W-1:0]       read_data,
    input  logic                             resend_pop,

    // A packet that leaves by this port: its headers and beats from each path, and its end.
    input  logic                       join_header_valid,
    input  ina_pkg::header_t           join_header,
    input  logic                       join_header_ce,
    input  logic                       join_begins,
    input  logic                       join_valid,
    input  logic                       join_last,
    input  logic [ina_pkg::BEAT_W-1:0] join_data,
    input  logic [31:0]                join_crc,
    input  logic                       relay_header_valid,
    input  ina_pkg::header_t           relay_header,
    input  logic                       relay_header_ce,
    input  logic                       relay_begins,
    input  logic                       relay_valid,
    input  logic                       relay_last,
    input  logic [ina_pkg::BEAT_W-1:0] relay_data,
    input  logic [31:0]                relay_crc,
    input  logic                       done_valid,
    input  logic                       done_raw,
    input  logic [JOB_W-1:0]           done_job,

    // To ina_counters.
    output logic [ina_pkg::COUNTER_COUNT-1:0] judged,
    output logic                              passed,
    output logic                              marked,

    output logic busy
);
  localparam int FILL_W = $clog2(SLOT_COUNT + 1);

  logic                               pass_tvalid;
  logic                               pass_tready;
  logic [ina_pkg::BEAT_W-1:0]         pass_tdata;
  logic [ina_pkg::BEAT_BYTES-1:0]     pass_tkeep;
  logic                               pass_tlast;
  logic                               pass_trace;
  logic                               traced_tvalid;
  logic                               traced_tready;
  logic [ina_pkg::BEAT_W-1:0]         traced_tdata;
  logic [ina_pkg::BEAT_BYTES-1:0]     traced_tkeep;
  logic                               traced_tlast;
  logic                               write_valid;
  logic [JOB_W-1:0]                   write_job;
  logic [ina_pkg::BEAT_INDEX_W-1:0]   write_beat;
  logic [ina_pkg::BEAT_W-1:0]         write_data;
  logic                               write_opens;
  ina_pkg::header_t                   commit_header;
  logic                               resend_commit;
  logic [ina_pkg::RESEND_ENTRY_W-1:0] resend_commit_entry;
  logic [ina_pkg::RESEND_ENTRY_W-1:0] resend_entry;
  logic                               watch_read;
  logic [JOB_W-1:0]                   watch_job;
  logic [FILL_W-1:0]                  queue_fill;
  logic [ina_pkg::RAW_W-1:0]          queue_raw;
  logic [FILL_W-1:0]                  queue_sums;
  logic [ina_pkg::ORDINAL_W-1:0]      queue_sum_count;
  logic [SLOT_W-1:0]                  queue_sum_slot;
  logic                               rebuilt_tvalid;
  logic                               rebuilt_tready;
  logic [ina_pkg::BEAT_W-1:0]         rebuilt_tdata;
  logic [ina_pkg::BEAT_BYTES-1:0]     rebuilt_tkeep;
  logic                               rebuilt_tlast;
  logic                               rebuilt_tagged;
  logic [31:0]                        rebuilt_tag;
  logic                               ingress_busy;
  logic                               rebuild_busy;

  ina_ingress #(.JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT), .MTU(MTU),
                .OTHER_PORTS(OTHER_PORTS)) ingress (
      .clk, .rst, .tick, .patience, .uplink, .probes,
      .s_axis_tvalid, .s_axis_tready, .s_axis_tdata, .s_axis_tkeep, .s_axis_tlast,
      .m_axis_tvalid(pass_tvalid), .m_axis_tready(pass_tready), .m_axis_tdata(pass_tdata),
      .m_axis_tkeep(pass_tkeep), .m_axis_tlast(pass_tlast), .m_trace(pass_trace),
      .trace_level(fills_traces ? trace_mark.level : 2'd0),
      .trusts_tags, .priority_untagged, .ask_valid, .ask,
      .answer_valid, .answer_granted, .answer_held, .answer_job,
      .job_window, .job_complete, .job_broken, .job_lingers, .job_border, .job_early,
      .job_unanswered, .job_freed,
      .break_valid, .leave_valid, .hit_valid, .hit_job,
      .known, .others, .search, .found,
      .contest_valid, .contest_job, .contest_breaks, .contest_leaves,
      .write_valid, .write_job, .write_beat, .write_data, .write_opens, .commit_valid,
      .commit_header, .watch_read, .watch_job,
      .queue_fill, .queue_raw, .queue_sums, .queue_sum_count, .queue_sum_slot,
      .resend_valid, .resend_pop, .resend, .resend_entry, .resend_commit, .resend_commit_entry,
      .resend_pending, .resend_behind, .judged, .passed, .busy(ingress_busy));

  ina_queue #(.JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT), .MEMORY(MEMORY), .MTU(MTU)) queue (
      .clk, .rst, .job_valid, .job_base, .job_window,
      .write_valid, .write_job, .write_opens, .write_beat, .write_data,
      .commit_valid, .resend_valid(resend_commit), .resend_entry(resend_commit_entry),
      .commit_header,
      .issue_valid, .issue_raw, .issue_job, .issue_slot, .ready(queue_ready),
      .waiting(queue_waiting),
      .pop_valid(done_valid), .pop_raw(done_raw), .pop_job(done_job),
      .peek_read, .peek_index, .peek_quads,
      .header_read, .header_index, .header_resend, .header_entry(resend_entry),
      .read_header, .beat_read, .beat_index, .beat_at, .read_data,
      .watch_read, .watch_job, .fill(queue_fill), .raw(queue_raw), .sums(queue_sums),
      .sum_count(queue_sum_count), .sum_slot(queue_sum_slot));

  ina_rebuild #(.MTU(MTU)) rebuild (
      .clk, .rst,
      .s0_header_valid(join_header_valid), .s0_header(join_header), .s0_header_ce(join_header_ce),
      .s0_begins(join_begins), .s0_valid(join_valid), .s0_last(join_last), .s0_data(join_data), .s0_crc(join_crc),
      .s0_room(join_room),
      .s1_header_valid(relay_header_valid), .s1_header(relay_header),
      .s1_header_ce(relay_header_ce), .s1_begins(relay_begins), .s1_valid(relay_valid), .s1_last(relay_last),
      .s1_data(relay_data), .s1_crc(relay_crc), .s1_room(relay_room),
      .marked, .busy(rebuild_busy),
      .m_axis_tvalid(rebuilt_tvalid), .m_axis_tready(rebuilt_tready),
      .m_axis_tdata(rebuilt_tdata), .m_axis_tkeep(rebuilt_tkeep), .m_axis_tlast(rebuilt_tlast),
      .m_tagged(rebuilt_tagged), .m_tag(rebuilt_tag));

  ina_trace trace (
      .clk, .rst, .mark(trace_mark),
      .s_axis_tvalid(pass_tvalid), .s_axis_tready(pass_tready), .s_axis_tdata(pass_tdata),
      .s_axis_tkeep(pass_tkeep), .s_axis_tlast(pass_tlast), .s_trace(pass_trace),
      .m_axis_tvalid(traced_tvalid), .m_axis_tready(traced_tready), .m_axis_tdata(traced_tdata),
      .m_axis_tkeep(traced_tkeep), .m_axis_tlast(traced_tlast));

  ina_merge merge (
      .clk, .rst,
      .s0_axis_tvalid(rebuilt_tvalid), .s0_axis_tready(rebuilt_tready),
      .s0_axis_tdata(rebuilt_tdata), .s0_axis_tkeep(rebuilt_tkeep),
      .s0_axis_tlast(rebuilt_tlast), .s0_tagged(rebuilt_tagged), .s0_tag(rebuilt_tag),
      .s1_axis_tvalid(traced_tvalid), .s1_axis_tready(traced_tready), .s1_axis_tdata(traced_tdata),
      .s1_axis_tkeep(traced_tkeep), .s1_axis_tlast(traced_tlast),
      .m_axis_tvalid, .m_axis_tready, .m_axis_tdata, .m_axis_tkeep, .m_axis_tlast, .drops);

  assign commit_job = write_job;

  assign busy = ingress_busy || traced_tvalid || rebuild_busy || m_axis_tvalid;

endmodule

`default_nettype wire

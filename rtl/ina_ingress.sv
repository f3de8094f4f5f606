// SPDX-License-Identifier: Apache-2.0
//
// The ingress of one port. ina_parse, ina_check and ina_judge advance together (en). Every frame
// waits in ina_pass for the judge's token, which leaves a clock after the packet's last beat
// reached the judge. Packets that are taken go to the port's queue, retransmissions and probes to
// ina_resend.
//
// The source of the frames need not be reset together with this module. If a frame began before the
// end of a reset, its beats are taken and dropped up to the last one. Otherwise the rest of it
// would look like a frame.

`default_nettype none

module ina_ingress #(
    parameter  int JOB_COUNT  = 4,
    parameter  int SLOT_COUNT = 128,
    parameter  int MTU        = 4096,
    parameter  int OTHER_PORTS = 1,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int SLOT_W     = $clog2(SLOT_COUNT),
    localparam int FILL_W     = $clog2(SLOT_COUNT + 1),
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

    // Frames that pass. m_trace: the frame is a TRACE whose slot is to be filled.
    output logic                           m_axis_tvalid,
    input  logic                           m_axis_tready,
    output logic [ina_pkg::BEAT_W-1:0]     m_axis_tdata,
    output logic [ina_pkg::BEAT_BYTES-1:0] m_axis_tkeep,
    output logic                           m_axis_tlast,
    output logic                           m_trace,
    input  logic [1:0]                     trace_level,  // level of the slot to fill; 0: fill none

    // To and from ina_jobs.
    input  logic                 trusts_tags,        // the VLAN tag of a JOIN counts
    input  logic [2:0]           priority_untagged,  // of JOINs without such a tag
    output logic                 ask_valid,
    output ina_pkg::ask_t        ask,
    input  logic                 answer_valid,
    input  logic                 answer_granted,
    input  logic                 answer_held,
    input  logic [JOB_W-1:0]     answer_job,
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

    // To and from the port's ina_queue.
    output logic                             write_valid,
    output logic [JOB_W-1:0]                 write_job,
    output logic [ina_pkg::BEAT_INDEX_W-1:0] write_beat,
    output logic [ina_pkg::BEAT_W-1:0]       write_data,
    output logic                             write_opens,
    output logic                             commit_valid,
    output ina_pkg::header_t                 commit_header,
    output logic                             watch_read,
    output logic [JOB_W-1:0]                 watch_job,
    input  logic [FILL_W-1:0]                queue_fill,
    input  logic [ina_pkg::RAW_W-1:0]        queue_raw,
    input  logic [FILL_W-1:0]                queue_sums,
    input  logic [ina_pkg::ORDINAL_W-1:0]    queue_sum_count,
    input  logic [SLOT_W-1:0]                queue_sum_slot,

    // Retransmissions and probes.
    output logic                  resend_valid,
    input  logic                  resend_pop,
    output ina_pkg::resend_t      resend,
    output logic [ina_pkg::RESEND_ENTRY_W-1:0] resend_entry,
    output logic                  resend_commit,  // one more waits; its header is commit_header
    output logic [ina_pkg::RESEND_ENTRY_W-1:0] resend_commit_entry,
    output logic [JOB_COUNT-1:0]  resend_pending,
    output logic [JOB_COUNT-1:0]  resend_behind,

    output logic [ina_pkg::COUNTER_COUNT-1:0] judged,
    output logic                              passed,
    output logic                              busy
);

  logic en;
  logic pass_ready;
  logic offered;  // a beat is offered; it is taken if en = 1

  // Beats are taken during reset too, and at_first follows them. It is the only register that reset
  // does not change. Its power-on value says that the first beat begins a frame.
  logic at_first = 1'b1;  // the next beat is the first one of a frame
  logic stale;            // the incoming frame began before the end of the reset

  assign s_axis_tready = pass_ready && en;
  assign offered       = s_axis_tvalid && pass_ready && (at_first || !stale);

  always_ff @(posedge clk) begin
    if (s_axis_tvalid && s_axis_tready) at_first <= s_axis_tlast;
    if (rst) stale <= 1'b1;
    else if (at_first) stale <= 1'b0;
  end

  logic                       head;
  logic                       head_ipv6;
  logic                       parsed_valid;
  logic                       parsed_first;
  logic                       parsed_last;
  ina_pkg::header_t           parsed_header;
  logic [ina_pkg::BEAT_W-1:0] parsed_data;
  logic [31:0]                parsed_after;
  logic [2:0]                 parsed_quads;
  logic                       parsed_candidate;
  logic                       parsed_roce_data;
  logic                       parsed_wrong_length;
  logic                       parsed_trailed;
  logic                       parse_busy;

  ina_parse #(.MTU(MTU)) parse (
      .clk, .rst, .en,
      .s_valid(offered), .s_last(s_axis_tlast), .s_data(s_axis_tdata), .s_keep(s_axis_tkeep),
      .m_head(head), .m_head_ipv6(head_ipv6),
      .m_valid(parsed_valid), .m_first(parsed_first), .m_last(parsed_last),
      .m_header(parsed_header), .m_data(parsed_data), .m_after(parsed_after),
      .m_quads(parsed_quads), .m_candidate(parsed_candidate), .m_roce_data(parsed_roce_data),
      .m_wrong_length(parsed_wrong_length), .m_trailed(parsed_trailed), .busy(parse_busy));

  logic             next_valid;
  logic             next_first;
  logic             next_last;
  logic             next_candidate;
  logic [31:0]      next_lane_0;
  logic [63:0]      next_job_id;
  logic             checked_valid;
  logic             checked_first;
  logic             checked_last;
  ina_pkg::header_t checked_header;
  logic             checked_candidate;
  logic             checked_roce_data;
  logic             checked_ok;
  logic             checked_trailed;
  logic [ina_pkg::BEAT_W-1:0] checked_data;
  logic             check_busy;

  ina_check check (
      .clk, .rst, .en,
      .s_head(head), .s_head_ipv6(head_ipv6),
      .s_valid(parsed_valid), .s_first(parsed_first), .s_last(parsed_last),
      .s_header(parsed_header), .s_data(parsed_data), .s_after(parsed_after),
      .s_quads(parsed_quads), .s_candidate(parsed_candidate), .s_roce_data(parsed_roce_data),
      .s_wrong_length(parsed_wrong_length), .s_trailed(parsed_trailed),
      .next_valid, .next_first, .next_last, .next_candidate, .next_lane_0, .next_job_id,
      .m_valid(checked_valid), .m_first(checked_first), .m_last(checked_last),
      .m_header(checked_header), .m_data(checked_data),
      .m_candidate(checked_candidate), .m_roce_data(checked_roce_data), .m_ok(checked_ok),
      .m_trailed(checked_trailed),
      .busy(check_busy));

  logic              token_valid;
  logic              token_pass;
  logic              token_trace;
  logic              judge_resend_valid;
  logic              judge_resend_ready;
  ina_pkg::resend_t  judge_resend;
  logic              judge_caught_up;

  // The judge reads the state of the queue with the first and the last beat of a frame.
  assign watch_read = en ? next_valid && (next_first || next_last) : checked_valid;
  assign ask = {checked_header.has_vlan && trusts_tags
                    ? {checked_header.bytes[ina_pkg::VLAN_TCI_AT*8 +: 8],
                       checked_header.bytes[(ina_pkg::VLAN_TCI_AT + 1)*8 +: 8]}
                    : {priority_untagged, 13'd0},
                checked_data[ina_pkg::MESSAGE_WINDOW_AT*8 +: 32],
                checked_data[ina_pkg::MESSAGE_PLACE_AT*8 +: 32],
                checked_data[ina_pkg::MESSAGE_RANKS_AT*8 +: 16],
                checked_data[ina_pkg::MESSAGE_JOB_ID_AT*8 +: 64]};

  // A TRACE whose slot is empty. It has two beats of payload; the slot of level 3 is in the second
  // one.
  localparam int TRACE_SLOT_W = ina_pkg::TRACE_SLOT_W;
  localparam int LEVEL_1_AT   = ina_pkg::MESSAGE_HEADER_BYTES * 8;
  localparam int LEVEL_2_AT   = LEVEL_1_AT + TRACE_SLOT_W;
  logic is_trace;

  always_ff @(posedge clk) begin
    if (checked_valid && checked_first)
      is_trace <= checked_candidate
          && (trace_level == 2'd3
              || (trace_level == 2'd2 && checked_data[LEVEL_2_AT +: TRACE_SLOT_W] == '0)
              || (trace_level == 2'd1 && checked_data[LEVEL_1_AT +: TRACE_SLOT_W] == '0))
          && checked_data[31:0] == {ina_pkg::TYPE_TRACE, ina_pkg::MESSAGE_MAGIC_VERSION}
          && checked_header.bytes[ina_pkg::BTH_OPCODE_AT*8 +: 8] == ina_pkg::RC_SEND_ONLY
          && checked_header.quads == ina_pkg::QUADS_W'(ina_pkg::TRACE_QUADS);
  end

  // Aligned with the judge's outputs.
  always_ff @(posedge clk) begin
    if (checked_valid && checked_candidate) write_data <= checked_data;
    token_trace <= is_trace && !checked_first && checked_ok && !checked_trailed
        && (trace_level != 2'd3 || checked_data[0 +: TRACE_SLOT_W] == '0);
  end

  ina_judge #(.JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT), .OTHER_PORTS(OTHER_PORTS)) judge (
      .clk, .rst, .tick, .patience, .uplink, .probes, .en,
      .early_valid(parsed_valid && parsed_first && parsed_roce_data),
      .early_header(parsed_header),
      .next_valid, .next_first, .next_candidate, .next_lane_0, .next_job_id,
      .s_valid(checked_valid), .s_first(checked_first), .s_last(checked_last),
      .s_header(checked_header), .s_candidate(checked_candidate),
      .s_roce_data(checked_roce_data), .s_ok(checked_ok), .s_job_id(ask.job_id),
      .token_valid, .token_pass,
      .ask_valid,
      .answer_valid, .answer_granted, .answer_held, .answer_job,
      .job_window, .job_complete, .job_broken, .job_lingers, .job_border, .job_early,
      .job_unanswered, .job_freed,
      .break_valid, .leave_valid, .hit_valid, .hit_job, .known, .others, .search, .found,
      .contest_valid, .contest_job, .contest_breaks, .contest_leaves,
      .write_valid, .write_job, .write_beat, .write_opens, .commit_valid, .commit_header,
      .watch_job, .queue_fill, .queue_raw, .queue_sums, .queue_sum_count, .queue_sum_slot,
      .resend_valid(judge_resend_valid), .resend_ready(judge_resend_ready),
      .resend(judge_resend), .caught_up(judge_caught_up),
      .events(judged));

  assign resend_commit = judge_resend_valid && judge_resend_ready;

  ina_resend #(.JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT)) resends (
      .clk, .rst,
      .s_valid(judge_resend_valid), .s_ready(judge_resend_ready), .s_resend(judge_resend),
      .s_entry(resend_commit_entry), .s_caught_up(judge_caught_up),
      .m_valid(resend_valid), .m_ready(resend_pop), .m_resend(resend), .m_entry(resend_entry),
      .pending(resend_pending), .behind(resend_behind));

  logic pass_busy;

  ina_pass pass (
      .clk, .rst,
      .s_valid(offered && en), .s_ready(pass_ready), .s_last(s_axis_tlast), .s_data(s_axis_tdata),
      .s_keep(s_axis_tkeep),
      .token_valid, .token_pass, .token_trace, .passed, .busy(pass_busy),
      .m_axis_tvalid, .m_axis_tready, .m_axis_tdata, .m_axis_tkeep, .m_axis_tlast, .m_trace);

  assign busy = parse_busy || parsed_valid || check_busy || token_valid || pass_busy
      || resend_pending != '0 || resend_behind != '0;

endmodule

`default_nettype wire

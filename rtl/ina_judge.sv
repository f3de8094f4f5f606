// SPDX-License-Identifier: Apache-2.0
//
// Judges each packet of one port as an RC responder would, by the distance of its PSN from the
// flow's next PSN:
//
//   ina_flows           finds the packet's flow and the distance
//   ina_elsewhere       detects packets whose flow is known at another port
//   ina_judge_kind      JOIN, LEAVE, right length; SENDs within the quiet time
//   ina_admission       stops the ingress while a JOIN waits for the answer of ina_jobs
//   ina_judge_slot      locates a duplicate: in the queue, or in which slot of the history
//   ina_judge_suspects  decides whether a suspect evicts its flow
//   ina_judge_psn       the decision table
//   ina_judge_header    edits the header with which the packet is sent on
//
// The decision is made with the last beat of a frame. Its results leave one clock later, in
// registers. The next packet may need them before that, so this module forwards them. The payload
// beats are written into the tail slot of the queue before the decision, and count only if the
// packet is then taken.

`default_nettype none

module ina_judge #(
    parameter  int JOB_COUNT  = 4,
    parameter  int SLOT_COUNT = 128,
    parameter  int OTHER_PORTS = 1,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int SLOT_W     = $clog2(SLOT_COUNT),
    localparam int FILL_W     = $clog2(SLOT_COUNT + 1),
    localparam int KNOWN_W    = ina_pkg::KNOWN_T_W
) (
    input  logic clk,
    input  logic rst,
    input  logic tick,      // one clock at intervals of the quiet time
    input  logic patience,  // one clock at intervals of the patience with silent flows
    input  logic uplink,  // the port leads to a higher switch
    input  logic probes,  // other switches' probes can come in by this port
    output logic en,    // the ingress of this port may advance; a register

    // From ina_check, two clocks of en before s_*: the first beat of a marked RoCE request.
    input  logic             early_valid,
    input  ina_pkg::header_t early_header,

    // From ina_check, one clock of en before s_*.
    input  logic                       next_valid,
    input  logic                       next_first,
    input  logic                       next_candidate,
    input  logic [31:0]                next_lane_0,  // first lane of the beat of payload
    input  logic [63:0]                next_job_id,  // job id in the same beat

    // From ina_check.
    input  logic                       s_valid,
    input  logic                       s_first,
    input  logic                       s_last,
    input  ina_pkg::header_t           s_header,
    input  logic                       s_candidate,
    input  logic                       s_roce_data,
    input  logic                       s_ok,
    input  logic [63:0]                s_job_id,  // of a JOIN

    // One token a frame, to ina_pass.
    output logic token_valid,
    output logic token_pass,

    // A JOIN asks for a flow. ina_jobs reads its message header in the same clock and answers
    // later. The JOIN stays at s_* until then.
    output logic             ask_valid,
    input  logic             answer_valid,
    input  logic             answer_granted,
    input  logic             answer_held,
    input  logic [JOB_W-1:0] answer_job,

    // The state of all jobs.
    input  logic [JOB_COUNT*SLOT_W-1:0] job_window,  // packets of the job's ring, less one
    input  logic [JOB_COUNT-1:0] job_complete,
    input  logic [JOB_COUNT-1:0] job_broken,
    input  logic [JOB_COUNT-1:0] job_lingers,  // packets of these jobs are to be dropped
    input  logic [JOB_COUNT-1:0] job_border,  // jobs whose border is on this port
    input  logic [JOB_COUNT-1:0] job_early,   // down flow here, and its next packet is early
    input  logic [JOB_COUNT-1:0] job_unanswered,  // border here, no sum of the JOINs yet
    input  logic [JOB_COUNT-1:0] job_freed,  // one clock: forget the flows of these jobs
    output logic                 break_valid,
    output logic                 leave_valid,  // its LEAVE passes by the queue, or it is evicted
    output logic                 hit_valid,    // a packet of this job has come
    output logic [JOB_W-1:0]     hit_job,      // valid with break_valid, leave_valid or hit_valid

    // The flows of this port and of the others, and ina_keys (see ina_elsewhere).
    output logic [JOB_COUNT*KNOWN_W-1:0]             known,
    input  logic [OTHER_PORTS*JOB_COUNT*KNOWN_W-1:0] others,
    output ina_pkg::search_t                         search,
    input  ina_pkg::found_t                          found,

    // A packet of this job's flow, if it has one, has come in by another port. One clock later: the
    // job breaks for it, or the flow is evicted.
    input  logic             contest_valid,
    input  logic [JOB_W-1:0] contest_job,
    output logic             contest_breaks,
    output logic             contest_leaves,

    // To the port's queue: a beat into the tail slot, and the commit of that slot. A retransmission
    // uses commit_header too.
    output logic                             write_valid,
    output logic [JOB_W-1:0]                 write_job,
    output logic [ina_pkg::BEAT_INDEX_W-1:0] write_beat,
    output logic                             write_opens,
    output logic                             commit_valid,
    output ina_pkg::header_t                 commit_header,

    // The state of the ring of watch_job (ina_queue). It is read with watch_job, comes one clock
    // later, and includes a commit in the clock of the read.
    output logic [JOB_W-1:0]                 watch_job,
    input  logic [FILL_W-1:0]                queue_fill,
    input  logic [ina_pkg::RAW_W-1:0]        queue_raw,
    input  logic [FILL_W-1:0]                queue_sums,
    input  logic [ina_pkg::ORDINAL_W-1:0]    queue_sum_count,
    input  logic [SLOT_W-1:0]                queue_sum_slot,

    // Retransmissions to be answered, and probes. One that finds no room is dropped.
    output logic             resend_valid,
    input  logic             resend_ready,
    output ina_pkg::resend_t resend,
    output logic             caught_up,  // a packet of hit_job needs no answer

    output logic [ina_pkg::COUNTER_COUNT-1:0] events  // counters that this clock increments
);

  // Fields of a frame's header.
  function automatic logic [23:0] psn_of(input logic [23:0] bytes);
    psn_of = {bytes[7:0], bytes[15:8], bytes[23:16]};
  endfunction

  // IPv4's addresses are in the last 8 of IPv6's 32 bytes. Of the 24 bytes before them, 12 are
  // zeros in an IPv4 record. The other 12 are fields that differ from packet to packet and are not
  // part of the key. The VLAN id is the lower 12 bits of a big-endian field.
  localparam int LONG_AT = (ina_pkg::IPV4_AT - ina_pkg::IPV6_SOURCE_AT) * 8;
  localparam int LONG_W  = (ina_pkg::IPV4_SOURCE_AT - ina_pkg::IPV4_AT) * 8;
  ina_pkg::key_t early_key;

  always_comb begin
    early_key = '0;
    if (early_valid || !ina_pkg::SIMULATED)
      early_key = {early_header.bytes[ina_pkg::UDP_SOURCE_AT*8 +: 16],
                   early_header.has_vlan,
                   early_header.bytes[ina_pkg::VLAN_TCI_AT*8 +: 4],
                   early_header.bytes[(ina_pkg::VLAN_TCI_AT+1)*8 +: 8],
                   early_header.is_ipv6,
                   early_header.bytes[ina_pkg::IPV6_SOURCE_AT*8 +: 256],
                   early_header.bytes[ina_pkg::BTH_QPN_AT*8 +: 24]};
    if (!early_header.is_ipv6) early_key.addresses[LONG_AT +: LONG_W] = '0;
  end

  logic [7:0] early_opcode;
  logic       next_join;
  logic       in_quiet_time;
  logic       in_quiet;  // the packet came within the switch's quiet time
  logic       quiet;     // or within the quiet time of its job
  logic       well_formed;
  logic       is_join;
  logic       is_leave;
  logic       other_job;  // starts a message of another job than the flow's

  // The job id of each flow.
  logic [63:0] job_id [JOB_COUNT];

  always_ff @(posedge clk) if (learn) job_id[answer_job] <= s_job_id;

  assign early_opcode = early_header.bytes[ina_pkg::BTH_OPCODE_AT*8 +: 8];

  ina_judge_kind kind (
      .clk, .rst, .en, .tick, .early_valid, .early_opcode, .early_quads(early_header.quads),
      .next_valid, .next_first, .next_candidate, .next_lane_0, .next_job_id,
      .flow_job_id(job_id[watch_job]), .next_join,
      .quiet(in_quiet_time), .well_formed, .is_join, .is_leave, .other_job);

  // The flow, if it is known. It is looked up while ina_check has the packet.
  logic             flow_hit;
  logic [JOB_W-1:0] flow_job;
  logic             hit;
  logic [23:0]      distance;  // from the next PSN; negative: a retransmission
  logic             learn;
  logic             advance;

  // These fields are not used here. The CRC is not known yet.
  logic unused;
  assign unused = &{early_header.congested, early_header.crc, early_header.filler};

  // In the previous clock the packet before this one may have broken the job or evicted the flow.
  // job_broken and flow_hit do not show that yet, so it is taken from verdict_q. flow_hit does not
  // show either that the job is freed in this clock. Packets that were taken need no such care:
  // ina_parse leaves a clock of en without a beat after every contribution, so queue_fill counts
  // all of them.
  logic [JOB_W-1:0]     job_d;
  logic [JOB_W-1:0]     job_q;
  ina_pkg::verdict_t    verdict_q;
  logic                 broken;
  logic [JOB_COUNT-1:0] put_out;
  logic [JOB_W-1:0]     contest_job_q;
  logic                 same;       // job_q is the job of the packet at s_*
  logic                 contested;  // contest_job_q is the job of the packet at s_*

  // The window of the job of the packet at s_*.
  logic [SLOT_W-1:0] window;

  always_ff @(posedge clk) window <= job_window[watch_job*SLOT_W +: SLOT_W];

  assign broken   = job_broken[flow_job] || (verdict_q.break_job && same);
  assign in_quiet = in_quiet_time && s_roce_data;
  assign quiet    = in_quiet || (hit && job_lingers[flow_job]);
  assign put_out  = (JOB_COUNT'(verdict_q.put_out) << job_q)
      | (JOB_COUNT'(contest_leaves) << contest_job_q);
  assign hit      = flow_hit && s_roce_data && !(verdict_q.put_out && same)
      && !(contest_leaves && contested) && !job_freed[flow_job];

  // Compared one clock early, because hit and everything derived from it arrive late in a clock.
  always_comb begin
    job_d = job_q;
    if (s_valid) job_d = opens ? granted_job : flow_job;
  end

  always_ff @(posedge clk) begin
    job_q         <= job_d;
    same          <= watch_job == job_d;
    contest_job_q <= contest_job;
    contested     <= watch_job == contest_job;
  end

  ina_flows #(.JOB_COUNT(JOB_COUNT), .KEY_W(ina_pkg::KEY_W)) flows (
      .clk, .rst, .en,
      .s_valid(early_valid), .s_key(early_key),
      .s_psn(psn_of(early_header.bytes[ina_pkg::BTH_PSN_AT*8 +: 24])),
      .next_job(watch_job), .next_hit,
      .m_hit(flow_hit), .m_job(flow_job), .m_distance(distance),
      .learn, .learn_job(answer_job), .advance, .forget(job_freed | put_out));

  // Flows of other ports.
  logic next_hit;
  logic next_alike;
  logic searching;
  logic known_elsewhere;
  logic elsewhere;

  ina_elsewhere #(.JOB_COUNT(JOB_COUNT), .OTHER_PORTS(OTHER_PORTS)) other_ports (
      .clk, .rst, .en,
      .s_valid(early_valid), .s_key(early_key), .next_hit,
      .learn, .learn_job(answer_job), .forget(job_freed | put_out), .known, .others,
      .search, .found, .next_alike, .m_searching(searching), .m_elsewhere(known_elsewhere));

  assign elsewhere = known_elsewhere && s_roce_data;

  logic [JOB_COUNT-1:0] flow_known;

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_flow_known
    assign flow_known[j] = known[j*KNOWN_W + KNOWN_W - 1];  // the first field of known_t
  end

  // The beats of the expected packet are stored if the queue had room at its first beat.
  logic room;
  logic stored;
  logic stored_q;
  logic [ina_pkg::BEAT_INDEX_W-1:0] beat;

  assign room   = queue_fill <= FILL_W'(window) && (!job_early[flow_job] || broken);
  assign stored = hit && s_candidate && distance == '0 && (s_first ? room : stored_q);

  always_ff @(posedge clk) begin
    if (s_valid && en) begin
      stored_q <= stored;
      beat     <= s_first ? ina_pkg::BEAT_INDEX_W'(1) : beat + 1'b1;
    end
  end

  // A JOIN whose flow is not known waits for ina_jobs.
  logic             answered;  // one clock after the answer: the JOIN is taken, held or passed
  logic             granted;
  logic             held;
  logic [JOB_W-1:0] granted_job;
  logic             settled;   // the JOIN has been decided

  ina_admission #(.JOB_W(JOB_W)) admission (
      .clk, .rst, .en,
      .next_join, .next_alike, .searching, .s_ok, .hit(hit || elsewhere || in_quiet),
      .ask_valid, .answer_valid, .answer_granted, .answer_held, .answer_job, .learn,
      .answered, .granted, .held, .granted_job, .settled);

  // The decision.
  logic                              decide;
  logic                              opens;
  logic                              in_queue;
  logic                              in_raw;
  logic                              in_history;
  logic                              own;
  logic                              suspect;
  logic                              puts_out;
  logic [SLOT_W-1:0]                 sum_slot;
  logic [ina_pkg::ORDINAL_W-1:0]     sum_ordinal;
  ina_pkg::verdict_t                 verdict;
  logic [ina_pkg::COUNTER_COUNT-1:0] events_d;
  logic [ina_pkg::COUNTER_COUNT-1:0] events_q;

  assign decide = s_valid && s_last && (en ? !settled : answered);
  assign opens  = answered && granted;

  ina_judge_slot #(.SLOT_COUNT(SLOT_COUNT)) slots (
      .clk, .window, .distance, .fill(queue_fill), .raw(queue_raw), .sums(queue_sums),
      .sum_count(queue_sum_count), .sum_slot(queue_sum_slot),
      .in_queue, .in_raw, .in_history, .decide, .slot(sum_slot), .ordinal(sum_ordinal));

  ina_judge_suspects #(.JOB_COUNT(JOB_COUNT)) suspicion (
      .clk, .patience, .decided_job(job_q), .own(hit_valid), .suspect(suspect_q), .learn,
      .learn_job(answer_job), .job(flow_job), .puts_out,
      .contest_valid, .contest_job, .known(flow_known), .job_lingers,
      .breaks(contest_breaks), .leaves(contest_leaves));

  ina_judge_psn #(.SLOT_COUNT(SLOT_COUNT)) psn (
      .uplink, .probes, .decide, .answered, .granted, .held,
      .candidate(s_candidate), .quiet, .icrc_ok(s_ok), .well_formed, .is_join, .is_leave,
      .hit, .window, .elsewhere, .distance, .other_job, .puts_out,
      .border(job_border[flow_job]), .begun(queue_sums != '0 && !job_unanswered[flow_job]), .job_broken(broken),
      .job_complete(job_complete[flow_job]),
      .stored, .in_queue, .in_raw, .in_history,
      .own, .suspect, .advance, .verdict, .events(events_d));

  ina_judge_header #(.JOB_COUNT(JOB_COUNT)) header (
      .clk, .s_header, .s_decide(decide), .take(verdict_q.take), .opens(opens_q),
      .resend(verdict_q.resend), .probe(verdict_q.probe),
      .gap(verdict_q.probe && events_q[ina_pkg::COUNT_GAPS]), .job(job_q),
      .m_header(commit_header));

  // The results of the decision.
  logic suspect_q;
  logic opens_q;

  always_ff @(posedge clk) begin
    token_valid <= decide;
    hit_valid   <= own;
    suspect_q   <= suspect;
    write_valid <= s_valid && (en ? stored : opens);
    verdict_q   <= verdict;
    events_q    <= events_d;
    if (rst) begin
      token_valid <= 1'b0;
      hit_valid   <= 1'b0;
      suspect_q   <= 1'b0;
      write_valid <= 1'b0;
      verdict_q   <= '0;
      events_q    <= '0;
    end
  end

  always_ff @(posedge clk) begin
    if (s_valid) begin
      opens_q     <= opens;
      write_beat  <= s_first ? '0 : beat;
    end
  end

  assign token_pass   = verdict_q.pass;
  assign break_valid  = verdict_q.break_job;
  assign leave_valid  = verdict_q.leave;
  assign caught_up    = hit_valid && (!verdict_q.resend || verdict_q.probe);
  assign commit_valid = verdict_q.take;
  assign hit_job      = job_q;
  assign write_job    = job_q;
  assign write_opens  = opens_q;
  assign resend_valid = verdict_q.resend;
  assign resend       = {verdict_q.probe, job_border[job_q], 6'(job_q), 15'(sum_slot), sum_ordinal,
                         commit_header.quads};

  always_comb begin
    events = events_q;
    if (resend_valid && !resend_ready)
      events[ina_pkg::COUNT_NO_ROOM_DROPPED] = 1'b1;
  end

endmodule

`default_nettype wire

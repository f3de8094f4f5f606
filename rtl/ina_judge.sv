// SPDX-License-Identifier: Apache-2.0
//
// Judges each packet of one port as an RC responder would: by its distance from the flow's next
// PSN (docs/protocol.md, PSNs). The port's flows are in ina_flows.
//
// The decision falls with a frame's last beat, and all that follows from it leaves a clock later,
// in registers; what the next packet must know of it meanwhile is told it here. Payload beats go
// into the queue's tail slot before that, and count only if the packet is then taken. A JOIN stops
// the ingress of its port until ina_jobs has answered (ina_admission).
//
// One version for each PSN: a packet that was summed is only ever sent with the sum, one that
// went raw only ever raw, and a packet past a gap, whose fate is open, not at all: a probe goes in
// its place, whose PSN no receiver will ever accept, and which draws the same NAK. So whatever the
// network delays, a receiver cannot put a message together from raw packets and a summed trailer.
//
// What was lost and comes again is made to ask for an ACK (docs/protocol.md, PSNs).

module ina_judge #(
    parameter int JOB_COUNT  = 4,
    parameter int SLOT_COUNT = 128,
    parameter int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    parameter int SLOT_W     = $clog2(SLOT_COUNT),
    parameter int FILL_W     = $clog2(SLOT_COUNT + 1),
    parameter int RAW_W      = 24
) (
    input  logic clk,
    input  logic rst,
    output logic en,  // the ingress of this port may advance; a register

    // From ina_check, two clocks of en before s_*: a frame's first beat.
    input  logic             early_valid,
    input  ina_pkg::header_t early_header,

    // From ina_check, one clock of en before s_*.
    input  logic                       next_valid,
    input  logic                       next_first,
    input  logic                       next_candidate,
    input  logic [31:0]                next_lane_0,  // of the payload's beat

    // From ina_check.
    input  logic                       s_valid,
    input  logic                       s_first,
    input  logic                       s_last,
    input  ina_pkg::header_t           s_header,
    input  logic                       s_candidate,
    input  logic                       s_roce_data,
    input  logic                       s_ok,

    // One token a frame, to ina_pass.
    output logic token_valid,
    output logic token_pass,

    // A JOIN asks for a flow; ina_jobs, which sees its message header too, answers later. It
    // stays at s_* meanwhile.
    output logic             ask_valid,
    input  logic             answer_valid,
    input  logic             answer_granted,
    input  logic [JOB_W-1:0] answer_job,

    // The state of all jobs.
    input  logic [JOB_COUNT-1:0] job_complete,
    input  logic [JOB_COUNT-1:0] job_broken,
    input  logic [JOB_COUNT-1:0] job_freed,  // one clock: forget its flow
    output logic                 break_valid,
    output logic                 leave_valid,  // a broken job's LEAVE passes by its queue
    output logic                 hit_valid,    // a packet of this job has come
    output logic [JOB_W-1:0]     hit_job,      // of all three

    // The port's queue: a beat into the tail slot, and the commit of what is there. The header is
    // also a retransmission's.
    output logic                             write_valid,
    output logic [JOB_W-1:0]                 write_job,
    output logic [ina_pkg::BEAT_INDEX_W-1:0] write_beat,
    output logic                             write_opens,
    output logic                             commit_valid,
    output ina_pkg::header_t                 commit_header,

    // The state of the ring of watch_job's, one clock later (ina_queue), with the commit of the
    // clock in which it was read.
    output logic [JOB_W-1:0]                 watch_job,
    input  logic [FILL_W-1:0]                queue_fill,
    input  logic [RAW_W-1:0]                 queue_raw,
    input  logic [FILL_W-1:0]                queue_sums,
    input  logic [ina_pkg::ORDINAL_W-1:0]    queue_sum_count,
    input  logic [SLOT_W-1:0]                queue_sum_slot,

    // Retransmissions to be answered, and probes. One that finds no room is dropped. One that is not
  // to be answered says that its flow has nothing more to be.
    output logic              resend_valid,
    input  logic              resend_ready,
    output logic              resend_probe,
    output logic [JOB_W-1:0]  resend_job,
    output logic [SLOT_W-1:0] resend_slot,
    output logic [ina_pkg::ORDINAL_W-1:0] resend_ordinal,
    output logic              caught_up,  // of resend_job

    output logic [ina_pkg::COUNTER_COUNT-1:0] events  // what this clock adds one to
);

  // VLAN or none, its id, IPv6 or IPv4, source and destination IP, destination QPN.
  localparam int KEY_W = 1 + 12 + 1 + 256 + 24;

  // Fields of a frame's header.
  function automatic logic [23:0] psn_of(input logic [23:0] bytes);
    psn_of = {bytes[7:0], bytes[15:8], bytes[23:16]};
  endfunction

  // IPv4's addresses stand in the last 8 of IPv6's 32 bytes. Of the 24 before them, 12 are zeros in
  // an IPv4 record, and 12 fields that differ from packet to packet. The id is the lower 12 bits of
  // a big-endian field.
  localparam int LONG_AT = 24 + (ina_pkg::IPV4_AT - ina_pkg::IPV6_SOURCE_AT) * 8;
  localparam int LONG_W  = (ina_pkg::IPV4_SOURCE_AT - ina_pkg::IPV4_AT) * 8;
  logic [KEY_W-1:0] early_key;

  always_comb begin
    early_key = '0;
    if (early_valid || !ina_pkg::SIMULATED)
      early_key = {early_header.has_vlan,
                   early_header.bytes[ina_pkg::VLAN_TCI_AT*8 +: 4],
                   early_header.bytes[(ina_pkg::VLAN_TCI_AT+1)*8 +: 8],
                   early_header.is_ipv6,
                   early_header.bytes[ina_pkg::IPV6_SOURCE_AT*8 +: 256],
                   early_header.bytes[ina_pkg::BTH_QPN_AT*8 +: 24]};
  end

  // What a packet is: first by its header, then by its message header too.
  logic [7:0] early_opcode;
  logic       next_well_formed;
  logic       next_control;  // JOIN or LEAVE: one packet of 48 bytes
  logic       next_join;
  logic       next_leave;
  logic       well_formed;
  logic       is_leave;

  assign early_opcode = early_header.bytes[ina_pkg::BTH_OPCODE_AT*8 +: 8];
  assign next_join    = next_candidate && next_first && next_control
      && next_lane_0 == {ina_pkg::TYPE_JOIN, ina_pkg::MESSAGE_MAGIC_VERSION};
  assign next_leave   = next_first && next_control
      && next_lane_0 == {ina_pkg::TYPE_LEAVE, ina_pkg::MESSAGE_MAGIC_VERSION};

  always_ff @(posedge clk) begin
    if (en && early_valid) begin
      next_well_formed <= (early_opcode == ina_pkg::RC_SEND_ONLY) ? early_header.quads >= 3
                        : (early_opcode == ina_pkg::RC_SEND_FIRST) ? early_header.quads >= 2 : 1'b1;
      next_control     <= early_opcode == ina_pkg::RC_SEND_ONLY
          && early_header.quads == ina_pkg::QUADS_W'(ina_pkg::JOIN_QUADS);
    end
    if (en && next_valid) begin
      is_leave <= next_leave;
      if (next_first) well_formed <= next_well_formed;
    end
  end

  // The flow, if it is a known one. It is looked up while ina_check has the packet.
  logic             flow_hit;
  logic [JOB_W-1:0] flow_job;
  logic             hit;
  logic [23:0]      distance;  // from the next PSN; negative: a retransmission
  logic [1:0]       suspicion;
  logic             learn;
  logic             advance;
  logic             suspect;

  ina_flows #(.JOB_COUNT(JOB_COUNT), .KEY_W(KEY_W), .LONG_AT(LONG_AT), .LONG_W(LONG_W)) flows (
      .clk, .rst, .en,
      .s_valid(early_valid),
      .s_key(early_key), .s_long(early_header.is_ipv6),
      .s_psn(psn_of(early_header.bytes[ina_pkg::BTH_PSN_AT*8 +: 24])),
      .next_job(watch_job),
      .m_hit(flow_hit), .m_job(flow_job), .m_distance(distance), .m_suspicion(suspicion),
      .learn, .learn_job(answer_job), .advance, .suspect, .forget(job_freed));

  assign hit = flow_hit && s_roce_data;

  // The mark is of no interest here, and the CRC not known yet.
  logic unused;
  assign unused = &{early_header.congested, early_header.crc, early_header.filler};

  // The packet before may have broken the job in the last clock: then it is not in job_broken yet.
  // It cannot have been taken then: behind a contribution there is a clock of en without a beat
  // (ina_parse), so queue_fill has them all.
  logic             broken;
  logic [JOB_W-1:0] verdict_job;

  assign broken = job_broken[flow_job] || (break_valid && verdict_job == flow_job);

  // Beats of an expected packet are written if there was room when its first beat came.
  logic room;
  logic taking;
  logic writing;
  logic [ina_pkg::BEAT_INDEX_W-1:0] beat;

  assign room    = queue_fill < FILL_W'(SLOT_COUNT);
  assign writing = hit && s_candidate && distance == '0 && (s_first ? room : taking);

  always_ff @(posedge clk) begin
    if (s_valid && en) begin
      taking <= writing;
      beat   <= s_first ? ina_pkg::BEAT_INDEX_W'(1) : beat + 1'b1;
    end
  end

  // A JOIN of a flow that is not known waits for ina_jobs.
  logic             answered;  // in the clock before: now it is taken, or passes
  logic             granted;
  logic [JOB_W-1:0] granted_job;
  logic             settled;   // it has been

  ina_admission #(.JOB_W(JOB_W)) admission (
      .clk, .rst, .en,
      .next_join(next_valid && next_join), .s_ok, .hit,
      .ask_valid, .answer_valid, .answer_granted, .answer_job, .learn,
      .answered, .granted, .granted_job, .settled);

  // The decision. A retransmission's distance is negative: minus 1 is the packet that was taken
  // last. `reach` is counted from the packets that left as sums: minus 1 is the last of them.
  logic               decide;
  logic               opens;
  logic               takes;
  logic               passes;
  logic               breaks;
  logic               leaves;
  logic               resends;
  logic               probes;
  logic signed [25:0] from_next;
  logic signed [25:0] fill;
  logic signed [25:0] raw;
  logic signed [25:0] sums;
  logic signed [25:0] from_head;  // from the oldest packet in the queue
  logic signed [25:0] reach;
  logic signed [25:0] oldest;     // from the oldest sum in the history
  logic               waits;   // it is in the queue
  logic               kept;    // not past the history's end
  logic [ina_pkg::COUNTER_COUNT-1:0] happens;

  assign decide = s_valid && s_last && (en ? !settled : answered);
  assign opens  = answered && granted;
  assign from_next = $signed({{2{distance[23]}}, distance});
  assign fill      = $signed(26'(queue_fill));
  assign raw       = $signed(26'(queue_raw));
  assign sums      = $signed(26'(queue_sums));
  assign from_head = from_next + fill;
  assign reach     = from_head + raw;
  assign oldest    = reach + sums;
  assign waits     = from_head >= 0;
  assign kept      = oldest >= 0;

  always_comb begin
    takes   = 1'b0;
    passes  = 1'b0;
    breaks  = 1'b0;
    leaves  = 1'b0;
    resends = 1'b0;
    probes  = 1'b0;
    happens = '0;
    if (decide) begin
      happens[ina_pkg::COUNT_FRAMES_IN] = 1'b1;
      if (answered) begin
        takes  = granted;
        passes = !granted;
        happens[ina_pkg::COUNT_JOINS_GRANTED] = granted;
        happens[ina_pkg::COUNT_JOINS_REFUSED] = !granted;
      end else if (!hit) begin
        passes = 1'b1;
      end else if (!s_candidate) begin
        // Its iCRC is unknown. A damaged packet does not come again and again; a forbidden one does.
        if (!s_roce_data || distance != '0 || broken) begin
          passes = 1'b1;
        end else if (suspicion == 2'd3) begin
          passes = 1'b1;
          breaks = 1'b1;
        end else begin
          happens[ina_pkg::COUNT_ICRC_DROPPED] = 1'b1;
        end
      end else if (!s_ok) begin
        happens[ina_pkg::COUNT_ICRC_DROPPED] = 1'b1;
      end else if (distance == '0) begin
        if (!well_formed) begin
          passes = 1'b1;
          breaks = 1'b1;
        end else if (writing) begin
          takes  = 1'b1;
          breaks = is_leave && !job_complete[flow_job];
        end else begin
          happens[ina_pkg::COUNT_NO_ROOM_DROPPED] = 1'b1;
        end
      end else if (!distance[23]) begin
        happens[ina_pkg::COUNT_GAPS] = 1'b1;
        if (broken) begin
          passes = 1'b1;
          leaves = is_leave;
        end else if (distance >= 24'(SLOT_COUNT)) begin
          // No member of a job can be that far ahead: the addresses now belong to another.
          passes = 1'b1;
          breaks = 1'b1;
        end else begin
          resends = 1'b1;
          probes  = 1'b1;
        end
      end else if (waits) begin
        happens[ina_pkg::COUNT_DUPLICATES_WAITING] = 1'b1;
      end else if (reach < 0 && kept) begin
        resends = 1'b1;
      end else begin
        passes = 1'b1;
        happens[ina_pkg::COUNT_DUPLICATES_OLD] = 1'b1;
      end
      happens[ina_pkg::COUNT_PACKETS_TAKEN] = takes;
    end
  end

  // Every answer asks for an ACK, and what is taken behind a gap until the sender asks itself: a
  // sender that has gone back heeds no other NAK until an ACK has come.
  logic [JOB_COUNT-1:0] recovers;
  logic                 asks;
  logic                 asked;

  assign asked = s_header.bytes[ina_pkg::BTH_ACK_AT*8 + 7];
  assign asks  = !asked && !probes && (resends || (!answered && recovers[flow_job]));

  always_ff @(posedge clk) begin
    if (probes) recovers[flow_job] <= 1'b1;
    if (takes && asked && !answered) recovers[flow_job] <= 1'b0;
    if (opens) recovers[granted_job] <= 1'b0;  // its first packet, the JOIN, has no flow_job
  end

  assign advance = decide && !answered && hit && s_candidate && s_ok && well_formed && writing;
  assign suspect = decide && hit && !s_candidate && s_roce_data && distance == '0;

  // A probe's PSN differs in its two highest bits, and its CRC by what they add to it: they stand in
  // the first of the last three bytes of the headers.
  localparam logic [31:0] PSN_22_CRC = ina_crc_pkg::advance(32'h40, 24);
  localparam logic [31:0] PSN_23_CRC = ina_crc_pkg::advance(32'h80, 24);
  localparam logic [31:0] ACK_CRC    = ina_crc_pkg::advance(32'h80, 32);  // of AckReq, right before it
  logic [7:0] psn_high;
  logic [7:0] probe_psn_high;

  assign psn_high       = s_header.bytes[ina_pkg::BTH_PSN_AT*8 +: 8];
  assign probe_psn_high = psn_high + ina_pkg::PROBE_PSN_OFFSET[23:16];

  // What follows from it. A job that is freed in the clock of the decision is not asked any more.
  logic                              resend_wanted;
  logic                              resend_late;
  logic [SLOT_W-1:0]                 resend_from;
  logic signed [25:0]                resend_reach;
  logic [ina_pkg::ORDINAL_W-1:0]     resend_sums;
  logic [ina_pkg::COUNTER_COUNT-1:0] happened;

  always_ff @(posedge clk) begin
    token_valid   <= decide;
    hit_valid     <= decide && hit;
    break_valid   <= breaks;
    leave_valid   <= leaves;
    write_valid   <= s_valid && (en ? writing : opens);
    commit_valid  <= takes;
    resend_wanted <= resends;
    caught_up     <= decide && hit && !answered && s_candidate && s_ok && (!resends || probes);
    happened      <= happens;
    if (rst) begin
      token_valid   <= 1'b0;
      hit_valid     <= 1'b0;
      break_valid   <= 1'b0;
      leave_valid   <= 1'b0;
      write_valid   <= 1'b0;
      commit_valid  <= 1'b0;
      resend_wanted <= 1'b0;
      caught_up     <= 1'b0;
      happened      <= '0;
    end
  end

  always_ff @(posedge clk) begin
    if (s_valid) begin
      verdict_job <= opens ? granted_job : flow_job;
      write_opens <= opens;
      write_beat  <= s_first ? '0 : beat;
    end
    if (decide) begin
      token_pass   <= passes;
      resend_probe <= probes;
      resend_late  <= job_freed[flow_job];
      resend_from  <= queue_sum_slot;
      resend_reach <= reach;
      resend_sums  <= queue_sum_count;
    end
    if (takes || resends) commit_header <= s_header;
    if (asks) begin
      commit_header.bytes[ina_pkg::BTH_ACK_AT*8 + 7] <= 1'b1;
      commit_header.crc <= s_header.crc ^ ACK_CRC;
    end
    if (probes) begin
      commit_header.bytes[ina_pkg::BTH_PSN_AT*8 +: 8] <= probe_psn_high;
      commit_header.crc <= s_header.crc
          ^ (psn_high[6] != probe_psn_high[6] ? PSN_22_CRC : 32'd0)
          ^ (psn_high[7] != probe_psn_high[7] ? PSN_23_CRC : 32'd0);
    end
  end

  assign hit_job        = verdict_job;
  assign write_job      = verdict_job;
  assign resend_job     = verdict_job;
  assign resend_valid   = resend_wanted && !resend_late;
  assign resend_ordinal = resend_sums + resend_reach[ina_pkg::ORDINAL_W-1:0];

  // SLOT_COUNT back at most: that is 0 in a power of two.
  logic [SLOT_W-1:0] back;

  assign back        = SLOT_W'(-resend_reach);
  assign resend_slot = (FILL_W'(resend_from) >= FILL_W'(-resend_reach)) ? resend_from - back
                     : resend_from + SLOT_W'(SLOT_COUNT) - back;

  always_comb begin
    events = happened;
    if (resend_wanted) begin
      if (!resend_valid || !resend_ready) events[ina_pkg::COUNT_NO_ROOM_DROPPED] = 1'b1;
      else if (!resend_probe) events[ina_pkg::COUNT_DUPLICATES_ANSWERED] = 1'b1;
    end
  end

endmodule

// SPDX-License-Identifier: Apache-2.0
//
// Judges each packet of one port as an RC responder would: by its distance from the flow's next
// PSN (docs/protocol.md, PSNs). The port's flows are in ina_flows.
//
// The decision falls with a frame's last beat. Payload beats go into the queue's tail slot before
// that, and count only if the packet is then taken. A JOIN stops the whole ingress of its port
// (en = 0) until ina_jobs has answered, and two clocks more while its flow is learned.
//
// One version for each PSN: a packet that was summed is only ever sent with the sum, one that
// went raw only ever raw, and a packet past a gap, whose fate is open, not at all: a probe goes in
// its place, whose PSN no receiver will ever accept, and which draws the same NAK. So whatever the
// network delays, a receiver cannot put a message together from raw packets and a summed trailer.

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
    output logic en,  // the ingress of this port may advance

    // From ina_parse, two clocks of en before the same beat comes from ina_check: a frame's first.
    input  logic             early_valid,
    input  ina_pkg::header_t early_header,

    // From ina_check.
    input  logic                       s_valid,
    input  logic                       s_first,
    input  logic                       s_last,
    input  ina_pkg::header_t           s_header,
    input  logic [31:0]                s_lane_0,  // of the payload's beat
    input  logic                       s_candidate,
    input  logic                       s_roce_data,
    input  logic                       s_ok,

    // One token a frame, to ina_pass.
    output logic token_valid,
    output logic token_pass,

    // A JOIN asks for a flow; ina_jobs, which sees its message header too, answers later.
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

    // The port's queue: a beat into the tail slot, and the commit of what is there.
    output logic                             write_valid,
    output logic [JOB_W-1:0]                 write_job,
    output logic [ina_pkg::BEAT_INDEX_W-1:0] write_beat,
    output logic                             write_opens,
    output logic                             commit_valid,

    // The state of the ring of watch_job's, one clock later (ina_queue).
    output logic [JOB_W-1:0]                 watch_job,
    input  logic [FILL_W-1:0]                queue_fill,
    input  logic [RAW_W-1:0]                 queue_raw,
    input  logic [FILL_W-1:0]                queue_sums,
    input  logic [ina_pkg::ORDINAL_W-1:0]    queue_sum_count,
    input  logic [SLOT_W-1:0]                queue_sum_slot,

    // Retransmissions to be answered, and probes.
    output logic              resend_valid,
    input  logic              resend_ready,
    output logic              resend_probe,
    output logic [JOB_W-1:0]  resend_job,
    output logic [SLOT_W-1:0] resend_slot,
    output logic [ina_pkg::ORDINAL_W-1:0] resend_ordinal,
    output ina_pkg::header_t  resend_header,

    output logic [ina_pkg::COUNTER_COUNT-1:0] events  // what this clock adds one to
);

  // VLAN or none, its id, IPv6 or IPv4, source and destination IP, destination QPN.
  localparam int KEY_W = 1 + 12 + 1 + 256 + 24;

  // Fields of a frame's header.
  function automatic logic [23:0] psn_of(input logic [23:0] bytes);
    psn_of = {bytes[7:0], bytes[15:8], bytes[23:16]};
  endfunction

  logic [23:0] psn;
  logic [7:0]  opcode;
  logic        control_shape;  // JOIN or LEAVE: one packet of 48 bytes
  logic        is_join;
  logic        is_leave;
  logic        well_formed;

  // IPv4's addresses stand in the last 8 of IPv6's 32 bytes, behind fields that differ from packet
  // to packet. The id is the lower 12 bits of a big-endian field.
  logic [KEY_W-1:0] early_key;

  always_comb begin
    early_key = '0;
    if (early_valid) begin
      early_key[KEY_W-1 -: 14] = {early_header.has_vlan,
                                  early_header.bytes[ina_pkg::VLAN_TCI_AT*8 +: 4],
                                  early_header.bytes[(ina_pkg::VLAN_TCI_AT+1)*8 +: 8],
                                  early_header.is_ipv6};
      early_key[24 +: 64] = early_header.bytes[ina_pkg::IPV4_SOURCE_AT*8 +: 64];
      early_key[23:0]     = early_header.bytes[ina_pkg::BTH_QPN_AT*8 +: 24];
      if (early_header.is_ipv6)
        early_key[88 +: 192] = early_header.bytes[ina_pkg::IPV6_SOURCE_AT*8 +: 192];
    end
  end
  assign psn    = psn_of(s_header.bytes[ina_pkg::BTH_PSN_AT*8 +: 24]);
  assign opcode = s_header.bytes[ina_pkg::BTH_OPCODE_AT*8 +: 8];
  assign control_shape = s_first && opcode == ina_pkg::RC_SEND_ONLY
      && s_header.quads == ina_pkg::QUADS_W'(ina_pkg::JOIN_QUADS);
  assign is_join = control_shape
      && s_lane_0 == {ina_pkg::TYPE_JOIN, ina_pkg::MESSAGE_MAGIC_VERSION};
  assign is_leave = control_shape
      && s_lane_0 == {ina_pkg::TYPE_LEAVE, ina_pkg::MESSAGE_MAGIC_VERSION};
  assign well_formed = (opcode == ina_pkg::RC_SEND_ONLY) ? s_header.quads >= 3
                     : (opcode == ina_pkg::RC_SEND_FIRST) ? s_header.quads >= 2 : 1'b1;

  // The flow, if it is a known one. It is looked up while ina_check has the packet.
  logic        flow_hit;
  logic        hit;
  logic [23:0] distance;  // from the next PSN; negative: a retransmission
  logic [1:0]  suspicion;
  logic        learn;
  logic        advance;
  logic        suspect;

  ina_flows #(.JOB_COUNT(JOB_COUNT), .KEY_W(KEY_W)) flows (
      .clk, .rst, .en,
      .s_valid(early_valid),
      .s_key(early_key),
      .s_psn(psn_of(early_header.bytes[ina_pkg::BTH_PSN_AT*8 +: 24])),
      .next_job(watch_job),
      .m_hit(flow_hit), .m_job(hit_job), .m_distance(distance), .m_suspicion(suspicion),
      .learn, .learn_job(answer_job), .advance, .suspect, .forget(job_freed));

  assign hit = flow_hit && s_roce_data;

  // The length and the mark are of no interest so early.
  logic unused;
  assign unused = &{early_header.quads, early_header.congested};

  // Beats of an expected packet are written if there was room when its first beat came.
  logic taking;
  logic writing;
  logic [ina_pkg::BEAT_INDEX_W-1:0] beat;

  assign writing = hit && s_candidate && distance == '0
      && (s_first ? queue_fill < FILL_W'(SLOT_COUNT) : taking);
  assign write_beat = s_first ? '0 : beat;

  always_ff @(posedge clk) begin
    if (s_valid && en) begin
      taking <= writing;
      beat   <= write_beat + 1'b1;
    end
  end

  // Admission.
  logic             asks;
  logic [1:0]       answered;  // clocks since the answer
  logic             granted;
  logic [JOB_W-1:0] granted_job;

  assign asks      = s_valid && s_last && s_candidate && s_ok && is_join && !hit;
  assign ask_valid = asks && answered == 2'd0;
  assign learn     = ask_valid && answer_valid && answer_granted;
  assign en        = !asks || answered == 2'd2;

  always_ff @(posedge clk) begin
    case (answered)
      2'd0: begin
        if (ask_valid && answer_valid) answered <= 2'd1;
        granted     <= answer_granted;
        granted_job <= answer_job;
      end
      2'd1: answered <= 2'd2;
      default: answered <= 2'd0;
    endcase
    if (rst) answered <= 2'd0;
  end

  // The decision. `age` is 1 for the packet that was taken last, `depth` 1 for the one that left
  // the queue last as a sum.
  logic               decide;
  logic               opens;
  logic               take;
  logic [23:0]        age;
  logic signed [25:0] depth;

  assign decide = s_valid && s_last && en;
  assign opens  = answered == 2'd2 && granted;
  assign age    = -distance;
  assign depth  = $signed({2'b00, age}) - $signed(26'(queue_fill) + 26'(queue_raw));

  always_comb begin
    take         = 1'b0;
    token_pass   = 1'b0;
    break_valid  = 1'b0;
    leave_valid  = 1'b0;
    resend_valid = 1'b0;
    resend_probe = 1'b0;
    events       = '0;
    if (decide) begin
      events[ina_pkg::COUNT_FRAMES_IN] = 1'b1;
      if (asks) begin
        take       = opens;
        token_pass = !opens;
        events[ina_pkg::COUNT_JOINS_GRANTED] = opens;
        events[ina_pkg::COUNT_JOINS_REFUSED] = !opens;
      end else if (!hit) begin
        token_pass = 1'b1;
      end else if (!s_candidate) begin
        // Its iCRC is unknown. A damaged packet does not come again and again; a forbidden one does.
        if (!s_roce_data || distance != '0 || job_broken[hit_job]) begin
          token_pass = 1'b1;
        end else if (suspicion == 2'd3) begin
          token_pass  = 1'b1;
          break_valid = 1'b1;
        end else begin
          events[ina_pkg::COUNT_ICRC_DROPPED] = 1'b1;
        end
      end else if (!s_ok) begin
        events[ina_pkg::COUNT_ICRC_DROPPED] = 1'b1;
      end else if (distance == '0) begin
        if (!well_formed) begin
          token_pass  = 1'b1;
          break_valid = 1'b1;
        end else if (writing) begin
          take        = 1'b1;
          break_valid = is_leave && !job_complete[hit_job];
        end else begin
          events[ina_pkg::COUNT_NO_ROOM_DROPPED] = 1'b1;
        end
      end else if (!distance[23]) begin
        events[ina_pkg::COUNT_GAPS] = 1'b1;
        if (job_broken[hit_job]) begin
          token_pass  = 1'b1;
          leave_valid = is_leave;
        end else if (distance >= 24'(SLOT_COUNT)) begin
          // No member of a job can be that far ahead: the addresses now belong to another.
          token_pass  = 1'b1;
          break_valid = 1'b1;
        end else begin
          resend_valid = 1'b1;
          resend_probe = 1'b1;
        end
      end else if (age <= 24'(queue_fill)) begin
        events[ina_pkg::COUNT_DUPLICATES_WAITING] = 1'b1;
      end else if (depth > 0 && depth <= $signed(26'(queue_sums))) begin
        resend_valid = 1'b1;
        events[ina_pkg::COUNT_DUPLICATES_ANSWERED] = resend_ready;
      end else begin
        token_pass = 1'b1;
        events[ina_pkg::COUNT_DUPLICATES_OLD] = 1'b1;
      end
      if (resend_valid && !resend_ready)
        events[ina_pkg::COUNT_NO_ROOM_DROPPED] = 1'b1;
      events[ina_pkg::COUNT_PACKETS_TAKEN] = take;
    end
  end

  assign advance = take && !asks;
  assign suspect = decide && hit && !s_candidate && s_roce_data && distance == '0;

  assign token_valid  = decide;
  assign hit_valid    = decide && hit;
  assign write_valid  = s_valid && (writing || opens);
  assign write_job    = opens ? granted_job : hit_job;
  assign write_opens  = opens;
  assign commit_valid = take;

  logic [23:0]       resend_psn;
  logic [SLOT_W-1:0] back;  // from the slot behind the last sum

  assign resend_psn     = resend_probe ? psn + ina_pkg::PROBE_PSN_OFFSET : psn;
  assign resend_job     = hit_job;
  assign resend_ordinal = queue_sum_count - ina_pkg::ORDINAL_W'(depth);
  assign back           = SLOT_W'(depth);  // SLOT_COUNT at most: that is 0 in a power of two
  assign resend_slot    = (FILL_W'(queue_sum_slot) >= FILL_W'(depth)) ? queue_sum_slot - back
                        : queue_sum_slot + SLOT_W'(SLOT_COUNT) - back;

  always_comb begin
    resend_header = s_header;
    resend_header.bytes[ina_pkg::BTH_PSN_AT*8 +: 24] =
        {resend_psn[7:0], resend_psn[15:8], resend_psn[23:16]};
  end

endmodule

// SPDX-License-Identifier: Apache-2.0
//
// Judges each packet of one port as an RC responder would: by its distance from the flow's next
// PSN (docs/protocol.md, PSNs). Holds the port's flows, one for each job, under the job's number.
//
// The decision falls with a frame's last beat. Payload beats go into the queue's tail slot before
// that, and count only if the packet is then taken. A JOIN stops the whole ingress of its port
// (en = 0) until ina_jobs has answered.
//
// One version for each PSN: a packet that was summed is only ever sent with the sum, one that
// went raw only ever raw, and a packet past a gap, whose fate is open, not at all: a probe goes in
// its place, whose PSN no receiver will ever accept, and which draws the same NAK. So whatever the
// network delays, a receiver cannot put a message together from raw packets and a summed trailer.

module ina_judge #(
    parameter int JOB_COUNT  = 4,
    parameter int SLOT_COUNT = 128,
    parameter int JOB_W      = $clog2(JOB_COUNT),
    parameter int SLOT_W     = $clog2(SLOT_COUNT),
    parameter int FILL_W     = SLOT_W + 1,
    parameter int RAW_W      = 24
) (
    input  logic clk,
    input  logic rst,
    output logic en,  // the ingress of this port may advance

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
    output logic [JOB_W-1:0]     hit_job,      // of both

    // The port's queue: a beat into the tail slot, and the commit of what is there.
    output logic                             write_valid,
    output logic [JOB_W-1:0]                 write_job,
    output logic [ina_pkg::BEAT_INDEX_W-1:0] write_beat,
    output logic                             commit_valid,
    input  logic [JOB_COUNT*FILL_W-1:0]      queue_fill,
    input  logic [JOB_COUNT*RAW_W-1:0]       queue_raw,
    input  logic [JOB_COUNT*FILL_W-1:0]      queue_sums,
    input  logic [JOB_COUNT*SLOT_W-1:0]      queue_head,

    // Retransmissions to be answered, and probes.
    output logic              resend_valid,
    input  logic              resend_ready,
    output logic              resend_probe,
    output logic [JOB_W-1:0]  resend_job,
    output logic [SLOT_W-1:0] resend_slot,
    output ina_pkg::header_t  resend_header,

    output logic [ina_pkg::COUNTER_COUNT-1:0] events  // what this clock adds one to
);

  // VLAN or none, its id, IPv6 or IPv4, source and destination IP, destination QPN.
  localparam int KEY_W = 1 + 12 + 1 + 256 + 24;

  logic [JOB_COUNT-1:0] flow_valid;
  logic [1:0]           flow_suspicion [JOB_COUNT];  // how often its next PSN came misshapen
  logic [KEY_W-1:0]     flow_key [JOB_COUNT];
  logic [23:0]          flow_next_psn [JOB_COUNT];

  // Fields of the packet.
  logic [KEY_W-1:0] key;
  logic [23:0]      psn;
  logic [7:0]       opcode;
  logic             control_shape;  // JOIN or LEAVE: one packet of 48 bytes
  logic             is_join;
  logic             is_leave;
  logic             well_formed;

  // IPv4's addresses stand in the last 8 of IPv6's 32 bytes, behind fields that differ from packet
  // to packet. The id is the lower 12 bits of a big-endian field.
  always_comb begin
    key = '0;
    if (s_valid) begin
      key[KEY_W-1 -: 14] = {s_header.has_vlan, s_header.bytes[ina_pkg::VLAN_TCI_AT*8 +: 4],
                            s_header.bytes[(ina_pkg::VLAN_TCI_AT+1)*8 +: 8], s_header.is_ipv6};
      key[24 +: 64]      = s_header.bytes[ina_pkg::IPV4_SOURCE_AT*8 +: 64];
      key[23:0]          = s_header.bytes[ina_pkg::BTH_QPN_AT*8 +: 24];
      if (s_header.is_ipv6)
        key[88 +: 192] = s_header.bytes[ina_pkg::IPV6_SOURCE_AT*8 +: 192];
    end
  end
  assign psn = {s_header.bytes[ina_pkg::BTH_PSN_AT*8 +: 8],
                s_header.bytes[ina_pkg::BTH_PSN_AT*8+8 +: 8],
                s_header.bytes[ina_pkg::BTH_PSN_AT*8+16 +: 8]};
  assign opcode = s_header.bytes[ina_pkg::BTH_OPCODE_AT*8 +: 8];
  assign control_shape = s_first && opcode == ina_pkg::RC_SEND_ONLY
      && s_header.quads == ina_pkg::QUADS_W'(ina_pkg::JOIN_QUADS);
  assign is_join = control_shape
      && s_lane_0 == {ina_pkg::TYPE_JOIN, ina_pkg::MESSAGE_MAGIC_VERSION};
  assign is_leave = control_shape
      && s_lane_0 == {ina_pkg::TYPE_LEAVE, ina_pkg::MESSAGE_MAGIC_VERSION};
  assign well_formed = (opcode == ina_pkg::RC_SEND_ONLY) ? s_header.quads >= 3
                     : (opcode == ina_pkg::RC_SEND_FIRST) ? s_header.quads >= 2 : 1'b1;

  // The flow, if it is a known one, and the state of its queue.
  logic              hit;
  logic [23:0]       distance;  // from the next PSN; negative: a retransmission
  logic [FILL_W-1:0] fill;
  logic [RAW_W-1:0]  raw;
  logic [FILL_W-1:0] sums;
  logic [SLOT_W-1:0] head;

  always_comb begin
    hit      = 1'b0;
    hit_job  = '0;
    distance = '0;
    fill     = '0;
    raw      = '0;
    sums     = '0;
    head     = '0;
    if (s_valid) begin
      for (int j = 0; j < JOB_COUNT; j++) begin
        if (flow_valid[j] && flow_key[j] == key) begin
          hit      = 1'b1;
          hit_job  = JOB_W'(j);
          distance = psn - flow_next_psn[j];
          fill     = queue_fill[j*FILL_W +: FILL_W];
          raw      = queue_raw[j*RAW_W +: RAW_W];
          sums     = queue_sums[j*FILL_W +: FILL_W];
          head     = queue_head[j*SLOT_W +: SLOT_W];
        end
      end
    end
  end

  // Beats of an expected packet are written if there was room when its first beat came.
  logic taking;
  logic writing;
  logic [ina_pkg::BEAT_INDEX_W-1:0] beat;

  assign writing = hit && s_candidate && distance == '0
      && (s_first ? fill < FILL_W'(SLOT_COUNT) : taking);
  assign write_beat = s_first ? '0 : beat;

  always_ff @(posedge clk) begin
    if (s_valid && en) begin
      taking <= writing;
      beat   <= write_beat + 1'b1;
    end
  end

  // Admission.
  assign ask_valid = s_valid && s_last && s_candidate && s_ok && is_join && !hit;
  assign en        = !ask_valid || answer_valid;

  // The decision. `age` is 1 for the packet that was taken last, `depth` 1 for the one that left
  // the queue last.
  logic        decide;
  logic        granted;
  logic        take;
  logic [23:0] age;
  logic [23:0] depth;

  assign decide  = s_valid && s_last && en;
  assign granted = ask_valid && answer_valid && answer_granted;
  assign age     = -distance;
  assign depth   = age - 24'(fill);

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
      if (ask_valid) begin
        take       = granted;
        token_pass = !granted;
        events[ina_pkg::COUNT_JOINS_GRANTED] = granted;
        events[ina_pkg::COUNT_JOINS_REFUSED] = !granted;
      end else if (!hit) begin
        token_pass = 1'b1;
      end else if (!s_candidate) begin
        // Its iCRC is unknown. A damaged packet does not come again and again; a forbidden one does.
        if (!s_roce_data || distance != '0 || job_broken[hit_job]) begin
          token_pass = 1'b1;
        end else if (flow_suspicion[hit_job] == 2'd3) begin
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
      end else if (age <= 24'(fill)) begin
        events[ina_pkg::COUNT_DUPLICATES_WAITING] = 1'b1;
      end else if (depth > raw && depth - raw <= 24'(sums)) begin
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

  assign token_valid  = decide;
  assign write_valid  = s_valid && (writing || granted);
  assign write_job    = granted ? answer_job : hit_job;
  assign commit_valid = take;

  logic [23:0] resend_psn;

  assign resend_psn  = resend_probe ? psn + ina_pkg::PROBE_PSN_OFFSET : psn;
  assign resend_job  = hit_job;
  assign resend_slot = head - depth[SLOT_W-1:0];

  always_comb begin
    resend_header = s_header;
    resend_header.bytes[ina_pkg::BTH_PSN_AT*8 +: 24] =
        {resend_psn[7:0], resend_psn[15:8], resend_psn[23:16]};
  end

  // The flows.
  always_ff @(posedge clk) begin
    if (decide) begin
      if (granted) begin
        flow_key[answer_job]      <= key;
        flow_next_psn[answer_job] <= psn + 1'b1;
        flow_valid[answer_job]     <= 1'b1;
        flow_suspicion[answer_job] <= '0;
      end else if (take) begin
        flow_next_psn[hit_job]  <= psn + 1'b1;
        flow_suspicion[hit_job] <= '0;
      end else if (hit && !s_candidate && s_roce_data && distance == '0) begin
        flow_suspicion[hit_job] <= flow_suspicion[hit_job] + 1'b1;
      end
    end
    for (int j = 0; j < JOB_COUNT; j++)
      if (job_freed[j]) flow_valid[j] <= 1'b0;
    if (rst) flow_valid <= '0;
  end

endmodule

// SPDX-License-Identifier: Apache-2.0
//
// ina_judge with its ina_flows: each packet is taken once, and in PSN order. The proof follows one connection
// (of the solver's choice) among all frames. The answers of ina_jobs and the state of the queue are any that
// their contracts allow. The decision on a frame at s_* leaves a clock later, so d_* is the frame that was
// there in the clock before. There are no other switches.
//
//   1. Each frame has one token, when its last beat is at s_*.
//   2. While the followed connection has a flow, none of its JOINs asks for another. So its key is in at most
//      one context (the proof of ina_flows: the table never has two hits).
//   3. A contribution of the followed connection is taken only with the flow's next PSN: the PSN after that
//      of the packet that was taken last. So no packet is taken twice, and none out of order. The packet with
//      that PSN is taken if there is room, and its iCRC and shape are right.
//   4. It is taken into its own job, only if its iCRC is right, only with its own header (but see 11), and
//      only if all its beats were written there: beat 0, 1, 2 and so on without a gap.
//   5. No packet of the connection is taken while it has no flow. Its first packet is the JOIN that was
//      granted. From the clock in which its job is freed, it has no flow any more.
//   6. A frame is not both taken and passed. No packet is taken if the queue has no room, or if its job is
//      not broken and the packet is early on the down flow.
//   7. A retransmission of the followed connection is answered if and only if its packet has left the queue
//      as a sum. A retransmission of a packet that still waits in the queue is neither passed nor answered. A
//      retransmission of a packet that was sent raw passes. A probe replaces an older one.
//   8. A packet past a gap passes only if its job is broken, or breaks because no packet of the flow has left
//      as a sum. Otherwise it becomes at most a probe.
//   9. If no other port has flows, the port's ingress stops only for a JOIN: while the JOIN waits for its
//      answer, and two clocks more. A JOIN asks until it is answered.
//  10. A LEAVE that is taken before its job is complete breaks the job. So does a packet with the next PSN that
//      is too short for its opcode, which passes.
//  11. An answer asks for an ACK. A packet that is taken after a gap asks for one too, until a packet that
//      already asked has been taken. No other packet asks that did not before. The CRC differs by just that
//      bit.
//  12. For the followed connection, every decision but an answer says that no answer is needed.
//  13. In the quiet time after a reset, until the second tick, no SEND passes, asks or is taken. The same
//      holds for the packets of a flow whose job is over.
//  14. A suspect is dropped: another request, a PSN that is far, or the beginning of a message of another
//      job. It evicts the flow, so that 5 holds from then on, if and only if it is at least the fourth since
//      the flow's last packet, and there were two ends of patience since then.
//  15. Only the flow's own packets with a right iCRC end its silence.
//  16. A packet of the followed connection at another port counts as a suspect. It breaks the job if and only
//      if 14 would evict the flow. Then silence and count start again, and the next time it evicts the flow.

module formal_ina_judge (
    input logic clk
);
  localparam int JOB_COUNT  = 2;
  localparam int SLOT_COUNT = 2;
  localparam int JOB_W      = 1;
  localparam int FILL_W     = 2;
  localparam int PACKET_W   = 2 + 2 + 4 + 3 + 3 + 2 + 1 + 1;  // see header_of() and d_*
  localparam int JOB_ID_AT  = 17;  // a message's job, one of two
  localparam int ACK_AT     = ina_pkg::BTH_ACK_AT*8 + 7;
  localparam int CRC_AT     = ina_pkg::HEADER_W + ina_pkg::QUADS_W + 3;
  localparam logic [31:0] ACK_CRC = ina_crc_pkg::advance(32'h80, 32);

  logic rst;
  formal_reset reset (.clk, .rst);

  // A frame's beats, two clocks of en before they come to s_*. A packet has one header. A frame that is no
  // candidate has one beat, and so has a candidate of up to four quads; a longer one has any number. After a
  // candidate's last beat there is a clock of en without a beat (ina_parse, property 9).
  (* anyseq *) logic                e_valid;
  (* anyseq *) logic                e_last;
  (* anyseq *) logic                e_ok;
  (* anyseq *) logic [PACKET_W-1:0] any_packet;
  (* anyseq *) logic                tick;
  (* anyseq *) logic                patience;
  logic [PACKET_W-1:0] e_packet;
  logic                e_first;
  logic                e_candidate;
  logic                in_frame;
  logic                pauses;
  logic [PACKET_W-1:0] frame_packet;
  logic                n_valid, n_first, n_last, n_ok;
  logic [PACKET_W-1:0] n_packet;
  logic                s_valid, s_first, s_last, s_ok;
  logic                e_quiet, n_quiet, s_quiet, frame_quiet;
  logic [1:0]          ticks;  // since the reset
  logic [PACKET_W-1:0] s_packet;
  logic                en;

  assign e_first     = !in_frame;
  assign e_packet    = e_first ? any_packet : frame_packet;
  assign e_candidate = e_packet[0];

  always_comb begin
    if (e_valid && (!e_candidate || e_packet[10:8] <= 3'd4)) assume (e_last);
    if (e_candidate) assume (e_packet[1]);  // is RoCE data
    if (pauses) assume (!e_valid);
  end

  always_ff @(posedge clk) begin
    if (en) begin
      {n_first, n_last, n_ok, n_quiet, n_packet} <= {e_first, e_last, e_ok, e_quiet, e_packet};
      {s_first, s_last, s_ok, s_quiet, s_packet} <= {n_first, n_last, n_ok, n_quiet, n_packet};
      n_valid <= e_valid;
      s_valid <= n_valid;
      pauses  <= e_valid && e_last && e_candidate;
      if (e_valid) begin
        in_frame     <= !e_last;
        frame_quiet  <= e_quiet;
        frame_packet <= e_packet;
      end
    end
    if (rst) begin
      n_valid  <= 1'b0;
      s_valid  <= 1'b0;
      in_frame <= 1'b0;
      pauses   <= 1'b0;
    end
  end

  // The value when the frame's first beat came.
  logic quiet_time;
  logic reset_without;  // `tick` was set during the reset: there is no quiet time

  assign quiet_time = ticks != 2'd2 && !reset_without;
  assign e_quiet    = e_first ? quiet_time && e_packet[1]
                              && 8'(e_packet[13:11]) < ina_pkg::RC_SENDS_END
                    : frame_quiet;

  always_ff @(posedge clk) begin
    if (rst) ticks <= '0;
    else if (tick && ticks != 2'd2) ticks <= ticks + 1'b1;
    if (rst) reset_without <= tick;
  end

  // PSNs around 0, where they wrap: the distances that decide are small.
  function automatic logic [23:0] psn_of(input logic [PACKET_W-1:0] packet);
    psn_of = {{20{packet[7]}}, packet[7:4]};
  endfunction

  function automatic ina_pkg::header_t header_of(input logic [PACKET_W-1:0] packet);
    header_of = '0;
    header_of[ina_pkg::HEADER_W +: 3]          = packet[10:8];
    header_of[(ina_pkg::IPV4_AT + 4)*8 +: 4]   = packet[7:4];  // the identification: it differs as the PSN does
    header_of[ina_pkg::IPV4_SOURCE_AT*8 +: 2]  = packet[3:2];
    header_of[ina_pkg::BTH_OPCODE_AT*8 +: 3]   = packet[13:11];
    header_of[ACK_AT]                          = packet[16];
    header_of[ina_pkg::BTH_PSN_AT*8 +: 24]     =
        {{packet[7], packet[7], packet[7], packet[7], packet[7:4]}, {16{packet[7]}}};
  endfunction

  ina_pkg::header_t e_header;
  ina_pkg::header_t s_header;
  ina_pkg::header_t d_header;
  logic [23:0]      s_psn;

  assign e_header = header_of(e_packet);
  assign s_header = header_of(s_packet);
  assign d_header = header_of(d_packet);
  assign s_psn    = psn_of(s_packet);

  // The header of d_*, asking for an ACK: the bit lies 32 bits before the headers' end.
  ina_pkg::header_t asking;

  always_comb begin
    asking = d_header;
    asking[ACK_AT] = 1'b1;
    asking[CRC_AT +: 32] = d_header[CRC_AT +: 32] ^ (d_header[ACK_AT] ? 32'd0 : ACK_CRC);
  end

  // The packet of the clock before, in its fields.
  logic                d_valid, d_first, d_last, d_ok, d_en, d_quiet, d_patience;
  logic [PACKET_W-1:0] d_packet;
  logic [1:0]          d_source;
  logic [23:0]         d_psn;
  logic [7:0]          d_opcode;
  logic [2:0]          d_quads;
  logic [7:0]          d_type;
  logic                d_candidate;
  logic                d_roce;

  always_ff @(posedge clk) begin
    d_valid <= s_valid && !rst;
    d_en    <= en;
    {d_first, d_last, d_ok, d_quiet, d_packet} <= {s_first, s_last, s_ok, s_quiet, s_packet};
    d_patience <= patience && !decided;
  end
  assign d_source    = d_packet[3:2];
  assign d_psn       = psn_of(d_packet);
  assign d_quads     = d_packet[10:8];
  assign d_opcode    = 8'(d_packet[13:11]);
  assign d_type      = 8'(d_packet[15:14]);
  assign d_candidate = d_packet[0];
  assign d_roce      = d_packet[1];

  // ina_jobs.
  logic                        ask_valid;
  (* anyseq *) logic           answer_valid;
  (* anyseq *) logic           answer_granted;
  (* anyseq *) logic           answer_held;
  (* anyseq *) logic [JOB_W-1:0] answer_job;
  (* anyseq *) logic [JOB_COUNT-1:0] job_complete;
  (* anyseq *) logic [JOB_COUNT-1:0] job_broken;
  (* anyseq *) logic [JOB_COUNT-1:0] job_lingers;
  (* anyseq *) logic [JOB_COUNT-1:0] job_early;
  (* anyseq *) logic [JOB_COUNT-1:0] job_freed;
  logic [JOB_COUNT-1:0]        has_flow;  // this port is in the job
  logic [JOB_COUNT-1:0]        broken_before;
  logic                        d_ask;  // it asked in the clock before
  logic                        d_answer;
  logic                        granted;
  logic                        granted_1, granted_2;  // one, two clocks ago
  logic [JOB_W-1:0]            granted_job;

  assign granted = ask_valid && answer_valid && answer_granted;

  always_ff @(posedge clk) begin
    for (int j = 0; j < JOB_COUNT; j++) begin
      if (rst || job_freed[j]) has_flow[j] <= 1'b0;
      if (!rst && granted && answer_job == JOB_W'(j)) has_flow[j] <= 1'b1;
    end
    broken_before <= rst ? '0 : job_broken & ~job_freed;
    d_ask         <= ask_valid && !rst;
    d_answer      <= answer_valid;
    granted_1     <= granted && !rst;
    granted_2     <= granted_1 && !rst;
    if (granted) granted_job <= answer_job;
  end

  always_comb begin
    if (answer_valid) assume (ask_valid && d_ask);  // ina_jobs_turns, property 3
    // A context is given to a job in a clock after it was freed, a port joins a job once, and no job ends
    // before its JOIN is in the queue.
    if (granted) assume (!has_flow[answer_job] && !job_freed[answer_job]);
    if (granted_1 || granted_2) assume (!job_freed[granted_job]);
    assume ((broken_before & ~job_broken) == '0);
  end

  // ina_queue: the fill follows the commits and pops. The packets that have left are any mix of sums and raw
  // packets.
  (* anyseq *) logic [JOB_COUNT-1:0] pop;
  (* anyseq *) logic [2:0]           raw_low;
  (* anyseq *) logic [FILL_W-1:0]    queue_sums;
  logic [FILL_W-1:0]        queue_fill;
  logic [JOB_COUNT*FILL_W-1:0] fills;
  logic [JOB_W-1:0]         watch_job;
  logic [JOB_W-1:0]         watched_job;
  logic                     write_valid;
  logic [JOB_W-1:0]         write_job;
  logic                     write_opens;
  logic [ina_pkg::BEAT_INDEX_W-1:0] write_beat;
  logic                     commit_valid;
  ina_pkg::header_t         commit_header;

  always_ff @(posedge clk) watched_job <= watch_job;
  assign queue_fill = fills[watched_job*FILL_W +: FILL_W];

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_queue
    logic commit;

    assign commit = commit_valid && write_job == JOB_W'(j);
    always_ff @(posedge clk) begin
      if (rst) fills[j*FILL_W +: FILL_W] <= '0;
      else if (commit && write_opens) fills[j*FILL_W +: FILL_W] <= FILL_W'(1);
      else fills[j*FILL_W +: FILL_W] <= fills[j*FILL_W +: FILL_W] + FILL_W'(commit) - FILL_W'(pop[j]);
    end
    always_comb if (fills[j*FILL_W +: FILL_W] == '0) assume (!pop[j]);
  end
  always_comb assume (queue_sums <= FILL_W'(SLOT_COUNT));

  (* anyseq *) logic             contest_valid;
  (* anyseq *) logic [JOB_W-1:0] contest_job;
  logic              contest_breaks;
  logic              contest_leaves;
  logic              token_valid;
  logic              token_pass;
  logic              break_valid;
  logic              leave_valid;
  logic              hit_valid;
  logic [JOB_W-1:0]  hit_job;
  logic              resend_valid;
  logic              resend_probe;
  ina_pkg::resend_t  resend;
  logic [JOB_W-1:0]  resend_job;
  logic              caught_up;
  (* anyseq *) logic resend_ready;
  logic [ina_pkg::COUNTER_COUNT-1:0] events;

  ina_judge #(.JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT)) dut (
      .clk, .rst, .tick, .patience, .uplink(1'b0), .probes(1'b0), .en,
      .early_valid(e_valid && e_first), .early_header(e_header),
      .next_valid(n_valid), .next_first(n_first), .next_candidate(n_packet[0]),
      .next_lane_0({6'd0, n_packet[15:14], ina_pkg::MESSAGE_MAGIC_VERSION}),
      .next_job_id({63'd0, n_packet[JOB_ID_AT]}),
      .s_valid, .s_first, .s_last, .s_header,
      .s_candidate(s_packet[0]), .s_roce_data(s_packet[1]), .s_ok,
      .s_job_id({63'd0, s_packet[JOB_ID_AT]}),
      .token_valid, .token_pass,
      .ask_valid, .answer_valid, .answer_granted, .answer_held, .answer_job,
      .job_window('1), .job_complete, .job_broken, .job_lingers, .job_border('0), .job_early, .job_unanswered('0), .job_freed, .break_valid,
      .leave_valid, .hit_valid, .hit_job,
      .known(), .others('0), .search(), .found('0),
      .contest_valid, .contest_job, .contest_breaks, .contest_leaves,
      .write_valid, .write_job, .write_beat, .write_opens, .commit_valid, .commit_header,
      .watch_job, .queue_fill, .queue_raw(ina_pkg::RAW_W'(raw_low)), .queue_sums, .queue_sum_count('0),
      .queue_sum_slot('0),
      .resend_valid, .resend_ready, .resend, .caught_up, .events);

  assign resend_probe = resend.probe;
  assign resend_job   = resend.job[JOB_W-1:0];

  // The record of the followed connection. next_psn is its value when d_* was decided.
  (* anyconst *) logic [1:0] followed;
  logic              ours;
  logic              flow;
  logic              d_flow;
  logic [JOB_W-1:0]  job;
  logic [23:0]       next_psn;
  logic              job_id;   // of its JOIN
  logic              learned;  // in the clock before

  assign ours = d_valid && d_source == followed;

  always_ff @(posedge clk) begin
    d_flow  <= flow && !out && !leaves && !job_freed[job] && !rst;
    learned <= granted && s_packet[3:2] == followed && !rst;
    if (rst || (flow && job_freed[job]) || out || leaves) flow <= 1'b0;
    if (!rst && granted && s_packet[3:2] == followed) begin
      flow     <= 1'b1;
      job      <= answer_job;
      job_id   <= s_packet[JOB_ID_AT];
      next_psn <= s_psn + 1'b1;
    end else if (ours && commit_valid && !granted_2) begin
      next_psn <= next_psn + 1'b1;
    end
  end

  // The state at the time of the decision, and the outputs of the judge in that clock.
  logic [FILL_W:0]   d_fill;
  logic [2:0]        d_raw;
  logic [FILL_W-1:0] d_sums;
  logic              d_room;
  logic              d_broken;
  logic              d_over;
  logic              d_early;
  logic              d_complete;

  always_ff @(posedge clk) begin
    d_fill     <= {1'b0, fills[job*FILL_W +: FILL_W]}
        + (FILL_W + 1)'(commit_valid && write_job == job && !write_opens)
        + (FILL_W + 1)'(commit_valid && write_job == job && write_opens);
    d_raw      <= raw_low;
    d_sums     <= queue_sums;
    d_broken   <= job_broken[job] || (break_valid && hit_job == job);
    d_over     <= job_lingers[job];
    d_early    <= job_early[job];
    d_complete <= job_complete[job];
  end

  // Its beats: the number of the beat, and whether all beats before it were written in their places.
  logic [3:0] nth;
  logic [3:0] d_nth;
  logic       gap;
  logic       whole;
  logic       had_token;  // the frame that was at s_*

  assign whole = write_valid && write_beat == ina_pkg::BEAT_INDEX_W'(d_nth) && (d_first || !gap);

  always_ff @(posedge clk) begin
    d_nth <= nth;
    if (rst) nth <= '0;
    else if (s_valid && en) nth <= s_last ? '0 : nth + 1'b1;
    if (d_valid && d_en) gap <= !whole;
    had_token <= !rst && !(d_valid && d_en) && (had_token || token_valid);
  end

  // Past a gap, and no packet that asked for an ACK was taken since.
  logic recovers;

  always_ff @(posedge clk) begin
    if (decided && resend_valid && resend_probe && !distance[23]) recovers <= 1'b1;
    if (ours && commit_valid && (granted_2 || d_header[ACK_AT])) recovers <= 1'b0;
  end

  logic [23:0] distance;
  logic [23:0] age;
  logic        known;      // a packet with a flow
  logic        judged;     // ... whose job is not over
  logic        far;
  logic        windowless;  // it broke before its JOIN went out: no packet is too far
  logic        other_job;
  logic        suspect;
  logic        out;        // it evicts the flow
  logic        decided;    // a contribution that is the flow's own, with a right iCRC
  logic        well_formed;
  logic        in_raw;
  logic        in_history;
  logic [1:0]  suspects;     // during its silence, at most 3
  logic [1:0]  ticks_since;  // ends of patience during its silence, at most 2

  // A packet of the flow that comes at another port is judged by the state of the clock in which it came, and
  // a suspect by that of the clock in which it was decided. Both are visible here one clock later. If such a
  // packet, or an end of patience, is visible in the same clock as a packet of the flow on its own port, it
  // came before that packet.
  logic        contest;
  logic        fires;
  logic        contested;
  logic        breaks;
  logic        leaves;
  logic        d_contest;
  logic        d_fires;
  logic [1:0]  suspects_now;
  logic [1:0]  ticks_now;

  assign contest = contest_valid && contest_job == job && flow && !job_lingers[job];
  assign fires   = contest && suspects_now == 2'd3 && ticks_now == 2'd2 && !decided;

  function automatic logic [1:0] more(input logic [1:0] count, input logic one, input logic other);
    more = count == 2'd3 || (count == 2'd2 && (one || other)) || (count == 2'd1 && one && other)
        ? 2'd3 : count + 2'(one) + 2'(other);
  endfunction

  always_ff @(posedge clk) begin
    d_contest <= contest && !decided && !rst;
    d_fires   <= fires && !rst;
    breaks    <= fires && !contested && !rst;
    leaves    <= fires && contested && !rst;
    suspects     <= more(suspects, suspect, d_contest);
    suspects_now <= more(suspects_now, suspect, contest);
    if (d_patience && ticks_since != 2'd2) ticks_since <= ticks_since + 1'b1;
    if (patience && ticks_now != 2'd2) ticks_now <= ticks_now + 1'b1;
    if (learned || decided || d_fires) begin
      suspects    <= 2'd0;
      ticks_since <= 2'd0;
    end
    if ((granted && s_packet[3:2] == followed) || decided || fires) begin
      suspects_now <= 2'd0;
      ticks_now    <= 2'd0;
      contested    <= fires;
    end
  end

  assign distance    = d_psn - next_psn;
  assign age         = -distance;
  assign known       = token_valid && ours && d_flow && !d_quiet && !granted_2;
  assign judged      = known && !(d_over && d_roce);
  assign far         = distance[23] ? age > 24'(2 * SLOT_COUNT + 1) : distance >= 24'(SLOT_COUNT);
  assign other_job   = (d_opcode == ina_pkg::RC_SEND_ONLY || d_opcode == ina_pkg::RC_SEND_FIRST)
      && d_packet[JOB_ID_AT] != job_id;
  assign windowless  = d_broken && d_sums == '0;
  assign suspect     = judged && (d_candidate ? d_ok && ((far && !windowless) || other_job)
                                              : d_roce);
  assign decided     = judged && d_candidate && d_ok && !far && !other_job;
  assign out         = suspect && suspects == 2'd3 && ticks_since == 2'd2;
  assign well_formed = (d_opcode == ina_pkg::RC_SEND_ONLY) ? d_quads >= 3'd3
      : d_opcode != ina_pkg::RC_SEND_FIRST || d_quads >= 3'd2;
  assign in_raw      = age > 24'(d_fill) && age <= 24'(d_fill) + 24'(d_raw);
  assign in_history  = age > 24'(d_fill) + 24'(d_raw)
      && age <= 24'(d_fill) + 24'(d_raw) + 24'(d_sums);

  // The packet that came at another port in the clock before: did it belong to the followed connection, or to
  // any flow here?
  logic contest_ours;
  logic contest_any;
  logic d_rst;

  always_ff @(posedge clk) begin
    contest_ours <= flow && contest_job == job;
    contest_any  <= contest_valid && has_flow[contest_job];
    d_rst        <= rst;
  end

  // The clocks in which the ingress stands still although no JOIN asks.
  logic [1:0] still;

  always_ff @(posedge clk) still <= (rst || en || ask_valid) ? '0 : still + 1'b1;

  always_comb begin
    if (!rst) begin
      if (token_valid) begin
        p1_last: assert (d_valid && d_last && !had_token);
      end
      if (d_valid && d_last && d_en) begin
        p1_token: assert (token_valid || had_token);
      end
      if (ask_valid) begin
        p2_one_hit: assert (!(flow && !out && !leaves && !job_freed[job] && s_packet[3:2] == followed));
        p13_asks:   assert (!s_quiet);
        p9_join:    assert (!en && s_valid && s_first && s_last && s_ok && s_packet[0]
            && s_packet[15:14] == 2'd1);
      end
      if (d_ask && !d_answer) begin
        p9_waits:   assert (ask_valid);
      end
      if (commit_valid && ours) begin
        p5_flow: assert (d_flow);
        if (granted_2) begin
          p5_opens: assert (write_opens && write_job == granted_job);
        end else begin
          p3_in_order: assert (distance == '0 && !write_opens);
          p4_own_job:  assert (write_job == job);
        end
        p4_right:  assert (d_ok && d_candidate && well_formed);
        p4_whole:  assert (whole);
        p4_header: assert (commit_header == ((recovers && !granted_2) ? asking : d_header));
        p10_leave: assert (granted_2 || break_valid || d_complete
            || !(d_type == ina_pkg::TYPE_LEAVE && d_opcode == ina_pkg::RC_SEND_ONLY
                 && d_quads == 3'd3));
      end
      p5_granted: assert (!(granted_2 && !commit_valid));
      if (decided) begin
        if (distance == '0 && whole && well_formed) begin
          p3_takes: assert (commit_valid);
        end
        if (distance == '0 && !well_formed) begin
          p10_short: assert (token_pass && break_valid);
        end
        if (distance == '0 && d_first && d_last && well_formed
            && d_fill < (FILL_W + 1)'(SLOT_COUNT) && (!d_early || d_broken)) begin
          p3_room:  assert (commit_valid);
        end
        if (d_first && d_last && d_early && !d_broken) begin
          p6_early: assert (!commit_valid);
        end
        if (distance[23] && age > 24'(d_fill)) begin
          p7_answers: assert ((resend_valid && !resend_probe) == in_history);
          p7_passes:  assert (token_pass == in_raw);
          p7_older:   assert (in_raw || in_history || (resend_valid && resend_probe));
        end
        if (distance[23] && age <= 24'(d_fill)) begin
          p7_waits: assert (!token_pass && !resend_valid);
        end
        if (resend_valid) begin
          p7_job:   assert (resend_job == job);
          p7_alone: assert (!commit_valid);
        end
        if (distance[23] && resend_valid && !resend_probe) begin
          p7_as_it_is: assert (commit_header == asking);
        end
        if (!distance[23] && distance != '0) begin
          p8_gap:   assert (!token_pass || d_broken || (d_sums == '0 && break_valid));
          p8_probe: assert (!resend_valid || resend_probe);
        end
        p4_hit: assert (hit_valid && hit_job == job);
        p12_caught_up: assert (caught_up == !(resend_valid && !resend_probe));
      end
      if (token_valid && d_quiet || known && !judged) begin
        p13_quiet: assert (!token_pass && !commit_valid && !resend_valid && !hit_valid);
      end
      if (suspect) begin
        p14_drops: assert (!token_pass && !commit_valid && !resend_valid && !caught_up);
        p14_out:   assert (break_valid == out && leave_valid == out && (!out || hit_job == job));
      end
      if (contest_ours && !d_rst) begin
        p16_breaks: assert (contest_breaks == breaks);
        p16_leaves: assert (contest_leaves == leaves);
      end
      p16_only: assert (contest_any || d_rst || !(contest_breaks || contest_leaves));
      if (token_valid && ours && !decided) begin
        p15_heard: assert (!hit_valid);
      end
      p6_either: assert (!(commit_valid && (token_pass || resend_valid)));
      p6_passed: assert (!(resend_valid && token_pass));
      p6_commit: assert (!commit_valid || (token_valid && write_valid));
      p6_only:   assert (token_valid || !(break_valid || leave_valid || hit_valid || resend_valid
          || caught_up));
      p6_room:   assert (!commit_valid || write_opens
          || fills[write_job*FILL_W +: FILL_W] < FILL_W'(SLOT_COUNT));
      p6_count:  assert (events[ina_pkg::COUNT_PACKETS_TAKEN] == commit_valid
          && events[ina_pkg::COUNT_FRAMES_IN] == token_valid);
      p9_goes:   assert (still <= 2'd2);
    end
  end

  logic [2:0] taken;  // of the followed connection
  logic       freed;

  always_ff @(posedge clk) begin
    if (rst) begin
      taken <= '0;
      freed <= 1'b0;
    end else begin
      if (ours && commit_valid && taken != '1) taken <= taken + 1'b1;
      if (flow && job_freed[job]) freed <= 1'b1;
    end
  end

  always_comb begin
    if (!rst) begin
      three:    cover (taken == 3'd3 && next_psn == 24'd1);
      again:    cover (freed && flow && taken == 3'd2);
      recovery: cover (ours && commit_valid && recovers && !d_header[ACK_AT] && !granted_2);
      answers:  cover (ours && d_flow && resend_valid && !resend_probe);
      probes:   cover (ours && d_flow && resend_valid && resend_probe);
      puts_out: cover (out);
      breaks_1: cover (breaks);
      leaves_2: cover (leaves);
      older:    cover (decided && distance[23] && resend_valid && resend_probe);
      quiet:    cover (token_valid && d_quiet && d_candidate && d_ok);
      over:     cover (known && !judged && d_candidate && d_ok);
      two_jobs: cover (has_flow == '1);
      beats:    cover (ours && d_flow && commit_valid && write_beat == 6'd2);
    end
  end
endmodule

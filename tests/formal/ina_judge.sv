// SPDX-License-Identifier: Apache-2.0
//
// ina_judge: what is taken is taken once and in PSN order. The proof follows one connection (a key
// of the solver's choice: source IP, destination IP, destination QPN) among all frames, with
// ina_jobs' answers and the queue's state as any environment that keeps its contract may give them.
//
//   1. One token a frame, in the clock in which the judge decides on its last beat.
//   2. The flow table never has two hits: while the followed connection has a flow, no JOIN of it
//      asks for another; so its key is in one context at most.
//   3. A contribution of the followed connection is taken only with the flow's next PSN: with the
//      PSN after the one that was taken last. So none is taken twice, and none out of order.
//      The packet with that PSN is taken where there is room and its iCRC and shape are right.
//   4. It is taken into its own job, only if its iCRC is right, and only if all its beats were
//      written there: beat 0, 1, 2 and so on without a gap.
//   5. Nothing of it is taken while it has no flow; its first packet is the JOIN that was granted.
//   6. A frame is not both taken and passed, and nothing is taken where the queue has no room.
//   7. A retransmission of the followed connection is answered only if its packet has left the
//      queue as a sum, and then always; one that still waits in the queue is neither passed nor
//      answered; any other is passed.
//   8. A packet past a gap goes on only if its job is broken or breaks; else as a probe at most.
//   9. The port's ingress stops if and only if a JOIN waits for its answer.

module formal_ina_judge (
    input logic clk
);
  localparam int JOB_COUNT  = 2;
  localparam int SLOT_COUNT = 2;
  localparam int JOB_W      = 1;
  localparam int SLOT_W     = 1;
  localparam int FILL_W     = 2;
  localparam int RAW_W      = 24;
  localparam int KEY_W      = 88;

  logic rst;
  formal_reset reset (.clk, .rst);

  // A frame's beats, as ina_check gives them; they hold while en = 0.
  (* anyseq *) logic         s_valid;
  (* anyseq *) logic         s_last;
  (* anyseq *) logic [1:0]   source;
  logic [23:0]               psn;
  (* anyseq *) logic [2:0]   opcode;
  (* anyseq *) logic [2:0]   quads;
  (* anyseq *) logic [1:0]   message_type;
  (* anyseq *) logic         s_candidate;
  (* anyseq *) logic         s_roce_data;
  (* anyseq *) logic         s_ok;
  logic                      s_first;
  ina_pkg::header_t          s_header;
  logic [31:0]               s_lane_0;
  logic                      en;
  logic                      in_frame;

  // PSNs round 0, where they wrap: the distances that decide are small.
  (* anyseq *) logic [3:0] psn_low;

  assign psn = {{20{psn_low[3]}}, psn_low};

  always_comb begin
    s_header = '0;
    s_header.quads = 9'(quads);
    s_header.bytes[ina_pkg::IP_SOURCE_AT*8 +: 2]  = source;
    s_header.bytes[ina_pkg::BTH_OPCODE_AT*8 +: 3] = opcode;
    s_header.bytes[ina_pkg::BTH_PSN_AT*8 +: 24]   = {psn[7:0], psn[15:8], psn[23:16]};
  end
  assign s_lane_0 = {6'd0, message_type, ina_pkg::MESSAGE_MAGIC_VERSION};
  assign s_first  = !in_frame;

  always_ff @(posedge clk) begin
    if (rst) in_frame <= 1'b0;
    else if (s_valid && en) in_frame <= !s_last;
  end

  logic        held;
  logic [18:0] beat;
  logic [18:0] beat_before;
  logic [14:0] packet;
  logic [14:0] packet_before;

  assign packet = {message_type, psn_low, source, opcode, quads, s_candidate};
  assign beat = {s_valid, s_ok, s_last, s_roce_data, packet};
  always_ff @(posedge clk) begin
    held        <= !rst && s_valid && !en;
    beat_before <= beat;
    if (s_valid) packet_before <= packet;
  end

  always_comb begin
    if (held) assume (beat == beat_before);
    // A packet has one header; what is no candidate has one beat.
    if (in_frame || held) assume (packet == packet_before);
    if (!s_candidate) assume (s_last);
    if (s_candidate) assume (s_roce_data);
  end

  // ina_jobs.
  logic                        ask_valid;
  (* anyseq *) logic           answer_valid;
  (* anyseq *) logic           answer_granted;
  (* anyseq *) logic [JOB_W-1:0] answer_job;
  (* anyseq *) logic [JOB_COUNT-1:0] job_complete;
  (* anyseq *) logic [JOB_COUNT-1:0] job_broken;
  (* anyseq *) logic [JOB_COUNT-1:0] job_freed;
  logic [JOB_COUNT-1:0]        has_flow;  // this port is in the job
  logic [JOB_COUNT-1:0]        broken_before;
  logic                        granted;

  assign granted = ask_valid && answer_valid && answer_granted;

  always_ff @(posedge clk) begin
    for (int j = 0; j < JOB_COUNT; j++) begin
      if (rst || job_freed[j]) has_flow[j] <= 1'b0;
      if (!rst && granted && answer_job == JOB_W'(j)) has_flow[j] <= 1'b1;
    end
    broken_before <= rst ? '0 : job_broken & ~job_freed;
  end

  always_comb begin
    if (answer_valid) assume (ask_valid);
    // A context is given out in a clock after it was freed, and a port joins a job once.
    if (granted) assume (!has_flow[answer_job] && !job_freed[answer_job]
        && queue_fill[answer_job*FILL_W +: FILL_W] == '0);
    assume ((broken_before & ~job_broken) == '0);
  end

  // ina_queue: the fill follows the commits and pops; what has left is any sum or raw packets.
  (* anyseq *) logic [JOB_COUNT-1:0]        pop;
  (* anyseq *) logic [JOB_COUNT*RAW_W-1:0]  queue_raw;
  (* anyseq *) logic [JOB_COUNT*FILL_W-1:0] queue_sums;
  (* anyseq *) logic [JOB_COUNT*SLOT_W-1:0] queue_head;
  logic [JOB_COUNT*FILL_W-1:0] queue_fill;
  logic                        write_valid;
  logic [JOB_W-1:0]            write_job;
  logic [ina_pkg::BEAT_INDEX_W-1:0] write_beat;
  logic                        commit_valid;

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_queue
    always_ff @(posedge clk) begin
      if (rst || job_freed[j]) queue_fill[j*FILL_W +: FILL_W] <= '0;
      else
        queue_fill[j*FILL_W +: FILL_W] <= queue_fill[j*FILL_W +: FILL_W]
            + FILL_W'(commit_valid && write_job == JOB_W'(j)) - FILL_W'(pop[j]);
    end
    always_comb begin
      if (queue_fill[j*FILL_W +: FILL_W] == '0) assume (!pop[j]);
      assume (queue_sums[j*FILL_W +: FILL_W] <= FILL_W'(SLOT_COUNT));
      assume (queue_raw[j*RAW_W + 3 +: RAW_W - 3] == '0);
    end
  end

  logic              token_valid;
  logic              token_pass;
  logic              break_valid;
  logic              resend_valid;
  logic              resend_probe;
  (* anyseq *) logic resend_ready;

  ina_judge #(.JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT)) dut (
      .clk, .rst, .en,
      .s_valid, .s_first, .s_last, .s_header, .s_lane_0, .s_candidate, .s_roce_data, .s_ok,
      .token_valid, .token_pass,
      .ask_valid, .answer_valid, .answer_granted, .answer_job,
      .job_complete, .job_broken, .job_freed, .break_valid, .leave_valid(), .hit_job(),
      .write_valid, .write_job, .write_beat, .commit_valid,
      .queue_fill, .queue_raw, .queue_sums, .queue_head,
      .resend_valid, .resend_ready, .resend_probe, .resend_job(), .resend_slot(),
      .resend_header(), .events());

  // The followed connection's record.
  (* anyconst *) logic [1:0] followed;
  logic              ours;      // the packet is one of it
  logic              flow;      // it has a flow
  logic [JOB_W-1:0]  job;
  logic [23:0]       next_psn;
  logic [23:0]       distance;
  logic [23:0]       age;
  logic [FILL_W-1:0] fill;
  logic [RAW_W-1:0]  raw;
  logic [FILL_W-1:0] sums;
  logic [3:0]        written;   // beats of this packet, without a gap from 0
  logic              gap;
  logic              whole;     // with this clock's
  logic              well_formed;

  assign ours     = s_valid && source == followed;
  assign distance = psn - next_psn;
  assign age      = -distance;
  assign fill     = queue_fill[job*FILL_W +: FILL_W];
  assign raw      = queue_raw[job*RAW_W +: RAW_W];
  assign sums     = queue_sums[job*FILL_W +: FILL_W];
  assign well_formed = (8'(opcode) == ina_pkg::RC_SEND_ONLY) ? quads >= 3'd3
      : 8'(opcode) != ina_pkg::RC_SEND_FIRST || quads >= 3'd2;
  assign whole    = write_valid && (s_first || !gap)
      && write_beat == (s_first ? '0 : ina_pkg::BEAT_INDEX_W'(written));

  always_ff @(posedge clk) begin
    if (rst) begin
      flow <= 1'b0;
    end else begin
      if (flow && job_freed[job]) flow <= 1'b0;
      if (ours && granted) begin
        flow     <= 1'b1;
        job      <= answer_job;
        next_psn <= psn + 1'b1;
      end else if (ours && commit_valid) begin
        next_psn <= next_psn + 1'b1;
      end
    end
    if (s_valid && en) begin
      written <= (s_first ? '0 : written) + 4'd1;
      gap     <= !whole;
    end
  end

  // A packet that began before its flow was freed has lost it: a frame must not outlive its flow,
  // which is why a context waits until its LEAVEs have gone out.
  always_comb begin
    if (in_frame && flow) assume (!job_freed[job]);
  end

  always_comb begin
    if (!rst) begin
      p1_token: assert (token_valid == (s_valid && s_last && en));
      if (flow && ours) begin
        p2_one_hit: assert (!ask_valid);
        if (commit_valid) begin
          p3_in_order: assert (psn == next_psn);
          p4_own_job:  assert (write_job == job && s_ok && s_candidate);
          p4_whole:    assert (whole);
        end
        if (s_last && en && s_ok && s_candidate && distance == '0 && whole && well_formed) begin
          p3_takes:    assert (commit_valid);
        end
        if (s_last && en && s_ok && s_candidate && distance[23] && age > 24'(fill)) begin
          p7_answers:  assert (resend_valid == (age > 24'(fill) + raw
              && age <= 24'(fill) + raw + 24'(sums)) && token_pass != resend_valid);
        end
        if (s_last && s_ok && s_candidate && distance[23]) begin
          p7_waits: assert (!(age <= 24'(fill)) || (!token_pass && !resend_valid));
          if (resend_valid) begin
            p7_was_sum: assert (age > 24'(fill) + raw && age <= 24'(fill) + raw + 24'(sums));
          end
        end
        if (s_last && s_ok && s_candidate && !distance[23] && distance != '0) begin
          p8_gap:   assert (!token_pass || job_broken[job] || break_valid);
          p8_probe: assert (!resend_valid || resend_probe);
        end
      end
      if (ours && commit_valid && !flow) begin
        p5_granted: assert (granted && write_job == answer_job);
      end
      p6_either: assert (!(commit_valid && (token_pass || resend_valid)));
      p6_passed: assert (!(token_pass && resend_valid));
      p6_commit: assert (!commit_valid || (token_valid && write_valid));
      p6_room:   assert (!commit_valid
          || queue_fill[write_job*FILL_W +: FILL_W] < FILL_W'(SLOT_COUNT));
      p9_stops:  assert (en != (ask_valid && !answer_valid));
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
      again:    cover (freed && flow && taken == 3'd3);
      answers:  cover (ours && flow && resend_valid && !resend_probe);
      probes:   cover (ours && flow && resend_valid && resend_probe);
      two_jobs: cover (has_flow == '1);
      beats:    cover (ours && flow && commit_valid && write_beat == 6'd2);
    end
  end
endmodule

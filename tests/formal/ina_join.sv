// SPDX-License-Identifier: Apache-2.0
//
// ina_join: no sum enters the tree without all ranks, and every operand is the beat that belongs
// there. Each RAM answers a read with a beat that names its port and its place, so that a wrong
// operand shows; the headers and the lanes that decide are any. The switch stands by itself.
//
//   1. A packet enters the tree as it was chosen: kind, job, slot and ports; for a join those are
//      all ports of the job (ina_pick, 2). Chosen packets enter in their order, none twice.
//   2. Every port that takes part contributes the beat of its own queue at this job, slot and
//      beat, and no other port anything; a retransmission the history's, alone, whatever ports it
//      goes to; a probe zeros.
//   3. Whole packets: beats 0, 1, 2 and so on without a gap in time, `first` with beat 0, `last`
//      with the last one of the packet's length.
//   4. ina_rebuild gets the headers of exactly the ports that take part, with the first beat: the
//      queue's at this job and slot, or the oldest retransmission's.
//   5. Packets of a join that differ in opcode, length or EQUAL lanes (a JOIN has one less) do not enter, nor do those of
//      a message that is no JOIN, LEAVE, or known operation on known numbers; neither does anything
//      summed of a job that is broken, closing or free, or had such packets. They are called off.
//      A job is closing from the LEAVE that enters until it is free.
//   6. What is chosen is settled once, with its first beat: it enters whole, or is called off whole.
//      All else enters, but for retransmissions that are marked as dropped, and those that differ in
//      length from the sum; both kinds and those that are answered are counted apart.
//   7. A retransmission's header is removed from each of its ports before it is settled, once, and
//      from no other.

module formal_ina_join (
    input logic clk
);
  localparam int PORT_COUNT = 2;
  localparam int JOB_COUNT  = 2;
  localparam int SLOT_COUNT = 4;
  localparam int JOB_W      = 1;
  localparam int SLOT_W     = 2;
  localparam int BEAT_W     = ina_pkg::BEAT_W;
  localparam int INDEX_W    = ina_pkg::BEAT_INDEX_W;
  localparam int QUADS_W    = ina_pkg::QUADS_W;
  localparam int HEADER_T_W = ina_pkg::HEADER_T_W;
  localparam int CHOICE_W   = 2 + JOB_W + SLOT_W + PORT_COUNT + 2;
  localparam int OPCODE_AT  = ina_pkg::BTH_OPCODE_AT * 8;
  localparam int TAG_AT     = 480;  // lane 15: no EQUAL lane
  localparam int TAG_W      = 2 + JOB_W + SLOT_W + INDEX_W;

  logic rst;
  formal_reset reset (.clk, .rst);

  // ina_pick. A join has the ports of its job, a raw packet one, a retransmission any whose oldest
  // ones have the same length.
  (* anyseq *) logic                  s_valid;
  (* anyseq *) logic [1:0]            s_kind;
  (* anyseq *) logic [JOB_W-1:0]      s_job;
  (* anyseq *) logic [SLOT_W-1:0]     s_slot;
  (* anyseq *) logic [PORT_COUNT-1:0] s_mask;
  (* anyseq *) logic                  s_probe;
  (* anyseq *) logic                  s_dropped;
  logic                               s_ready;

  formal_stream #(.WIDTH(CHOICE_W), .ASSUME(1)) choice_rules (
      .clk, .rst, .valid(s_valid), .ready(s_ready),
      .payload({s_kind, s_job, s_slot, s_mask, s_probe, s_dropped}));

  always_comb begin
    assume (s_kind != 2'd3 && s_mask != '0);
    assume (s_kind != ina_pkg::KIND_RAW || s_mask == 2'd1 || s_mask == 2'd2);
    if (s_valid && s_kind == ina_pkg::KIND_RESEND && s_mask == '1)
      assume (oldest_quads[3:0] == oldest_quads[7:4]);
    assume (!(s_probe || s_dropped) || s_kind == ina_pkg::KIND_RESEND);
    assume (!(s_probe && s_dropped));
    // A port's next retransmission is chosen when the one before has been removed.
    if (s_valid && s_kind == ina_pkg::KIND_RESEND) assume ((resending & s_mask) == '0);
  end

  logic [PORT_COUNT-1:0] resending;  // a port's is taken over, its header not removed
  logic [PORT_COUNT-1:0] removed;    // it is removed, and not settled
  logic [PORT_COUNT-1:0] settles_resent;

  assign settles_resent = (m_kind == ina_pkg::KIND_RESEND) ? settled : '0;

  always_ff @(posedge clk) begin
    resending <= (resending & ~resend_pop)
        | ((s_valid && s_ready && s_kind == ina_pkg::KIND_RESEND) ? s_mask : '0);
    removed   <= (removed & ~settles_resent) | resend_pop;
    if (rst) resending <= '0;
    if (rst) removed <= '0;
  end

  logic [PORT_COUNT*4-1:0] oldest_quads;  // of each port's oldest retransmission

  // The RAMs: what was read in the clock before, and stays. A place's packet has one length.
  logic                  peek_read;
  logic [PORT_COUNT-1:0] header_read;
  logic [PORT_COUNT-1:0] beat_read;
  logic [JOB_W-1:0]      read_job;
  logic [SLOT_W-1:0]     read_slot;
  logic                  read_resend;
  logic [INDEX_W-1:0]    read_beat;
  logic                  history_read;
  logic [PORT_COUNT-1:0] resend_pop;
  logic [PORT_COUNT*QUADS_W-1:0]    peek_quads;
  logic [PORT_COUNT*HEADER_T_W-1:0] queue_header;
  logic [PORT_COUNT*BEAT_W-1:0]     queue_data;
  logic [BEAT_W-1:0]                history_data;

  // Length of the packet in a place: 1 to 12 quads, 3 beats at most; any, but one for each place.
  (* anyconst *) logic [PORT_COUNT*JOB_COUNT*SLOT_COUNT*4-1:0] lengths;

  function automatic logic [3:0] length_at(input logic [31:0] port, input logic [JOB_W-1:0] job,
                                           input logic [SLOT_W-1:0] slot);
    length_at = lengths[{port[0], job, slot, 2'b00} +: 4];
    if (length_at == '0 || length_at > 4'd12) length_at = 4'd5;
  endfunction

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_ram
    (* anyseq *) logic [2:0] any_opcode;
    (* anyseq *) logic [1:0] any_type;
    (* anyseq *) logic [1:0] any_lane;
    (* anyseq *) logic [2:0] any_number;
    (* anyseq *) logic [1:0] any_operation;
    (* anyseq *) logic [3:0] any_resend;
    logic [3:0]       resend_quads;  // of the oldest retransmission
    logic [3:0]       peeked;
    logic [3:0]       header_quads;
    logic [2:0]       opcode;
    logic [1:0]       message_type;
    logic [1:0]       lane;
    logic [2:0]       number;
    logic [1:0]       operation;
    logic [TAG_W-1:0] tag;

    always_ff @(posedge clk) begin
      if (peek_read)
        peeked <= s_kind == ina_pkg::KIND_RESEND ? resend_quads : length_at(p, s_job, s_slot);
      if (header_read[p]) begin
        header_quads <= read_resend ? resend_quads : length_at(p, read_job, read_slot);
        opcode       <= any_opcode;
      end
      if (beat_read[p]) begin
        message_type <= any_type;
        lane         <= any_lane;
        number       <= any_number;
        operation    <= any_operation;
        tag          <= {2'(p), read_job, read_slot, read_beat};
      end
    end

    always_ff @(posedge clk) if (rst || resend_pop[p]) resend_quads <= any_resend;
    always_comb assume (any_resend != '0 && any_resend <= 4'd12);

    assign oldest_quads[p*4 +: 4] = resend_quads;

    always_comb begin
      peek_quads[p*QUADS_W +: QUADS_W] = QUADS_W'(peeked);
      queue_header[p*HEADER_T_W +: HEADER_T_W] = '0;
      queue_header[p*HEADER_T_W + ina_pkg::HEADER_W +: QUADS_W] = QUADS_W'(header_quads);
      queue_header[p*HEADER_T_W + OPCODE_AT +: 3] = opcode;
      queue_data[p*BEAT_W +: BEAT_W] = '0;
      queue_data[p*BEAT_W +: 24] = ina_pkg::MESSAGE_MAGIC_VERSION;
      queue_data[p*BEAT_W + 24 +: 2] = message_type;
      queue_data[p*BEAT_W + 32 +: 3] = number;
      queue_data[p*BEAT_W + 40 +: 2] = operation;
      queue_data[p*BEAT_W + 192 +: 2] = lane;  // lane 6, the last EQUAL one
      queue_data[p*BEAT_W + TAG_AT +: TAG_W] = tag;
    end
  end

  // Length of the sum in a place: any, but one for each.
  (* anyconst *) logic [JOB_COUNT*SLOT_COUNT*4-1:0] sum_lengths;
  logic [3:0]       sum_quads;  // as peeked
  logic [TAG_W-1:0] history_tag;

  always_ff @(posedge clk) if (peek_read) sum_quads <= sum_lengths[{s_job, s_slot, 2'b00} +: 4];
  always_ff @(posedge clk) if (history_read) history_tag <= {2'd3, read_job, read_slot, read_beat};
  always_comb begin
    history_data = '0;
    history_data[TAG_AT +: TAG_W] = history_tag;
  end

  // Jobs: any.
  (* anyseq *) logic [JOB_COUNT-1:0] job_valid;
  (* anyseq *) logic [JOB_COUNT-1:0] job_broken;
  logic [JOB_COUNT-1:0] job_closing;
  logic                 mismatch_valid;
  logic                 undo_valid;
  logic [JOB_W-1:0]     undo_job;

  logic [PORT_COUNT-1:0]            resend_answered;
  logic [PORT_COUNT-1:0]            resend_differed;
  logic [PORT_COUNT-1:0]            settled;
  logic [PORT_COUNT-1:0]            header_valid;
  logic [PORT_COUNT*HEADER_T_W-1:0] header;
  logic                             m_valid;
  logic [PORT_COUNT-1:0]            m_mask;
  logic [PORT_COUNT-1:0]            m_leaves;
  logic [ina_pkg::FORMAT_W-1:0]     m_format;
  logic [PORT_COUNT*BEAT_W-1:0]     m_data;
  logic [1:0]                       m_kind;
  logic [JOB_W-1:0]                 m_job;
  logic [SLOT_W-1:0]                m_slot;
  logic [INDEX_W-1:0]               m_beat;
  logic                             m_first;
  logic                             m_last;
  logic [2:0]                       m_quads;

  ina_join #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT)) dut (
      .clk, .rst, .s_valid, .s_ready, .s_kind, .s_job, .s_slot, .s_from(s_mask), .s_mask, .s_part(1'b0), .s_probe,
      .s_dropped,
      .peek_read, .peek_quads, .header_read, .beat_read, .read_job, .read_slot, .read_resend,
      .read_beat, .queue_header, .queue_data, .history_read, .history_part(), .history_data,
      .history_quads(QUADS_W'(sum_quads)), .resend_pop, .resend_answered, .resend_differed,
      .job_valid, .job_broken, .job_closing, .mismatch_valid, .undo_valid, .undo_part(), .undo_job,
      .settled, .header_valid, .header, .header_ce(),
      .m_valid, .m_mask, .m_leaves, .m_data, .m_op(), .m_format, .m_kind, .m_part(), .m_job, .m_slot, .m_beat, .m_first, .m_last,
      .m_quads, .m_starts(), .m_ends(), .m_leave(), .busy());

  // Follow one chosen packet: `before` packets are settled first.
  (* anyseq *) logic   follow;
  logic                followed;
  logic                inside;     // its first beat has entered, its last has not
  logic [CHOICE_W-1:0] what;
  logic [2:0]          before;
  logic [2:0]          chosen;     // packets that are chosen and not settled
  logic                take;
  logic                settles;
  logic                its_turn;   // the followed packet settles in this clock
  logic [1:0]          kind;
  logic [JOB_W-1:0]    job;
  logic [SLOT_W-1:0]   slot;
  logic [PORT_COUNT-1:0] mask;
  logic                probe;
  logic                dropped;
  logic [INDEX_W-1:0]  beat;       // that comes next, of any packet
  logic                in_packet;
  logic                is_followed;

  assign take     = s_valid && s_ready;
  assign settles  = settled != '0;
  assign its_turn = followed && !inside && before == '0 && settles;
  assign {kind, job, slot, mask, probe, dropped} = what;
  assign is_followed = m_valid && (its_turn || inside);

  always_ff @(posedge clk) begin
    if (rst) begin
      followed  <= 1'b0;
      inside    <= 1'b0;
      chosen    <= '0;
      in_packet <= 1'b0;
    end else begin
      chosen <= chosen + 3'(take) - 3'(settles);
      if (!followed) begin
        if (take && follow) begin
          followed <= 1'b1;
          what     <= {s_kind, s_job, s_slot, s_mask, s_probe, s_dropped};
          before   <= chosen - 3'(settles);
        end
      end else if (its_turn || inside) begin
        inside   <= m_valid && !m_last;
        followed <= m_valid && !m_last;
      end else if (settles) begin
        before <= before - 1'b1;
      end
      if (m_valid) begin
        in_packet <= !m_last;
        beat      <= m_first ? 6'd1 : beat + 1'b1;
      end
    end
  end

  // What the operands must be.
  logic [PORT_COUNT-1:0] operand_right;
  logic [PORT_COUNT-1:0] length_right;  // the beat is its packet's last
  logic [PORT_COUNT-1:0] goes_on;       // more of its packet come

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_operand
    assign operand_right[p] = (m_kind == ina_pkg::KIND_RESEND)
        ? m_leaves == PORT_COUNT'(1)
            && m_data[TAG_AT +: TAG_W] == (probe ? TAG_W'(0) : {2'd3, m_job, m_slot, m_beat})
        : m_leaves == m_mask && m_data[p*BEAT_W + TAG_AT +: TAG_W] == {2'(p), m_job, m_slot, m_beat};
    logic [5:0] length;

    assign length = (m_kind == ina_pkg::KIND_RESEND) ? header[p*HEADER_T_W + ina_pkg::HEADER_W +: 6]
        : 6'(length_at(p, m_job, m_slot));
    assign length_right[p] = 6'(m_beat) * 4 + 6'(m_quads) == length;
    assign goes_on[p]      = 6'(m_beat) * 4 + 6'd4 < length;
  end

  logic alike;  // the first beats and headers at the output

  assign alike = header[OPCODE_AT +: 8] == header[HEADER_T_W + OPCODE_AT +: 8]
      && header[ina_pkg::HEADER_W +: QUADS_W] == header[HEADER_T_W + ina_pkg::HEADER_W +: QUADS_W]
      && ((m_data[191:0] == m_data[BEAT_W +: 192]
           && (m_data[31:24] == ina_pkg::TYPE_JOIN || m_data[223:192] == m_data[BEAT_W+192 +: 32]))
          || (header[OPCODE_AT +: 8] != ina_pkg::RC_SEND_FIRST
              && header[OPCODE_AT +: 8] != ina_pkg::RC_SEND_ONLY));

  // A message's start: of all ports alike, so of the lowest that takes part.
  logic [31:0] port_data;
  logic [7:0]  opcode;
  logic [8:0]  quads;
  logic [7:0]  number;
  logic [7:0]  operation;
  logic [7:0]  message_type;
  logic        starts;
  logic        known;

  assign opcode = m_mask[0] ? header[OPCODE_AT +: 8] : header[HEADER_T_W + OPCODE_AT +: 8];
  assign quads  = m_mask[0] ? header[ina_pkg::HEADER_W +: QUADS_W]
      : header[HEADER_T_W + ina_pkg::HEADER_W +: QUADS_W];
  assign port_data    = m_mask[0] ? m_data[24 +: 32] : m_data[BEAT_W + 24 +: 32];
  assign message_type = port_data[7:0];
  assign number       = port_data[15:8];
  assign operation    = port_data[23:16];
  assign starts = opcode == ina_pkg::RC_SEND_FIRST || opcode == ina_pkg::RC_SEND_ONLY;
  assign known  = (message_type == ina_pkg::TYPE_DATA) ? number >= 8'd1 && number <= 8'd4
          && operation >= 8'd1 && operation <= 8'd3
      : (message_type == ina_pkg::TYPE_JOIN || message_type == ina_pkg::TYPE_LEAVE)
          && opcode == ina_pkg::RC_SEND_ONLY && quads == 9'(ina_pkg::JOIN_QUADS);

  // Of the followed packet, a retransmission of a sum. Its header is there whether it enters or not.
  logic answers;
  logic differs;

  assign answers = kind == ina_pkg::KIND_RESEND && !probe && !dropped;
  assign differs = answers && quads != QUADS_W'(sum_lengths[{job, slot, 2'b00} +: 4]);

  // What was called off in the clock before, and the jobs that had packets which were not alike.
  logic                  called_off;
  logic                  stale;
  logic                  was_called_off;
  logic                  was_stale;
  logic [JOB_W-1:0]      its_job;
  logic [JOB_COUNT-1:0]  over;
  logic [JOB_COUNT-1:0]  left;  // its LEAVE has entered
  logic                  leaves;

  assign leaves     = m_valid && m_first && m_kind == ina_pkg::KIND_JOIN
      && opcode == ina_pkg::RC_SEND_ONLY && quads == 9'(ina_pkg::JOIN_QUADS)
      && message_type == ina_pkg::TYPE_LEAVE;
  assign called_off = settles && !m_valid && m_kind == ina_pkg::KIND_JOIN;
  assign stale      = job_broken[m_job] || job_closing[m_job] || !job_valid[m_job];

  always_ff @(posedge clk) begin
    was_called_off <= called_off && !rst;
    was_stale      <= stale;
    its_job        <= m_job;
    for (int j = 0; j < JOB_COUNT; j++) begin
      if (called_off && !stale && m_job == JOB_W'(j)) over[j] <= 1'b1;
      if (leaves && m_job == JOB_W'(j)) left[j] <= 1'b1;
      if (rst || !job_valid[j]) over[j] <= 1'b0;
      if (rst || !job_valid[j]) left[j] <= 1'b0;
    end
  end

  always_comb begin
    if (!rst) begin
      if (is_followed) begin
        p1_chosen: assert ({m_kind, m_job, m_slot, m_mask} == {kind, job, slot, mask});
        p2_operands: assert ((m_mask & ~operand_right) == '0);
      end
      if (m_valid) begin
        p3_first: assert (m_first == !in_packet && m_first == (m_beat == '0));
        p3_beat:  assert (m_first || m_beat == beat);
        if (m_last) begin
          p3_length: assert ((m_mask & ~length_right) == '0);
        end else begin
          p3_more:   assert ((m_mask & ~goes_on) == '0);
        end
      end
      p3_gap:     assert (m_valid || !in_packet);
      p4_headers: assert (header_valid == ((m_valid && m_first) ? m_mask : '0));
      if (m_valid && m_first && m_kind == ina_pkg::KIND_JOIN) begin
        p5_alike: assert (m_mask != '1 || alike);
        p5_known: assert (!starts || known);
        p5_job:   assert (!stale && !over[m_job]);
      end
      p5_closing: assert (job_closing == left);
      p5_undo:    assert (undo_valid == was_called_off);
      if (undo_valid) begin
        p5_what:  assert (undo_job == its_job);
      end
      p5_break:   assert (!mismatch_valid || (undo_valid && !was_stale));
      p6_settled: assert (!settles || chosen != '0);
      if (its_turn) begin
        p6_its:   assert (settled == mask);
        p6_enters: assert (kind == ina_pkg::KIND_JOIN || m_valid == !(dropped || differs));
        p6_counts: assert (resend_answered == ((answers && !differs) ? mask : '0)
            && resend_differed == (differs ? mask : '0));
      end
      p7_once:    assert ((resend_pop & ~resending) == '0);
      p7_all:     assert ((settles_resent & ~removed) == '0);
      p7_each:    assert ((resend_pop & removed & ~settles_resent) == '0);
    end
  end

  logic [1:0] sums;

  always_ff @(posedge clk) begin
    if (rst) sums <= '0;
    else if (m_valid && m_last && m_kind == ina_pkg::KIND_JOIN && m_mask == '1 && sums != '1)
      sums <= sums + 1'b1;
  end

  always_comb begin
    if (!rst) begin
      sum:      cover (is_followed && m_last && m_beat == 6'd1 && m_kind == ina_pkg::KIND_JOIN);
      two_sums: cover (sums == 2'd2);
      undone:   cover (mismatch_valid && sums == 2'd1);
      together: cover (is_followed && m_last && m_kind == ina_pkg::KIND_RESEND && m_mask == '1
          && !probe);
      differ:   cover (its_turn && differs);
      resent:   cover (is_followed && m_last && m_beat == 6'd1 && m_kind == ina_pkg::KIND_RESEND);
    end
  end
endmodule

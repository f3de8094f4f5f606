// SPDX-License-Identifier: Apache-2.0
//
// ina_join: no sum enters the tree without all ranks, and every operand is the beat that belongs there. Each
// RAM answers a read with a beat that names its port and its place, so that a wrong operand is noticed. The
// headers and the lanes that decide have any values.
//
//   1. A packet enters the tree as it was chosen: raw, sum or part, with its job, slot and ports. The
//      operands of a sum are those of all the job's children (ina_pick, 2). Chosen packets enter in their
//      order, none of them twice.
//   2. Every port that takes part contributes the beat of its own queue at this job, slot and beat.
//   3. Whole packets enter: beats 0, 1, 2 and so on without a gap in time, `first` with beat 0, `last` with
//      the last beat of the packet's length.
//   4. With the first beat, ina_rebuild gets the headers of exactly the ports that the packet leaves on. Each
//      is the queue's header at this job and slot, without its UDP checksum. It is to be marked if a header
//      of a port that takes part is marked.
//   5. The following packets do not enter, whether their headers leave or not. They are called off, and if
//      their job is in order, the first of them breaks it. (a) The packets of a sum that differ in opcode,
//      length or EQUAL lanes (a JOIN has one EQUAL lane less). (b) The packets of a message that is no JOIN
//      and no LEAVE, and has no known operation on known numbers. (c) Any sum of a job that is closing, or
//      that had packets of (a) or (b), or that the other path reported in the clock before as broken, free or
//      over. A job is closing from the LEAVE that enters, unless that is a part, until it is free.
//   6. A chosen packet is settled once, with its first beat: the whole packet enters, or the whole packet is
//      called off. A raw packet always enters.

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
  localparam int CHOICE_W   = 2 + JOB_W + SLOT_W + 2*PORT_COUNT;
  localparam int OPCODE_AT  = ina_pkg::BTH_OPCODE_AT * 8;
  localparam int CHECKSUM_AT = ina_pkg::UDP_CHECKSUM_AT * 8;
  localparam int TAG_AT     = 480;  // lane 15, which is no EQUAL lane
  localparam int TAG_W      = 2 + JOB_W + SLOT_W + INDEX_W;
  localparam int PLACES     = PORT_COUNT * JOB_COUNT * SLOT_COUNT;

  logic rst;
  formal_reset reset (.clk, .rst);

  // ina_pick. A raw packet has one port. A sum leaves on all ports that take part; a part leaves on one.
  (* anyseq *) logic                  s_valid;
  (* anyseq *) logic                  s_raw;
  (* anyseq *) logic                  s_part;
  (* anyseq *) logic [JOB_W-1:0]      s_job;
  (* anyseq *) logic [SLOT_W-1:0]     s_slot;
  (* anyseq *) logic [PORT_COUNT-1:0] s_from;
  (* anyseq *) logic [PORT_COUNT-1:0] s_mask;
  logic                               s_ready;

  formal_stream #(.WIDTH(CHOICE_W), .ASSUME(1)) choice_rules (
      .clk, .rst, .valid(s_valid), .ready(s_ready),
      .payload({s_raw, s_part, s_job, s_slot, s_from, s_mask}));

  always_comb begin
    assume (s_mask != '0 && (s_mask & ~s_from) == '0);
    assume (!(s_raw || s_part) || s_mask == 2'd1 || s_mask == 2'd2);
    assume (s_part || s_mask == s_from);
    assume (!(s_raw && s_part));
  end

  // The RAMs: the output is the data that was read in the clock before, and stays. The contents of a place
  // are any, but fixed: a packet's length (1 to 12 quads, at most 3 beats), opcode and mark.
  logic                  peek_read;
  logic [PORT_COUNT-1:0] header_read;
  logic [PORT_COUNT-1:0] beat_read;
  logic [JOB_W-1:0]      read_job;
  logic [SLOT_W-1:0]     read_slot;
  logic [INDEX_W-1:0]    read_beat;
  logic [PORT_COUNT*QUADS_W-1:0]    peek_quads;
  logic [PORT_COUNT*HEADER_T_W-1:0] queue_header;
  logic [PORT_COUNT*BEAT_W-1:0]     queue_data;

  (* anyconst *) logic [PLACES*4-1:0] lengths;
  (* anyconst *) logic [PLACES*3-1:0] opcodes;
  (* anyconst *) logic [PLACES-1:0]   marks;

  function automatic logic [3:0] length_at(input logic [31:0] port, input logic [JOB_W-1:0] job,
                                           input logic [SLOT_W-1:0] slot);
    length_at = lengths[{port[0], job, slot, 2'b00} +: 4];
    if (length_at == '0 || length_at > 4'd12) length_at = 4'd5;
  endfunction

  function automatic logic [2:0] opcode_at(input logic [31:0] port, input logic [JOB_W-1:0] job,
                                           input logic [SLOT_W-1:0] slot);
    opcode_at = opcodes[32'({port[0], job, slot}) * 3 +: 3];
  endfunction

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_ram
    (* anyseq *) logic [1:0] any_type;
    (* anyseq *) logic [1:0] any_lane;
    (* anyseq *) logic [2:0] any_number;
    (* anyseq *) logic [1:0] any_operation;
    logic [3:0]       peeked;
    logic [1:0]       message_type;
    logic [1:0]       lane;
    logic [2:0]       number;
    logic [1:0]       operation;
    logic [TAG_W-1:0] tag;
    logic [JOB_W-1:0]  header_job;
    logic [SLOT_W-1:0] header_slot;

    always_ff @(posedge clk) begin
      if (peek_read) peeked <= length_at(p, s_job, s_slot);
      if (header_read[p]) begin
        header_job  <= read_job;
        header_slot <= read_slot;
      end
      if (beat_read[p]) begin
        message_type <= any_type;
        lane         <= any_lane;
        number       <= any_number;
        operation    <= any_operation;
        tag          <= {2'(p), read_job, read_slot, read_beat};
      end
    end

    always_comb begin
      peek_quads[p*QUADS_W +: QUADS_W] = QUADS_W'(peeked);
      queue_header[p*HEADER_T_W +: HEADER_T_W] = '0;
      queue_header[p*HEADER_T_W +: 5] = {2'(p), header_job, header_slot};
      queue_header[p*HEADER_T_W + CHECKSUM_AT +: 16] = '1;
      queue_header[p*HEADER_T_W + ina_pkg::HEADER_W +: QUADS_W] =
          QUADS_W'(length_at(p, header_job, header_slot));
      queue_header[p*HEADER_T_W + OPCODE_AT +: 3] = opcode_at(p, header_job, header_slot);
      queue_header[p*HEADER_T_W + ina_pkg::CONGESTED_AT] = marks[{1'(p), header_job, header_slot}];
      queue_data[p*BEAT_W +: BEAT_W] = '0;
      queue_data[p*BEAT_W +: 24] = ina_pkg::MESSAGE_MAGIC_VERSION;
      queue_data[p*BEAT_W + 24 +: 2] = message_type;
      queue_data[p*BEAT_W + 32 +: 3] = number;
      queue_data[p*BEAT_W + 40 +: 2] = operation;
      queue_data[p*BEAT_W + 192 +: 2] = lane;  // lane 6, the last EQUAL lane
      queue_data[p*BEAT_W + TAG_AT +: TAG_W] = tag;
    end
  end

  // Jobs in any state.
  (* anyseq *) logic [JOB_COUNT-1:0] job_valid;
  (* anyseq *) logic [JOB_COUNT-1:0] job_broken;
  (* anyseq *) logic [JOB_COUNT-1:0] others_stopped;
  logic [JOB_COUNT-1:0] stopped;
  logic [JOB_COUNT-1:0] closing;
  logic                 undo_valid;
  logic [JOB_W-1:0]     undo_job;
  logic [JOB_COUNT-1:0] mismatch;

  logic [PORT_COUNT-1:0]            settled;
  logic [PORT_COUNT-1:0]            header_valid;
  logic [PORT_COUNT*HEADER_T_W-1:0] header;
  logic                             header_ce;
  logic                             m_load;
  logic                             m_valid;
  logic [PORT_COUNT-1:0]            m_mask;
  logic [PORT_COUNT-1:0]            m_from;
  logic [PORT_COUNT*BEAT_W-1:0]     m_data;
  logic                             m_raw;
  logic                             m_part;
  logic [JOB_W-1:0]                 m_job;
  logic [SLOT_W-1:0]                m_slot;
  logic [INDEX_W-1:0]               m_beat;
  logic                             m_first;
  logic                             m_last;
  logic [2:0]                       m_quads;
  logic                             m_leave;

  ina_join #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT)) dut (
      .clk, .rst, .s_valid, .s_ready, .s_raw, .s_job, .s_slot, .s_from, .s_mask, .s_part,
      .peek_read, .peek_quads, .header_read, .beat_read, .read_job, .read_slot, .read_beat,
      .queue_header, .queue_data,
      .job_valid, .job_broken, .others_stopped, .stopped, .closing, .undo_valid, .undo_job, .mismatch,
      .settled, .header_valid, .header, .header_ce,
      .m_load, .m_valid, .m_mask, .m_from, .m_data, .m_op(), .m_format(), .m_raw, .m_part, .m_job,
      .m_slot, .m_beat, .m_first, .m_last, .m_quads, .m_starts(), .m_ends(), .m_leave, .busy());

  // Follow one chosen packet: `before` packets are settled first.
  (* anyseq *) logic   follow;
  logic                followed;
  logic                inside;     // its first beat has entered, and its last beat has not
  logic [CHOICE_W-1:0] what;
  logic [2:0]          before;
  logic [2:0]          chosen;     // packets that were chosen and not settled
  logic                take;
  logic                settles;
  logic                its_turn;   // the followed packet settles in this clock
  logic                raw;
  logic                part;
  logic [JOB_W-1:0]    job;
  logic [SLOT_W-1:0]   slot;
  logic [PORT_COUNT-1:0] from;
  logic [PORT_COUNT-1:0] mask;
  logic [INDEX_W-1:0]  beat;       // the beat that comes next, of any packet
  logic                in_packet;
  logic                is_followed;

  assign take     = s_valid && s_ready;
  assign settles  = settled != '0;
  assign its_turn = followed && !inside && before == '0 && settles;
  assign {raw, part, job, slot, from, mask} = what;
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
          what     <= {s_raw, s_part, s_job, s_slot, s_from, s_mask};
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

  // The expected operands and headers.
  logic [PORT_COUNT-1:0] operand_right;
  logic [PORT_COUNT-1:0] header_right;
  logic [PORT_COUNT-1:0] length_right;  // the beat is its packet's last
  logic [PORT_COUNT-1:0] goes_on;       // more beats of its packet come
  logic [PORT_COUNT-1:0] marked;

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_operand
    logic [5:0] length;

    assign length           = 6'(length_at(p, m_job, m_slot));
    assign operand_right[p] = m_data[p*BEAT_W + TAG_AT +: TAG_W] == {2'(p), m_job, m_slot, m_beat};
    assign header_right[p]  = header[p*HEADER_T_W +: 5] == {2'(p), m_job, m_slot}
        && header[p*HEADER_T_W + OPCODE_AT +: 8] == 8'(opcode_at(p, m_job, m_slot))
        && header[p*HEADER_T_W + ina_pkg::HEADER_W +: QUADS_W] == QUADS_W'(length)
        && header[p*HEADER_T_W + CHECKSUM_AT +: 16] == '0;
    assign length_right[p]  = 6'(m_beat) * 4 + 6'(m_quads) == length;
    assign goes_on[p]       = 6'(m_beat) * 4 + 6'd4 < length;
    assign marked[p]        = m_from[p] && marks[{1'(p), m_job, m_slot}];
  end

  // Whether both ports are alike; and whether the lowest port that takes part has a packet that can be
  // summed.
  logic        alike;
  logic [31:0] port_data;
  logic [2:0]  opcode;
  logic [3:0]  quads;
  logic [7:0]  number;
  logic [7:0]  operation;
  logic [7:0]  message_type;
  logic        starts;
  logic        control;
  logic        known;

  assign opcode = m_from[0] ? opcode_at(0, m_job, m_slot) : opcode_at(1, m_job, m_slot);
  assign quads  = m_from[0] ? length_at(0, m_job, m_slot) : length_at(1, m_job, m_slot);
  assign port_data    = m_from[0] ? m_data[24 +: 32] : m_data[BEAT_W + 24 +: 32];
  assign message_type = port_data[7:0];
  assign number       = port_data[15:8];
  assign operation    = port_data[23:16];
  assign starts  = opcode == ina_pkg::RC_SEND_FIRST || opcode == ina_pkg::RC_SEND_ONLY;
  assign control = opcode == ina_pkg::RC_SEND_ONLY && quads == 4'(ina_pkg::JOIN_QUADS);
  assign known   = (message_type == ina_pkg::TYPE_DATA) ? number >= 8'd1 && number <= 8'd4
          && operation >= 8'd1 && operation <= 8'd3
      : control && (message_type == ina_pkg::TYPE_JOIN || message_type == ina_pkg::TYPE_LEAVE);
  assign alike = opcode_at(0, m_job, m_slot) == opcode_at(1, m_job, m_slot)
      && length_at(0, m_job, m_slot) == length_at(1, m_job, m_slot)
      && (!starts || (m_data[191:0] == m_data[BEAT_W +: 192]
                      && (message_type == ina_pkg::TYPE_JOIN
                          || m_data[223:192] == m_data[BEAT_W+192 +: 32])));

  // The packets called off in the clock before, and the jobs that had packets which were not alike.
  logic                  called_off;
  logic                  stale;
  logic                  was_called_off;
  logic                  was_stale;
  logic                  was_perhaps;
  logic [JOB_W-1:0]      its_job;
  logic [JOB_COUNT-1:0]  differed;  // its packets
  logic [JOB_COUNT-1:0]  perhaps;   // ... or those of a job that was over anyway
  logic [JOB_COUNT-1:0]  left;      // its LEAVE has entered
  logic [JOB_COUNT-1:0]  lost;      // broken, free or over on the other path, in the clock before
  logic                  is_leave;

  assign is_leave   = m_first && control && message_type == ina_pkg::TYPE_LEAVE && !m_part;
  assign called_off = settles && !m_valid;
  assign stale      = lost[m_job] || left[m_job] || differed[m_job];

  always_ff @(posedge clk) begin
    lost           <= job_broken | others_stopped | ~job_valid;
    was_called_off <= called_off && !rst;
    was_stale      <= stale;
    was_perhaps    <= stale || perhaps[m_job];
    its_job        <= m_job;
    for (int j = 0; j < JOB_COUNT; j++) begin
      if (called_off && !stale && m_job == JOB_W'(j)) differed[j] <= 1'b1;
      if (called_off && m_job == JOB_W'(j)) perhaps[j] <= 1'b1;
      if (m_valid && is_leave && !m_raw && m_job == JOB_W'(j)) left[j] <= 1'b1;
      if (rst || !job_valid[j]) differed[j] <= 1'b0;
      if (rst || !job_valid[j]) perhaps[j] <= 1'b0;
      if (rst || !job_valid[j]) left[j] <= 1'b0;
    end
  end

  always_comb begin
    if (!rst) begin
      if (is_followed) begin
        p1_chosen: assert ({m_raw, m_part, m_job, m_slot, m_from, m_mask} == what);
      end
      if (m_valid) begin
        p2_operands: assert ((m_from & ~operand_right) == '0);
        p3_first: assert (m_first == !in_packet && m_first == (m_beat == '0));
        p3_beat:  assert (m_first || m_beat == beat);
        if (m_last) begin
          p3_length: assert ((m_from & ~length_right) == '0);
          p5_leave:  assert (m_leave == is_leave);
        end else begin
          p3_more:   assert ((m_from & ~goes_on) == '0);
        end
      end
      p3_gap:     assert (m_valid || !in_packet);
      p4_headers: assert (header_valid == ((m_valid && m_first) ? m_mask : '0));
      p4_what:    assert ((header_valid & ~header_right) == '0);
      if (header_valid != '0) begin
        p4_marked: assert (header_ce == (!m_raw && marked != '0));
      end
      if (m_valid && m_first && !m_raw) begin
        p5_alike: assert (m_from != '1 || alike);
        p5_known: assert (!starts || known);
        p5_job:   assert (!stale);
      end
      p5_closing: assert (closing == left);
      p5_stopped:    assert (((left | differed) & ~stopped) == '0 && (stopped & ~left & ~perhaps) == '0);
      p5_undo:    assert (undo_valid == was_called_off);
      if (undo_valid) begin
        p5_what:  assert (undo_job == its_job);
      end
      p5_break:   assert ((mismatch & ~((undo_valid && !was_stale) ? JOB_COUNT'(1) << its_job : '0)) == '0);
      p5_breaks:  assert (!undo_valid || was_perhaps || mismatch[its_job]);
      p6_settled: assert (!settles || chosen != '0);
      p6_load:    assert (!m_valid || m_load);
      if (its_turn) begin
        p6_its:   assert (settled == mask);
        p6_raw:   assert (!raw || m_valid);
      end
    end
  end

  logic [1:0] sums;

  always_ff @(posedge clk) begin
    if (rst) sums <= '0;
    else if (m_valid && m_last && !m_raw && m_from == '1 && sums != '1) sums <= sums + 1'b1;
  end

  always_comb begin
    if (!rst) begin
      sum:      cover (is_followed && m_last && m_beat == 6'd1 && !raw && !part);
      a_part:   cover (is_followed && m_last && part && from == '1);
      two_sums: cover (sums == 2'd2);
      undone:   cover (mismatch != '0 && sums == 2'd1);
      part_off: cover (its_turn && !m_valid && part && from == '1 && !stale);
      ends:     cover (closing != '0 && sums == 2'd1);
      rest_raw: cover (is_followed && m_last && raw && sums == 2'd1);
    end
  end
endmodule

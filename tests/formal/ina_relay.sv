// SPDX-License-Identifier: Apache-2.0
//
// ina_relay: a packet from above leaves only if it is the sum of the part that went up, a retransmission is
// answered from the history that it asks for, and each packet leaves whole and once. Each RAM answers a read
// with data that names its port or history and its place, so that a wrong one is noticed. Lengths, opcodes
// and the lanes that decide are any, but fixed for each place. The proof keeps a list of the chosen packets,
// which are settled in its order.
//
//   1. A packet leaves as it was chosen: kind, job, slot and ports. No packet leaves twice.
//   2. Its payload is the contents of the queue of the port that it comes from, at this job, slot and beat.
//      The payload of a retransmission comes from a history: that of sums from above if it asks for that,
//      otherwise that of sums from here. The payload of a probe is zeros. After the end there are zeros.
//      (Nothing is claimed of a packet of a single quad: all its lanes may have to be equal.)
//   3. Whole packets leave: beats 0, 1, 2 and so on without a gap in time, `first` with beat 0, `last` with
//      the last beat of the packet's length. No two end in consecutive clocks.
//   4. A clock before the first beat, ina_rebuild gets the headers of exactly the ports that the packet
//      leaves on, without their UDP checksum. They are the queues' headers at this job and slot, or those of
//      the oldest retransmissions. A sum from above is to be marked if its own packet is marked; no other
//      packet is.
//   5. A sum from above leaves if and only if all of these hold: all packets that leave with it have its
//      opcode and length; the part of its number has its length; if a message starts, the part has its EQUAL
//      lanes (a JOIN has one less, and the part grants no less than the JOIN); its job is not closing and had
//      no packets that broke these rules; and the other path did not report the job as broken, free or over
//      in the clock before. Otherwise it is called off, and breaks its job if that was in order. A job is
//      closing from its LEAVE on, until it is free.
//   6. A chosen packet is settled once: it leaves whole, or is called off whole. Raw packets and probes
//      leave. Other retransmissions leave unless they are marked as dropped, or differ in length from the sum
//      that they ask for. Both of these and the answers have separate counters.
//   7. A retransmission's header is removed from each of its ports before it is settled, once, and from no
//      other port.
//   8. No header is read in a clock in which the other path reads headers. The other path's reads in other
//      clocks have no effect.

module formal_ina_relay (
    input logic clk
);
  localparam int PORT_COUNT = 2;
  localparam int JOB_COUNT  = 2;
  localparam int SLOT_COUNT = 2;
  localparam int JOB_W      = 1;
  localparam int SLOT_W     = 1;
  localparam int BEAT_W     = ina_pkg::BEAT_W;
  localparam int INDEX_W    = ina_pkg::BEAT_INDEX_W;
  localparam int QUADS_W    = ina_pkg::QUADS_W;
  localparam int HEADER_T_W = ina_pkg::HEADER_T_W;
  localparam int OPCODE_AT  = ina_pkg::BTH_OPCODE_AT * 8;
  localparam int CHECKSUM_AT = ina_pkg::UDP_CHECKSUM_AT * 8;
  localparam int PLACE_W    = JOB_W + SLOT_W;
  localparam int PLACES     = JOB_COUNT * SLOT_COUNT;
  localparam int TAG_W      = 3 + PLACE_W + INDEX_W;
  localparam int LANE_7_AT  = 7 * 32;   // no EQUAL lane
  localparam int LANE_15_AT = 15 * 32;  // no EQUAL lane either
  localparam int SEQUENCE_W = 2;
  localparam logic [1:0] KIND_JOIN   = ina_pkg::KIND_JOIN;
  localparam logic [1:0] KIND_RAW    = ina_pkg::KIND_RAW;
  localparam logic [1:0] KIND_RESEND = ina_pkg::KIND_RESEND;
  localparam logic [1:0] KIND_DOWN   = ina_pkg::KIND_DOWN;
  // The fields of a tag. The number for "from here" is less than that for "from a queue": the tag counts in
  // the lane of the window.
  localparam logic [2:0] FROM_HERE  = 3'd2;
  localparam logic [2:0] FROM_ABOVE = 3'd3;
  localparam logic [2:0] FROM_QUEUE = 3'd4;  // and the port

  logic rst;
  formal_reset reset (.clk, .rst);

  // ina_pick. A packet from above has one port, and leaves with this port and others. A raw packet has one
  // port. A retransmission has any ports whose oldest retransmissions have the same length.
  (* anyseq *) logic                  s_valid;
  (* anyseq *) logic [1:0]            s_kind;
  (* anyseq *) logic [JOB_W-1:0]      s_job;
  (* anyseq *) logic [SLOT_W-1:0]     s_slot;
  (* anyseq *) logic [PORT_COUNT-1:0] s_from;
  (* anyseq *) logic [PORT_COUNT-1:0] s_mask;
  (* anyseq *) logic                  s_above;
  (* anyseq *) logic                  s_probe;
  (* anyseq *) logic                  s_dropped;
  (* anyseq *) logic [3:0]            s_quads;
  logic                               s_ready;

  logic                  s_resends;
  logic [PORT_COUNT-1:0] resending;      // a port's retransmission is taken over, and its header not removed
  logic [PORT_COUNT-1:0] removed;        // the header is removed, and the packet not settled
  logic [PORT_COUNT*4-1:0] oldest_quads; // of each port's oldest retransmission

  assign s_resends = s_kind == KIND_RESEND;

  formal_stream #(.WIDTH(9 + JOB_W + SLOT_W + 2*PORT_COUNT), .ASSUME(1)) choice_rules (
      .clk, .rst, .valid(s_valid), .ready(s_ready),
      .payload({s_kind, s_job, s_slot, s_from, s_mask, s_above, s_probe, s_dropped, s_quads}));

  always_comb begin
    assume (s_kind != KIND_JOIN && s_from != '0 && (s_from & ~s_mask) == '0);
    assume (s_resends || s_from == 2'd1 || s_from == 2'd2);
    assume (s_kind == KIND_DOWN || s_mask == s_from);
    assume (s_resends || !(s_above || s_probe || s_dropped));
    assume (!(s_probe && s_dropped));
    // A port's next retransmission is chosen when the previous one has been removed.
    if (s_valid && s_resends) begin
      assume ((resending & s_mask) == '0);
      for (int p = 0; p < PORT_COUNT; p++)
        if (s_mask[p]) assume (s_quads == oldest_quads[p*4 +: 4]);
    end
  end

  // The contents of a place: a packet's length (1 to 12 quads, at most 3 beats), opcode, mark and lanes; the
  // length and lanes of its part; and the length of the sum from above.
  (* anyconst *) logic [PORT_COUNT*PLACES*4-1:0] lengths;
  (* anyconst *) logic [PORT_COUNT*PLACES*3-1:0] opcodes;
  (* anyconst *) logic [PORT_COUNT*PLACES-1:0]   marks;
  (* anyconst *) logic [PORT_COUNT*PLACES*4-1:0] lanes;  // type, EQUAL lane 6
  (* anyconst *) logic [PORT_COUNT*PLACES-1:0]   windows;  // the sign of the window's lane: more
  (* anyconst *) logic [PLACES*4-1:0]            here_lengths;
  (* anyconst *) logic [PLACES*4-1:0]            here_lanes;
  (* anyconst *) logic [PLACES-1:0]              here_windows;
  (* anyconst *) logic [PLACES*4-1:0]            above_lengths;

  function automatic logic [3:0] length_at(input logic [31:0] port, input logic [PLACE_W-1:0] place);
    length_at = lengths[{port[0], place, 2'b00} +: 4];
    if (length_at == '0 || length_at > 4'd12) length_at = 4'd5;
  endfunction

  // A beat: magic, the lanes of the first beat, and the tag, which names the source of the beat; later beats
  // begin with the tag.
  function automatic logic [BEAT_W-1:0] beat_of(input logic [TAG_W-1:0] tag, input logic [3:0] lanes,
                                                input logic window);
    beat_of = '0;
    if (tag[INDEX_W-1:0] == '0) begin
      beat_of[0 +: 24]   = ina_pkg::MESSAGE_MAGIC_VERSION;
      beat_of[24 +: 2]   = lanes[1:0];
      beat_of[192 +: 2]  = lanes[3:2];
    end else begin
      beat_of[0 +: TAG_W] = tag;
    end
    beat_of[LANE_7_AT +: TAG_W]  = tag;
    beat_of[LANE_15_AT +: TAG_W] = tag;
    if (tag[INDEX_W-1:0] == '0) beat_of[LANE_7_AT + 31] = window;
  endfunction

  // The RAMs: the output is the data that was read in the clock before, and stays; but ina_join reads headers
  // too.
  (* anyseq *) logic     others_read;
  logic                  peek_read;
  logic [PORT_COUNT-1:0] header_read;
  logic                  read_resend;
  logic [PORT_COUNT-1:0] beat_read;
  logic [JOB_W-1:0]      read_job;
  logic [SLOT_W-1:0]     read_slot;
  logic [INDEX_W-1:0]    read_beat;
  logic [PLACE_W-1:0]    read_place;
  logic [PLACE_W-1:0]    s_place;
  logic                  history_read;
  logic [PORT_COUNT-1:0] resend_pop;
  logic [PORT_COUNT*QUADS_W-1:0]    peek_quads;
  logic [PORT_COUNT*HEADER_T_W-1:0] queue_header;
  logic [PORT_COUNT*BEAT_W-1:0]     queue_data;
  logic [PORT_COUNT*SEQUENCE_W-1:0] sequence_of;  // of the port's oldest retransmission

  assign read_place = {read_job, read_slot};
  assign s_place    = {s_job, s_slot};

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_ram
    (* anyseq *) logic [3:0] any_resend;
    (* anyseq *) logic [2:0] any_opcode;
    logic [3:0]            resend_quads;
    logic [SEQUENCE_W-1:0] sequence_q;
    logic [3:0]            peeked;
    logic [7:0]            name;  // in the MACs
    logic [3:0]            header_quads;
    logic [2:0]            opcode;
    logic                  mark;
    logic [TAG_W-1:0]      tag;
    logic [3:0]            lane;
    logic                  window;

    always_ff @(posedge clk) begin
      if (peek_read) peeked <= length_at(p, s_place);
      if (others_read) name <= '1;
      if (header_read[p]) begin
        name         <= read_resend ? {4'd1, 2'(p), sequence_q} : {4'd0, 2'(p), read_place};
        header_quads <= read_resend ? resend_quads : length_at(p, read_place);
        opcode       <= read_resend ? any_opcode : opcodes[32'({1'(p), read_place}) * 3 +: 3];
        mark         <= marks[{1'(p), read_place}];
      end
      if (beat_read[p]) begin
        tag  <= {FROM_QUEUE + 3'(p), read_place, read_beat};
        lane <= lanes[{1'(p), read_place, 2'b00} +: 4];
        window <= windows[{1'(p), read_place}];
      end
      if (rst || resend_pop[p]) resend_quads <= any_resend;
      sequence_q <= rst ? '0 : sequence_q + SEQUENCE_W'(resend_pop[p]);
    end
    always_comb assume (any_resend != '0 && any_resend <= 4'd12);

    assign oldest_quads[p*4 +: 4]                   = resend_quads;
    assign sequence_of[p*SEQUENCE_W +: SEQUENCE_W] = sequence_q;

    always_comb begin
      peek_quads[p*QUADS_W +: QUADS_W] = QUADS_W'(peeked);
      queue_header[p*HEADER_T_W +: HEADER_T_W] = '0;
      queue_header[p*HEADER_T_W +: 8] = name;
      queue_header[p*HEADER_T_W + CHECKSUM_AT +: 16] = '1;
      queue_header[p*HEADER_T_W + ina_pkg::HEADER_W +: QUADS_W] = QUADS_W'(header_quads);
      queue_header[p*HEADER_T_W + OPCODE_AT +: 3] = opcode;
      queue_header[p*HEADER_T_W + ina_pkg::CONGESTED_AT] = mark;
    end
    assign queue_data[p*BEAT_W +: BEAT_W] = beat_of(tag, lane, window);
  end

  logic [3:0]       here_quads;
  logic [3:0]       above_quads;
  logic [TAG_W-4:0] history_tag;
  logic [3:0]       history_lane;
  logic             history_window;

  always_ff @(posedge clk) begin
    if (peek_read) begin
      here_quads  <= here_lengths[{s_place, 2'b00} +: 4];
      above_quads <= above_lengths[{s_place, 2'b00} +: 4];
    end
    if (history_read) begin
      history_tag  <= {read_place, read_beat};
      history_lane <= here_lanes[{read_place, 2'b00} +: 4];
      history_window <= here_windows[read_place];
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

  logic [PORT_COUNT-1:0]            resend_answered;
  logic [PORT_COUNT-1:0]            resend_differed;
  logic [PORT_COUNT-1:0]            settled;
  logic [PORT_COUNT-1:0]            header_valid;
  logic [PORT_COUNT*HEADER_T_W-1:0] header;
  logic                             header_ce;
  logic                             m_valid;
  logic [PORT_COUNT-1:0]            m_mask;
  logic [BEAT_W-1:0]                m_data;
  logic [1:0]                       m_kind;
  logic [JOB_W-1:0]                 m_job;
  logic [SLOT_W-1:0]                m_slot;
  logic [INDEX_W-1:0]               m_beat;
  logic                             m_first;
  logic                             m_last;
  logic [2:0]                       m_quads;
  logic                             m_leave;

  ina_relay #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT)) dut (
      .clk, .rst, .s_valid, .s_ready, .s_kind, .s_job, .s_slot, .s_from, .s_mask, .s_above,
      .s_probe, .s_dropped, .s_quads(QUADS_W'(s_quads)),
      .peek_read, .peek_quads, .others_read, .header_read, .read_resend, .beat_read, .read_job,
      .read_slot, .read_beat, .queue_header, .queue_data,
      .history_read, .here_data(beat_of({FROM_HERE, history_tag}, history_lane, history_window)),
      .here_quads(QUADS_W'(here_quads)), .above_data(beat_of({FROM_ABOVE, history_tag}, 4'd0, 1'b0)),
      .above_quads(QUADS_W'(above_quads)), .resend_pop, .resend_answered, .resend_differed,
      .job_valid, .job_broken, .others_stopped, .stopped, .closing, .undo_valid, .undo_job, .mismatch,
      .settled, .header_valid, .header, .header_ce,
      .m_valid, .m_mask, .m_data, .m_kind, .m_job, .m_slot, .m_beat, .m_first, .m_last, .m_quads,
      .m_leave, .busy());

  // The chosen packets that are not settled; the first of them is settled next.
  localparam int CHOICE_W = 5 + 4 + PLACE_W + PORT_COUNT * (2 + SEQUENCE_W);
  localparam int LIST     = 8;
  logic [CHOICE_W-1:0] list [LIST];
  logic [2:0]          list_in;
  logic [2:0]          list_out;
  logic                take;
  logic                settles;
  logic [CHOICE_W-1:0] what;
  logic [1:0]            kind;
  logic [JOB_W-1:0]      job;
  logic [SLOT_W-1:0]     slot;
  logic [PLACE_W-1:0]    place;
  logic [PORT_COUNT-1:0] from;
  logic [PORT_COUNT-1:0] mask;
  logic                  above;
  logic                  probe;
  logic                  dropped;
  logic [3:0]            resend_quads;
  logic [PORT_COUNT*SEQUENCE_W-1:0] sequences;

  assign take    = s_valid && s_ready;
  assign settles = settled != '0;
  assign what    = list[list_out];
  assign {kind, above, probe, dropped, resend_quads, job, slot, from, mask, sequences} = what;
  assign place   = {job, slot};

  always_ff @(posedge clk) begin
    if (take)
      list[list_in] <= {s_kind, s_above, s_probe, s_dropped, s_quads, s_job, s_slot, s_from, s_mask,
                        sequence_of};
    list_in  <= rst ? '0 : list_in + 3'(take);
    list_out <= rst ? '0 : list_out + 3'(settles);
  end

  // The fields of the packet that is settled.
  logic       port;  // that it comes from
  logic [3:0] quads;
  logic [2:0] opcode;
  logic [3:0] lane;
  logic       starts;
  logic       is_join;
  logic       is_leave;
  logic       resends;
  logic       answers;
  logic       differs;  // its length differs from that of the sum that it wants
  logic       alike;
  logic [PORT_COUNT-1:0] others_alike;
  logic [PORT_COUNT-1:0] header_right;

  assign port     = from[1];
  assign resends  = kind == KIND_RESEND;
  assign quads    = resends ? resend_quads : length_at(32'(port), place);
  assign opcode   = opcodes[32'({port, place}) * 3 +: 3];
  assign lane     = lanes[{port, place, 2'b00} +: 4];
  assign starts   = opcode == ina_pkg::RC_SEND_FIRST || opcode == ina_pkg::RC_SEND_ONLY;
  assign is_join  = lane[1:0] == ina_pkg::TYPE_JOIN;
  assign is_leave = !resends && opcode == ina_pkg::RC_SEND_ONLY && quads == 4'(ina_pkg::JOIN_QUADS)
      && lane[1:0] == ina_pkg::TYPE_LEAVE;
  assign answers  = resends && !probe && !dropped;
  assign differs  = quads != (above ? above_lengths[{place, 2'b00} +: 4]
                                    : here_lengths[{place, 2'b00} +: 4]);
  assign alike    = others_alike == '1 && quads == here_lengths[{place, 2'b00} +: 4]
      && (!starts || (lane[1:0] == here_lanes[{place, 2'b00} +: 2]
                      && (is_join || lane[3:2] == here_lanes[{place, 2'b10} +: 2])))
      && !(opcode == ina_pkg::RC_SEND_ONLY && is_join && windows[{port, place}] && !here_windows[place]);

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_port
    logic [7:0] name;
    logic [3:0] length;

    assign length = length_at(p, place);
    assign others_alike[p] = !mask[p] || (length == quads
        && opcodes[32'({1'(p), place}) * 3 +: 3] == opcode);
    assign name = resends ? {4'd1, 2'(p), sequences[p*SEQUENCE_W +: SEQUENCE_W]} : {4'd0, 2'(p), place};
    assign header_right[p] = header[p*HEADER_T_W +: 8] == name
        && header[p*HEADER_T_W + CHECKSUM_AT +: 16] == '0
        && header[p*HEADER_T_W + ina_pkg::HEADER_W +: QUADS_W] == QUADS_W'(resends ? resend_quads : length);
  end

  // Jobs that had packets which were not alike, or whose LEAVE has left.
  logic                 called_off;  // a sum from above
  logic                 stale;
  logic                 was_called_off;
  logic                 breaks;
  logic [JOB_W-1:0]     its_job;
  logic [JOB_COUNT-1:0] differed;
  logic [JOB_COUNT-1:0] left;
  logic [JOB_COUNT-1:0] lost;  // broken, free or over on the other path, in the clock before

  assign stale = lost[job] || left[job] || differed[job];
  assign called_off = settles && header_valid == '0 && kind == KIND_DOWN;

  always_ff @(posedge clk) begin
    lost           <= job_broken | others_stopped | ~job_valid;
    was_called_off <= called_off && !rst;
    breaks         <= called_off && !stale && !rst;
    its_job        <= job;
    for (int j = 0; j < JOB_COUNT; j++) begin
      if (settles && kind == KIND_DOWN && !alike && job == JOB_W'(j)) differed[j] <= 1'b1;
      if (header_valid != '0 && kind == KIND_DOWN && is_leave && job == JOB_W'(j)) left[j] <= 1'b1;
      if (rst || !job_valid[j]) differed[j] <= 1'b0;
      if (rst || !job_valid[j]) left[j] <= 1'b0;
    end
  end

  // The packet whose beats leave: the one settled in the clock before its first beat.
  logic                leaves;   // its beats come, from this clock on
  logic                in_packet;
  logic                ended;    // a packet ended in the clock before
  logic [INDEX_W-1:0]  beat;     // the beat that comes next
  logic [1:0]            out_kind;
  logic [PLACE_W-1:0]    out_place;
  logic [PORT_COUNT-1:0] out_mask;
  logic [3:0]            out_quads;
  logic [2:0]            out_from;
  logic                  out_probe;
  logic                  out_leave;
  logic [TAG_W-1:0]      tag;
  logic [3:0]            out_left;  // quads, including this beat's
  logic [3:0]            past_end;  // quads of the beat that are zeros

  always_ff @(posedge clk) begin
    leaves <= header_valid != '0 && !rst;
    ended  <= m_valid && m_last && !rst;
    if (settles) begin
      out_kind  <= kind;
      out_place <= place;
      out_mask  <= mask;
      out_quads <= quads;
      out_from  <= !resends ? FROM_QUEUE + 3'(port) : above ? FROM_ABOVE : FROM_HERE;
      out_probe <= probe;
      out_leave <= is_leave;
    end
    if (rst) in_packet <= 1'b0;
    else if (m_valid) in_packet <= !m_last;
    if (m_valid) beat <= m_first ? 6'd1 : beat + 1'b1;
  end

  assign tag      = out_probe ? '0 : {out_from, out_place, m_beat};
  assign out_left = out_quads - {m_beat[1:0], 2'b00};
  for (genvar q = 0; q < ina_pkg::QUAD_COUNT; q++) begin : gen_quad
    assign past_end[q] = 3'(q) < m_quads || m_data[q*128 +: 128] == '0;
  end

  always_comb begin
    if (!rst) begin
      p1_begins: assert (m_valid == (leaves || in_packet));
      if (m_valid) begin
        p1_chosen: assert ({m_kind, m_job, m_slot, m_mask} == {out_kind, out_place, out_mask});
        if (m_quads >= 3'd2) begin
          p2_quad_1: assert (m_data[LANE_7_AT +: TAG_W] == tag);
        end
        if (m_quads == 3'd4) begin
          p2_quad_3: assert (m_data[LANE_15_AT +: TAG_W] == tag);
        end
        if (!m_first) begin
          p2_quad_0: assert (m_data[TAG_W-1:0] == tag);
        end
        p2_zeros: assert (past_end == '1 && (!out_probe || m_data == '0));
        p3_first: assert (m_first == leaves && m_first == (m_beat == '0));
        p3_beat:  assert (m_first || m_beat == beat);
        p3_last:  assert (m_last == (out_left <= 4'd4));
        p3_quads: assert (m_quads == (m_last ? out_left[2:0] : 3'd4));
        if (m_last) begin
          p3_leave: assert (m_leave == out_leave);
        end
      end
      p3_apart:   assert (!(ended && m_valid && m_last));
      p4_headers: assert ((header_valid & ~settled) == '0);
      p4_what:    assert ((header_valid & ~header_right) == '0);
      if (header_valid != '0) begin
        p4_marked: assert (header_ce == (kind == KIND_DOWN && marks[{port, place}]));
        p4_all:    assert (header_valid == mask);
      end
      if (settles && kind == KIND_DOWN) begin
        p5_leaves: assert ((header_valid != '0) == (alike && !stale));
      end
      p5_closing: assert (closing == left);
      p5_stopped:    assert (stopped == (left | differed));
      p5_undo:    assert (undo_valid == was_called_off);
      if (undo_valid) begin
        p5_what:  assert (undo_job == its_job);
      end
      p5_break:   assert (mismatch == (breaks ? JOB_COUNT'(1) << its_job : '0));
      p6_settled: assert (!settles || list_out != list_in);
      if (settles) begin
        p6_its:   assert (settled == mask);
        p6_goes:  assert (kind == KIND_DOWN
            || (header_valid != '0) == !(dropped || (answers && differs)));
        p6_counts: assert (resend_answered == ((answers && !differs) ? mask : '0)
            && resend_differed == ((answers && differs) ? mask : '0));
      end else begin
        p6_none:  assert ((resend_answered | resend_differed) == '0);
      end
      p7_once: assert ((resend_pop & ~resending) == '0);
      p7_all:  assert (((resends ? settled : '0) & ~removed) == '0);
      p7_each: assert ((resend_pop & removed & ~(resends ? settled : '0)) == '0);
      p8_ram:  assert (!others_read || header_read == '0);
    end
  end

  always_ff @(posedge clk) begin
    resending <= (resending & ~resend_pop) | ((take && s_resends) ? s_mask : '0);
    removed   <= (removed & ~(resends ? settled : '0)) | resend_pop;
    if (rst) resending <= '0;
    if (rst) removed <= '0;
  end

  logic [1:0] downs;

  always_ff @(posedge clk) begin
    if (rst) downs <= '0;
    else if (m_valid && m_last && m_kind == KIND_DOWN && m_mask == '1 && downs != '1)
      downs <= downs + 1'b1;
  end

  always_comb begin
    if (!rst) begin
      down:      cover (m_valid && m_last && m_beat == 6'd1 && m_kind == KIND_DOWN && m_mask == '1);
      two_downs: cover (downs == 2'd2);
      undone:    cover (mismatch != '0 && downs == 2'd1);
      unlike:    cover (called_off && !stale && others_alike == '1
          && quads == here_lengths[{place, 2'b00} +: 4]);
      ends:      cover (closing != '0 && downs == 2'd1);
      raw:       cover (m_valid && m_last && m_kind == KIND_RAW && downs == 2'd1);
      together:  cover (m_valid && m_last && m_kind == KIND_RESEND && m_mask == '1 && !out_probe
          && m_beat == 6'd1);
      of_above:  cover (m_valid && m_last && out_from == FROM_ABOVE && downs == 2'd1);
      probes:    cover (m_valid && m_last && out_probe && m_beat == 6'd1);
      differ:    cover (resend_differed != '0);
      waited:    cover (others_read && downs == 2'd1 && list_in != list_out);
    end
  end
endmodule

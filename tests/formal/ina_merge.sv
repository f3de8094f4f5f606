// SPDX-License-Identifier: Apache-2.0
//
// ina_merge: two streams of frames become one, whole frame by whole frame. The module is little more than one
// output register, so the proof compares whole beats: every beat that goes in is the next one that comes out.
// A tag makes a frame of stream 0 longer; the proof inserts the tag independently.
//
//   1. The output obeys AXI4-Stream: valid, data, keep and last stay until ready.
//   2. The beat that was taken comes out next. It is unchanged, or it has the frame's tag after its MAC
//      addresses and all later bytes moved by four. No beat comes out that was not taken, with one exception:
//      a frame's last beat that has no room for four more bytes is followed by one more beat.
//   3. Beats of both streams are never taken in the same clock. No beat is taken while another one still
//      waits.
//   4. Whole frames: between a frame's first beat and its last, only its own stream is taken.
//   5. If a stream waits while the other one sends a frame, it has the next turn when that frame ends.
//   6. No clock is lost: while the output is free, a beat is taken from the stream whose turn it is; between
//      frames, from any stream that has one.
//   7. A beat is lost only if it came with `drops` while another one waited for the output, or if its frame
//      lost a beat before. Then the rest of the frame is lost, and the part that has come out gets an end:
//      one beat of one byte. With `drops` no stream waits for the output.

module formal_ina_merge (
    input logic clk
);
  localparam int BEAT_W = ina_pkg::BEAT_W;
  localparam int KEEP_W = ina_pkg::BEAT_BYTES;
  localparam int ALL_W  = 1 + KEEP_W + BEAT_W;
  localparam int TAG_AT = 5 * 8;  // the proof's MAC addresses have five bytes (proofs.txt)

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic [1:0]        s_valid;
  (* anyseq *) logic [ALL_W-1:0]  s0;  // last, keep, data
  (* anyseq *) logic [ALL_W-1:0]  s1;
  (* anyseq *) logic              s0_tagged;
  (* anyseq *) logic [31:0]       s0_tag;
  (* anyseq *) logic              m_ready;
  (* anyseq *) logic              drops;
  logic [1:0]        s_ready;
  logic [1:0]        s_last;
  logic              m_valid;
  logic [BEAT_W-1:0] m_data;
  logic [KEEP_W-1:0] m_keep;
  logic              m_last;

  assign s_last = {s1[ALL_W-1], s0[ALL_W-1]};

  ina_merge dut (
      .clk, .rst,
      .s0_axis_tvalid(s_valid[0]), .s0_axis_tready(s_ready[0]), .s0_axis_tdata(s0[BEAT_W-1:0]),
      .s0_axis_tkeep(s0[BEAT_W +: KEEP_W]), .s0_axis_tlast(s_last[0]),
      .s0_tagged, .s0_tag,
      .s1_axis_tvalid(s_valid[1]), .s1_axis_tready(s_ready[1]), .s1_axis_tdata(s1[BEAT_W-1:0]),
      .s1_axis_tkeep(s1[BEAT_W +: KEEP_W]), .s1_axis_tlast(s_last[1]),
      .m_axis_tvalid(m_valid), .m_axis_tready(m_ready), .m_axis_tdata(m_data),
      .m_axis_tkeep(m_keep), .m_axis_tlast(m_last), .drops);

  formal_stream #(.WIDTH(ALL_W + 33), .ASSUME(1)) s0_rules (
      .clk, .rst, .valid(s_valid[0]), .ready(s_ready[0]), .payload({s0_tagged, s0_tag, s0}));
  formal_stream #(.WIDTH(ALL_W), .ASSUME(1)) s1_rules (
      .clk, .rst, .valid(s_valid[1]), .ready(s_ready[1]), .payload(s1));

  // 1.
  formal_stream #(.WIDTH(ALL_W)) output_rules (
      .clk, .rst, .valid(m_valid), .ready(m_ready), .payload({m_last, m_keep, m_data}));

  logic [1:0]       taken;
  logic             holds;      // a beat has been taken and has not come out
  logic [ALL_W-1:0] beat;       // that one
  logic             owed;       // ... and it is followed by the bytes for which it has no room
  logic [31:0]      spilled;    // the last four bytes of stream 0's beat before
  logic [3:0]       spilled_keep;
  logic             was_tagged; // of the frame that stream 0 is in
  logic [31:0]      was_tag;
  logic [1:0]       in_frame;   // for each stream: the last beat that was taken was not a frame's last
  logic [1:0]       waited;     // the stream had a beat while the other sent a frame
  logic             losing;     // the frame that is going in has lost a beat
  logic             loses;      // this clock's beat is lost, if one is taken
  logic             cut;        // a frame of which a part has come out still needs an end
  logic             can_take;   // the output
  logic             goes;       // the bytes that did not fit go in this clock

  assign taken    = s_valid & s_ready;
  assign can_take = (!holds || m_ready) && !cut;
  assign loses    = losing || !can_take;
  assign goes     = owed && (can_take || drops || losing);

  // Stream 0: beats are full, except a frame's last; a frame has one tag.
  logic [KEEP_W-1:0] s0_keep;
  logic [BEAT_W-1:0] s0_data;

  assign {s0_keep, s0_data} = s0[ALL_W-2:0];

  always_comb begin
    assume ((s0_keep & (s0_keep + 1'b1)) == '0 && s0_keep[0] && (s_last[0] || s0_keep == '1));
    if (in_frame[0]) assume (s0_tagged == was_tagged && s0_tag == was_tag);
  end

  // Stream 0's beat with the tag inserted.
  logic             overflows;
  logic [ALL_W-1:0] longer;

  assign overflows = s_last[0] && s0_keep[KEEP_W-1 -: 4] != '0;
  assign longer    = {s_last[0] && !overflows, s0_keep[KEEP_W-5:0], 4'hF,
                      in_frame[0] ? {s0_data[BEAT_W-33:0], spilled}
                                  : {s0_data[BEAT_W-33:TAG_AT], s0_tag, s0_data[TAG_AT-1:0]}};

  always_ff @(posedge clk) begin
    if (rst) begin
      holds    <= 1'b0;
      owed     <= 1'b0;
      in_frame <= '0;
      waited   <= '0;
      losing   <= 1'b0;
      cut      <= 1'b0;
    end else begin
      if (m_ready) begin
        holds <= cut;
        cut   <= 1'b0;
        if (cut) beat <= {1'b1, KEEP_W'(1), m_data};  // any byte
      end
      if (taken != '0 || goes) begin
        owed   <= taken[0] && s0_tagged && overflows;
        losing <= loses && !goes && !((taken & s_last) != '0 && !(taken[0] && s0_tagged && overflows));
        if (loses && !losing && (in_frame != '0 || owed)) cut <= 1'b1;
      end
      if (!loses && (taken != '0 || goes)) begin
        holds <= 1'b1;
        beat  <= goes ? {1'b1, KEEP_W'(spilled_keep), BEAT_W'(spilled)} : taken[1] ? s1 : s0_tagged ? longer : s0;
      end
      if (taken[0]) begin
        spilled       <= s0_data[BEAT_W-1 -: 32];
        spilled_keep  <= s0_keep[KEEP_W-1 -: 4];
        was_tagged <= s0_tagged;
        was_tag    <= s0_tag;
      end
      for (int i = 0; i < 2; i++) begin
        if (taken[i]) in_frame[i] <= !s_last[i];
        waited[i] <= s_valid[i] && !taken[i] && (taken != '0 || waited[i]);
      end
    end
  end

  // Bytes that tkeep leaves out do not count.
  logic [BEAT_W-1:0] counts;

  always_comb
    for (int i = 0; i < KEEP_W; i++) counts[i*8 +: 8] = {8{m_keep[i]}};

  always_comb begin
    if (!rst) begin
      p2_valid: assert (m_valid == holds);
      if (holds) begin
        p2_keep: assert ({m_last, m_keep} == beat[ALL_W-1:BEAT_W]);
        p2_data: assert (((m_data ^ beat[BEAT_W-1:0]) & counts) == '0);
      end
      p3_one:  assert (taken != 2'b11);
      p3_over: assert (taken == '0 || ((can_take || drops || losing) && !owed));
      p4_own:  assert (!(taken[0] && in_frame[1]) && !(taken[1] && in_frame[0]));
      p5_turn: assert (!(taken[0] && waited[1] && !in_frame[0])
          && !(taken[1] && waited[0] && !in_frame[1]));
      if ((can_take || drops) && !owed) begin
        p6_frame: assert ((!in_frame[0] || taken[0] == s_valid[0])
            && (!in_frame[1] || taken[1] == s_valid[1]));
        p6_any:   assert (in_frame != '0 || s_valid == '0 || taken != '0);
      end
    end
  end

  // For induction.
  (* hierconn *) logic \dut.in_frame ;
  (* hierconn *) logic \dut.owner ;
  (* hierconn *) logic \dut.spills ;
  (* hierconn *) logic [31:0] \dut.spilled ;
  (* hierconn *) logic [3:0] \dut.spilled_keep ;
  (* hierconn *) logic \dut.losing ;
  (* hierconn *) logic \dut.is_cut ;

  always_comb begin
    if (!rst) begin
      i1_frame: assert ({in_frame, owed} == {\dut.in_frame && \dut.owner ,
          \dut.in_frame && !\dut.owner && !\dut.spills , \dut.in_frame && \dut.spills });
      i1_over:  assert (\dut.spills == owed && (!owed || ((holds || losing) && !\dut.owner )));
      i1_lost:  assert (\dut.losing == losing && \dut.is_cut == cut && (!cut || holds)
          && (!losing || in_frame != '0 || owed));
      if (in_frame[0] || owed) begin
        i1_bytes: assert (\dut.spilled == spilled && (!owed || \dut.spilled_keep == spilled_keep));
      end
      i2_turn: assert (!waited[\dut.owner ] || in_frame[!\dut.owner ]);
    end
  end

  logic [1:0] frames;  // for each stream: a frame has ended
  logic       two_beats;
  logic       cut_once;

  always_ff @(posedge clk) begin
    if (rst) frames <= '0;
    else frames <= frames | (taken & s_last);
    cut_once  <= !rst && (cut_once || cut);
    two_beats <= !rst && (two_beats || (taken != '0 && (taken & in_frame) != '0));
  end

  always_comb begin
    if (!rst) begin
      both:  cover (frames == 2'b11 && two_beats);
      waits: cover (waited[0] && taken[0]);
      spill: cover (m_valid && m_ready && m_last && m_keep == KEEP_W'(4'h3) && frames[1]);
      stall: cover (m_valid && !m_ready && s_valid == 2'b11);
      ended: cover (m_valid && m_ready && m_last && m_keep == KEEP_W'(1) && frames[1] && !in_frame[0] && cut_once && losing);
    end
  end
endmodule

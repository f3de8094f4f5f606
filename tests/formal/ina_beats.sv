// SPDX-License-Identifier: Apache-2.0
//
// ina_beats walks through each packet as a whole, and never ends two of them in consecutive clocks, whichever
// packets wait.
//
//   1. Each packet that is taken gives its beats once, in order: 0, 1, 2 and so on, together with its side
//      data. `first` comes with beat 0, `last` with the beat in which its quads end. Packets come in order.
//   2. No two packets end in consecutive clocks. So no packet of one beat begins in the clock after another
//      packet's end.
//   3. No packet begins in a clock of `waits`. Once it has begun, it continues without a gap.
//   4. The module takes the next packet in the clock of the last beat, or while it has no packet, and at no
//      other time.
//   5. A packet begins immediately, except for `waits`, and for one clock before a packet of one beat.

module formal_ina_beats (
    input logic clk
);
  localparam int QUADS_W = ina_pkg::QUADS_W;
  localparam int INDEX_W = ina_pkg::BEAT_INDEX_W;
  localparam int SIDE_W  = 4;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic               s_valid;
  (* anyseq *) logic [QUADS_W-1:0] s_quads;
  (* anyseq *) logic [SIDE_W-1:0]  s_side;
  (* anyseq *) logic               waits;
  logic               s_ready;
  logic               m_valid;
  logic [INDEX_W-1:0] m_beat;
  logic               m_first;
  logic               m_last;
  logic [2:0]         m_quads;
  logic [SIDE_W-1:0]  m_side;
  logic               busy;

  ina_beats #(.SIDE_W(SIDE_W)) dut (
      .clk, .rst, .s_valid, .s_ready, .s_quads, .s_side, .waits,
      .m_valid, .m_beat, .m_first, .m_last, .m_quads, .m_side, .busy);

  always_comb assume (s_quads != '0 && s_quads <= QUADS_W'(256));

  logic               has;    // there is a packet that has not ended
  logic               begun;  // its first beat has come
  logic               fresh;  // it was taken in the clock before
  logic               ended;  // a packet ended in the clock before
  logic [QUADS_W-1:0] quads;  // quads of the packet that have not come
  logic [SIDE_W-1:0]  side;
  logic [INDEX_W-1:0] beat;   // the packet's next beat
  logic               single;

  assign single = !begun && quads <= 9'd4;

  always_ff @(posedge clk) begin
    fresh <= s_valid && s_ready && !rst;
    ended <= m_valid && m_last && !rst;
    if (s_valid && s_ready) begin
      quads <= s_quads;
      side  <= s_side;
      beat  <= '0;
      begun <= 1'b0;
    end else if (m_valid) begin
      quads <= quads - 9'd4;
      beat  <= beat + 1'b1;
      begun <= 1'b1;
    end
    if (rst) has <= 1'b0;
    else if (s_valid && s_ready) has <= 1'b1;
    else if (m_valid && m_last) has <= 1'b0;
  end

  // For induction: the module's registers agree with this record.
  (* hierconn *) logic               \dut.pauses ;
  (* hierconn *) logic [INDEX_W-1:0] \dut.last_beat ;
  (* hierconn *) logic [2:0]         \dut.last_quads ;
  logic [QUADS_W-1:0] less_1;  // the packet has begun to give its beats

  assign less_1 = quads - 1'b1;

  always_comb begin
    if (!rst) begin
      i_busy:    assert (busy == has);
      i_pauses:  assert (!has || \dut.pauses == (fresh && single));
      if (has) begin
        i_quads: assert (quads != '0 && quads <= QUADS_W'(256));
        i_end:   assert (9'(beat) + 9'(less_1[QUADS_W-1:2]) == 9'(\dut.last_beat ));
        i_last:  assert (\dut.last_quads == {1'b0, less_1[1:0]} + 3'd1);
        i_first: assert (begun == (beat != '0) && (!fresh || !begun));
        i_apart: assert (!ended || fresh);
        i_place: assert (m_beat == beat && m_first == !begun && m_last == (quads <= 9'd4)
            && m_side == side);
      end
      if (m_valid) begin
        p1_one:   assert (has);
        p1_place: assert (m_beat == beat && m_first == !begun && m_side == side);
        p1_last:  assert (m_last == (quads <= 9'd4) && m_quads == (m_last ? quads[2:0] : 3'd4));
        p3_waits: assert (!(m_first && waits));
      end
      p2_apart: assert (!(ended && m_valid && m_last));
      p3_gap:   assert (!begun || !has || m_valid);
      p4_takes: assert (s_ready == (!has || (m_valid && m_last)));
      p5_goes:  assert (!has || m_valid || waits || (fresh && single));
    end
  end

  logic [1:0] packets;

  always_ff @(posedge clk) begin
    if (rst) packets <= '0;
    else if (m_valid && m_last && packets != '1) packets <= packets + 1'b1;
  end

  always_comb begin
    if (!rst) begin
      three:  cover (packets == 2'd3);
      single_behind: cover (ended && has && single);
      longer: cover (m_valid && m_last && m_beat == 6'd2 && packets == 2'd1);
    end
  end
endmodule

// SPDX-License-Identifier: Apache-2.0
//
// ina_rebuild's promises to those who feed it. What is in the headers and payloads does not matter
// here, so that many packets can wait at a time: more than the queues (small ones: the constants in
// proofs.txt) have room for.
//
//   1. Who chooses packets only while there is room, and no more than three of which ina_rebuild
//      has not been told two clocks ago, never finds a queue full: nothing is lost.
//   2. What is here comes out: while all payload has come and the output is taken, no GOES clocks
//      pass without a beat.
//   3. Idle means that all is out.
//   4. There is room again: nothing here means that there is.

module formal_ina_rebuild_room (
    input logic clk
);
  localparam int MTU       = 128;
  localparam int LIST      = 8;
  localparam int LIST_W    = 3;
  localparam int GOES      = 7;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic       s_header_valid;
  (* anyseq *) logic [1:0] form;
  (* anyseq *) logic [3:0] quads;
  (* anyseq *) logic       s_valid;
  (* anyseq *) logic       m_axis_tready;
  (* anyseq *) logic       choose;
  ina_pkg::header_t s_header;
  logic             s_last;
  logic             room;
  logic             busy;
  logic             m_axis_tvalid;
  logic             m_axis_tlast;

  always_comb begin
    s_header          = '0;
    s_header.is_ipv6  = form[1];
    s_header.has_vlan = form[0];
    s_header.quads    = 9'(quads);
  end

  ina_rebuild #(.MTU(MTU)) dut (
      .clk, .rst, .s_header_valid, .s_header, .s_header_ce(1'b0), .s_valid, .s_last, .s_data('0),
      .s_crc('0), .room, .marked(), .busy,
      .m_axis_tvalid, .m_axis_tready, .m_axis_tdata(), .m_axis_tkeep(), .m_axis_tlast, .m_tagged(),
      .m_tag());

  // ina_pick's rule: what is chosen, and what ina_rebuild was told of two clocks ago.
  logic [2:0] to_come;  // chosen, their headers not given
  logic [2:0] unknown;  // as ina_pick counts
  logic       told_1, told_2;

  always_ff @(posedge clk) begin
    told_1  <= !rst && s_header_valid;
    told_2  <= !rst && told_1;
    to_come <= rst ? '0 : to_come + 3'(choose) - 3'(s_header_valid);
    unknown <= rst ? '0 : unknown + 3'(choose) - 3'(told_2);
  end

  always_comb begin
    assume (quads != '0 && quads <= 4'(MTU / 16));
    if (choose) assume (room && unknown < 3'd3);
    if (s_header_valid) assume (to_come != '0);
    if (rst) assume (!s_header_valid && !s_valid && !choose);
  end

  // The packets: given, of them with all their payload, of them sent.
  logic [3:0]      lengths [LIST];
  logic [LIST_W:0] given;
  logic [LIST_W:0] filled;
  logic [LIST_W:0] sent;
  logic            in_beat;
  logic [3:0]      in_quads;
  logic            moves;

  assign in_quads = (filled == given) ? quads : lengths[filled[LIST_W-1:0]];
  assign s_last   = in_beat || in_quads <= 4'd4;
  assign moves    = m_axis_tvalid && m_axis_tready;

  always_comb begin
    if (s_valid) assume (filled != given || s_header_valid);
    assume (given - sent < (LIST_W + 1)'(LIST));
  end

  logic [2:0] waited;

  always_ff @(posedge clk) begin
    if (s_header_valid) lengths[given[LIST_W-1:0]] <= quads;
    if (rst) begin
      given   <= '0;
      filled  <= '0;
      sent    <= '0;
      in_beat <= '0;
    end else begin
      given  <= given + (LIST_W + 1)'(s_header_valid);
      filled <= filled + (LIST_W + 1)'(s_valid && s_last);
      sent   <= sent + (LIST_W + 1)'(moves && m_axis_tlast);
      if (s_valid) in_beat <= !s_last;
    end
    if (rst || !busy || moves || !m_axis_tready || filled != given || in_beat || s_header_valid)
      waited <= '0;
    else waited <= waited + 1'b1;
  end

  (* hierconn *) logic \dut.header_ready ;
  (* hierconn *) logic \dut.beat_ready ;
  (* hierconn *) logic \dut.crc_ready ;

  always_comb begin
    if (!rst) begin
      p1_header: assert (!s_header_valid || \dut.header_ready );
      p1_beat:   assert (!s_valid || \dut.beat_ready );
      p1_crc:    assert (!(s_valid && s_last) || \dut.crc_ready );
      p2_goes:   assert (waited < 3'(GOES));
      p3_idle:   assert (busy || sent == given);
      p4_room:   assert (room || sent != given);
    end
  end

  always_comb begin
    if (!rst) begin
      crowded: cover (filled - sent == (LIST_W + 1)'(4) && !room);
      again:   cover (room && sent == (LIST_W + 1)'(3) && given == sent);
      waits:   cover (waited == 3'(GOES - 1));
    end
  end
endmodule

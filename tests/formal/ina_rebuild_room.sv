// SPDX-License-Identifier: Apache-2.0
//
// The promises of ina_rebuild to the modules that feed its two paths. The contents of the payloads do not
// matter here, so more packets can wait at the same time than the queues have room for (they are small: the
// constants in proofs.txt). The tag of each frame is the path that it came by.
//
//   1. If packets of a path are chosen only while there is room, and at most three of them are unknown to
//      ina_rebuild two clocks ago, no queue is ever full: nothing is lost.
//   2. Every frame comes out: while all payload has come and the output is taken, a beat comes within GOES
//      clocks.
//   3. Idle means that all frames are out.
//   4. A path gets room again: if it has no packet here, there is room, whatever the other path has.
//   5. Frames leave in the order in which their packets began, whatever their path. If two began in the same
//      clock, path 0's goes first.

module formal_ina_rebuild_room (
    input logic clk
);
  localparam int PATHS     = 2;
  localparam int MTU       = 128;
  localparam int LIST      = 8;
  localparam int LIST_W    = 3;
  localparam int GOES      = 6;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic [PATHS-1:0] s_header_valid;
  (* anyseq *) logic             form;
  (* anyseq *) logic [3:0]       quads;
  (* anyseq *) logic [PATHS-1:0] s_valid;
  (* anyseq *) logic             m_axis_tready;
  ina_pkg::header_t s_header_0;
  ina_pkg::header_t s_header_1;
  logic [PATHS-1:0] s_begins;
  logic [PATHS-1:0] s_last;
  logic [PATHS-1:0] room;
  logic             busy;
  logic             m_axis_tvalid;
  logic             m_axis_tlast;
  logic             m_tagged;

  always_comb begin
    s_header_0          = '0;
    s_header_0.is_ipv6  = form;
    s_header_0.quads    = 9'(quads);
    s_header_1          = s_header_0;
    s_header_1.has_vlan = 1'b1;
  end

  ina_rebuild #(.MTU(MTU)) dut (
      .clk, .rst,
      .s0_header_valid(s_header_valid[0]), .s0_header(s_header_0), .s0_header_ce(1'b0),
      .s0_begins(s_begins[0]), .s0_valid(s_valid[0]), .s0_last(s_last[0]), .s0_data('0), .s0_crc('0), .s0_room(room[0]),
      .s1_header_valid(s_header_valid[1]), .s1_header(s_header_1), .s1_header_ce(1'b0),
      .s1_begins(s_begins[1]), .s1_valid(s_valid[1]), .s1_last(s_last[1]), .s1_data('0), .s1_crc('0), .s1_room(room[1]),
      .marked(), .busy,
      .m_axis_tvalid, .m_axis_tready, .m_axis_tdata(), .m_axis_tkeep(), .m_axis_tlast, .m_tagged,
      .m_tag());

  logic             moves;
  logic [PATHS-1:0] ends;  // a frame of this path ends in this clock
  logic [PATHS-1:0] none;  // no packet of the path is here
  logic [PATHS-1:0] whole; // all payload of the given packets has come

  assign moves = m_axis_tvalid && m_axis_tready;
  assign ends  = (moves && m_axis_tlast) ? (m_tagged ? 2'd2 : 2'd1) : '0;

  (* hierconn *) logic \dut.outbox_0.header_ready ;
  (* hierconn *) logic \dut.outbox_0.beat_ready ;
  (* hierconn *) logic \dut.outbox_0.crc_ready ;
  (* hierconn *) logic \dut.outbox_1.header_ready ;
  (* hierconn *) logic \dut.outbox_1.beat_ready ;
  (* hierconn *) logic \dut.outbox_1.crc_ready ;
  logic [PATHS-1:0] header_ready;
  logic [PATHS-1:0] beat_ready;
  logic [PATHS-1:0] crc_ready;

  assign header_ready = {\dut.outbox_1.header_ready , \dut.outbox_0.header_ready };
  assign beat_ready   = {\dut.outbox_1.beat_ready , \dut.outbox_0.beat_ready };
  assign crc_ready    = {\dut.outbox_1.crc_ready , \dut.outbox_0.crc_ready };

  for (genvar p = 0; p < PATHS; p++) begin : gen_path
    logic            in_packet;
    logic [LIST_W:0] given;
    logic [LIST_W:0] filled;
    logic [LIST_W:0] sent;

    formal_feeder #(.LIST_W(LIST_W)) feeder (
        .clk, .rst, .room(room[p]), .header_valid(s_header_valid[p]), .quads, .valid(s_valid[p]),
        .sent_one(ends[p]), .begins(s_begins[p]), .last(s_last[p]), .in_packet, .given, .filled, .sent,
        .sent_quads());

    assign none[p]  = sent == given;
    assign whole[p] = filled == given && !in_packet && !s_header_valid[p];
  end

  // The paths of all packets, in the order in which they began.
  logic       order [2*LIST];
  logic [3:0] all_begun;
  logic [3:0] all_ended;

  always_ff @(posedge clk) begin
    if (s_begins != '0) order[all_begun] <= !s_begins[0];
    if (s_begins == '1) order[all_begun + 4'd1] <= 1'b1;
    all_begun <= rst ? '0 : all_begun + 4'(s_begins[0]) + 4'(s_begins[1]);
    all_ended <= rst ? '0 : all_ended + 4'(ends != '0);
  end

  (* hierconn *) logic \dut.order_ready ;

  logic [2:0] waited;

  always_ff @(posedge clk) begin
    if (rst || !busy || moves || !m_axis_tready || whole != '1) waited <= '0;
    else waited <= waited + 1'b1;
  end

  always_comb begin
    if (!rst) begin
      p1_header: assert ((s_header_valid & ~header_ready) == '0);
      p1_beat:   assert ((s_valid & ~beat_ready) == '0);
      p1_crc:    assert ((s_valid & s_last & ~crc_ready) == '0);
      p2_goes:   assert (waited < 3'(GOES));
      p3_idle:   assert (busy || none == '1);
      p4_room:   assert ((none & ~room) == '0);
      p1_order:  assert (s_begins == '0 || \dut.order_ready );
      if (ends != '0) begin
        p5_order: assert (m_tagged == order[all_ended]);
      end
    end
  end

  always_comb begin
    if (!rst) begin
      crowded: cover (gen_path[0].filled - gen_path[0].sent == (LIST_W + 1)'(4) && !room[0]);
      again:   cover (room[0] && none[0] && gen_path[0].sent == (LIST_W + 1)'(3));
      each:    cover (none == '1 && gen_path[0].sent == (LIST_W + 1)'(1)
          && gen_path[1].sent == (LIST_W + 1)'(2));
      waits:   cover (waited == 3'(GOES - 1));
    end
  end
endmodule

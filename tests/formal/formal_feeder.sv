// SPDX-License-Identifier: Apache-2.0
//
// Feeds a path of ina_rebuild according to the promises of ina_pick, ina_join and ina_relay. It keeps a list
// of the packets, and counts those that were given, those that have begun, those whose payload has all come,
// and those that were sent. A packet has one or two beats of payload.

module formal_feeder #(
    parameter int LIST_W = 2
) (
    input logic clk,
    input logic rst,

    input logic       room,
    input logic       header_valid,
    input logic [3:0] quads,         // of that header's packet
    input logic       valid,         // a beat of payload
    input logic       sent_one,      // a frame is out

    output logic            begins,
    output logic            last,       // that beat is its packet's last
    output logic            in_packet,  // and not its first beat
    output logic [LIST_W:0] given,
    output logic [LIST_W:0] filled,
    output logic [LIST_W:0] sent,
    output logic [3:0]      sent_quads  // of the packet that is sent next
);
  localparam int COUNT_W = LIST_W + 1;
  localparam int LIST    = 1 << LIST_W;

  // The rule of ina_pick: the packets that it chooses, and those that ina_rebuild learned of two clocks ago.
  (* anyseq *) logic choose;
  logic [2:0] to_come;  // packets that were chosen, and whose headers were not given yet
  logic [2:0] unknown;  // as ina_pick counts them
  logic       told_1, told_2;

  always_ff @(posedge clk) begin
    told_1  <= !rst && header_valid;
    told_2  <= !rst && told_1;
    to_come <= rst ? '0 : to_come + 3'(choose) - 3'(header_valid);
    unknown <= rst ? '0 : unknown + 3'(choose) - 3'(told_2);
  end

  always_comb begin
    assume (quads != '0 && quads <= 4'd8);
    if (choose) assume (room && unknown < 3'd3);
    if (header_valid) assume (to_come != '0);
    if (rst) assume (!header_valid && !begins && !valid && !choose);
  end

  // A packet begins in the clock before its first beat, and has its header by then.
  (* anyseq *) logic any_begins;
  logic begun_q;
  logic [3:0]         lengths [LIST];
  logic [COUNT_W-1:0] begun;
  logic [3:0]         in_quads;

  assign begins     = any_begins;
  assign in_quads   = (filled == given) ? quads : lengths[filled[LIST_W-1:0]];
  assign last       = in_packet || in_quads <= 4'd4;
  assign sent_quads = lengths[sent[LIST_W-1:0]];

  always_comb begin
    assume (!begins || begun != given || header_valid);
    assume (!begins || (!in_packet && !valid) || (valid && last));
    if (!in_packet) assume (valid == begun_q);
    assume (given - sent < COUNT_W'(LIST));
  end

  always_ff @(posedge clk) begin
    begun_q <= begins && !rst;
    if (header_valid) lengths[given[LIST_W-1:0]] <= quads;
    if (rst) begin
      given     <= '0;
      begun     <= '0;
      filled    <= '0;
      sent      <= '0;
      in_packet <= 1'b0;
    end else begin
      given  <= given + COUNT_W'(header_valid);
      begun  <= begun + COUNT_W'(begins);
      filled <= filled + COUNT_W'(valid && last);
      sent   <= sent + COUNT_W'(sent_one);
      if (valid) in_packet <= !last;
    end
  end

endmodule

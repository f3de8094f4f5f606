// SPDX-License-Identifier: Apache-2.0
//
// Steps through packets, one beat a clock, without a gap between packets. A packet takes at least
// two clocks, and its last beat is in the last of them. So no two packets end in consecutive
// clocks.

`default_nettype none

module ina_beats #(
    parameter int SIDE_W = 1  // width of the side data of a packet
) (
    input  logic clk,
    input  logic rst,

    input  logic                        s_valid,
    output logic                        s_ready,
    input  logic [ina_pkg::QUADS_W-1:0] s_quads,
    input  logic [SIDE_W-1:0]           s_side,

    input  logic waits,  // no packet may begin in this clock

    output logic                             m_valid,
    output logic [ina_pkg::BEAT_INDEX_W-1:0] m_beat,
    output logic                             m_first,
    output logic                             m_last,
    output logic [2:0]                       m_quads,  // in this beat
    output logic [SIDE_W-1:0]                m_side,

    output logic busy
);

  logic                             pauses;  // the clock before a packet of one beat
  logic [ina_pkg::BEAT_INDEX_W-1:0] last_beat;
  logic [2:0]                       last_quads;
  logic [ina_pkg::BEAT_INDEX_W+1:0] quads_less_1;
  logic                             unused_borrow;  // a packet has at most 256 quads

  assign {unused_borrow, quads_less_1} = s_quads - 1'b1;
  assign m_valid = busy && !pauses && !(m_first && waits);
  assign m_quads = m_last ? last_quads : 3'(ina_pkg::QUAD_COUNT);
  assign s_ready = !busy || (m_valid && m_last);

  always_ff @(posedge clk) begin
    if (s_ready) busy <= s_valid;
    if (s_valid && s_ready) begin
      pauses     <= s_quads <= ina_pkg::QUADS_W'(ina_pkg::QUAD_COUNT);
      m_side     <= s_side;
      m_beat     <= '0;
      m_first    <= 1'b1;
      m_last     <= s_quads <= ina_pkg::QUADS_W'(ina_pkg::QUAD_COUNT);
      last_beat  <= quads_less_1[2 +: ina_pkg::BEAT_INDEX_W];
      last_quads <= {1'b0, quads_less_1[1:0]} + 1'b1;
    end else begin
      pauses <= 1'b0;
      if (m_valid) begin
        m_beat  <= m_beat + 1'b1;
        m_first <= 1'b0;
        m_last  <= m_beat + 1'b1 == last_beat;
      end
    end
    if (rst) busy <= 1'b0;
  end

endmodule

`default_nettype wire

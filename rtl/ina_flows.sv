// SPDX-License-Identifier: Apache-2.0
//
// The flows that one port has learned: one for each job at most, stored under the number of the
// job. Finds the flow of a packet, and the distance of its PSN from the flow's next PSN. That takes
// two clocks of en, as long as ina_check takes for the same packet:
//
//   s_*   the packet's key is compared with the keys of all flows
//   1     the match is registered; the flow's next PSN is read and subtracted
//   m_*   hit, job and distance are registered, and hold until the next packet
//
// When a flow is forgotten, m_hit is 0 from the next clock on. If a packet is compared in the clock
// in which its flow is forgotten, stage 1 removes the match.
//
// With `learn` and `advance` no packet follows the one at m_* in stage 1, because ina_parse leaves
// a clock of en free after the last beat of a contribution. So stage 1 still holds the key and the
// PSN of the packet at m_*, and the next subtraction uses the new next PSN. A flow is learned only
// while the pipeline is stopped (en = 0), so no packet that was compared before can belong to that
// flow.
//
// Properties, if packets come to s_* in order, and `learn` and `advance` obey the rules at their
// ports:
//
//   1. No two valid flows have the same key: in every stage at most one bit of match is set.
//   2. m_hit = 1 if and only if flow m_job is valid and its key is that of the packet at m_*.
//   3. m_distance = PSN of that packet - next PSN of that flow, modulo 2^24, while m_hit = 1.
//   4. Only `learn` makes a flow valid; only `forget` and rst make it invalid. Its key never
//      changes while it is valid.
//   5. A flow's next PSN changes only by `learn`, and by `advance`, which adds one.

`default_nettype none

module ina_flows #(
    parameter  int JOB_COUNT = 4,
    parameter  int KEY_W     = 88,
    localparam int JOB_W     = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1
) (
    input  logic clk,
    input  logic rst,
    input  logic en,  // all packets move by one stage

    // The first beat of a packet, from ina_parse.
    input  logic             s_valid,
    input  logic [KEY_W-1:0] s_key,
    input  logic [23:0]      s_psn,

    // The job of the packet that is at m_* in the next clock. Reads that take one clock start with
    // it.
    output logic [JOB_W-1:0] next_job,
    output logic             next_hit,  // m_hit in the next clock, if packets move

    // The packet that the judge has.
    output logic             m_hit,
    output logic [JOB_W-1:0] m_job,
    output logic [23:0]      m_distance,

    // The decision about the packet at m_*. `advance` requires m_hit = 1.
    input  logic             learn,    // the packet opens a flow; only while m_hit = 0 and en = 0
    input  logic [JOB_W-1:0] learn_job,
    input  logic             advance,  // the packet was the expected one; only with en = 1. With
                                       // `learn` or `advance`, stage 1 has no packet

    input  logic [JOB_COUNT-1:0] forget  // these flows end; never one that is learned in this clock
);

  logic [JOB_COUNT-1:0] flow_valid;
  logic [KEY_W-1:0]     flow_key      [JOB_COUNT];
  logic [23:0]          flow_next_psn [JOB_COUNT];

  // The packet's key is compared with those of all flows.
  logic [JOB_COUNT-1:0] match;

  always_comb begin
    match = '0;
    if (s_valid || !ina_pkg::SIMULATED)
      for (int j = 0; j < JOB_COUNT; j++) match[j] = flow_valid[j] && flow_key[j] == s_key;
  end

  // Stage 1. Key and PSN stay until the next packet comes, because a flow may be learned from them.
  logic                 s1_first;  // the first beat of a packet is in stage 1
  logic [KEY_W-1:0]     s1_key;
  logic [23:0]          s1_psn;
  logic [JOB_COUNT-1:0] s1_match;  // one bit at most
  logic [JOB_W-1:0]     s1_job;
  logic [23:0]          s1_distance;
  logic [JOB_COUNT-1:0] forget_q;
  logic [JOB_COUNT-1:0] gone;

  assign gone = forget | forget_q;

  always_ff @(posedge clk) begin
    if (en) s1_first <= s_valid;
    if (en && s_valid) begin
      s1_key   <= s_key;
      s1_psn   <= s_psn;
      s1_match <= match;
    end else begin
      s1_match <= s1_match & ~gone;
    end
    forget_q <= forget;
    if (rst) s1_first <= 1'b0;
  end

  always_comb begin
    s1_job = '0;
    for (int j = 0; j < JOB_COUNT; j++) if (s1_match[j]) s1_job = s1_job | JOB_W'(j);
  end

  assign s1_distance = s1_psn - flow_next_psn[s1_job];

  // Stage 2: the outputs.
  logic                 moves;  // a new packet arrives at m_*
  logic [JOB_COUNT-1:0] m_match;

  assign moves    = en && s1_first;
  assign next_job = moves ? s1_job : m_job;
  assign next_hit = (s1_match & ~gone) != '0;

  always_ff @(posedge clk) begin
    if (moves) begin
      m_hit      <= next_hit;
      m_match    <= s1_match;
      m_job      <= s1_job;
      m_distance <= s1_distance;
    end else if ((m_match & forget) != '0) begin
      m_hit <= 1'b0;
    end
  end

  // The table.
  always_ff @(posedge clk) begin
    if (learn) begin
      flow_key[learn_job]      <= s1_key;
      flow_next_psn[learn_job] <= s1_psn + 1'b1;
    end else if (advance) begin
      flow_next_psn[m_job] <= s1_psn + 1'b1;
    end
    flow_valid <= flow_valid & ~forget;
    if (learn) flow_valid[learn_job] <= 1'b1;
    if (rst) flow_valid <= '0;
  end

endmodule

`default_nettype wire

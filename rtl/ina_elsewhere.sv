// SPDX-License-Identifier: Apache-2.0
//
// Is a packet's flow known at another port? Then it must not pass: its receiver could put a message
// together from it and from sums that come by the other port. Beside ina_flows, in the same clocks.
//
// Every port shows the others a hash of each flow that it knows, and all these are compared with
// the packet's at once. Where one is equal and the packet has no flow here, the ingress stands
// still (ina_admission), and the full keys are compared, one flow after the other (ina_keys): a
// hash that is equal by chance costs clocks and nothing else.
//
// What counts for a packet are the flows that are known when its first beat is compared. A JOIN
// that waits for its answer is compared with those that come to be known meanwhile too: JOINs are
// answered one at a time, so of two with the same key the second sees the first one's flow, and
// stops asking two clocks after the answer to the first.

`default_nettype none

module ina_elsewhere #(
    parameter  int JOB_COUNT   = 4,
    parameter  int OTHER_PORTS = 1,
    parameter  int KEY_W       = 88,
    parameter  int HASH_W      = 24,
    localparam int JOB_W       = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int PORT_W      = OTHER_PORTS > 1 ? $clog2(OTHER_PORTS) : 1,
    localparam int OTHER_COUNT = OTHER_PORTS * JOB_COUNT
) (
    input  logic clk,
    input  logic rst,
    input  logic en,  // the packets move by one stage

    // The first beat of a RoCE request, as ina_flows gets it; of its key only what counts.
    input  logic             s_valid,
    input  logic [KEY_W-1:0] s_key,
    input  logic             next_hit,  // a clock of en later: it has a flow here

    // This port's flows, and their hashes for the others.
    input  logic                        learn,  // the packet at m_* opens one
    input  logic [JOB_W-1:0]            learn_job,
    input  logic [JOB_COUNT-1:0]        forget,
    output logic [JOB_COUNT-1:0]        known_valid,
    output logic [JOB_COUNT*HASH_W-1:0] known_hash,

    // The flows of the other ports.
    input  logic [OTHER_COUNT-1:0]        other_valid,
    input  logic [OTHER_COUNT*HASH_W-1:0] other_hash,

    // To and from ina_keys: is m_key the key of that flow? Held until search_done.
    output logic              search_valid,
    output logic [PORT_W-1:0] search_port,
    output logic [JOB_W-1:0]  search_job,
    output logic [KEY_W-1:0]  m_key,
    input  logic              search_done,
    input  logic              search_equal,

    // The packet that comes to the judge with this clock of en must stand still there ...
    output logic next_alike,

    // ... as long as this says, and then it is known.
    output logic m_searching,
    output logic m_elsewhere
);

  // Of HASH_W bits each, so that keys which differ in so many bits in a row have other hashes.
  function automatic logic [HASH_W-1:0] hash_of(input logic [KEY_W-1:0] bits);
    hash_of = '0;
    for (int i = 0; i < KEY_W; i++) hash_of[i%HASH_W] = hash_of[i%HASH_W] ^ bits[i];
  endfunction

  // Stages 1 and 2, as in ina_flows.
  logic              s1_first;
  logic [KEY_W-1:0]  s1_key;
  logic [HASH_W-1:0] s1_hash;
  logic [HASH_W-1:0] m_hash;
  logic              m_hit;
  logic              moves;

  assign moves = en && s1_first;

  always_ff @(posedge clk) begin
    if (en) s1_first <= s_valid;
    if (en && s_valid) begin
      s1_key  <= s_key;
      s1_hash <= hash_of(s_key);
    end
    if (moves) begin
      m_key  <= s1_key;
      m_hash <= s1_hash;
      m_hit  <= next_hit;
    end
    if (rst) s1_first <= 1'b0;
  end

  // This port's flows.
  always_ff @(posedge clk) begin
    known_valid <= known_valid & ~forget;
    if (learn) begin
      known_valid[learn_job]                 <= 1'b1;
      known_hash[learn_job*HASH_W +: HASH_W] <= m_hash;
    end
    if (rst) known_valid <= '0;
  end

  // The hashes of the packet that comes, and of the one that stands still.
  logic [HASH_W-1:0]      hash;
  logic [OTHER_COUNT-1:0] alike_d;
  logic [OTHER_COUNT-1:0] alike_q;

  assign hash       = moves ? s1_hash : m_hash;
  assign next_alike = moves && !next_hit && alike_d != '0;

  always_comb begin
    alike_d = '0;
    if (moves || !en || !ina_pkg::SIMULATED)
      for (int i = 0; i < OTHER_COUNT; i++)
        alike_d[i] = other_valid[i] && other_hash[i*HASH_W +: HASH_W] == hash;
  end

  // The flows that are left to be compared in full, the lowest next.
  logic [OTHER_COUNT-1:0] differs;  // these have been, since the packet came
  logic [OTHER_COUNT-1:0] left;
  logic [OTHER_COUNT-1:0] asked;    // this one is being compared, if it has not been forgotten
  logic [OTHER_COUNT-1:0] choice;

  assign left        = alike_q & ~differs & other_valid;
  assign choice      = left & (~left + 1'b1);
  assign m_searching = search_valid || (!en && left != '0 && !m_elsewhere);

  always_ff @(posedge clk) begin
    alike_q <= (moves ? !next_hit : !en && !m_hit) ? alike_d : '0;
    differs <= (differs | (search_done && !search_equal ? asked : '0)) & other_valid;
    asked   <= (search_valid ? asked : choice) & other_valid;
    if (moves) differs <= '0;
    if (search_done) search_valid <= 1'b0;
    else if (m_searching) search_valid <= 1'b1;
    if (moves) m_elsewhere <= 1'b0;
    else if (search_done && search_equal && (asked & other_valid) != '0) m_elsewhere <= 1'b1;
    if (rst) begin
      alike_q      <= '0;
      search_valid <= 1'b0;
    end
  end

  always_ff @(posedge clk) begin
    if (!search_valid) begin
      search_port <= '0;
      search_job  <= '0;
      for (int p = 0; p < OTHER_PORTS; p++) begin
        for (int j = 0; j < JOB_COUNT; j++) begin
          if (choice[p*JOB_COUNT+j]) begin
            search_port <= PORT_W'(p);
            search_job  <= JOB_W'(j);
          end
        end
      end
    end
  end

endmodule

`default_nettype wire

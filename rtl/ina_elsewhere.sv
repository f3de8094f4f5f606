// SPDX-License-Identifier: Apache-2.0
//
// Detects packets whose flow is known at another port. Such a packet must not pass: its receiver
// could assemble a message from this packet and from sums that come by the other port. The module
// works in parallel with ina_flows, in the same clocks.
//
// Every port shows a hash of each of its flows to the other ports. All these hashes are compared
// with the packet's in one clock, in which the packet moves to the judge, and the result is
// registered. A flow that is learned later is compared separately. There is at most one in a clock,
// because ina_jobs answers one JOIN at a time. So every packet is compared with every flow, and the
// ingress is stopped by registers only.
//
// If a hash is equal and the packet has no flow here, the ingress stops (ina_admission), and
// ina_keys compares the full keys, one flow after the other. So a hash that is equal by chance only
// costs clocks. With 240 flows at other ports, that happens to one key of 70,000.
//
// A packet is judged by the flows that are known when it comes to the judge. A JOIN that waits for
// its answer is also compared with the flows that are learned during its wait. So of two JOINs with
// the same key, the second one sees the first one's flow. It stops asking two clocks after the
// answer to the first one.

`default_nettype none

module ina_elsewhere #(
    parameter  int JOB_COUNT   = 4,
    parameter  int OTHER_PORTS = 1,
    localparam int JOB_W       = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int OTHER_COUNT = OTHER_PORTS * JOB_COUNT,
    localparam int KNOWN_W     = ina_pkg::KNOWN_T_W
) (
    input  logic clk,
    input  logic rst,
    input  logic en,  // all packets move by one stage

    // The first beat of a RoCE request, as in ina_flows.
    input  logic                      s_valid,
    input  logic [ina_pkg::KEY_W-1:0] s_key,
    input  logic                      next_hit,  // one clock of en later: it has a flow here

    // The flows of this port, one known_t each, for the other ports; and the flows of the other
    // ports.
    input  logic                           learn,  // the packet at m_* opens a flow
    input  logic [JOB_W-1:0]               learn_job,
    input  logic [JOB_COUNT-1:0]           forget,
    output logic [JOB_COUNT*KNOWN_W-1:0]   known,
    input  logic [OTHER_COUNT*KNOWN_W-1:0] others,

    // To and from ina_keys: compare the key of the packet at m_* with that of one flow. Stays
    // until done.
    output ina_pkg::search_t search,
    input  ina_pkg::found_t  found,

    // The packet that moves to the judge in this clock of en must stop there.
    output logic next_alike,

    // The packet waits while m_searching = 1. Then m_elsewhere is valid.
    output logic m_searching,
    output logic m_elsewhere
);
  localparam int KEY_W  = ina_pkg::KEY_W;
  localparam int HASH_W = ina_pkg::HASH_W;

  // The XOR of pieces of HASH_W bits each. So keys that differ only within HASH_W consecutive bits
  // have different hashes.
  function automatic logic [HASH_W-1:0] hash_of(input logic [KEY_W-1:0] bits);
    hash_of = '0;
    for (int i = 0; i < KEY_W; i++) hash_of[i%HASH_W] = hash_of[i%HASH_W] ^ bits[i];
  endfunction

  // Stages 1 and 2, as in ina_flows.
  logic [HASH_W-1:0] s_hash;
  logic              s1_first;
  logic [KEY_W-1:0]  s1_key;
  logic [HASH_W-1:0] s1_hash;
  logic [KEY_W-1:0]  m_key;
  logic [HASH_W-1:0] m_hash;
  logic              m_hit;
  logic              moves;

  assign moves = en && s1_first;

  always_comb begin
    s_hash = '0;
    if (s_valid || !ina_pkg::SIMULATED) s_hash = hash_of(s_key);
  end

  always_ff @(posedge clk) begin
    if (en) s1_first <= s_valid;
    if (en && s_valid) begin
      s1_key  <= s_key;
      s1_hash <= s_hash;
    end
    if (moves) begin
      m_key  <= s1_key;
      m_hash <= s1_hash;
      m_hit  <= next_hit;
    end
    if (rst) s1_first <= 1'b0;
  end

  // This port's flows.
  logic [JOB_COUNT-1:0]        known_valid;
  logic [JOB_COUNT-1:0]        known_fresh;
  logic [JOB_COUNT*HASH_W-1:0] known_hash;

  always_ff @(posedge clk) begin
    known_valid <= known_valid & ~forget;
    known_fresh <= '0;
    if (learn) begin
      known_valid[learn_job]                 <= 1'b1;
      known_fresh[learn_job]                 <= 1'b1;
      known_hash[learn_job*HASH_W +: HASH_W] <= m_hash;
    end
    if (rst) begin
      known_valid <= '0;
      known_fresh <= '0;
    end
  end

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_known
    assign known[j*KNOWN_W +: KNOWN_W] =
        {known_valid[j], known_fresh[j], known_hash[j*HASH_W +: HASH_W]};
  end

  // The flows of the other ports, and which of them have the hash of the packet in stage 1.
  logic [OTHER_COUNT-1:0] other_valid;
  logic [OTHER_COUNT-1:0] other_fresh;
  logic [OTHER_COUNT-1:0] s1_alike;

  for (genvar i = 0; i < OTHER_COUNT; i++) begin : gen_other
    logic [HASH_W-1:0] other_hash;

    assign {other_valid[i], other_fresh[i], other_hash} = others[i*KNOWN_W +: KNOWN_W];
    assign s1_alike[i] = (moves || !ina_pkg::SIMULATED) && other_valid[i] && other_hash == s1_hash;
  end

  // The flows that have the hash of the packet at m_*, including the flow that has just been
  // learned.
  logic [OTHER_COUNT-1:0] m_alike;
  logic [OTHER_COUNT-1:0] still;
  logic [OTHER_COUNT-1:0] fresh;
  logic [OTHER_COUNT-1:0] differs;  // compared in full, and different
  logic                   m_left;   // some flows are still to be compared

  assign fresh      = found.learned_hash == m_hash ? other_fresh : '0;
  assign still      = ((m_alike & ~differs) | fresh) & other_valid;
  assign next_alike = moves && !next_hit && s1_alike != '0;

  always_ff @(posedge clk) begin
    m_alike <= moves ? s1_alike : still;
    m_left  <= moves ? next_alike : !m_hit && still != '0;
    if (rst) m_left <= 1'b0;
  end

  // The full comparison takes the lowest of them: the first port, and its first job.
  logic                   search_valid;
  logic [OTHER_PORTS-1:0] ports;
  logic [OTHER_PORTS-1:0] port;
  logic [OTHER_PORTS-1:0] search_port;
  logic [JOB_COUNT-1:0]   jobs;
  logic [JOB_COUNT-1:0]   search_job;

  always_comb begin
    for (int p = 0; p < OTHER_PORTS; p++) ports[p] = m_alike[p*JOB_COUNT +: JOB_COUNT] != '0;
    port = ports & (~ports + 1'b1);
    jobs = '0;
    for (int p = 0; p < OTHER_PORTS; p++)
      if (port[p]) jobs = jobs | m_alike[p*JOB_COUNT +: JOB_COUNT];
  end

  always_ff @(posedge clk) begin
    if (!search_valid) begin
      search_port <= port;
      search_job  <= jobs & (~jobs + 1'b1);
    end
  end

  // The answer is invalid if the flow has ended during the search: its place may hold another flow.
  logic [JOB_COUNT-1:0] port_valid;  // the flows of search_port
  logic                 ended_q;
  logic                 ended;

  always_comb begin
    port_valid = '0;
    for (int p = 0; p < OTHER_PORTS; p++)
      if (search_port[p]) port_valid = port_valid | other_valid[p*JOB_COUNT +: JOB_COUNT];
  end

  assign ended = ended_q || (search_job & port_valid) == '0;

  always_comb begin
    differs = '0;
    for (int p = 0; p < OTHER_PORTS; p++)
      if (found.done && !ended_q && search_port[p]) differs[p*JOB_COUNT +: JOB_COUNT] = search_job;
  end

  assign m_searching = search_valid || (!en && m_left && !m_elsewhere);

  always_ff @(posedge clk) begin
    search_valid <= m_searching && !found.done;
    ended_q      <= search_valid && ended;
    if (moves) m_elsewhere <= 1'b0;
    else if (found.done && found.equal && !ended) m_elsewhere <= 1'b1;
    if (rst) search_valid <= 1'b0;
  end

  // Port and job as numbers.
  logic [3:0] search_port_number;
  logic [5:0] search_job_number;

  always_comb begin
    search_port_number = '0;
    search_job_number  = '0;
    for (int p = 0; p < OTHER_PORTS; p++)
      if (search_port[p]) search_port_number = search_port_number | 4'(p);
    for (int j = 0; j < JOB_COUNT; j++)
      if (search_job[j]) search_job_number = search_job_number | 6'(j);
  end

  assign search = {search_valid, search_port_number, search_job_number, m_hash, m_key};

endmodule

`default_nettype wire

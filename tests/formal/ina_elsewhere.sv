// SPDX-License-Identifier: Apache-2.0
//
// ina_elsewhere: a packet of another port's flow is dropped, and no other packet is. The flows of the other
// port come and go as the solver likes, with keys of its choice, no two of them equal. ina_keys answers
// whenever the solver likes, and may give any answer for a flow that has just been learned. Keys have two
// bits and hashes have one, so half of all keys have the same hash.
//
//   1. Take a packet that has no flow here. If its key belonged to another port's flow when it was looked up,
//      and that flow has not ended since, the packet is known to be elsewhere when it may be decided.
//   2. A packet is known to be elsewhere only if its key belonged to such a flow at some time since then.
//   3. While a JOIN asks, no other port knows its key, except a port that has learned it in the clock before.
//   4. A search does not change until it is done.
//   5. If no flow is learned in the meantime, a packet stands still for at most five clocks for each flow and
//      three for the rest of a search whose flow has ended, provided that ina_keys answers as soon as it can.
//   6. The other ports see the flows of this port, each with the hash of its key, and the flow that was
//      learned in the clock before. ina_keys sees the packet's key and hash.

module formal_ina_elsewhere (
    input logic clk
);
  localparam int JOB_COUNT = 2;
  localparam int KEY_W     = ina_pkg::KEY_W;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic             s_valid;
  (* anyseq *) logic [KEY_W-1:0] s_key;
  (* anyseq *) logic             next_hit;
  (* anyseq *) logic             next_join;
  (* anyseq *) logic             waits;   // a JOIN, for its answer
  (* anyseq *) logic             learn;
  (* anyseq *) logic             learn_job;
  (* anyseq *) logic [JOB_COUNT-1:0] forget;
  (* anyseq *) logic [JOB_COUNT-1:0] opens;  // flows of the other port
  (* anyseq *) logic [JOB_COUNT-1:0] ends;
  (* anyseq *) logic [KEY_W-1:0]     new_key;
  (* anyseq *) logic             search_done;
  (* anyseq *) logic             search_equal;
  (* anyseq *) logic             any_hash;
  logic                 en;
  ina_pkg::known_t      known_0, known_1;
  logic [JOB_COUNT-1:0] other_fresh;
  logic                 learned_hash;
  logic [JOB_COUNT-1:0] other_valid;
  logic [KEY_W-1:0]     other_key_0, other_key_1;
  ina_pkg::search_t     search;
  logic                 search_valid;
  logic                 search_job;
  logic [KEY_W-1:0]     m_key;
  logic                 next_alike;
  logic                 m_searching;
  logic                 m_elsewhere;

  ina_elsewhere #(.JOB_COUNT(JOB_COUNT), .OTHER_PORTS(1)) dut (
      .clk, .rst, .en, .s_valid, .s_key, .next_hit, .learn, .learn_job, .forget,
      .known({known_1, known_0}),
      .others({other_valid[1], other_fresh[1], ^other_key_1,
               other_valid[0], other_fresh[0], ^other_key_0}),
      .search, .found({search_done, search_equal, other_fresh == '0 ? any_hash : learned_hash}),
      .next_alike, .m_searching, .m_elsewhere);

  assign search_valid = search.valid;
  assign search_job   = search.job[0];
  assign m_key        = search.key;

  // The packet that comes to the judge next, and the packet at the judge.
  logic             coming;
  logic [KEY_W-1:0] coming_key;
  logic             moves;
  logic             there;
  logic             ours;  // the packet has a flow here
  logic [KEY_W-1:0] key;

  assign moves = en && coming;

  always_ff @(posedge clk) begin
    if (en) coming <= s_valid;
    if (en && s_valid) coming_key <= s_key;
    if (moves) begin
      there <= 1'b1;
      ours  <= next_hit;
      key   <= coming_key;
    end
    // The rule of ina_admission.
    en <= en ? !((moves && next_join) || next_alike) : !(waits || m_searching);
    if (rst) begin
      coming <= 1'b0;
      there  <= 1'b0;
      en     <= 1'b1;
    end
  end

  // The other port's flows. The counters give the clocks since a flow was learned, up to 3; in clock 0 the
  // flow is visible for the first time.
  logic [1:0] since_0, since_1;

  always_ff @(posedge clk) begin
    since_0     <= (since_0 == 2'd3) ? 2'd3 : since_0 + 2'd1;
    since_1     <= (since_1 == 2'd3) ? 2'd3 : since_1 + 2'd1;
    other_valid <= rst ? '0 : (other_valid | opens) & ~ends;
    other_fresh  <= rst ? '0 : opens;
    learned_hash <= ^new_key;
    if (opens[0]) {other_key_0, since_0} <= {new_key, 2'd0};
    if (opens[1]) {other_key_1, since_1} <= {new_key, 2'd0};
  end

  logic [JOB_COUNT-1:0] same;         // flows with the key of the packet at the judge
  logic [JOB_COUNT-1:0] coming_same;  // ... of the packet that comes next

  assign same        = other_valid & {other_key_1 == key, other_key_0 == key};
  assign coming_same = other_valid & {other_key_1 == coming_key, other_key_0 == coming_key};

  always_comb begin
    assume ((opens & (other_valid | ends)) == '0 && opens != '1);
    if (opens[0]) assume (!(other_valid[1] && other_key_1 == new_key));
    if (opens[1]) assume (!(other_valid[0] && other_key_0 == new_key));
    // A key is known at one port only.
    if (moves && next_hit) assume (coming_same == '0);
    if (rst) assume (opens == '0);
  end

  // ina_keys.
  logic [2:0] searched;  // clocks

  always_ff @(posedge clk)
    searched <= (rst || !search_valid || search_done) ? '0 : searched + 3'd1;

  always_comb begin
    if (search_done) assume (search_valid && searched >= 3'd3);
    if (searched == 3'd5) assume (search_done);
    if (search_done && !search_job && since_0 >= 2'd2)
      assume (search_equal == (other_key_0 == m_key));
    if (search_done && search_job && since_1 >= 2'd2)
      assume (search_equal == (other_key_1 == m_key));
  end

  // Since the packet came: the flow that it was found to belong to, if this flow has not ended; and any such
  // flow.
  logic [JOB_COUNT-1:0] found_q, found;
  logic                 ever_q, ever;

  assign found = found_q & other_valid;
  assign ever  = ever_q || same != '0;

  always_ff @(posedge clk) begin
    found_q <= moves ? coming_same : found;
    ever_q  <= moves ? coming_same != '0 : ever;
  end

  // This port's flows.
  logic [JOB_COUNT-1:0] own_valid;
  logic [JOB_COUNT-1:0] own_fresh;
  logic [KEY_W-1:0]     own_key_0, own_key_1;

  always_ff @(posedge clk) begin
    own_valid <= rst ? '0 : (own_valid & ~forget) | (learn ? 2'd1 << learn_job : 2'd0);
    own_fresh <= (learn && !rst) ? 2'd1 << learn_job : 2'd0;
    if (learn && !learn_job) own_key_0 <= key;
    if (learn && learn_job) own_key_1 <= key;
  end

  always_comb if (learn) assume (!rst && there && !en && !own_valid[learn_job] && !forget[learn_job]);

  logic       searches_q;  // it searched in the clock before, and was not done
  logic       job_q;
  logic [KEY_W-1:0] key_q;
  logic [3:0] still;

  always_ff @(posedge clk) begin
    searches_q <= !rst && search_valid && !search_done;
    job_q      <= search_job;
    key_q      <= m_key;
    still      <= (rst || !m_searching || opens != '0 || searched > 3'd3) ? '0 : still + 4'd1;
  end

  always_comb begin
    if (!rst) begin
      if (there && en && !ours) begin
        p1_dropped: assert (found == '0 || m_elsewhere);
      end
      if (there && m_elsewhere) begin
        p2_known: assert (ever && !ours);
      end
      if (there && !en && !ours && !m_searching && !m_elsewhere) begin
        p3_asks: assert (!(same[0] && since_0 != '0) && !(same[1] && since_1 != '0));
      end
      if (searches_q) begin
        p4_stays: assert (search_valid && search_job == job_q && m_key == key_q);
      end
      p4_flow:  assert (!search_valid || (search.port == '0 && search.job < 6'(JOB_COUNT)));
      p5_ends:  assert (still <= 4'd13);
      p6_valid: assert ({known_1.valid, known_0.valid} == own_valid);
      p6_fresh: assert ({known_1.fresh, known_0.fresh} == own_fresh);
      p6_hash:  assert ((!own_valid[0] || known_0.hash == ^own_key_0)
          && (!own_valid[1] || known_1.hash == ^own_key_1));
      if (there) begin
        p6_packet: assert (search.hash == ^key && search.key == key);
      end
    end
  end

  logic differed;  // a flow was compared with the packet at the judge, and has another key
  logic asked;     // ... the packet is a JOIN, and has asked

  always_ff @(posedge clk) begin
    differed <= !rst && !moves && (differed || (search_done && !search_equal));
    asked    <= !rst && !moves
        && (asked || (there && !en && waits && !m_searching && !m_elsewhere));
  end

  always_comb begin
    if (!rst) begin
      passes:    cover (there && en && differed && !m_elsewhere);
      second:    cover (there && en && differed && m_elsewhere);
      withdraws: cover (there && en && asked && m_elsewhere);
    end
  end
endmodule

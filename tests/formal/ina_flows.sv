// SPDX-License-Identifier: Apache-2.0
//
// ina_flows finds a packet's flow, and its distance from the next PSN. The proof follows one connection (a
// key of the solver's choice), and keeps a separate record of what was learned and decided.
//
//   1. The table never has two hits: no packet's key equals that of two valid flows, and the followed key is
//      in at most one context.
//   2. Take a packet of the followed connection that waits for its decision. It has m_hit if and only if the
//      connection has a flow, and then with the flow's job.
//   3. m_distance is the packet's PSN minus the flow's next PSN. The next PSN starts one after the PSN of the
//      packet that was learned. It grows by one with each packet that is taken, and does not change
//      otherwise.
//   4. A flow ends when its job is forgotten, and only then.

module formal_ina_flows (
    input logic clk
);
  localparam int JOB_COUNT = 2;
  localparam int JOB_W     = 1;
  localparam int KEY_W     = 3;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic                 en;
  (* anyseq *) logic                 s_valid;
  (* anyseq *) logic [KEY_W-1:0]     s_key;
  (* anyseq *) logic [3:0]           psn_low;
  (* anyseq *) logic                 learn;
  (* anyseq *) logic [JOB_W-1:0]     learn_job;
  (* anyseq *) logic                 advance;
  (* anyseq *) logic                 other;  // any other decision
  (* anyseq *) logic [JOB_COUNT-1:0] forget;
  logic [23:0]      s_psn;
  logic             m_hit;
  logic [JOB_W-1:0] m_job;
  logic [23:0]      m_distance;

  assign s_psn = {{20{psn_low[3]}}, psn_low};  // in round 0, where PSNs wrap

  ina_flows #(.JOB_COUNT(JOB_COUNT), .KEY_W(KEY_W)) dut (
      .clk, .rst, .en, .s_valid, .s_key, .s_psn, .next_job(), .next_hit(), .m_hit, .m_job,
      .m_distance, .learn, .learn_job, .advance, .forget);

  // The packets in the two stages, and whether the one at m_* waits for its decision.
  logic             first_valid;
  logic [KEY_W-1:0] first_key;
  logic [23:0]      first_psn;
  logic             waits;
  logic [KEY_W-1:0] key;
  logic [23:0]      psn;

  always_ff @(posedge clk) begin
    if (rst) begin
      first_valid <= 1'b0;
      waits       <= 1'b0;
    end else begin
      if (learn || advance || other) waits <= 1'b0;
      if (en) first_valid <= s_valid;
      if (en && s_valid) begin
        first_key <= s_key;
        first_psn <= s_psn;
      end
      if (en && first_valid) begin
        waits <= 1'b1;
        key   <= first_key;
        psn   <= first_psn;
      end
    end
  end

  // The contract of judge and parser: after a contribution there is a clock without a packet. The contract of
  // ina_jobs: a job has at most one flow here, and ends after it.
  logic [JOB_COUNT-1:0] used;

  always_ff @(posedge clk) begin
    for (int j = 0; j < JOB_COUNT; j++)
      used[j] <= !rst && ((used[j] && !forget[j]) || (learn && learn_job == JOB_W'(j)));
  end

  always_comb begin
    if (learn) assume (waits && !first_valid && !m_hit && !en && !advance && !other && !used[learn_job]
        && !forget[learn_job]);
    if (advance) assume (waits && !first_valid && m_hit && en && m_distance == '0 && !other);
    if (other) assume (waits && m_hit && en);
    assume ((forget & ~used) == '0);
  end

  // The followed connection.
  (* anyconst *) logic [KEY_W-1:0] followed;
  logic             flow;
  logic [JOB_W-1:0] job;
  logic [23:0]      next_psn;
  logic             ours;

  assign ours = waits && key == followed;

  always_ff @(posedge clk) begin
    if (rst || (flow && forget[job])) flow <= 1'b0;
    if (!rst && ours && learn) begin
      flow     <= 1'b1;
      job      <= learn_job;
      next_psn <= psn + 1'b1;
    end else if (ours && advance) begin
      next_psn <= next_psn + 1'b1;
    end
  end

  (* hierconn *) logic [JOB_COUNT-1:0] \dut.match ;

  always_comb begin
    if (!rst) begin
      p1_one_hit: assert (\dut.match != '1);
      if (ours) begin
        p1_known: assert (!(flow && learn));
        p2_hit:   assert (m_hit == flow);
        if (flow) begin
          p2_job:      assert (m_job == job);
          p3_distance: assert (m_distance == psn - next_psn);
        end
      end
      p4_job: assert (!flow || used[job]);
    end
  end

  logic [1:0] taken;
  logic       ended;

  always_ff @(posedge clk) begin
    if (rst) begin
      taken <= '0;
      ended <= 1'b0;
    end else begin
      if (ours && advance && taken != '1) taken <= taken + 1'b1;
      if (flow && forget[job]) ended <= 1'b1;
    end
  end

  always_comb begin
    if (!rst) begin
      two_jobs: cover (used == '1 && flow);
      two:      cover (taken == 2'd2);
      again:    cover (ended && flow && taken == 2'd1);
      behind:   cover (ours && flow && m_distance == '1);
    end
  end
endmodule

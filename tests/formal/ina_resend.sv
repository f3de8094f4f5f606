// SPDX-License-Identifier: Apache-2.0
//
// ina_resend: retransmissions come out in order, and each job's sums wait as long as they should. The proof
// follows one entry and one job of the solver's choice.
//
//   1. The output obeys the handshake: valid and entry stay until ready.
//   2. An entry comes out unchanged, after exactly those that were before it, under the number that it was
//      given. No other entry gets this number in the meantime.
//   3. It refuses an entry only if DEPTH entries are in. Nothing comes out while it is empty; an entry that
//      is in comes out.
//   4. `pending` names exactly the jobs whose entries are in, or have left in the clock before.
//   5. A job is behind from its first answer on: at least until a packet of it has come that needs no answer,
//      or for `LEAST` clocks after its last answer, and then as long as an entry of it is in.
//   6. Nothing else makes it behind. It stops being behind two clocks after its last entry has left, and one
//      clock after a packet has come that needs no answer, or after `MOST` clocks without an answer. Other
//      jobs' packets have no effect.

module formal_ina_resend (
    input logic clk
);
  localparam int JOB_COUNT  = 2;
  localparam int SLOT_COUNT = 2;
  localparam int JOB_W      = 1;
  localparam int DEPTH      = ina_pkg::RESEND_DEPTH;
  localparam int ENTRY_W    = ina_pkg::RESEND_ENTRY_W;
  localparam int COUNT_W    = ENTRY_W + 1;
  localparam int TICK       = 2;         // as in proofs.txt: two to the power of TICK_W
  localparam int LEAST      = TICK * 1;  // ... and PATIENCE
  localparam int MOST       = TICK * 2;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic             s_valid;
  (* anyseq *) logic             s_caught_up;
  (* anyseq *) ina_pkg::resend_t s_resend;
  (* anyseq *) logic             m_ready;
  logic                 s_ready;
  logic [ENTRY_W-1:0]   s_entry;
  logic                 m_valid;
  ina_pkg::resend_t     m_resend;
  logic [ENTRY_W-1:0]   m_entry;
  logic [JOB_COUNT-1:0] pending;
  logic [JOB_COUNT-1:0] behind;

  ina_resend #(.JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT)) dut (
      .clk, .rst, .s_valid, .s_ready, .s_resend, .s_entry, .s_caught_up,
      .m_valid, .m_ready, .m_resend, .m_entry, .pending, .behind);

  // Only jobs and slots that exist.
  always_comb begin
    assume (s_resend.job[5:1] == '0);
    assume (s_resend.slot[14:1] == '0);
  end

  // 1.
  formal_stream #(.WIDTH(ina_pkg::RESEND_T_W + ENTRY_W)) output_rules (
      .clk, .rst, .valid(m_valid), .ready(m_ready), .payload({m_resend, m_entry}));

  logic push;
  logic pop;
  logic answer;

  assign push   = s_valid && s_ready;
  assign pop    = m_valid && m_ready;
  assign answer = s_valid && !s_resend.probe;

  // The followed entry: how many leave before it.
  (* anyseq *) logic  follow;
  logic               followed;
  ina_pkg::resend_t   word;
  logic [ENTRY_W-1:0] number;
  logic [COUNT_W-1:0] before;
  logic [COUNT_W-1:0] inside;
  logic               waited;  // nothing came out in the clock before, although an entry was in

  always_ff @(posedge clk) begin
    inside <= rst ? '0 : inside + COUNT_W'(push) - COUNT_W'(pop);
    waited <= !rst && inside != '0 && !m_valid;
    if (rst) begin
      followed <= 1'b0;
    end else if (!followed) begin
      if (follow && push) begin
        followed <= 1'b1;
        word     <= s_resend;
        number   <= s_entry;
        before   <= inside - COUNT_W'(pop);
      end
    end else if (pop) begin
      followed <= before != '0;
      before   <= before - 1'b1;
    end
  end

  // The followed job.
  (* anyconst *) logic [JOB_W-1:0] job;
  logic [COUNT_W-1:0] of_job;      // its entries that are in
  logic               left;        // one left in the clock before
  logic               goes_back;   // it has had an answer, and since then no packet that needs no answer
  logic [3:0]         since;       // clocks since its last answer
  logic               over;        // in the clock before: neither, and no entry of it was in
  logic               was_level;   // it was not behind in the clock before
  logic               was_behind;  // it was in the clock before, and an entry of it was in

  logic push_of_job;
  logic pop_of_job;
  logic answer_of_job;

  assign push_of_job   = push && s_resend.job[JOB_W-1:0] == job;
  assign pop_of_job    = pop && m_resend.job[JOB_W-1:0] == job;
  assign answer_of_job = answer && s_resend.job[JOB_W-1:0] == job;

  always_ff @(posedge clk) begin
    of_job     <= rst ? '0 : of_job + COUNT_W'(push_of_job) - COUNT_W'(pop_of_job);
    left       <= !rst && pop_of_job;
    over       <= !rst && (!goes_back || since >= 4'(MOST)) && of_job == '0 && !left;
    was_level  <= rst || !behind[job];
    was_behind <= !rst && behind[job] && of_job != '0;
    if (rst) goes_back <= 1'b0;
    else if (answer_of_job) goes_back <= 1'b1;
    else if (s_caught_up && s_resend.job[JOB_W-1:0] == job) goes_back <= 1'b0;
    if (rst || answer_of_job) since <= '0;
    else if (since != '1) since <= since + 1'b1;
  end

  always_comb begin
    if (!rst) begin
      if (followed) begin
        p2_number: assert (!push || s_entry != number);
      end
      if (followed && before == '0 && m_valid) begin
        p2_word: assert (m_resend == word && m_entry == number);
      end
      p3_full:      assert (s_ready || inside == COUNT_W'(DEPTH));
      p3_least:     assert (inside <= COUNT_W'(DEPTH));
      p3_empty:     assert (!m_valid || inside != '0);
      p3_comes_out: assert (!(waited && !m_valid));
      p4_pending:   assert (pending[job] == (of_job != '0 || left));
      if (goes_back && since <= 4'(LEAST)) begin
        p5_more: assert (behind[job]);
      end
      if (was_behind) begin
        p5_waits: assert (behind[job]);
      end
      if ((over || was_level) && !(goes_back && since == '0)) begin
        p6_ends: assert (!behind[job]);
      end
    end
  end

  logic was_full;
  logic caught_up;
  logic ran_out;

  always_ff @(posedge clk) begin
    was_full  <= !rst && (was_full || !s_ready);
    caught_up <= !rst && (caught_up || (behind[job] && !goes_back));
    ran_out   <= !rst && (ran_out || (goes_back && since >= 4'(MOST) && !behind[job]));
  end

  always_comb begin
    if (!rst) begin
      drained:   cover (was_full && inside == '0);
      ends:      cover (caught_up && !behind[job]);
      patience:  cover (ran_out && behind[job]);
      both_jobs: cover (behind == '1 && pending == '1);
    end
  end
endmodule

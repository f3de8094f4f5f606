// SPDX-License-Identifier: Apache-2.0
//
// ina_jobs answers every JOIN, whatever the other ports ask for and whatever is under way. ina_jobs.sv proves
// which answer it gives.
//
//   1. A port that asks is answered after at most one answer to each other port, not counting an answer in
//      the clock in which it begins to ask.
//   2. It is answered within five clocks for each port and one more.
//   3. Only a port that asks, or asked in the clock before, is answered, and no two ports in the same clock.

module formal_ina_jobs_turns (
    input logic clk
);
  localparam int PORT_COUNT = 3;  // with two ports, the one that was not served last is always the next
  localparam int JOB_COUNT  = 1;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic [PORT_COUNT-1:0]                  ask_valid;
  (* anyseq *) logic [PORT_COUNT*ina_pkg::ASK_T_W-1:0] ask;
  logic [PORT_COUNT-1:0] answer_valid;

  (* anyseq *) logic                  age;
  (* anyseq *) logic                  tick;
  (* anyseq *) logic [PORT_COUNT-1:0] hit_valid;
  (* anyseq *) logic [PORT_COUNT-1:0] break_valid;
  (* anyseq *) logic [PORT_COUNT-1:0] leave_valid;
  (* anyseq *) logic [PORT_COUNT-1:0] contest_breaks;
  (* anyseq *) logic [PORT_COUNT-1:0] contest_leaves;
  (* anyseq *) logic                  mismatch;
  (* anyseq *) logic                  done_valid;
  (* anyseq *) logic [PORT_COUNT-1:0] done_mask;
  (* anyseq *) logic                  job_quiet;
  (* anyseq *) logic [PORT_COUNT-1:0] queue_waiting;
  (* anyseq *) logic                  job_begun;
  (* anyseq *) logic                  job_has_block;
  (* anyconst *) logic [1:0]            level;
  (* anyconst *) logic [PORT_COUNT-1:0] uplinks;
  (* anyconst *) logic [6:0]            quota;
  (* anyconst *) logic [6:0]            vlan_quota;

  ina_jobs #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) dut (
      .clk, .rst, .age, .tick, .level, .uplinks, .quota, .vlan_quota, .ask_valid, .ask,
      .answer_valid, .answer_granted(), .answer_held(), .answer_job(), .context_wanted(),
      .hit_valid, .break_valid, .leave_valid, .hit_job('0), .contest_breaks, .contest_leaves, .contest_job('0), .mismatch,
      .done_valid, .done_job('0), .done_mask, .job_begun, .job_quiet, .queue_waiting,
      .job_valid(), .job_complete(), .job_broken(), .job_lingers(), .job_mask(), .job_border(), .job_down(),
      .job_freed(), .job_count(), .job_before(), .look(), .look_asked(), .take(), .take_job(), .job_idle(), .job_has_block,
      .resend_pending('0), .stuck(),
      .opened(), .lacked(), .newly_closed(), .newly_broken(), .newly_expired(), .busy());

  logic [PORT_COUNT-1:0] asked;
  logic [PORT_COUNT-1:0] overtaken;
  logic [PORT_COUNT-1:0] late;

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_port
    logic       asks;    // it asked in the clock before, and was not answered
    logic [1:0] others;  // answers to others, from the clock after on
    logic [4:0] clocks;  // since it began to ask

    always_ff @(posedge clk) begin
      asks   <= !rst && ask_valid[p] && !answer_valid[p];
      others <= (rst || !ask_valid[p] || answer_valid[p]) ? '0 : others + 2'(asks && answer_valid != '0);
      clocks <= (rst || !ask_valid[p] || answer_valid[p]) ? '0 : clocks + 1'b1;
    end

    // A request holds until its answer.
    always_comb if (!rst && asks) assume (ask_valid[p]);

    assign asked[p]     = asks;
    assign overtaken[p] = others >= 2'(PORT_COUNT);
    assign late[p]      = clocks > 5'(5 * PORT_COUNT + 1);
  end

  always_comb begin
    if (!rst) begin
      p1_fair:  assert (overtaken == '0);
      p2_late:  assert (late == '0);
      p3_asked: assert ((answer_valid & ~(ask_valid & asked)) == '0);
      p3_one:   assert ((answer_valid & (answer_valid - 1'b1)) == '0);
    end
  end

  logic [PORT_COUNT-1:0] answered;

  always_ff @(posedge clk) answered <= rst ? '0 : answered | answer_valid;

  always_comb begin
    if (!rst) begin
      all_answered: cover (answered == '1 && ask_valid == '1);
    end
  end
endmodule

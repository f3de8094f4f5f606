// SPDX-License-Identifier: Apache-2.0
//
// ina_pick: what it hands to the join may go. Jobs, queues, retransmissions and room are any; the
// join takes what is chosen, and reports its progress, when it likes.
//
//   1. What is chosen stays until the join takes it.
//   2. A join is chosen with all ranks: of a complete, unbroken job that is not closing, with
//      exactly the job's ports, each of which has a packet that was not chosen before.
//   3. A raw packet is chosen of one port of a broken job, when nothing of the job is under way.
//   4. A retransmission is chosen of a port that has one, once, with its own job, slot and kind.
//   5. Every port that a chosen packet leaves on has room, and less than two that were chosen and
//      are not settled.
//   6. The slot is the queue's head, and as far ahead of it as packets of the job are under way.
//   7. A job is quiet only while nothing of it is chosen or waits for its answer from the history.

module formal_ina_pick (
    input logic clk
);
  localparam int PORT_COUNT = 2;
  localparam int JOB_COUNT  = 2;
  localparam int SLOT_COUNT = 4;
  localparam int JOB_W      = 1;
  localparam int SLOT_W     = 2;
  localparam int FILL_W     = 3;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic [JOB_COUNT-1:0]                   job_valid;
  (* anyseq *) logic [JOB_COUNT-1:0]                   job_complete;
  (* anyseq *) logic [JOB_COUNT-1:0]                   job_broken;
  (* anyseq *) logic [JOB_COUNT-1:0]                   job_closing;
  (* anyseq *) logic [JOB_COUNT*PORT_COUNT-1:0]        job_mask;
  (* anyseq *) logic [PORT_COUNT*JOB_COUNT*FILL_W-1:0] queue_fill;
  (* anyseq *) logic [PORT_COUNT*JOB_COUNT*SLOT_W-1:0] queue_head;
  (* anyseq *) logic [PORT_COUNT-1:0]                  resend_valid;
  (* anyseq *) logic [PORT_COUNT-1:0]                  resend_probe;
  (* anyseq *) logic [PORT_COUNT*JOB_W-1:0]            resend_job;
  (* anyseq *) logic [PORT_COUNT*SLOT_W-1:0]           resend_slot;
  (* anyseq *) logic [PORT_COUNT*JOB_COUNT-1:0]        resend_pending;
  (* anyseq *) logic [PORT_COUNT-1:0]                  resend_pop;
  (* anyseq *) logic [PORT_COUNT-1:0]                  rebuild_room;
  (* anyseq *) logic [PORT_COUNT-1:0]                  settled;
  (* anyseq *) logic                                   done_valid;
  (* anyseq *) logic [JOB_W-1:0]                       done_job;
  (* anyseq *) logic                                   undo_valid;
  (* anyseq *) logic [JOB_W-1:0]                       undo_job;
  (* anyseq *) logic                                   m_ready;
  logic                  m_valid;
  logic [1:0]            m_kind;
  logic [JOB_W-1:0]      m_job;
  logic [SLOT_W-1:0]     m_slot;
  logic [PORT_COUNT-1:0] m_mask;
  logic                  m_probe;
  logic [JOB_COUNT-1:0]  job_quiet;

  ina_pick #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT)) dut (
      .clk, .rst, .job_valid, .job_complete, .job_broken, .job_closing, .job_mask,
      .queue_fill, .queue_head, .resend_valid, .resend_probe, .resend_job, .resend_slot,
      .resend_pending, .resend_pop, .rebuild_room, .settled,
      .done_valid, .done_job, .undo_valid, .undo_job,
      .m_valid, .m_ready, .m_kind, .m_job, .m_slot, .m_mask, .m_probe, .job_quiet, .busy());

  // 1.
  formal_stream #(.WIDTH(2 + JOB_W + SLOT_W + PORT_COUNT + 1)) output_rules (
      .clk, .rst, .valid(m_valid), .ready(m_ready),
      .payload({m_kind, m_job, m_slot, m_mask, m_probe}));

  // A choice is seen in the clock after it was made: `new_choice`, with what it was made from.
  logic                                   could_choose;
  logic                                   new_choice;
  logic [JOB_COUNT-1:0]                   was_valid;
  logic [JOB_COUNT-1:0]                   was_complete;
  logic [JOB_COUNT-1:0]                   was_broken;
  logic [JOB_COUNT-1:0]                   was_closing;
  logic [JOB_COUNT*PORT_COUNT-1:0]        was_mask;
  logic [PORT_COUNT*JOB_COUNT*FILL_W-1:0] was_fill;
  logic [PORT_COUNT*JOB_COUNT*SLOT_W-1:0] was_head;
  logic [PORT_COUNT-1:0]                  was_resend;
  logic [PORT_COUNT-1:0]                  was_probe;
  logic [PORT_COUNT*JOB_W-1:0]            was_resend_job;
  logic [PORT_COUNT*SLOT_W-1:0]           was_resend_slot;
  logic [PORT_COUNT-1:0]                  was_room;
  logic [PORT_COUNT-1:0]                  was_popped;

  always_ff @(posedge clk) begin
    could_choose    <= !rst && (!m_valid || m_ready);
    was_valid       <= job_valid;
    was_complete    <= job_complete;
    was_broken      <= job_broken;
    was_closing     <= job_closing;
    was_mask        <= job_mask;
    was_fill        <= queue_fill;
    was_head        <= queue_head;
    was_resend      <= resend_valid;
    was_probe       <= resend_probe;
    was_resend_job  <= resend_job;
    was_resend_slot <= resend_slot;
    was_room        <= rebuild_room;
    was_popped      <= resend_pop;
  end
  assign new_choice = m_valid && could_choose;

  // Packets of each job under way, and of each port not settled, without this clock's new choice
  // and with it. The choice saw them as they were in the clock before (`was_under_way`).
  logic [JOB_COUNT*4-1:0]  under_way;
  logic [JOB_COUNT*4-1:0]  under_way_now;
  logic [JOB_COUNT*4-1:0]  was_under_way;
  logic [PORT_COUNT*4-1:0] unsettled;
  logic [PORT_COUNT*4-1:0] unsettled_now;
  logic [PORT_COUNT-1:0]   chosen;      // the port's oldest retransmission is
  logic [PORT_COUNT-1:0]   chosen_now;
  logic                    is_packet;   // the new choice is of a queue

  assign is_packet = new_choice && m_kind != ina_pkg::KIND_RESEND;

  always_comb begin
    under_way_now = under_way;
    unsettled_now = unsettled;
    chosen_now    = chosen;
    if (is_packet) under_way_now[m_job*4 +: 4] = under_way[m_job*4 +: 4] + 1'b1;
    for (int p = 0; p < PORT_COUNT; p++) begin
      if (was_popped[p]) chosen_now[p] = 1'b0;
      if (new_choice && m_mask[p]) begin
        unsettled_now[p*4 +: 4] = unsettled[p*4 +: 4] + 1'b1;
        if (m_kind == ina_pkg::KIND_RESEND) chosen_now[p] = 1'b1;
      end
    end
  end

  always_ff @(posedge clk) begin
    under_way <= under_way_now;
    unsettled <= unsettled_now;
    chosen    <= rst ? '0 : chosen_now;
    was_under_way <= under_way_now;
    for (int j = 0; j < JOB_COUNT; j++)
      under_way[j*4 +: 4] <= rst ? '0 : under_way_now[j*4 +: 4]
          - 4'(done_valid && done_job == JOB_W'(j)) - 4'(undo_valid && undo_job == JOB_W'(j));
    for (int p = 0; p < PORT_COUNT; p++)
      unsettled[p*4 +: 4] <= rst ? '0 : unsettled_now[p*4 +: 4] - 4'(settled[p]);
  end

  // A job has ports. The join reports what was handed over, once. A queue holds SLOT_COUNT packets at most.
  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_contract
    always_comb if (job_valid[j]) assume (job_mask[j*PORT_COUNT +: PORT_COUNT] != '0);
    always_comb assume (under_way_now[j*4 +: 4]
        >= 4'(m_valid && m_kind != ina_pkg::KIND_RESEND && m_job == JOB_W'(j))
         + 4'(done_valid && done_job == JOB_W'(j)) + 4'(undo_valid && undo_job == JOB_W'(j)));
  end
  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_port_contract
    always_comb begin
      assume (unsettled_now[p*4 +: 4] >= 4'(m_valid && m_mask[p]) + 4'(settled[p]));
      assume (!resend_pop[p] || (chosen_now[p]
          && !(m_valid && m_kind == ina_pkg::KIND_RESEND && m_mask[p])));
      for (int j = 0; j < JOB_COUNT; j++)
        assume (queue_fill[(p*JOB_COUNT + j)*FILL_W +: FILL_W] <= FILL_W'(SLOT_COUNT));
    end
  end

  // The new choice's job.
  logic [PORT_COUNT-1:0] ports;
  logic [3:0]            ahead;
  logic [PORT_COUNT-1:0] waiting;  // ports with a packet that was not chosen before
  logic [PORT_COUNT-1:0] at_head;  // the slot is right for the port

  assign ports = was_mask[m_job*PORT_COUNT +: PORT_COUNT];
  assign ahead = was_under_way[m_job*4 +: 4];
  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_of_job
    assign waiting[p] = 4'(was_fill[(p*JOB_COUNT + 32'(m_job))*FILL_W +: FILL_W]) > ahead;
    assign at_head[p] = m_slot
        == was_head[(p*JOB_COUNT + 32'(m_job))*SLOT_W +: SLOT_W] + ahead[SLOT_W-1:0];
  end

  logic [PORT_COUNT-1:0] crowded;  // two are chosen and not settled

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_crowded
    assign crowded[p] = unsettled[p*4 +: 4] >= 4'd2;
  end

  logic [JOB_COUNT-1:0] not_quiet;

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_quiet
    assign not_quiet[j] = under_way_now[j*4 +: 4] != '0 || resend_pending[j]
        || resend_pending[JOB_COUNT + j];
  end

  logic one_port;

  assign one_port = m_mask == 2'd1 || m_mask == 2'd2;

  always_comb begin
    if (!rst) begin
      if (new_choice && m_kind == ina_pkg::KIND_JOIN) begin
        p2_job:   assert (was_valid[m_job] && was_complete[m_job] && !was_broken[m_job]
            && !was_closing[m_job]);
        p2_ports: assert (m_mask == ports);
        p2_heads: assert ((m_mask & ~waiting) == '0);
      end
      if (new_choice && m_kind == ina_pkg::KIND_RAW) begin
        p3_job:   assert (was_valid[m_job] && was_broken[m_job] && ahead == '0);
        p3_port:  assert (one_port && (m_mask & ~ports) == '0 && (m_mask & ~waiting) == '0);
      end
      if (new_choice && m_kind == ina_pkg::KIND_RESEND) begin
        p4_one:   assert (one_port && (m_mask & ~was_resend) == '0 && (m_mask & chosen) == '0);
        p4_what:  assert (m_job == was_resend_job[m_mask[1]*JOB_W +: JOB_W]
            && m_slot == was_resend_slot[m_mask[1]*SLOT_W +: SLOT_W]
            && m_probe == was_probe[m_mask[1]]);
      end
      if (new_choice) begin
        p5_room:  assert ((m_mask & ~was_room) == '0 && (m_mask & crowded) == '0);
        p5_kind:  assert (m_kind != 2'd3);
      end
      if (is_packet) begin
        // A job's heads are in one slot: it is looked at where the queues agree, as they do.
        p6_slot:  assert ((m_mask & at_head) != '0);
      end
      p7_quiet:   assert ((job_quiet & not_quiet) == '0);
    end
  end

  logic [1:0] joins;

  always_ff @(posedge clk) begin
    if (rst) joins <= '0;
    else if (new_choice && m_kind == ina_pkg::KIND_JOIN && m_mask == '1 && joins != '1)
      joins <= joins + 1'b1;
  end

  always_comb begin
    if (!rst) begin
      two_joins: cover (joins == 2'd2 && under_way[3:0] == 4'd2);
      raw:       cover (new_choice && m_kind == ina_pkg::KIND_RAW && joins == 2'd1);
      resend:    cover (new_choice && m_kind == ina_pkg::KIND_RESEND && joins == 2'd1);
      quiet:     cover (job_quiet == '1 && joins == 2'd2);
    end
  end
endmodule

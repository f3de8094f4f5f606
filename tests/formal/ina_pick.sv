// SPDX-License-Identifier: Apache-2.0
//
// ina_pick: what it hands to the join may go, at a switch by itself. Jobs, queues, retransmissions and
// room are any that keep their contracts; the join takes what is chosen, and reports its progress,
// when it likes.
//
//   1. What is handed over stays until the join takes it.
//   2. A join goes with all ranks: its job is complete, it takes the next packet of exactly the
//      job's ports, and each of these has one.
//   3. A raw packet is the next one of one port of a broken job, and nothing of the job is under
//      way then; after it, the job is never joined again.
//   4. A retransmission is chosen of ports that have one, once, with their own job, slot and kind;
//      of several only where they want the same sum, and are as long.
//   5. Every port that a packet leaves on has had room since the packet before it went, and
//      CHOSEN_MAX (here two) at most have gone there, this one too, of which ina_rebuild had not
//      known for two clocks when it was found to have room, two clocks before it goes.
//   6. A packet of queues has the slot that they gave with it.
//   7. A job is quiet only while nothing of it is chosen or waits for its answer from the history;
//      where there is no job any more, it is quiet then, and stays so until a retransmission is
//      asked for.
//   8. A retransmission is dropped if and only if its sum was overwritten: more than SLOT_COUNT
//      sums of its job were chosen from it on, those that were called off not counted.
//   9. No job's queues move on in two clocks on end.
//  10. No sum is chosen of a job one of whose receivers has been behind since the packet before.

module formal_ina_pick (
    input logic clk
);
  localparam int PORT_COUNT = 2;
  localparam int JOB_COUNT  = 2;
  localparam int SLOT_COUNT = 2;
  localparam int JOB_W      = 1;
  localparam int SLOT_W     = 1;
  localparam int ORDINAL_W  = ina_pkg::ORDINAL_W;
  localparam logic [1:0] KIND_JOIN   = ina_pkg::KIND_JOIN;
  localparam logic [1:0] KIND_RAW    = ina_pkg::KIND_RAW;
  localparam logic [1:0] KIND_RESEND = ina_pkg::KIND_RESEND;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic [JOB_COUNT-1:0]            job_valid;
  (* anyseq *) logic [JOB_COUNT-1:0]            job_complete;
  (* anyseq *) logic [JOB_COUNT-1:0]            job_broken;
  (* anyseq *) logic [JOB_COUNT-1:0]            job_closing;
  (* anyseq *) logic [PORT_COUNT*JOB_COUNT-1:0] job_mask;
  (* anyseq *) logic [PORT_COUNT*JOB_COUNT-1:0] queue_ready;
  (* anyseq *) logic                            opened;
  (* anyseq *) logic [JOB_W-1:0]                opened_job;
  (* anyseq *) logic [PORT_COUNT-1:0]           resend_valid;
  (* anyseq *) logic [PORT_COUNT-1:0]           resend_probe;
  (* anyseq *) logic [PORT_COUNT*JOB_W-1:0]     resend_job;
  (* anyseq *) logic [PORT_COUNT*SLOT_W-1:0]    resend_slot;
  (* anyseq *) logic [PORT_COUNT*3-1:0]         ordinal_low;
  (* anyseq *) logic [PORT_COUNT-1:0]           quads_low;
  (* anyseq *) logic [PORT_COUNT*JOB_COUNT-1:0] resend_behind;
  (* anyseq *) logic [PORT_COUNT*JOB_COUNT-1:0] resend_pending;
  (* anyseq *) logic [PORT_COUNT-1:0]           resend_pop;
  (* anyseq *) logic [PORT_COUNT-1:0]           rebuild_room;
  (* anyseq *) logic [PORT_COUNT-1:0]           settled;
  (* anyseq *) logic                            done_valid;
  (* anyseq *) logic [JOB_W-1:0]                done_job;
  (* anyseq *) logic                            undo_valid;
  (* anyseq *) logic [JOB_W-1:0]                undo_job;
  (* anyseq *) logic [PORT_COUNT*SLOT_W-1:0]    next_slot;
  (* anyseq *) logic                            m_ready;
  logic [PORT_COUNT*ORDINAL_W-1:0] resend_ordinal;
  logic [PORT_COUNT*ina_pkg::QUADS_W-1:0] resend_quads;
  logic [PORT_COUNT*ina_pkg::RESEND_T_W-1:0] resend;
  logic [PORT_COUNT-1:0]        issue_valid;
  logic [JOB_W-1:0]             issue_job;
  logic [PORT_COUNT*SLOT_W-1:0] issue_slot;
  logic                  m_valid;
  logic [1:0]            m_kind;
  logic [JOB_W-1:0]      m_job;
  logic [SLOT_W-1:0]     m_slot;
  logic [PORT_COUNT-1:0] m_from;
  logic [PORT_COUNT-1:0] m_mask;
  logic                  m_probe;
  logic                  m_dropped;
  logic [JOB_COUNT-1:0]  job_quiet;

  ina_pick #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT)) dut (
      .clk, .rst, .job_valid, .job_complete, .job_broken, .job_closing, .job_mask, .job_border('0),
      .job_down('0), .queue_ready, .queue_waiting(queue_ready),
      .opened, .opened_job, .resend_valid, .resend, .resend_pending, .resend_behind, .resend_pop, .rebuild_room, .settled,
      .done_valid, .done_job, .undo_valid, .undo_job, .undo_part(1'b0), .issue_valid, .issue_raw(), .issue_job, .issue_slot,
      .m_valid, .m_ready, .m_kind, .m_job, .m_slot, .m_from, .m_mask, .m_part(), .m_probe, .m_dropped, .job_quiet,
      .dropped(), .busy());

  // 1.
  formal_stream #(.WIDTH(2 + JOB_W + SLOT_W + PORT_COUNT + 2)) output_rules (
      .clk, .rst, .valid(m_valid), .ready(m_ready),
      .payload({m_kind, m_job, m_slot, m_mask, m_probe, m_dropped}));

  // What goes in this clock is seen as m_* in the next one: new_packet. Of packets of queues,
  // take_* says so at once.
  logic could_go;
  logic new_packet;
  logic takes;

  always_ff @(posedge clk) could_go <= !rst && (!m_valid || m_ready);
  assign new_packet = m_valid && could_go;
  assign takes      = issue_valid != '0;

  // The slots that the queues give with a packet: a job's heads are in the same slot.
  always_ff @(posedge clk)
    for (int p = 0; p < PORT_COUNT; p++)
      if (issue_valid[p]) issue_slot[p*SLOT_W +: SLOT_W] <= next_slot[p*SLOT_W +: SLOT_W];
  always_comb if (issue_valid == '1) assume (next_slot[0 +: SLOT_W] == next_slot[SLOT_W +: SLOT_W]);

  // The contract of ina_jobs: what becomes of a job stays until it is freed, a complete job's
  // ports too; it is freed when it is broken or closing, and given out while it is quiet. That of
  // ina_queue: a packet is
  // there until it is taken, or the job is freed.
  logic [JOB_COUNT-1:0]            was_valid;
  logic [JOB_COUNT-1:0]            was_valid_2;
  logic [JOB_COUNT-1:0]            was_complete;
  logic [JOB_COUNT-1:0]            was_broken;
  logic [JOB_COUNT-1:0]            was_closing;
  logic [JOB_COUNT-1:0]            was_quiet;
  logic [PORT_COUNT*JOB_COUNT-1:0] was_mask;
  logic [PORT_COUNT*JOB_COUNT-1:0] was_ready;
  logic [PORT_COUNT*JOB_COUNT-1:0] was_taken;

  always_ff @(posedge clk) begin
    was_valid    <= rst ? '0 : job_valid;
    was_valid_2  <= rst ? '0 : was_valid;
    was_complete <= job_complete;
    was_broken   <= job_broken;
    was_closing  <= job_closing;
    was_quiet    <= job_quiet;
    was_mask     <= job_mask;
    was_ready    <= rst ? '0 : queue_ready;
    for (int p = 0; p < PORT_COUNT; p++)
      for (int j = 0; j < JOB_COUNT; j++)
        was_taken[p*JOB_COUNT + j] <= issue_valid[p] && issue_job == JOB_W'(j);
  end

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_job_contract
    logic [PORT_COUNT-1:0] mask;
    logic [PORT_COUNT-1:0] mask_before;

    for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_port
      assign mask[p]        = job_mask[p*JOB_COUNT + j];
      assign mask_before[p] = was_mask[p*JOB_COUNT + j];
      always_comb begin
        if (was_ready[p*JOB_COUNT + j] && was_valid[j] && !was_taken[p*JOB_COUNT + j])
          assume (queue_ready[p*JOB_COUNT + j]);
        if (queue_ready[p*JOB_COUNT + j] && job_valid[j]) assume (mask[p]);
      end
    end

    always_comb begin
      if (rst) assume (!job_valid[j]);
      if (was_valid[j] && !job_valid[j]) assume (was_broken[j] || was_closing[j]);
      if (!rst && !job_valid[j]) assume (mask == mask_before);
      if (!was_valid[j] && !rst) assume (!job_valid[j] || (was_quiet[j] && !was_valid_2[j]));
      assume ((opened && opened_job == JOB_W'(j)) == (job_valid[j] && !was_valid[j]));
      if (job_valid[j]) begin
        assume (mask != '0);
        if (was_valid[j]) begin
          assume (!was_complete[j] || job_complete[j]);
          assume (!was_broken[j] || job_broken[j]);
          assume (!was_closing[j] || job_closing[j]);
          assume ((mask_before & ~mask) == '0);
          if (was_complete[j]) assume (mask == mask_before);
        end
      end
    end
  end

  // ina_resend: the oldest stays until it is popped.
  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_resend
    logic was_there;
    logic [SLOT_W+JOB_W+4:0] what;
    logic [SLOT_W+JOB_W+4:0] what_before;

    assign what = {resend_probe[p], resend_job[p*JOB_W +: JOB_W], resend_slot[p*SLOT_W +: SLOT_W],
                   ordinal_low[p*3 +: 3], quads_low[p]};
    assign resend[p*ina_pkg::RESEND_T_W +: ina_pkg::RESEND_T_W] =
        {resend_probe[p], 1'b0, 6'(resend_job[p*JOB_W +: JOB_W]), 15'(resend_slot[p*SLOT_W +: SLOT_W]),
         resend_ordinal[p*ORDINAL_W +: ORDINAL_W], resend_quads[p*ina_pkg::QUADS_W +: ina_pkg::QUADS_W]};
    assign resend_quads[p*ina_pkg::QUADS_W +: ina_pkg::QUADS_W] = ina_pkg::QUADS_W'(quads_low[p]);
    assign resend_ordinal[p*ORDINAL_W +: ORDINAL_W] =
        {{(ORDINAL_W-3){ordinal_low[p*3 + 2]}}, ordinal_low[p*3 +: 3]};
    always_ff @(posedge clk) begin
      was_there   <= !rst && resend_valid[p] && !resend_pop[p];
      what_before <= what;
    end
    always_comb if (was_there) assume (resend_valid[p] && what == what_before);
  end

  // Packets of each job that went and have not ended, and of each port that ina_rebuild does not
  // know of; both without the packet of this clock's take.
  logic [JOB_COUNT*4-1:0]         under_way;
  logic [PORT_COUNT*4-1:0]        unknown;
  logic [PORT_COUNT*4-1:0]        unsettled;
  logic [PORT_COUNT*5-1:0]        settled_late;  // 1 to 5 clocks ago
  logic [PORT_COUNT-1:0]          goes;        // to these ports, seen a clock later
  logic [PORT_COUNT-1:0]          resending;   // the port's oldest retransmission went
  logic [PORT_COUNT-1:0]          resends;     // one goes: seen a clock later
  logic [JOB_COUNT-1:0]           raw_seen;
  logic [JOB_COUNT*ORDINAL_W-1:0] sums;        // of each job, chosen and not called off
  logic                           new_sum;
  logic [JOB_COUNT-1:0]           counted;     // since the job was opened

  assign goes    = new_packet ? m_mask : '0;
  assign resends = (m_kind == KIND_RESEND) ? goes : '0;
  assign new_sum = new_packet && m_kind == KIND_JOIN;

  // Undone sums are counted in the clock in which they are undone, as ina_pick does; the new one
  // is seen in the clock after it went.
  logic                 undone;
  logic [JOB_W-1:0]     undone_job;
  logic                 open;
  logic [JOB_W-1:0]     open_job;
  logic [JOB_COUNT*ORDINAL_W-1:0] sums_now;  // with what happened in the clock before

  always_comb begin
    sums_now = sums;
    if (new_sum)
      sums_now[m_job*ORDINAL_W +: ORDINAL_W] = sums_now[m_job*ORDINAL_W +: ORDINAL_W] + 1'b1;
    if (undone)
      sums_now[undone_job*ORDINAL_W +: ORDINAL_W] =
          sums_now[undone_job*ORDINAL_W +: ORDINAL_W] - 1'b1;
    if (open) sums_now[open_job*ORDINAL_W +: ORDINAL_W] = '0;
  end

  always_ff @(posedge clk) begin
    undone     <= undo_valid && !rst;
    undone_job <= undo_job;
    open       <= opened && !rst;
    open_job   <= opened_job;
    sums       <= sums_now;
    for (int j = 0; j < JOB_COUNT; j++)
      if (rst || (open && open_job == JOB_W'(j))) counted[j] <= !rst;
    settled_late <= rst ? '0 : (PORT_COUNT*5)'({settled_late, settled});
    for (int j = 0; j < JOB_COUNT; j++) begin
      under_way[j*4 +: 4] <= rst ? '0 : under_way[j*4 +: 4] + 4'(takes && issue_job == JOB_W'(j))
          - 4'(done_valid && done_job == JOB_W'(j)) - 4'(undo_valid && undo_job == JOB_W'(j));
      if (rst || !job_valid[j]) raw_seen[j] <= 1'b0;
      else if (new_packet && m_kind == KIND_RAW && m_job == JOB_W'(j)) raw_seen[j] <= 1'b1;
    end
    for (int p = 0; p < PORT_COUNT; p++) begin
      unsettled[p*4 +: 4] <= rst ? '0 : unsettled[p*4 +: 4] + 4'(goes[p]) - 4'(settled[p]);
      unknown[p*4 +: 4]   <= rst ? '0 : unknown[p*4 +: 4] + 4'(goes[p]) - 4'(settled_late[PORT_COUNT*4 + p]);
      if (rst || resend_pop[p]) resending[p] <= 1'b0;
      else if (resends[p]) resending[p] <= 1'b1;
    end
  end

  // The join reports what it took, once.
  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_progress
    always_comb assume (under_way[j*4 +: 4]
        >= 4'(m_valid && m_kind != KIND_RESEND && m_job == JOB_W'(j))
         + 4'(done_valid && done_job == JOB_W'(j)) + 4'(undo_valid && undo_job == JOB_W'(j)));
  end
  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_port_progress
    always_comb begin
      assume (unsettled[p*4 +: 4] + 4'(goes[p]) >= 4'(m_valid && m_mask[p]) + 4'(settled[p]));
      if (resend_pop[p]) assume (resending[p] && !(m_valid && m_kind == KIND_RESEND && m_mask[p]));
    end
  end

  // Room since the packet before went: the look for this one was not earlier.
  logic [PORT_COUNT-1:0] room_since;
  logic [PORT_COUNT-1:0] room_before;

  always_ff @(posedge clk) begin
    room_before <= rebuild_room;
    room_since  <= rst ? '0 : (new_packet ? room_before : room_since) | rebuild_room;
  end

  // The same of jobs whose sums need not wait, which is heard a clock late.
  logic [JOB_COUNT-1:0] free_now;
  logic [JOB_COUNT-1:0] free_1;
  logic [JOB_COUNT-1:0] free_2;
  logic [JOB_COUNT-1:0] free_since;

  assign free_now = ~((resend_behind[0 +: JOB_COUNT] & job_mask[0 +: JOB_COUNT])
      | (resend_behind[JOB_COUNT +: JOB_COUNT] & job_mask[JOB_COUNT +: JOB_COUNT]));
  always_ff @(posedge clk) begin
    free_1     <= free_now;
    free_2     <= free_1;
    free_since <= rst ? '0 : (new_packet ? free_2 : free_since) | free_1;
  end

  logic [PORT_COUNT-1:0] ports;    // of the job whose packets are taken
  logic [PORT_COUNT-1:0] waiting;  // with a packet
  logic [PORT_COUNT-1:0] crowded;  // with this one, more than CHOSEN_MAX of proofs.txt
  logic [PORT_COUNT-1:0] right_slot;
  logic                  there;    // it has been there for as long as a choice takes
  logic [JOB_COUNT-1:0]  valid_for_2;
  logic                  one_port;
  logic                  port;
  logic                  lives;
  logic [ORDINAL_W-1:0]  since;

  assign valid_for_2 = was_valid & was_valid_2;
  assign there       = job_valid[issue_job] && valid_for_2[issue_job];
  assign lives       = valid_for_2[m_job];  // the same, for what went a clock ago
  assign one_port    = m_mask == 2'd1 || m_mask == 2'd2;
  assign port        = !m_mask[0];
  assign since       = sums[m_job*ORDINAL_W +: ORDINAL_W]
      - resend_ordinal[port*ORDINAL_W +: ORDINAL_W];
  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_of_packet
    assign ports[p]      = job_mask[p*JOB_COUNT + 32'(issue_job)];
    assign waiting[p]    = queue_ready[p*JOB_COUNT + 32'(issue_job)];
    assign crowded[p]    = unknown[p*4 +: 4] + 4'(goes[p]) > 4'd2;
    assign right_slot[p] = m_slot == issue_slot[p*SLOT_W +: SLOT_W];
  end

  logic [JOB_COUNT-1:0]  not_quiet;
  logic [JOB_COUNT-1:0]  over;         // no job is there, and nothing of it has been chosen
  logic [JOB_COUNT-1:0]  stays_quiet;

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_quiet
    assign not_quiet[j] = under_way[j*4 +: 4] != '0 || resend_pending[j]
        || resend_pending[JOB_COUNT + j];
    assign over[j] = !was_valid_2[j] && !was_valid[j] && !job_valid[j] && !m_valid && !takes;
    assign stays_quiet[j] = was_quiet[j] && !was_valid_2[j] && !was_valid[j] && !job_valid[j]
        && !resend_pending[j] && !resend_pending[JOB_COUNT + j];
  end

  logic                  took;
  logic [PORT_COUNT-1:0] took_ports;
  logic [JOB_W-1:0]      took_job;
  logic [PORT_COUNT-1:0] job_ports;  // at that time
  logic                  was_alone;  // nothing else of the job was under way

  always_ff @(posedge clk) begin
    took       <= !rst && takes;
    took_ports <= issue_valid;
    took_job   <= issue_job;
    job_ports  <= ports;
    was_alone  <= under_way[issue_job*4 +: 4] == '0;
  end

  always_comb begin
    if (!rst) begin
      if (takes) begin
        p2_heads: assert (!there || (issue_valid & ~waiting) == '0);
        p7_taken: assert (!job_quiet[issue_job]);
      end
      p9_apart: assert (!took || !takes || issue_job != took_job);
      p2_taken: assert (took == (new_packet && m_kind != KIND_RESEND));
      if (took) begin
        p2_same:  assert (m_mask == took_ports && m_job == took_job);
        p6_slot:  assert ((m_mask & ~right_slot) == '0);
      end
      if (new_packet && m_kind == KIND_JOIN && lives) begin
        p2_job:   assert (was_complete[m_job]);
        p2_ports: assert (m_mask == job_ports);
        p3_after: assert (!raw_seen[m_job]);
      end
      if (new_sum) begin
        p10_behind: assert (free_since[m_job]);
      end
      if (new_packet && m_kind == KIND_RAW) begin
        p3_port:  assert (one_port);
        p3_alone: assert (was_alone);
        p3_job:   assert (!lives || (was_broken[m_job] && (m_mask & ~job_ports) == '0));
      end
      if (new_packet && m_kind == KIND_RESEND) begin
        p4_one:   assert ((m_mask & ~(resend_valid & ~resending)) == '0);
        p4_alike: assert (one_port || (resend_probe[0] == resend_probe[1]
            && resend_job[0 +: JOB_W] == resend_job[JOB_W +: JOB_W]
            && resend_slot[0 +: SLOT_W] == resend_slot[SLOT_W +: SLOT_W]
            && ordinal_low[2:0] == ordinal_low[5:3] && quads_low[0] == quads_low[1]));
        p4_what:  assert (m_job == resend_job[port*JOB_W +: JOB_W]
            && m_slot == resend_slot[port*SLOT_W +: SLOT_W] && m_probe == resend_probe[port]);
        p8_lost:  assert (!counted[m_job] || m_dropped == (!m_probe && since > ORDINAL_W'(SLOT_COUNT)));
      end
      if (new_packet) begin
        p5_room:  assert ((m_mask & ~room_since) == '0);
        p5_kind:  assert (m_kind != 2'd3 && m_mask != '0 && m_from == m_mask);
        p8_only:  assert (m_kind == KIND_RESEND || !m_dropped);
      end
      p5_unknown: assert (crowded == '0);
      p7_quiet: assert ((job_quiet & not_quiet) == '0);
      p7_over:  assert ((over & ~not_quiet & ~job_quiet) == '0);
      p7_stays: assert ((stays_quiet & ~job_quiet) == '0);
    end
  end

  logic [1:0] joins;

  always_ff @(posedge clk) begin
    if (rst) joins <= '0;
    else if (new_sum && m_mask == '1 && joins != '1) joins <= joins + 1'b1;
  end

  always_comb begin
    if (!rst) begin
      two_joins: cover (joins == 2'd2 && under_way[3:0] == 4'd2);
      raw:       cover (new_packet && m_kind == KIND_RAW && joins == 2'd1);
      resent:    cover (new_packet && m_kind == KIND_RESEND && joins == 2'd1);
      together:  cover (new_packet && m_kind == KIND_RESEND && m_mask == '1 && joins == 2'd1);
      loses:     cover (new_packet && m_dropped);
      quiet:     cover (job_quiet == '1 && joins == 2'd2);
      again:     cover (open && joins == 2'd1 && sums[open_job*ORDINAL_W] && takes);
    end
  end
endmodule

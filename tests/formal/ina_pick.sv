// SPDX-License-Identifier: Apache-2.0
//
// ina_pick: the packets that it hands to the two paths may go, at any switch. Port 0 has a child; port 1 may
// be an uplink, and with three ports one of them is. Jobs, queues, retransmissions and room are any that keep
// their contracts. Each path takes the packets that are chosen for it, and reports its progress, whenever the
// solver likes.
//
//   1. A packet that is handed over stays until its path takes it.
//   2. A sum goes to ina_join. Its job is complete. It takes the next packet of exactly the job's children,
//      and each of these has one. If the job has a border, the sum is a part, and leaves with the border's
//      packet alone. Otherwise it leaves with all packets.
//   3. A sum from above goes to ina_relay. It is the next packet of the job's down flow, which has one. It
//      leaves with that packet and the packets of all children but the border.
//   4. A raw packet is the next one of one port of a broken job, and no packet of the job is under way then.
//      After it, no packet of the job is ever summed or sent from above again. It goes to ina_relay if and
//      only if its port is an uplink.
//   5. A retransmission goes to ina_relay. It is chosen from ports that have one, once, with their own job,
//      slot and kind. It is chosen from several ports only if they want the same sum and are equally long.
//      Its history is that of sums from above if and only if its job has a border, and it is not the
//      border's.
//   6. Every port that a packet leaves on has had room on its path since the path's packet before it went. At
//      most CHOSEN_MAX (here two) packets, including this one, have gone to the port by this path of which
//      ina_rebuild had not known for two clocks when the room was found. The room was found two clocks before
//      the packet goes.
//   7. A packet of queues has the slot that they gave with it.
//   8. A job is quiet only while no packet of it is chosen or waits for its answer from the history. A job
//      that no longer exists is quiet then, and stays so until a retransmission asks for it.
//   9. A retransmission is dropped if its sum was overwritten: from it on, more than SLOT_COUNT sums of its
//      history have gone, not counting those that were called off. It is dropped only if that is so, or would
//      be with one more sum. The sum of a retransmission that is not dropped is not overwritten until it has
//      been read: no sums that would do so go, by the other path either.
//  10. No port's queue of a job advances in two consecutive clocks.
//  11. No sum of a job is chosen if one of its receivers has been behind since the packet before.
//  12. Neither path waits for the other: while one takes nothing, a packet that may go by the other goes
//      within GOES clocks.

module formal_ina_pick (
    input logic clk
);
  localparam int PORT_COUNT = 2;
  localparam int JOB_COUNT  = 2;
  localparam int SLOT_COUNT = 2;
  localparam int JOB_W      = 1;
  localparam int SLOT_W     = 1;
  localparam int ORDINAL_W  = ina_pkg::ORDINAL_W;
  localparam int RESEND_W   = ina_pkg::RESEND_T_W;
  localparam int QUADS_W    = ina_pkg::QUADS_W;
  localparam int PATHS      = 2;  // 0: ina_join, 1: ina_relay
  localparam int GOES       = 6;
  localparam logic [1:0] KIND_JOIN   = ina_pkg::KIND_JOIN;
  localparam logic [1:0] KIND_RAW    = ina_pkg::KIND_RAW;
  localparam logic [1:0] KIND_RESEND = ina_pkg::KIND_RESEND;
  localparam logic [1:0] KIND_DOWN   = ina_pkg::KIND_DOWN;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyconst *) logic                        uplink;  // port 1 is an uplink
  (* anyseq *) logic [JOB_COUNT-1:0]            job_valid;
  (* anyseq *) logic [JOB_COUNT-1:0]            job_complete;
  (* anyseq *) logic [JOB_COUNT-1:0]            job_broken;
  (* anyseq *) logic [JOB_COUNT-1:0]            job_closing;
  (* anyseq *) logic [PORT_COUNT*JOB_COUNT-1:0] job_mask;
  (* anyseq *) logic [PORT_COUNT*JOB_COUNT-1:0] job_border;
  (* anyseq *) logic [PORT_COUNT*JOB_COUNT-1:0] job_down;
  (* anyseq *) logic [PORT_COUNT*JOB_COUNT-1:0] queue_ready;
  (* anyseq *) logic [PORT_COUNT*JOB_COUNT-1:0] queue_waiting;
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
  (* anyseq *) logic [PATHS*PORT_COUNT-1:0]     room;
  (* anyseq *) logic [PATHS*PORT_COUNT-1:0]     settled;
  (* anyseq *) logic                            done_valid;
  (* anyseq *) logic [JOB_W-1:0]                done_job;
  (* anyseq *) logic                            done_path;
  (* anyseq *) logic [PATHS-1:0]                undo;
  (* anyseq *) logic [PATHS*JOB_W-1:0]          undo_job;
  (* anyseq *) logic [PORT_COUNT*SLOT_W-1:0]    next_slot;
  (* anyseq *) logic [PATHS-1:0]                m_ready;
  logic [PORT_COUNT-1:0]           uplinks;
  logic [PORT_COUNT-1:0]           resend_part;
  logic [PORT_COUNT*ORDINAL_W-1:0] resend_ordinal;
  logic [PORT_COUNT*RESEND_W-1:0]  resend;
  logic [PORT_COUNT*SLOT_W-1:0]    issue_slot;

  // For each path.
  logic [PATHS*PORT_COUNT-1:0] issue;
  logic [PATHS-1:0]            issue_raw;
  logic [PATHS*JOB_W-1:0]      issue_job;
  logic [PATHS-1:0]            m_valid;
  logic [PATHS*2-1:0]          m_kind;
  logic [PATHS*JOB_W-1:0]      m_job;
  logic [PATHS*SLOT_W-1:0]     m_slot;
  logic [PATHS*PORT_COUNT-1:0] m_from;
  logic [PATHS*PORT_COUNT-1:0] m_mask;
  logic                        m_raw;
  logic                        m_part;
  logic                        m_above;
  logic                        m_probe;
  logic                        m_dropped;
  logic [QUADS_W-1:0]          m_quads;
  logic [JOB_COUNT-1:0]        job_quiet;

  assign uplinks = PORT_COUNT'(uplink) << 1;

  always_comb begin
    assume (32'(opened_job) < JOB_COUNT && 32'(done_job) < JOB_COUNT);
    for (int i = 0; i < PATHS; i++) assume (32'(undo_job[i*JOB_W +: JOB_W]) < JOB_COUNT);
  end

  ina_pick #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT)) dut (
      .clk, .rst, .job_window('1), .job_valid, .job_complete, .job_broken, .job_closing, .job_mask, .job_border,
      .job_down, .queue_ready, .queue_waiting, .opened, .opened_job,
      .resend_valid, .resend, .resend_pending, .resend_behind, .resend_pop, .uplinks,
      .join_room(room[0 +: PORT_COUNT]), .join_settled(settled[0 +: PORT_COUNT]),
      .join_undo(undo[0]), .join_undo_job(undo_job[0 +: JOB_W]),
      .relay_room(room[PORT_COUNT +: PORT_COUNT]),
      .relay_settled(settled[PORT_COUNT +: PORT_COUNT]),
      .relay_undo(undo[1]), .relay_undo_job(undo_job[JOB_W +: JOB_W]), .done_valid, .done_job,
      .join_issue(issue[0 +: PORT_COUNT]), .join_issue_raw(issue_raw[0]),
      .join_issue_job(issue_job[0 +: JOB_W]), .relay_issue(issue[PORT_COUNT +: PORT_COUNT]),
      .relay_issue_raw(issue_raw[1]), .relay_issue_job(issue_job[JOB_W +: JOB_W]), .issue_slot,
      .m_join_valid(m_valid[0]), .m_join_ready(m_ready[0]), .m_join_raw(m_raw),
      .m_join_job(m_job[0 +: JOB_W]), .m_join_slot(m_slot[0 +: SLOT_W]),
      .m_join_from(m_from[0 +: PORT_COUNT]), .m_join_mask(m_mask[0 +: PORT_COUNT]),
      .m_join_part(m_part),
      .m_relay_valid(m_valid[1]), .m_relay_ready(m_ready[1]), .m_relay_kind(m_kind[3:2]),
      .m_relay_job(m_job[JOB_W +: JOB_W]), .m_relay_slot(m_slot[SLOT_W +: SLOT_W]),
      .m_relay_from(m_from[PORT_COUNT +: PORT_COUNT]),
      .m_relay_mask(m_mask[PORT_COUNT +: PORT_COUNT]), .m_relay_above(m_above),
      .m_relay_probe(m_probe), .m_relay_dropped(m_dropped), .m_relay_quads(m_quads),
      .job_quiet, .dropped(), .busy());

  assign m_kind[1:0] = m_raw ? KIND_RAW : KIND_JOIN;

  // 1. The data of a retransmission, if there is one.
  logic resends;
  assign resends = m_kind[3:2] == KIND_RESEND;

  formal_stream #(.WIDTH(2 + JOB_W + SLOT_W + 2*PORT_COUNT)) join_rules (
      .clk, .rst, .valid(m_valid[0]), .ready(m_ready[0]),
      .payload({m_raw, m_part, m_job[0 +: JOB_W], m_slot[0 +: SLOT_W], m_from[0 +: PORT_COUNT],
                m_mask[0 +: PORT_COUNT]}));
  formal_stream #(.WIDTH(5 + JOB_W + SLOT_W + 2*PORT_COUNT)) relay_rules (
      .clk, .rst, .valid(m_valid[1]), .ready(m_ready[1]),
      .payload({m_kind[3:2], resends && m_probe, resends && m_dropped,
                resends && !m_probe && m_above, m_job[JOB_W +: JOB_W], m_slot[SLOT_W +: SLOT_W],
                m_from[PORT_COUNT +: PORT_COUNT], m_mask[PORT_COUNT +: PORT_COUNT]}));

  // A packet that goes in this clock is visible as m_* in the next one: new_packet. For packets of queues,
  // `takes` says so immediately.
  logic [PATHS-1:0] could_go;
  logic [PATHS-1:0] new_packet;
  logic [PATHS-1:0] takes;

  always_ff @(posedge clk) could_go <= rst ? '0 : ~m_valid | m_ready;
  assign new_packet = m_valid & could_go;
  assign takes      = {issue[PORT_COUNT +: PORT_COUNT] != '0, issue[0 +: PORT_COUNT] != '0};

  // The slots that the queues give with a packet: a job's heads are in the same slot.
  always_ff @(posedge clk)
    for (int p = 0; p < PORT_COUNT; p++)
      if (issue[p] || issue[PORT_COUNT + p]) issue_slot[p*SLOT_W +: SLOT_W] <= next_slot[p*SLOT_W +: SLOT_W];
  always_comb
    for (int p = 0; p < PORT_COUNT; p++)
      for (int q = 0; q < p; q++)
        if (issue[q] && issue[p]) assume (next_slot[q*SLOT_W +: SLOT_W] == next_slot[p*SLOT_W +: SLOT_W]);

  // The contract of ina_jobs: the state of a job stays until it is freed, and so do a complete job's
  // children. A job is freed when it is broken or closing, and its context is given to another job while it
  // is quiet. If there is an uplink, one of the children may be the border; then the job may have a down flow
  // once it is complete. The contract of ina_queue: a packet stays until it is taken, or its job is freed.
  logic [JOB_COUNT-1:0]            was_valid;
  logic [JOB_COUNT-1:0]            was_valid_2;
  logic [JOB_COUNT-1:0]            was_complete;
  logic [JOB_COUNT-1:0]            was_broken;
  logic [JOB_COUNT-1:0]            was_closing;
  logic [JOB_COUNT-1:0]            was_quiet;
  logic [PORT_COUNT*JOB_COUNT-1:0] was_mask;
  logic [PORT_COUNT*JOB_COUNT-1:0] was_border;
  logic [PORT_COUNT*JOB_COUNT-1:0] was_down;
  logic [PORT_COUNT*JOB_COUNT-1:0] was_ready;
  logic [PORT_COUNT*JOB_COUNT-1:0] was_waiting;
  logic [PORT_COUNT*JOB_COUNT-1:0] taken;
  logic [PORT_COUNT*JOB_COUNT-1:0] was_taken;
  logic                            was_done;
  logic [JOB_W-1:0]                was_done_job;

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_taken
    for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_job
      assign taken[p*JOB_COUNT + j] = (issue[p] && issue_job[0 +: JOB_W] == JOB_W'(j))
          || (issue[PORT_COUNT + p] && issue_job[JOB_W +: JOB_W] == JOB_W'(j));
    end
  end

  always_ff @(posedge clk) begin
    was_valid    <= rst ? '0 : job_valid;
    was_valid_2  <= rst ? '0 : was_valid;
    was_complete <= job_complete;
    was_broken   <= job_broken;
    was_closing  <= job_closing;
    was_quiet    <= job_quiet;
    was_mask     <= job_mask;
    was_border   <= job_border;
    was_down     <= job_down;
    was_ready    <= rst ? '0 : queue_ready;
    was_waiting  <= rst ? '0 : queue_waiting;
    was_taken    <= rst ? '0 : taken;
    was_done     <= done_valid && !rst;
    was_done_job <= done_job;
  end

  logic [JOB_COUNT-1:0]            has_border;
  logic [PORT_COUNT*JOB_COUNT-1:0] sum_out;   // of each port, the jobs whose sums leave there
  logic [PORT_COUNT*JOB_COUNT-1:0] down_out;  // ... the sums from above

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_job_contract
    logic [PORT_COUNT-1:0] mask;
    logic [PORT_COUNT-1:0] mask_before;
    logic [PORT_COUNT-1:0] border;
    logic [PORT_COUNT-1:0] border_before;
    logic [PORT_COUNT-1:0] down;
    logic [PORT_COUNT-1:0] down_before;

    assign has_border[j] = border != '0;

    for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_port
      assign mask[p]          = job_mask[p*JOB_COUNT + j];
      assign mask_before[p]   = was_mask[p*JOB_COUNT + j];
      assign border[p]        = job_border[p*JOB_COUNT + j];
      assign border_before[p] = was_border[p*JOB_COUNT + j];
      assign down[p]          = job_down[p*JOB_COUNT + j];
      assign down_before[p]   = was_down[p*JOB_COUNT + j];
      assign sum_out[p*JOB_COUNT + j]  = mask[p] && (border[p] || !has_border[j]);
      assign down_out[p*JOB_COUNT + j] = down[p] || (mask[p] && !border[p]);
      always_comb begin
        if (was_valid[j]) begin
          if (was_ready[p*JOB_COUNT + j] && !was_taken[p*JOB_COUNT + j])
            assume (queue_ready[p*JOB_COUNT + j]);
          if (was_waiting[p*JOB_COUNT + j] && !(was_done && was_done_job == JOB_W'(j)))
            assume (queue_waiting[p*JOB_COUNT + j]);
        end
        if (queue_ready[p*JOB_COUNT + j]) assume (queue_waiting[p*JOB_COUNT + j]);
        if (queue_waiting[p*JOB_COUNT + j] && job_valid[j]) assume (mask[p] || down[p]);
      end
    end

    always_comb begin
      assume ((mask & uplinks) == '0 && (down & ~uplinks) == '0 && (border & ~mask) == '0);
      assume ((border & (border - 1'b1)) == '0 && (down & (down - 1'b1)) == '0);
      assume (border == '0 || uplinks != '0);
      assume (down == '0 || (border != '0 && job_complete[j]) || !job_valid[j]);
      if (rst) assume (!job_valid[j]);
      if (was_valid[j] && !job_valid[j]) assume (was_broken[j] || was_closing[j]);
      if (!rst && !job_valid[j])
        assume (mask == mask_before && border == border_before && down == down_before);
      if (!was_valid[j] && !rst)
        assume (!job_valid[j] || (was_quiet[j] && !was_valid_2[j] && down == '0));
      assume ((opened && opened_job == JOB_W'(j)) == (job_valid[j] && !was_valid[j]));
      if (job_valid[j]) begin
        assume (mask != '0);
        if (was_valid[j]) begin
          assume (!was_complete[j] || job_complete[j]);
          assume (!was_broken[j] || job_broken[j]);
          assume (!was_closing[j] || job_closing[j]);
          assume ((mask_before & ~mask) == '0 && (border_before & ~border) == '0);
          assume ((border & mask_before & ~border_before) == '0);
          assume ((down_before & ~down) == '0);
          if (was_complete[j]) assume (mask == mask_before);
        end
      end
    end
  end

  // ina_resend: the oldest retransmission stays until it is popped. Until then, unless it is a probe, its
  // job is behind, from the clock before on, and complete, since its sums have gone. It belongs to a flow of
  // its port; the border's asks for a part.
  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_resend
    logic was_there;
    logic [JOB_COUNT-1:0] behind_before;
    logic [SLOT_W+JOB_W+5:0] what;
    logic [SLOT_W+JOB_W+5:0] what_before;
    logic [JOB_W-1:0] job;

    assign job  = resend_job[p*JOB_W +: JOB_W];
    always_comb assume (32'(job) < JOB_COUNT);
    assign what = {resend_probe[p], resend_part[p], job, resend_slot[p*SLOT_W +: SLOT_W],
                   ordinal_low[p*3 +: 3], quads_low[p]};
    assign resend_part[p] = job_border[p*JOB_COUNT + 32'(job)];
    assign resend[p*RESEND_W +: RESEND_W] =
        {resend_probe[p], resend_part[p], 6'(job), 15'(resend_slot[p*SLOT_W +: SLOT_W]),
         resend_ordinal[p*ORDINAL_W +: ORDINAL_W], QUADS_W'(quads_low[p])};
    assign resend_ordinal[p*ORDINAL_W +: ORDINAL_W] =
        {{(ORDINAL_W-3){ordinal_low[p*3 + 2]}}, ordinal_low[p*3 +: 3]};
    always_ff @(posedge clk) begin
      was_there     <= !rst && resend_valid[p] && !resend_pop[p];
      what_before   <= what;
      behind_before <= rst ? '0 : resend_behind[p*JOB_COUNT +: JOB_COUNT];
    end
    always_comb begin
      if (was_there) assume (resend_valid[p] && what == what_before);
      if (resend_valid[p]) begin
        assume (job_mask[p*JOB_COUNT + 32'(job)] || job_down[p*JOB_COUNT + 32'(job)]);
        assume (resend_pending[p*JOB_COUNT + 32'(job)]);
        if (!resend_probe[p])
          assume (resend_behind[p*JOB_COUNT + 32'(job)] && behind_before[job] && (job_complete[job] || !job_valid[job]));
      end
    end
  end

  // Packets of each job that went and have not ended, and packets of each port and path that ina_rebuild does
  // not know of. Neither includes the packet that is taken in this clock.
  logic [PATHS*JOB_COUNT*4-1:0]  on_path;
  logic [JOB_COUNT*4-1:0]        under_way;
  logic [PATHS*PORT_COUNT*4-1:0] unknown;
  logic [PATHS*PORT_COUNT*4-1:0] unsettled;
  logic [PATHS*PORT_COUNT-1:0]   goes;       // to these ports, visible a clock later
  logic [PATHS*PORT_COUNT-1:0]   crowded;    // with this packet, more than CHOSEN_MAX of proofs.txt
  logic [PATHS*PORT_COUNT-1:0]   room_since;
  logic [PORT_COUNT-1:0]         resending;  // the port's oldest retransmission went
  logic [PORT_COUNT-1:0]         safe;       // ... and was not dropped
  logic [PORT_COUNT-1:0]         resent;     // a retransmission goes: visible a clock later
  logic [JOB_COUNT-1:0]          raw_seen;

  assign goes   = {new_packet[1] ? m_mask[PORT_COUNT +: PORT_COUNT] : PORT_COUNT'(0),
                   new_packet[0] ? m_mask[0 +: PORT_COUNT] : PORT_COUNT'(0)};
  assign resent = resends ? goes[PORT_COUNT +: PORT_COUNT] : '0;

  for (genvar i = 0; i < PATHS*JOB_COUNT; i++) begin : gen_progress
    localparam int PATH = i / JOB_COUNT;
    localparam int JOB  = i % JOB_COUNT;
    logic       begins;
    logic       ends;
    logic       undoes;
    logic       waits;
    logic [3:0] count;
    logic       is_raw;  // the only packet

    assign begins = takes[PATH] && issue_job[PATH*JOB_W +: JOB_W] == JOB_W'(JOB);
    assign ends   = done_valid && done_path == 1'(PATH) && done_job == JOB_W'(JOB);
    assign undoes = undo[PATH] && undo_job[PATH*JOB_W +: JOB_W] == JOB_W'(JOB);
    assign waits  = m_valid[PATH] && m_job[PATH*JOB_W +: JOB_W] == JOB_W'(JOB)
        && m_kind[PATH*2 +: 2] != KIND_RESEND;
    assign on_path[i*4 +: 4] = count;
    always_ff @(posedge clk) begin
      count  <= rst ? '0 : count + 4'(begins) - 4'(ends) - 4'(undoes);
      if (begins) is_raw <= issue_raw[PATH];
    end
    // A path reports each packet that it took once; a raw packet is not undone.
    always_comb begin
      assume (count >= 4'(waits) + 4'(ends) + 4'(undoes));
      if (undoes) assume (!is_raw);
    end
  end

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_under_way
    assign under_way[j*4 +: 4] = on_path[j*4 +: 4] + on_path[(JOB_COUNT + j)*4 +: 4];
    always_ff @(posedge clk) begin
      if (rst || !job_valid[j]) raw_seen[j] <= 1'b0;
      else if ((new_packet[0] && m_raw && m_job[0 +: JOB_W] == JOB_W'(j))
          || (new_packet[1] && m_kind[3:2] == KIND_RAW && m_job[JOB_W +: JOB_W] == JOB_W'(j)))
        raw_seen[j] <= 1'b1;
    end
  end

  for (genvar i = 0; i < PATHS*PORT_COUNT; i++) begin : gen_port_progress
    logic [4:0] settled_late;  // 1 to 5 clocks ago
    logic       room_before;

    assign crowded[i] = unknown[i*4 +: 4] + 4'(goes[i]) > 4'd2;
    always_ff @(posedge clk) begin
      settled_late        <= rst ? '0 : {settled_late[3:0], settled[i]};
      unsettled[i*4 +: 4] <= rst ? '0 : unsettled[i*4 +: 4] + 4'(goes[i]) - 4'(settled[i]);
      unknown[i*4 +: 4]   <= rst ? '0 : unknown[i*4 +: 4] + 4'(goes[i]) - 4'(settled_late[4]);
      // Room since the packet before went: the look for this packet was not earlier.
      room_before         <= room[i];
      room_since[i]       <= !rst
          && ((new_packet[i / PORT_COUNT] ? room_before : room_since[i]) || room[i]);
    end
    always_comb assume (unsettled[i*4 +: 4] + 4'(goes[i])
        >= 4'(m_valid[i / PORT_COUNT] && m_mask[i]) + 4'(settled[i]));
  end

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_resend_progress
    always_ff @(posedge clk) begin
      if (rst || resend_pop[p]) resending[p] <= 1'b0;
      else if (resent[p]) resending[p] <= 1'b1;
      if (resent[p]) safe[p] <= !m_dropped && !m_probe;
    end
    always_comb if (resend_pop[p])
      assume (resending[p] && !(m_valid[1] && resends && m_mask[PORT_COUNT + p]));
  end

  // Sums of each job that went and were not called off: sums from here, and sums from above. A sum that is
  // undone is counted until the clock of the undo, as in ina_pick; a new one is visible in the clock after it
  // went.
  logic [PATHS*JOB_COUNT*ORDINAL_W-1:0] sums;
  logic [PATHS*JOB_COUNT*ORDINAL_W-1:0] sums_now;  // including the events of the clock before
  logic [PATHS-1:0]       new_sum;
  logic [PATHS-1:0]       undone;
  logic [PATHS*JOB_W-1:0] undone_job;
  logic                   open;
  logic [JOB_W-1:0]       open_job;
  logic [JOB_COUNT-1:0]   counted;  // since the job was opened

  assign new_sum = {new_packet[1] && m_kind[3:2] == KIND_DOWN, new_packet[0] && !m_raw};

  always_ff @(posedge clk) begin
    undone     <= rst ? '0 : undo;
    undone_job <= undo_job;
    open       <= opened && !rst;
    open_job   <= opened_job;
    sums       <= sums_now;
    for (int j = 0; j < JOB_COUNT; j++)
      if (rst || (open && open_job == JOB_W'(j))) counted[j] <= !rst;
  end

  for (genvar i = 0; i < PATHS*JOB_COUNT; i++) begin : gen_sums
    localparam int PATH = i / JOB_COUNT;
    localparam int JOB  = i % JOB_COUNT;

    assign sums_now[i*ORDINAL_W +: ORDINAL_W] = (open && open_job == JOB_W'(JOB)) ? '0
        : sums[i*ORDINAL_W +: ORDINAL_W]
          + ORDINAL_W'(new_sum[PATH] && m_job[PATH*JOB_W +: JOB_W] == JOB_W'(JOB))
          - ORDINAL_W'(undone[PATH] && undone_job[PATH*JOB_W +: JOB_W] == JOB_W'(JOB));
  end

  // How many sums of its history have gone since each port's oldest retransmission.
  logic [PORT_COUNT-1:0]           from_above;
  logic [PORT_COUNT-1:0]           lost;         // its sum was overwritten
  logic [PORT_COUNT-1:0]           nearly_lost;  // ... or one more sum would overwrite it
  logic [PORT_COUNT-1:0]           ahead;        // its sum does not exist yet, or was called off
  logic [PORT_COUNT-1:0]           known_since;

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_since
    logic [JOB_W-1:0]     job;
    logic [ORDINAL_W-1:0] since;

    assign job            = resend_job[p*JOB_W +: JOB_W];
    assign from_above[p]  = has_border[job] && !resend_part[p];
    assign since          = sums[(32'(from_above[p])*JOB_COUNT + 32'(job))*ORDINAL_W +: ORDINAL_W]
        - resend_ordinal[p*ORDINAL_W +: ORDINAL_W];
    assign lost[p]        = since > ORDINAL_W'(SLOT_COUNT);
    assign ahead[p]       = since[ORDINAL_W-1];
    assign nearly_lost[p] = since >= ORDINAL_W'(SLOT_COUNT);
    assign known_since[p] = counted[job];
  end

  // Jobs whose sums need not wait, since the packet before of each path, which is known a clock late.
  logic [PATHS*JOB_COUNT-1:0] free_now;
  logic [PATHS*JOB_COUNT-1:0] free_since;

  for (genvar i = 0; i < PATHS*JOB_COUNT; i++) begin : gen_free
    localparam int PATH = i / JOB_COUNT;
    localparam int JOB  = i % JOB_COUNT;
    logic [PORT_COUNT-1:0] behind;
    logic                  free_1;
    logic                  free_2;

    for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_port
      assign behind[p] = resend_behind[p*JOB_COUNT + JOB]
          && (PATH == 0 ? sum_out[p*JOB_COUNT + JOB] : down_out[p*JOB_COUNT + JOB]);
    end
    assign free_now[i] = behind == '0;
    always_ff @(posedge clk) begin
      free_1        <= free_now[i];
      free_2        <= free_1;
      free_since[i] <= !rst && ((new_packet[PATH] ? free_2 : free_since[i]) || free_1);
    end
  end

  // The packet that a path takes in this clock, visible as m_* in the next.
  logic [JOB_COUNT-1:0] valid_for_2;
  logic [PATHS-1:0]     took;
  logic [PATHS*PORT_COUNT-1:0] took_ports;
  logic [PATHS*JOB_W-1:0]      took_job;
  logic [PATHS*PORT_COUNT-1:0] children;  // children of its job, at that time
  logic [PATHS*PORT_COUNT-1:0] sum_ports;
  logic [PATHS*PORT_COUNT-1:0] downs;
  logic [PATHS*PORT_COUNT-1:0] down_ports;
  logic [PATHS*PORT_COUNT-1:0] no_head;     // a queue without a packet is to advance
  logic [PATHS*PORT_COUNT-1:0] wrong_slot;
  logic [PATHS-1:0]     was_alone;  // no other packet of the job was under way
  logic [PATHS-1:0]     lives;
  logic [PATHS-1:0]     one_port;
  logic [PATHS-1:0]     raws;

  logic [PATHS-1:0] right_taken;
  logic [PATHS-1:0] right_same;
  logic [PATHS-1:0] right_slot;
  logic [PATHS-1:0] right_port;
  logic [PATHS-1:0] right_alone;
  logic [PATHS-1:0] right_raw;
  logic [PATHS-1:0] right_after;
  logic [PATHS-1:0] right_free;
  logic [PATHS-1:0] right_mask;
  logic [PATHS-1:0] right_quiet;

  assign valid_for_2 = was_valid & was_valid_2;

  for (genvar i = 0; i < PATHS; i++) begin : gen_took
    logic [JOB_W-1:0] job;
    logic             there;
    logic             alone;

    assign job   = issue_job[i*JOB_W +: JOB_W];
    assign there = job_valid[job] && valid_for_2[job];
    assign alone = under_way[job*4 +: 4] == '0
        && !(takes[1 - i] && issue_job[(1 - i)*JOB_W +: JOB_W] == job);
    assign lives[i]    = valid_for_2[m_job[i*JOB_W +: JOB_W]];
    assign one_port[i] = (m_mask[i*PORT_COUNT +: PORT_COUNT]
        & (m_mask[i*PORT_COUNT +: PORT_COUNT] - 1'b1)) == '0;
    always_ff @(posedge clk) begin
      took[i]                               <= takes[i] && !rst;
      took_ports[i*PORT_COUNT +: PORT_COUNT] <= issue[i*PORT_COUNT +: PORT_COUNT];
      took_job[i*JOB_W +: JOB_W]            <= job;
      was_alone[i]                          <= alone;
    end
    for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_port
      assign no_head[i*PORT_COUNT + p] = issue[i*PORT_COUNT + p] && there
          && !(issue_raw[i] ? queue_waiting[p*JOB_COUNT + 32'(job)] : queue_ready[p*JOB_COUNT + 32'(job)]);
      assign wrong_slot[i*PORT_COUNT + p] = m_from[i*PORT_COUNT + p]
          && m_slot[i*SLOT_W +: SLOT_W] != issue_slot[p*SLOT_W +: SLOT_W];
      always_ff @(posedge clk) begin
        children[i*PORT_COUNT + p]   <= job_mask[p*JOB_COUNT + 32'(job)];
        sum_ports[i*PORT_COUNT + p]  <= sum_out[p*JOB_COUNT + 32'(job)];
        downs[i*PORT_COUNT + p]      <= job_down[p*JOB_COUNT + 32'(job)];
        down_ports[i*PORT_COUNT + p] <= down_out[p*JOB_COUNT + 32'(job)];
      end
    end

    // yosys 0.23 does not allow assertions of the same name in two of these.
    logic [PORT_COUNT-1:0] from;
    logic [PORT_COUNT-1:0] mask;
    logic [JOB_W-1:0]      its_job;

    assign from    = m_from[i*PORT_COUNT +: PORT_COUNT];
    assign mask    = m_mask[i*PORT_COUNT +: PORT_COUNT];
    assign its_job = m_job[i*JOB_W +: JOB_W];
    assign raws[i] = new_packet[i] && m_kind[i*2 +: 2] == KIND_RAW;

    assign right_taken[i] = took[i] == (new_packet[i] && m_kind[i*2 +: 2] != KIND_RESEND);
    assign right_same[i]  = !took[i] || (from == took_ports[i*PORT_COUNT +: PORT_COUNT]
        && its_job == took_job[i*JOB_W +: JOB_W]);
    assign right_slot[i]  = !took[i] || wrong_slot[i*PORT_COUNT +: PORT_COUNT] == '0;
    assign right_port[i]  = !raws[i]
        || (one_port[i] && mask == from && ((from & uplinks) != '0) == (i == 1));
    assign right_alone[i] = !raws[i] || was_alone[i];
    assign right_raw[i]   = !raws[i] || !lives[i] || (was_broken[its_job]
        && (from & ~children[i*PORT_COUNT +: PORT_COUNT] & ~downs[i*PORT_COUNT +: PORT_COUNT]) == '0);
    assign right_after[i] = !new_sum[i] || !lives[i] || !raw_seen[its_job];
    assign right_free[i]  = !new_sum[i] || free_since[i*JOB_COUNT + 32'(its_job)];
    assign right_mask[i]  = !new_packet[i] || (mask != '0 && from != '0);
    assign right_quiet[i] = !takes[i] || !job_quiet[job];
  end

  // From the retransmissions that it serves, the one of the lowest port.
  logic [RESEND_W-1:0]   wanted;
  logic [PORT_COUNT-1:0] other;
  logic                  wanted_above;

  always_comb begin
    wanted       = '0;
    wanted_above = 1'b0;
    for (int p = PORT_COUNT - 1; p >= 0; p--) begin
      if (m_mask[PORT_COUNT + p]) wanted = resend[p*RESEND_W +: RESEND_W];
      if (m_mask[PORT_COUNT + p]) wanted_above = from_above[p];
    end
    for (int p = 0; p < PORT_COUNT; p++)
      other[p] = m_mask[PORT_COUNT + p] && resend[p*RESEND_W +: RESEND_W] != wanted;
  end

  logic [JOB_COUNT-1:0]  not_quiet;
  logic [JOB_COUNT-1:0]  over;         // the context has no job, and no packet of it has been chosen
  logic [JOB_COUNT-1:0]  stays_quiet;

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_quiet
    logic [PORT_COUNT-1:0] pending;

    for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_port
      assign pending[p] = resend_pending[p*JOB_COUNT + j];
    end
    assign not_quiet[j] = under_way[j*4 +: 4] != '0 || pending != '0;
    assign over[j] = !was_valid_2[j] && !was_valid[j] && !job_valid[j] && m_valid == '0 && takes == '0;
    assign stays_quiet[j] = was_quiet[j] && !was_valid_2[j] && !was_valid[j] && !job_valid[j]
        && pending == '0;
  end

  // 12: a path takes nothing, and for this number of clocks the other one could have had a packet of job 0.
  logic [PATHS-1:0] could;
  logic [PATHS-1:0] late;
  logic [PORT_COUNT-1:0] lacks;
  logic                  comes;  // a packet from above

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_lacks
    assign lacks[p] = job_mask[p*JOB_COUNT] && !queue_ready[p*JOB_COUNT];
  end
  assign comes = uplink && job_down[JOB_COUNT] && queue_ready[JOB_COUNT];
  assign could = {comes, job_complete[0] && lacks == '0}
      & {PATHS{job_valid[0] && !job_broken[0] && !job_closing[0]}};

  for (genvar i = 0; i < PATHS; i++) begin : gen_goes
    logic [3:0] clocks;

    always_ff @(posedge clk) begin
      if (rst || !could[i] || !free_now[i*JOB_COUNT] || m_valid[i] || !(m_valid[1 - i] && !m_ready[1 - i])
          || room[i*PORT_COUNT +: PORT_COUNT] != '1
          || unknown[i*PORT_COUNT*4 +: PORT_COUNT*4] != '0)
        clocks <= '0;
      else if (clocks != '1) clocks <= clocks + 1'b1;
    end
    assign late[i] = clocks > 4'(GOES);
  end

  always_comb begin
    if (!rst) begin
      p2_heads:  assert (no_head == '0);
      p2_taken:  assert (right_taken == '1);
      p2_same:   assert (right_same == '1);
      p4_port:   assert (right_port == '1);
      p4_alone:  assert (right_alone == '1);
      p4_job:    assert (right_raw == '1);
      p4_after:  assert (right_after == '1);
      p6_mask:   assert (right_mask == '1);
      p7_slot:   assert (right_slot == '1);
      p8_taken:  assert (right_quiet == '1);
      p11_behind: assert (right_free == '1);
      p10_apart: assert ((taken & was_taken) == '0);
      if (new_sum[0] && lives[0]) begin
        p2_job:   assert (was_complete[m_job[0 +: JOB_W]]);
        p2_ports: assert (m_from[0 +: PORT_COUNT] == children[0 +: PORT_COUNT]
            && m_mask[0 +: PORT_COUNT] == sum_ports[0 +: PORT_COUNT]
            && m_part == has_border[m_job[0 +: JOB_W]]);
      end
      if (new_packet[0]) begin
        p2_part: assert (!m_part || !m_raw);
      end
      if (new_sum[1] && lives[1]) begin
        p3_ports: assert (m_from[PORT_COUNT +: PORT_COUNT] == downs[PORT_COUNT +: PORT_COUNT]
            && m_mask[PORT_COUNT +: PORT_COUNT] == down_ports[PORT_COUNT +: PORT_COUNT]);
      end
      if (new_packet[1]) begin
        p3_kind: assert (m_kind[3:2] != KIND_JOIN);
        p9_only: assert (resends || !m_dropped);
      end
      if (new_packet[1] && resends) begin
        p5_one:   assert ((resent & ~(resend_valid & ~resending)) == '0);
        p5_alike: assert (other == '0);
        p5_what:  assert ({m_probe, 6'(m_job[JOB_W +: JOB_W]), 15'(m_slot[SLOT_W +: SLOT_W]), m_quads}
            == {wanted[RESEND_W-1], wanted[RESEND_W-3 -: 21], wanted[QUADS_W-1:0]});
        p5_from:  assert (m_from[PORT_COUNT +: PORT_COUNT] == m_mask[PORT_COUNT +: PORT_COUNT]);
        p5_above: assert (m_probe || m_above == wanted_above);
        p9_lost:  assert ((resent & known_since & lost & ~ahead) == '0 || m_dropped || m_probe);
        p9_needs: assert (!m_dropped || (!m_probe && (resent & known_since & ~nearly_lost) == '0));
      end
      p9_safe: assert ((resending & safe & known_since & lost & ~ahead) == '0);
      p6_room:    assert ((goes & ~room_since) == '0);
      p6_unknown: assert (crowded == '0);
      p8_quiet:   assert ((job_quiet & not_quiet) == '0);
      p8_over:    assert ((over & ~not_quiet & ~job_quiet) == '0);
      p8_stays:   assert ((stays_quiet & ~job_quiet) == '0);
      p12_goes:   assert (late == '0);
    end
  end

  logic [1:0] joins;
  logic [1:0] parts;

  always_ff @(posedge clk) begin
    if (rst) joins <= '0;
    else if (new_sum[0] && m_mask[0 +: PORT_COUNT] == '1 && joins != '1) joins <= joins + 1'b1;
    if (rst) parts <= '0;
    else if (new_sum[0] && m_part && parts != '1) parts <= parts + 1'b1;
  end

  always_comb begin
    if (!rst) begin
      two_joins: cover (joins == 2'd2 && under_way[3:0] == 4'd2);
      raw:       cover (new_packet[0] && m_raw && joins == 2'd1);
      raw_above: cover (new_packet[1] && m_kind[3:2] == KIND_RAW && parts == 2'd1);
      resent_1:  cover (resent != '0 && joins == 2'd1);
      together:  cover (resent == '1 && joins == 2'd1);
      of_above:  cover (resent != '0 && m_above && !m_probe && !m_dropped && new_sum[0]);
      down:      cover (new_sum[1] && parts == 2'd1);
      both:      cover (m_valid == '1 && m_ready == '0 && new_sum[1]);
      loses:     cover (resent != '0 && m_dropped);
      quiet:     cover (job_quiet == '1 && joins == 2'd2);
      again:     cover (open && joins == 2'd1 && sums[open_job*ORDINAL_W] && takes[0]);
    end
  end
endmodule

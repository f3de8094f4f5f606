// SPDX-License-Identifier: Apache-2.0
//
// Chooses whose packet the join takes next: the next ones of a whole job, what came from above for a
// job, the head of one queue of a broken job, or a retransmission.
//
//   scan    what could be chosen, and has room wherever it leaves (ina_pick_ready)
//   choose  one of them, by turns (ina_pick_turns)
//   issue   its queues move on, its slot is read; it waits as m_* in the next clock
//
// So at most every second clock brings a packet, and a job's next packet comes three clocks after
// the last. No frame with a payload is shorter than two beats, so no line is faster than that.
//
// Only what has room on every port that it leaves on is chosen, so nothing behind this module ever
// waits. No sum is chosen of a job whose receivers are behind (ina_resend).
//
// Hosts that go back together ask for the same sums: a retransmission is chosen together with those
// of all other ports that want the same packet of the history. One whose sum was overwritten since
// it was judged is marked as dropped: the join takes it out, and nothing is sent.

`default_nettype none

module ina_pick #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    parameter  int SLOT_COUNT = 128,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int SLOT_W     = $clog2(SLOT_COUNT)
) (
    input  logic clk,
    input  logic rst,

    // Jobs and queues. A closing job has sent its LEAVEs into the tree.
    input  logic [JOB_COUNT-1:0]            job_valid,
    input  logic [JOB_COUNT-1:0]            job_complete,
    input  logic [JOB_COUNT-1:0]            job_broken,
    input  logic [JOB_COUNT-1:0]            job_closing,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] job_mask,       // of each port, the jobs with a child there
    input  logic [PORT_COUNT*JOB_COUNT-1:0] job_border,     // ... with their border
    input  logic [PORT_COUNT*JOB_COUNT-1:0] job_down,       // ... with their down flow
    input  logic [PORT_COUNT*JOB_COUNT-1:0] queue_ready,    // ... with a packet to be summed there
    input  logic [PORT_COUNT*JOB_COUNT-1:0] queue_waiting,  // ... with any packet there
    input  logic                            opened,         // a context has a new job
    input  logic [JOB_W-1:0]                opened_job,

    // The oldest retransmission of each port, and its removal once it has begun. Two that want the
    // same sum may be of different lengths, for a host can send anything again.
    input  logic [PORT_COUNT-1:0]                     resend_valid,
    input  logic [PORT_COUNT*ina_pkg::RESEND_T_W-1:0] resend,
    input  logic [PORT_COUNT*JOB_COUNT-1:0]           resend_pending,  // the jobs of all that wait
    input  logic [PORT_COUNT*JOB_COUNT-1:0]           resend_behind,   // jobs whose sums should wait
    input  logic [PORT_COUNT-1:0]                     resend_pop,

    // Room, and the chosen packets' progress.
    input  logic [PORT_COUNT-1:0] rebuild_room,
    input  logic [PORT_COUNT-1:0] settled,      // ina_rebuild has the header, or never gets it
    input  logic                  done_valid,   // one has ended that is no retransmission
    input  logic [JOB_W-1:0]      done_job,
    input  logic                  undo_valid,   // a chosen sum was called off
    input  logic [JOB_W-1:0]      undo_job,
    input  logic                  undo_part,    // ... that would have been a part

    // To these ports' queues: the next packet of issue_job. Its slot comes with m_valid.
    output logic [PORT_COUNT-1:0]        issue_valid,
    output logic                         issue_raw,
    output logic [JOB_W-1:0]             issue_job,
    input  logic [PORT_COUNT*SLOT_W-1:0] issue_slot,

    output logic                  m_valid,
    input  logic                  m_ready,
    output logic [1:0]            m_kind,
    output logic [JOB_W-1:0]      m_job,
    output logic [SLOT_W-1:0]     m_slot,
    output logic [PORT_COUNT-1:0] m_from,     // whose payloads it takes; or headers of retransmissions
    output logic [PORT_COUNT-1:0] m_mask,     // where it leaves
    output logic                  m_part,     // the history in question is that of parts
    output logic                  m_probe,    // of a retransmission
    output logic                  m_dropped,

    output logic [JOB_COUNT-1:0]  job_quiet,  // nothing of it is chosen, or asked for from history
    output logic [PORT_COUNT-1:0] dropped,    // one clock, for ina_counters: of which ports
    output logic                  busy        // there is something to choose
);

  localparam int ORDINAL_W = ina_pkg::ORDINAL_W;

  // The packet that has been chosen and is issued next.
  logic                  chosen_valid;
  logic [1:0]            chosen_kind;
  logic [JOB_COUNT-1:0]  chosen_jobs;     // the job of a sum or raw packet
  logic [JOB_W-1:0]      chosen_job;
  logic                  chosen_part;
  logic [PORT_COUNT-1:0] chosen_from;
  logic [PORT_COUNT-1:0] chosen_mask;
  logic [PORT_COUNT-1:0] chosen_heads;    // whose queues move on: none of a retransmission
  logic [PORT_COUNT-1:0] chosen_resends;  // whose retransmissions are chosen
  ina_pkg::resend_t      chosen_resend;
  logic                  issue;

  assign issue       = chosen_valid && (!m_valid || m_ready);
  assign issue_valid = issue ? chosen_heads : '0;
  assign issue_raw   = chosen_kind == ina_pkg::KIND_RAW;
  assign issue_job   = chosen_job;

  // Scan.
  logic                            any;
  logic                            held;
  logic                            scan;
  logic [JOB_COUNT-1:0]            any_ahead;
  logic [PORT_COUNT-1:0]           resending;
  logic [PORT_COUNT-1:0]           credit;
  logic [JOB_COUNT-1:0]            joins;
  logic [JOB_COUNT-1:0]            downs;
  logic [PORT_COUNT*JOB_COUNT-1:0] raw_ready;
  logic [PORT_COUNT-1:0]           resends;
  logic                            choice_valid;

  assign busy = any || held || chosen_valid || m_valid;
  assign scan = any && !choice_valid && (!chosen_valid || issue);

  ina_pick_progress #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT))
      progress (
      .clk, .rst, .chosen_valid, .chosen_jobs, .chosen_mask,
      .chosen_resend(chosen_kind == ina_pkg::KIND_RESEND), .issue,
      .rebuild_room, .settled, .resend_pop, .done_valid, .done_job, .undo_valid, .undo_job,
      .any_ahead, .resending, .credit);

  // Where the sum of a job leaves: one that goes up with its border, else with all it came from; one
  // that came from above with its own flow and all that went into the part but the border.
  logic [JOB_COUNT-1:0]            job_part;
  logic [PORT_COUNT*JOB_COUNT-1:0] join_out;
  logic [PORT_COUNT*JOB_COUNT-1:0] down_out;

  always_comb begin
    job_part = '0;
    for (int p = 0; p < PORT_COUNT; p++)
      job_part = job_part | job_border[p*JOB_COUNT +: JOB_COUNT];
  end

  assign join_out = job_border | (job_mask & {PORT_COUNT{~job_part}});
  assign down_out = job_down | (job_mask & ~job_border);

  ina_pick_ready #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) ready (
      .clk, .job_valid, .job_complete, .job_broken, .job_closing, .job_mask, .job_down, .join_out,
      .down_out, .queue_ready, .queue_waiting, .resend_valid, .resend_behind, .chosen_jobs,
      .chosen_resends, .any_ahead, .resending, .credit, .any, .held, .joins, .downs, .raw_ready,
      .resends);

  // Choose.
  logic [1:0]            choice_kind;
  logic [JOB_COUNT-1:0]  choice_jobs;
  logic [JOB_W-1:0]      choice_job;
  logic                  choice_part;
  logic [PORT_COUNT-1:0] choice_from;
  logic [PORT_COUNT-1:0] choice_mask;
  ina_pkg::resend_t      choice_resend;

  ina_pick_turns #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) turns (
      .clk, .rst, .scan, .credit, .joins, .downs, .raw_ready, .resends, .resend, .job_mask,
      .job_down, .job_part, .join_out, .down_out,
      .m_valid(choice_valid), .m_kind(choice_kind), .m_jobs(choice_jobs), .m_job(choice_job),
      .m_part(choice_part), .m_from(choice_from), .m_mask(choice_mask), .m_resend(choice_resend));

  always_ff @(posedge clk) begin
    if (issue) chosen_valid <= 1'b0;
    if (issue) chosen_jobs <= '0;
    if (issue) chosen_resends <= '0;
    if (choice_valid) begin
      chosen_valid   <= 1'b1;
      chosen_kind    <= choice_kind;
      chosen_jobs    <= choice_jobs;
      chosen_job     <= choice_job;
      chosen_part    <= choice_part;
      chosen_from    <= choice_from;
      chosen_mask    <= choice_mask;
      chosen_heads   <= (choice_kind == ina_pkg::KIND_RESEND) ? '0 : choice_from;
      chosen_resends <= (choice_kind == ina_pkg::KIND_RESEND) ? choice_mask : '0;
      chosen_resend  <= choice_resend;
    end
    if (rst) begin
      chosen_valid   <= 1'b0;
      chosen_jobs    <= '0;
      chosen_resends <= '0;
    end
  end

  logic unused;
  assign unused = &{chosen_resend.part, chosen_resend.job, chosen_resend.quads};  // used in the choice

  // Issue. The sums and the parts of each job that have been chosen, and how many of them came after
  // the one that a retransmission wants: SLOT_COUNT of them fill a history.
  logic [ORDINAL_W-1:0] sums_chosen  [JOB_COUNT];
  logic [ORDINAL_W-1:0] parts_chosen [JOB_COUNT];
  logic                 issue_sum;
  logic                 issue_part;
  logic [SLOT_W-1:0]    m_resend_slot;
  logic [ORDINAL_W-1:0] m_sums_since;
  logic                 issue_q;

  assign m_dropped = m_kind == ina_pkg::KIND_RESEND && !m_probe
      && m_sums_since > ORDINAL_W'(SLOT_COUNT);

  assign issue_part = issue && chosen_kind == ina_pkg::KIND_JOIN && chosen_part;
  assign issue_sum  = issue && ((chosen_kind == ina_pkg::KIND_JOIN && !chosen_part)
                                || chosen_kind == ina_pkg::KIND_DOWN);

  always_ff @(posedge clk) begin
    if (!m_valid || m_ready) m_valid <= chosen_valid;
    issue_q <= issue;
    dropped <= (m_valid && issue_q && m_dropped && !rst) ? m_mask : '0;
    if (issue) begin
      m_kind        <= chosen_kind;
      m_job         <= chosen_job;
      m_part        <= chosen_part;
      m_from        <= chosen_from;
      m_mask        <= chosen_mask;
      m_probe       <= chosen_resend.probe;
      m_resend_slot <= chosen_resend.slot[SLOT_W-1:0];
      m_sums_since  <= (chosen_part ? parts_chosen[chosen_job] : sums_chosen[chosen_job])
          - chosen_resend.ordinal;
    end
    if (issue_sum) sums_chosen[chosen_job] <= sums_chosen[chosen_job] + 1'b1;
    if (issue_part) parts_chosen[chosen_job] <= parts_chosen[chosen_job] + 1'b1;
    // Of the same job: one less and one more.
    if (undo_valid && !undo_part)
      sums_chosen[undo_job] <= sums_chosen[undo_job]
          - ORDINAL_W'(!(issue_sum && undo_job == chosen_job));
    if (undo_valid && undo_part)
      parts_chosen[undo_job] <= parts_chosen[undo_job]
          - ORDINAL_W'(!(issue_part && undo_job == chosen_job));
    if (opened) sums_chosen[opened_job] <= '0;
    if (opened) parts_chosen[opened_job] <= '0;
    if (rst) m_valid <= 1'b0;
  end

  // Packets of the same number are in the same slot on all ports of a job.
  always_comb begin
    m_slot = m_resend_slot;
    if (m_kind != ina_pkg::KIND_RESEND)
      for (int p = 0; p < PORT_COUNT; p++)
        if (m_from[p]) m_slot = issue_slot[p*SLOT_W +: SLOT_W];
  end

  always_comb begin
    job_quiet = ~any_ahead & ~chosen_jobs;
    for (int p = 0; p < PORT_COUNT; p++)
      job_quiet = job_quiet & ~resend_pending[p*JOB_COUNT +: JOB_COUNT];
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// Chooses whose packet goes next on which of two paths: the next ones of a whole job, or the head of
// one queue of a broken job, through ina_join; what came from above for a job, or a retransmission,
// through ina_relay. The queues of uplinks are ina_relay's, raw packets too.
//
//   scan    what could be chosen, and has room wherever it leaves (ina_pick_ready)
//   choose  one of them, on a path that is free, by turns (ina_pick_turns)
//   issue   its queues move on, its slot is read; it waits as m_* in the next clock (ina_pick_issue)
//
// So at most every second clock brings a packet, and a job's next packet comes three clocks after
// the last. No frame with a payload is shorter than two beats, so no line is faster than that.
//
// Only what has room on every port that it leaves on is chosen, so nothing behind this module ever
// waits. No sum is chosen of a job whose receivers are behind (ina_resend).
//
// Hosts that go back together ask for the same sums: a retransmission is chosen together with those
// of all other ports that want the same packet of the history. One whose sum was overwritten since
// it was judged is marked as dropped: ina_relay takes it out, and nothing is sent. The sums that could
// overwrite it count when they are chosen: all that come later wait until it has been read, for its
// job is behind.

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
    input  logic [JOB_COUNT*SLOT_W-1:0]     job_window,  // packets of its ring, less one
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

    // Room, and the chosen packets' progress, on each path.
    input  logic [PORT_COUNT-1:0] uplinks,
    input  logic [PORT_COUNT-1:0] join_room,
    input  logic [PORT_COUNT-1:0] join_settled,   // ina_rebuild has the header, or never gets it
    input  logic                  join_undo,      // a chosen sum was called off
    input  logic [JOB_W-1:0]      join_undo_job,
    input  logic [PORT_COUNT-1:0] relay_room,
    input  logic [PORT_COUNT-1:0] relay_settled,
    input  logic                  relay_undo,
    input  logic [JOB_W-1:0]      relay_undo_job,
    input  logic                  done_valid,     // one has ended that is no retransmission
    input  logic [JOB_W-1:0]      done_job,

    // To these ports' queues: the next packet of the job. Its slot comes with m_*_valid.
    output logic [PORT_COUNT-1:0]        join_issue,
    output logic                         join_issue_raw,
    output logic [JOB_W-1:0]             join_issue_job,
    output logic [PORT_COUNT-1:0]        relay_issue,
    output logic                         relay_issue_raw,
    output logic [JOB_W-1:0]             relay_issue_job,
    input  logic [PORT_COUNT*SLOT_W-1:0] issue_slot,

    output logic                  m_join_valid,
    input  logic                  m_join_ready,
    output logic                  m_join_raw,
    output logic [JOB_W-1:0]      m_join_job,
    output logic [SLOT_W-1:0]     m_join_slot,
    output logic [PORT_COUNT-1:0] m_join_from,  // whose payloads it takes
    output logic [PORT_COUNT-1:0] m_join_mask,  // where it leaves
    output logic                  m_join_part,  // the sum is a part

    output logic                        m_relay_valid,
    input  logic                        m_relay_ready,
    output logic [1:0]                  m_relay_kind,
    output logic [JOB_W-1:0]            m_relay_job,
    output logic [SLOT_W-1:0]           m_relay_slot,
    output logic [PORT_COUNT-1:0]       m_relay_from,     // also the headers of retransmissions
    output logic [PORT_COUNT-1:0]       m_relay_mask,
    output logic                        m_relay_above,    // of a retransmission: its sum came from above
    output logic                        m_relay_probe,
    output logic                        m_relay_dropped,
    output logic [ina_pkg::QUADS_W-1:0] m_relay_quads,

    output logic [JOB_COUNT-1:0]  job_quiet,  // nothing of it is chosen, or asked for from history
    output logic [PORT_COUNT-1:0] dropped,    // one clock, for ina_counters: of which ports
    output logic                  busy        // there is something to choose
);

  localparam int ORDINAL_W = ina_pkg::ORDINAL_W;

  // Scan.
  logic                            any;
  logic                            held;
  logic                            scan;
  logic [JOB_COUNT-1:0]            any_ahead;
  logic [PORT_COUNT-1:0]           resending;
  logic [JOB_COUNT-1:0]            joins;
  logic [JOB_COUNT-1:0]            downs;
  logic [PORT_COUNT*JOB_COUNT-1:0] raw_ready;
  logic [PORT_COUNT-1:0]           raw_room;
  logic [PORT_COUNT-1:0]           resends;
  logic                            any_join;
  logic                            any_down;
  logic                            any_resend;
  logic                            choice_valid;

  // Of each path: what has been chosen and is issued next.
  logic                  join_free;
  logic                  join_valid;
  logic                  join_new;
  logic [1:0]            join_kind;
  logic [JOB_COUNT-1:0]  join_jobs;
  logic [PORT_COUNT-1:0] join_mask;
  logic                  join_issues;
  logic [PORT_COUNT-1:0] join_credit;
  logic                  relay_free;
  logic                  relay_valid;
  logic                  relay_new;
  logic [1:0]            relay_kind;
  logic [JOB_COUNT-1:0]  relay_jobs;
  logic [PORT_COUNT-1:0] relay_mask;
  logic                  relay_issues;
  logic [PORT_COUNT-1:0] relay_credit;
  logic [PORT_COUNT-1:0] relay_resends;  // whose retransmissions are chosen
  ina_pkg::resend_t      relay_resend;

  assign busy = any || held || join_valid || relay_valid || m_join_valid || m_relay_valid;
  assign scan = !choice_valid && (any || !ina_pkg::SIMULATED);

  assign relay_resends = (relay_valid && relay_kind == ina_pkg::KIND_RESEND) ? relay_mask : '0;

  ina_pick_progress #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT))
      progress (
      .clk, .rst, .join_jobs(join_issues ? join_jobs : '0),
      .relay_jobs(relay_issues ? relay_jobs : '0), .resends(relay_issues ? relay_resends : '0),
      .resend_pop, .done_valid, .done_job, .join_undo, .join_undo_job, .relay_undo, .relay_undo_job,
      .any_ahead, .resending);

  // Where the sum of a job leaves: one that goes up with its border, else with all it came from; one
  // that came from above with its own flow and all that went into the part but the border. It is as it
  // was a clock ago, and so is whether the job is complete or has a down flow: neither counts before
  // the ports with which it came.
  logic [JOB_COUNT-1:0]            complete_q;
  logic [JOB_COUNT-1:0]            part_d;
  logic [JOB_COUNT-1:0]            job_part;
  logic [PORT_COUNT*JOB_COUNT-1:0] down_q;
  logic [PORT_COUNT*JOB_COUNT-1:0] join_out;
  logic [PORT_COUNT*JOB_COUNT-1:0] down_out;
  logic [PORT_COUNT*JOB_COUNT-1:0] next_join_out;
  logic [PORT_COUNT*JOB_COUNT-1:0] next_down_out;

  assign next_join_out = job_border | (job_mask & {PORT_COUNT{~part_d}});
  assign next_down_out = job_down | (job_mask & ~job_border);

  always_comb begin
    part_d = '0;
    for (int p = 0; p < PORT_COUNT; p++)
      part_d = part_d | job_border[p*JOB_COUNT +: JOB_COUNT];
  end

  always_ff @(posedge clk) begin
    complete_q <= job_valid & job_complete;
    job_part   <= part_d;
    down_q     <= job_down & {PORT_COUNT{job_valid}};
    join_out   <= next_join_out;
    down_out   <= next_down_out;
  end

  ina_pick_ready #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) ready (
      .clk, .uplinks, .job_valid, .job_open(job_valid & ~job_closing), .job_complete(complete_q),
      .job_broken, .job_mask, .job_down(down_q), .join_out, .down_out, .next_join_out,
      .next_down_out, .queue_ready, .queue_waiting, .resend_valid, .resend_behind,
      .join_jobs, .join_free, .join_credit, .relay_jobs, .relay_free, .relay_credit, .relay_resends,
      .any_ahead, .resending, .any, .held, .joins, .downs, .raw_ready, .raw_room, .resends,
      .any_join, .any_down, .any_resend);

  // Choose.
  logic [1:0]            choice_kind;
  logic [JOB_COUNT-1:0]  choice_jobs;
  logic [JOB_W-1:0]      choice_job;
  logic                  choice_part;
  logic [PORT_COUNT-1:0] choice_from;
  logic [PORT_COUNT-1:0] choice_mask;
  ina_pkg::resend_t      choice_resend;
  logic                  choice_relay;  // the path

  ina_pick_turns #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) turns (
      .clk, .rst, .uplinks, .scan, .join_free, .relay_free, .any_join, .any_down, .any_resend, .joins,
      .downs, .raw_ready, .raw_room, .resends, .resend, .job_mask, .job_down, .job_part, .join_out,
      .down_out,
      .m_valid(choice_valid), .m_relay(choice_relay), .m_kind(choice_kind), .m_jobs(choice_jobs), .m_job(choice_job),
      .m_part(choice_part), .m_from(choice_from), .m_mask(choice_mask), .m_resend(choice_resend));

  // Issue.
  logic [1:0]       m_join_kind;
  ina_pkg::resend_t m_relay_resend;
  ina_pkg::resend_t no_resend;
  ina_pkg::resend_t m_no_resend;
  logic             m_no_part;

  ina_pick_issue #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) join_ (
      .clk, .rst, .free(join_free), .s_valid(choice_valid && !choice_relay), .s_kind(choice_kind),
      .s_jobs(choice_jobs), .s_job(choice_job), .s_part(choice_part), .s_from(choice_from),
      .s_mask(choice_mask), .s_resend(choice_resend),
      .chosen_valid(join_valid), .chosen_new(join_new), .chosen_kind(join_kind),
      .chosen_jobs(join_jobs), .chosen_job(join_issue_job), .chosen_mask(join_mask),
      .chosen_resend(no_resend), .issue(join_issues), .issue_heads(join_issue),
      .room(join_room), .settled(join_settled), .credit(join_credit),
      .m_valid(m_join_valid), .m_ready(m_join_ready), .m_kind(m_join_kind), .m_job(m_join_job),
      .m_part(m_join_part), .m_from(m_join_from), .m_mask(m_join_mask), .m_resend(m_no_resend));

  ina_pick_issue #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) relay (
      .clk, .rst, .free(relay_free), .s_valid(choice_valid && choice_relay), .s_kind(choice_kind),
      .s_jobs(choice_jobs), .s_job(choice_job), .s_part(choice_part), .s_from(choice_from),
      .s_mask(choice_mask), .s_resend(choice_resend),
      .chosen_valid(relay_valid), .chosen_new(relay_new), .chosen_kind(relay_kind),
      .chosen_jobs(relay_jobs), .chosen_job(relay_issue_job), .chosen_mask(relay_mask),
      .chosen_resend(relay_resend), .issue(relay_issues), .issue_heads(relay_issue),
      .room(relay_room), .settled(relay_settled), .credit(relay_credit),
      .m_valid(m_relay_valid), .m_ready(m_relay_ready), .m_kind(m_relay_kind), .m_job(m_relay_job),
      .m_part(m_no_part), .m_from(m_relay_from), .m_mask(m_relay_mask), .m_resend(m_relay_resend));

  assign join_issue_raw  = join_kind == ina_pkg::KIND_RAW;
  assign relay_issue_raw = relay_kind == ina_pkg::KIND_RAW;
  assign m_join_raw      = m_join_kind == ina_pkg::KIND_RAW;
  assign m_relay_above   = !m_relay_resend.part && job_part[m_relay_job];
  assign m_relay_probe   = m_relay_resend.probe;
  assign m_relay_quads   = m_relay_resend.quads;

  // Packets of the same number are in the same slot on all ports of a job.
  always_comb begin
    m_join_slot  = '0;
    m_relay_slot = m_relay_resend.slot[SLOT_W-1:0];
    for (int p = 0; p < PORT_COUNT; p++)
      if (m_join_from[p]) m_join_slot = issue_slot[p*SLOT_W +: SLOT_W];
    if (m_relay_kind != ina_pkg::KIND_RESEND)
      for (int p = 0; p < PORT_COUNT; p++)
        if (m_relay_from[p]) m_relay_slot = issue_slot[p*SLOT_W +: SLOT_W];
  end

  // The sums of each job that have been chosen, those from above apart, and how many of them came
  // after the one that a retransmission wants: a window of them fills its history.
  logic [ORDINAL_W-1:0] here_chosen  [JOB_COUNT];
  logic [ORDINAL_W-1:0] above_chosen [JOB_COUNT];
  logic [ORDINAL_W-1:0] m_sums_since;
  logic [SLOT_W-1:0]    m_window;
  logic                 counts_here;
  logic                 counts_above;
  logic                 relay_issued;

  assign counts_here  = join_new && join_kind == ina_pkg::KIND_JOIN;
  assign counts_above = relay_new && relay_kind == ina_pkg::KIND_DOWN;

  assign m_relay_dropped = m_relay_kind == ina_pkg::KIND_RESEND && !m_relay_probe
      && m_sums_since > ORDINAL_W'(m_window) + 1'b1;

  always_ff @(posedge clk) begin
    relay_issued <= relay_issues;
    dropped <= (m_relay_valid && relay_issued && m_relay_dropped && !rst) ? m_relay_mask : '0;
    if (relay_issues) m_window <= job_window[relay_issue_job*SLOT_W +: SLOT_W];
    if (relay_issues)
      m_sums_since <= ((!relay_resend.part && job_part[relay_issue_job])
          ? above_chosen[relay_issue_job] : here_chosen[relay_issue_job]) - relay_resend.ordinal;
    if (counts_here) here_chosen[join_issue_job] <= here_chosen[join_issue_job] + 1'b1;
    if (counts_above) above_chosen[relay_issue_job] <= above_chosen[relay_issue_job] + 1'b1;
    // Of the same job: one less and one more.
    if (join_undo)
      here_chosen[join_undo_job] <= here_chosen[join_undo_job]
          - ORDINAL_W'(!(counts_here && join_undo_job == join_issue_job));
    if (relay_undo)
      above_chosen[relay_undo_job] <= above_chosen[relay_undo_job]
          - ORDINAL_W'(!(counts_above && relay_undo_job == relay_issue_job));
    if (opened) here_chosen[opened_job] <= '0;
    if (opened) above_chosen[opened_job] <= '0;
  end

  logic unused;
  assign unused = &{join_mask, no_resend, m_no_resend, m_no_part, relay_resend.probe, relay_resend.job, relay_resend.slot,
                    relay_resend.quads, m_relay_resend.job, m_relay_resend.ordinal,
                    m_relay_resend.slot};

  always_comb begin
    job_quiet = ~any_ahead & ~join_jobs & ~relay_jobs;
    for (int p = 0; p < PORT_COUNT; p++)
      job_quiet = job_quiet & ~resend_pending[p*JOB_COUNT +: JOB_COUNT];
  end

endmodule

`default_nettype wire

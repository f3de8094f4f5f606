// SPDX-License-Identifier: Apache-2.0
//
// Chooses the next packet of each of two paths. ina_join takes the sum of a whole job's next
// packets, or the head of one queue of a broken job. ina_relay takes a packet from above for a job,
// or a retransmission; it also takes the raw packets of uplinks, because it alone reads their
// queues.
//
//   scan    which packets are ready and have room at every output they need (ina_pick_ready)
//   choose  one of them whose path is free, by turns (ina_pick_turns)
//   issue   its queues move on, and its slot is read; it is at m_* in the next clock
//           (ina_pick_issue)
//
// So a packet is chosen at most every second clock, and the next packet of the same job three
// clocks later. No frame with a payload is shorter than two beats, so no line delivers packets
// faster.
//
// A packet is chosen only if every port by which it leaves has room, so no module after this one
// ever waits. No sum is chosen for a job whose receivers are behind (ina_resend).
//
// Hosts that go back together ask for the same sums. So a retransmission is chosen together with
// those of all other ports that want the same packet of the history. If its sum was overwritten
// since it was judged, it is marked as dropped: ina_relay removes it, and nothing is sent. A sum
// that could overwrite it counts from its choice on. Later sums wait until it has been read,
// because its job is behind.

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
    input  logic [PORT_COUNT*JOB_COUNT-1:0] job_mask,       // by port: jobs with a child
    input  logic [PORT_COUNT*JOB_COUNT-1:0] job_border,     // by port: jobs with their border
    input  logic [PORT_COUNT*JOB_COUNT-1:0] job_down,       // by port: jobs with their down flow
    input  logic [PORT_COUNT*JOB_COUNT-1:0] queue_ready,    // by port: jobs with a packet to sum
    input  logic [PORT_COUNT*JOB_COUNT-1:0] queue_waiting,  // by port: jobs with any packet
    input  logic                            opened,         // a context has a new job
    input  logic [JOB_W-1:0]                opened_job,

    // The oldest retransmission of each port, and its removal once its packet has begun. Two that
    // want the same sum may have different lengths, because a host can retransmit anything.
    input  logic [PORT_COUNT-1:0]                     resend_valid,
    input  logic [PORT_COUNT*ina_pkg::RESEND_T_W-1:0] resend,
    input  logic [PORT_COUNT*JOB_COUNT-1:0]           resend_pending,  // jobs of all that wait
    input  logic [PORT_COUNT*JOB_COUNT-1:0]           resend_behind,   // jobs whose sums wait
    input  logic [PORT_COUNT-1:0]                     resend_pop,

    // Room, and the progress of the chosen packets, on each path.
    input  logic [PORT_COUNT-1:0] uplinks,
    input  logic [PORT_COUNT-1:0] join_room,
    input  logic [PORT_COUNT-1:0] join_settled,   // ina_rebuild has the header, or never gets it
    input  logic                  join_undo,      // a chosen sum was cancelled
    input  logic [JOB_W-1:0]      join_undo_job,
    input  logic [PORT_COUNT-1:0] relay_room,
    input  logic [PORT_COUNT-1:0] relay_settled,
    input  logic                  relay_undo,
    input  logic [JOB_W-1:0]      relay_undo_job,
    input  logic                  done_valid,     // a packet that is no retransmission has ended
    input  logic [JOB_W-1:0]      done_job,

    // To these ports' queues: take the next packet of the job. Its slot comes with m_*_valid.
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
    output logic [PORT_COUNT-1:0] m_join_from,  // ports whose payloads it takes
    output logic [PORT_COUNT-1:0] m_join_mask,  // ports by which it leaves
    output logic                  m_join_part,  // the sum is a part

    output logic                        m_relay_valid,
    input  logic                        m_relay_ready,
    output logic [1:0]                  m_relay_kind,
    output logic [JOB_W-1:0]            m_relay_job,
    output logic [SLOT_W-1:0]           m_relay_slot,
    output logic [PORT_COUNT-1:0]       m_relay_from,     // ports whose packets it takes
    output logic [PORT_COUNT-1:0]       m_relay_mask,
    output logic                        m_relay_above,    // the sum it wants came from above
    output logic                        m_relay_probe,
    output logic                        m_relay_dropped,
    output logic [ina_pkg::QUADS_W-1:0] m_relay_quads,

    output logic [JOB_COUNT-1:0]  job_quiet,  // no packet or answer of it is under way
    output logic [PORT_COUNT-1:0] dropped,    // one clock, for ina_counters: on these ports
    output logic                  busy        // there are packets to choose
);

  localparam int ORDINAL_W = ina_pkg::ORDINAL_W;

  // The scan.
  logic                            any;
  logic                            any_behind;
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

  // For each path: the packet that has been chosen and is issued next.
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
  logic [PORT_COUNT-1:0] relay_resends;  // ports whose retransmissions are chosen
  ina_pkg::resend_t      relay_resend;

  assign busy = any || any_behind || join_valid || relay_valid || m_join_valid || m_relay_valid;
  assign scan = !choice_valid && (any || !ina_pkg::SIMULATED);

  assign relay_resends = (relay_valid && relay_kind == ina_pkg::KIND_RESEND) ? relay_mask : '0;

  ina_pick_progress #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT))
      progress (
      .clk, .rst, .join_jobs(join_issues ? join_jobs : '0),
      .relay_jobs(relay_issues ? relay_jobs : '0), .resends(relay_issues ? relay_resends : '0),
      .resend_pop, .done_valid, .done_job, .join_undo, .join_undo_job, .relay_undo, .relay_undo_job,
      .any_ahead, .resending);

  // The ports by which a job's sum leaves. A part leaves with the border; any other sum leaves with
  // all packets that went into it. A sum from above leaves with its own flow, and with all packets
  // that went into the part except the border's. The ports are registered, and so is whether the
  // job is complete or has a down flow: neither counts before the ports with which it came.
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
      .any_ahead, .resending, .any, .any_behind, .joins, .downs, .raw_ready, .raw_room, .resends,
      .any_join, .any_down, .any_resend);

  // Choose.
  logic [1:0]            choice_kind;
  logic [JOB_COUNT-1:0]  choice_jobs;
  logic [JOB_W-1:0]      choice_job;
  logic                  choice_part;
  logic [PORT_COUNT-1:0] choice_from;
  logic [PORT_COUNT-1:0] choice_mask;
  ina_pkg::resend_t      choice_resend;
  logic                  choice_relay;  // its path is ina_relay

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

  // The number of sums of each job that have been chosen, counted separately for sums from above,
  // and how many of them came after the one that a retransmission wants. A window of sums fills the
  // history.
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
    // If both concern the same job, one is subtracted and one is added.
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

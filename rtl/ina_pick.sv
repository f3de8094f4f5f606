// SPDX-License-Identifier: Apache-2.0
//
// Chooses whose packet the join takes next: the heads of a whole job, the head of one queue of a
// broken job, or a retransmission. The three kinds take turns; of each kind, who was served last
// waits longest.
//
// Hosts that go back together ask for the same sums: a retransmission is chosen together with those
// of all other ports that want the same packet of the history. No sum is chosen of a job whose
// receivers are behind (ina_resend).
//
//   look    what could go, and has room wherever it leaves: bits for all jobs side by side; whose
//           turn it is of the broken jobs of each port was found out in the two clocks before
//   choose  one of them, by turns
//   go      its queues move on, its slot is read; it waits as m_* in the next clock
//
// So at most every second clock brings a packet, and a job's next packet comes three clocks after
// the last. No frame with a payload is shorter than two beats, so no line is faster than that.
//
// A packet is chosen only when every port that it leaves on has room for it, so nothing behind
// this module ever waits. At most CHOSEN_MAX packets a port may be chosen while ina_rebuild does
// not know of them: that is what its `room` promises.
//
// A retransmission whose sum has left the history since it was judged, overwritten by one that was
// chosen before it, is marked as dropped: the join takes it out, and nothing is sent.

module ina_pick #(
    parameter int PORT_COUNT = 4,
    parameter int JOB_COUNT  = 4,
    parameter int SLOT_COUNT = 128,
    parameter int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    parameter int SLOT_W     = $clog2(SLOT_COUNT),
    parameter int FILL_W     = $clog2(SLOT_COUNT + 1)
) (
    input  logic clk,
    input  logic rst,

    // Jobs and queues. A closing job has sent its LEAVEs into the tree.
    input  logic [JOB_COUNT-1:0]            job_valid,
    input  logic [JOB_COUNT-1:0]            job_complete,
    input  logic [JOB_COUNT-1:0]            job_broken,
    input  logic [JOB_COUNT-1:0]            job_closing,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] job_mask,     // of each port, the jobs that it is in
    input  logic [PORT_COUNT*JOB_COUNT-1:0] queue_ready,  // ... and those that have a packet there
    input  logic                            opened,       // a context has a new job
    input  logic [JOB_W-1:0]                opened_job,

    // The oldest retransmission of each port, and its removal once it has begun. Two that want the
    // same sum may be of different lengths, for a host can send anything again.
    input  logic [PORT_COUNT-1:0]                    resend_valid,
    input  logic [PORT_COUNT-1:0]                    resend_probe,
    input  logic [PORT_COUNT*JOB_W-1:0]              resend_job,
    input  logic [PORT_COUNT*SLOT_W-1:0]             resend_slot,
    input  logic [PORT_COUNT*ina_pkg::ORDINAL_W-1:0] resend_ordinal,
    input  logic [PORT_COUNT*ina_pkg::QUADS_W-1:0]   resend_quads,
    input  logic [PORT_COUNT*JOB_COUNT-1:0]          resend_pending,  // the jobs of all that wait
    input  logic [PORT_COUNT*JOB_COUNT-1:0]          resend_behind,   // jobs whose sums should wait
    input  logic [PORT_COUNT-1:0]                    resend_pop,

    // Room, and the chosen packets' progress.
    input  logic [PORT_COUNT-1:0] rebuild_room,
    input  logic [PORT_COUNT-1:0] settled,      // ina_rebuild has the header, or never gets it
    input  logic                  done_valid,   // a join or raw packet has been popped
    input  logic [JOB_W-1:0]      done_job,
    input  logic                  undo_valid,   // a chosen join was called off
    input  logic [JOB_W-1:0]      undo_job,

    // To these ports' queues: the next packet of take_job is chosen. Its slot comes with m_valid.
    output logic [PORT_COUNT-1:0]        take_valid,
    output logic [JOB_W-1:0]             take_job,
    input  logic [PORT_COUNT*SLOT_W-1:0] take_slot,

    output logic                  m_valid,
    input  logic                  m_ready,
    output logic [1:0]            m_kind,
    output logic [JOB_W-1:0]      m_job,
    output logic [SLOT_W-1:0]     m_slot,
    output logic [PORT_COUNT-1:0] m_mask,
    output logic                  m_probe,    // of a retransmission
    output logic                  m_dropped,

    output logic [JOB_COUNT-1:0] job_quiet,  // nothing of it is chosen, or asked for from history
    output logic [PORT_COUNT-1:0] dropped,   // one clock, for ina_counters: of which ports
    output logic                 busy        // there is something to choose
);

  localparam int CHOSEN_MAX = 3;
  localparam int ORDINAL_W  = ina_pkg::ORDINAL_W;
  localparam int QUADS_W    = ina_pkg::QUADS_W;

  logic [FILL_W-1:0]     ahead [JOB_COUNT];  // chosen and not yet popped
  logic [JOB_COUNT-1:0]  any_ahead;
  logic [1:0]            chosen [PORT_COUNT];
  logic [PORT_COUNT-1:0] settled_1, settled_2;  // room follows a header within two clocks
  logic [PORT_COUNT-1:0] resending;             // its oldest retransmission has been chosen

  // The packet that has been chosen and goes next.
  logic                  c_valid;
  logic [1:0]            c_kind;
  logic [JOB_COUNT-1:0]  c_choice;  // the job of a join or raw packet
  logic [JOB_W-1:0]      c_job;
  logic [PORT_COUNT-1:0] c_mask;
  logic [PORT_COUNT-1:0] c_takes;    // those of them whose queues move on: none of a retransmission
  logic                  goes;

  assign goes       = c_valid && (!m_valid || m_ready);
  assign take_valid = goes ? c_takes : '0;
  assign take_job   = c_job;

  // Look. What is chosen and has not gone yet has not moved its queues, and has used no room.
  logic [JOB_COUNT-1:0]            alive;
  logic [JOB_COUNT-1:0]            join_ready;
  logic [JOB_COUNT-1:0]            join_room;
  logic [PORT_COUNT*JOB_COUNT-1:0] raw_ready;
  logic [PORT_COUNT-1:0]           resend_ready;
  logic [PORT_COUNT-1:0]           credit;
  logic [JOB_COUNT-1:0]            raw_jobs;

  logic [JOB_COUNT-1:0] behind;  // a receiver of it, a clock ago

  always_ff @(posedge clk) begin : gather
    logic [JOB_COUNT-1:0] any;

    any = '0;
    for (int p = 0; p < PORT_COUNT; p++) any = any | resend_behind[p*JOB_COUNT +: JOB_COUNT];
    behind <= any;
  end

  assign alive    = job_valid & ~job_closing & ~c_choice;
  assign raw_jobs = alive & job_broken & ~any_ahead;

  always_comb begin
    join_ready = alive & job_complete & ~job_broken & ~behind;
    join_room  = '1;
    for (int p = 0; p < PORT_COUNT; p++) begin
      credit[p]  = rebuild_room[p] && (chosen[p] != 2'(CHOSEN_MAX))
          && !(c_valid && c_mask[p] && chosen[p] == 2'(CHOSEN_MAX - 1));
      join_ready = join_ready
          & (queue_ready[p*JOB_COUNT +: JOB_COUNT] | ~job_mask[p*JOB_COUNT +: JOB_COUNT]);
      if (!credit[p]) join_room = join_room & ~job_mask[p*JOB_COUNT +: JOB_COUNT];
      raw_ready[p*JOB_COUNT +: JOB_COUNT] = raw_jobs
          & queue_ready[p*JOB_COUNT +: JOB_COUNT] & job_mask[p*JOB_COUNT +: JOB_COUNT];
    end
  end

  assign resend_ready = resend_valid & ~resending
      & ~((c_valid && c_kind == ina_pkg::KIND_RESEND) ? c_mask : '0);

  logic                             ready;
  logic                             looks;
  logic                             found;
  logic                             chooses;
  logic [JOB_COUNT-1:0]             joins;
  logic [PORT_COUNT*JOB_COUNT-1:0]  raw_turns;   // of each port the job whose turn it is
  logic [PORT_COUNT*JOB_COUNT-1:0]  raw_firsts;
  logic [PORT_COUNT-1:0]            raw_ports;
  logic [PORT_COUNT-1:0]            resends;
  logic [PORT_COUNT*JOB_COUNT-1:0]  raws;        // what has been found: of each port one
  logic [PORT_COUNT*PORT_COUNT-1:0] alike;       // of each port, whose retransmissions want the same

  assign ready = join_ready != '0 || raw_ready != '0 || resend_ready != '0;
  assign busy  = ready || c_valid || m_valid;
  assign looks = ready && !chooses && (!c_valid || goes);

  assign joins      = join_ready & join_room;
  assign raw_firsts = raw_ready & raw_turns;
  assign resends    = resend_ready & credit;

  always_comb begin
    for (int p = 0; p < PORT_COUNT; p++)
      raw_ports[p] = credit[p] && raw_firsts[p*JOB_COUNT +: JOB_COUNT] != '0;
  end

  always_ff @(posedge clk) begin
    found <= looks && !rst;
    if (looks) begin
      raws <= raw_firsts;
      for (int p = 0; p < PORT_COUNT; p++)
        for (int q = 0; q < PORT_COUNT; q++)
          alike[p*PORT_COUNT + q] <= resends[q] && are_alike(p, q);
    end
  end

  // One sum of the history for all of them, each with its own header.
  function automatic logic are_alike(input int p, input int q);
    are_alike = p == q
        || (resend_probe[p] == resend_probe[q]
            && resend_job[p*JOB_W +: JOB_W] == resend_job[q*JOB_W +: JOB_W]
            && resend_slot[p*SLOT_W +: SLOT_W] == resend_slot[q*SLOT_W +: SLOT_W]
            && resend_ordinal[p*ORDINAL_W +: ORDINAL_W] == resend_ordinal[q*ORDINAL_W +: ORDINAL_W]
            && resend_quads[p*QUADS_W +: QUADS_W] == resend_quads[q*QUADS_W +: QUADS_W]);
  endfunction

  // Choose: of the kinds, of the jobs, of the ports.
  logic [2:0]            kind;  // resend, raw, join
  logic [JOB_COUNT-1:0]  join_choice;
  logic [PORT_COUNT-1:0] raw_port;
  logic [PORT_COUNT-1:0] resend_port;

  assign chooses = found && kind != '0;

  ina_turn #(.WIDTH(3)) kind_turn (
      .clk, .rst, .asks(looks), .wanted({resends != '0, raw_ports != '0, joins != '0}),
      .choice(kind), .served(chooses), .which(kind));
  ina_turn #(.WIDTH(JOB_COUNT)) join_turn (
      .clk, .rst, .asks(looks), .wanted(joins), .choice(join_choice),
      .served(chooses && kind[0]), .which(join_choice));
  ina_turn #(.WIDTH(PORT_COUNT)) raw_turn (
      .clk, .rst, .asks(looks), .wanted(raw_ports), .choice(raw_port),
      .served(chooses && kind[1]), .which(raw_port));
  ina_turn #(.WIDTH(PORT_COUNT)) resend_turn (
      .clk, .rst, .asks(looks), .wanted(resends), .choice(resend_port),
      .served(chooses && kind[2]), .which(resend_port));
  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_raw
    logic [JOB_COUNT-1:0] choice_of_port;

    ina_turn #(.WIDTH(JOB_COUNT)) job_turn (
        .clk, .rst, .asks(1'b1), .wanted(raw_ready[p*JOB_COUNT +: JOB_COUNT]),
        .choice(choice_of_port),
        .served(chooses && kind[1] && raw_port[p]), .which(raws[p*JOB_COUNT +: JOB_COUNT]));

    always_ff @(posedge clk) raw_turns[p*JOB_COUNT +: JOB_COUNT] <= choice_of_port;
  end

  // What each of them would bring, side by side; then one.
  logic [JOB_COUNT-1:0]        choice;
  logic [JOB_W-1:0]            job;
  logic [PORT_COUNT-1:0]       mask;
  logic [JOB_W-1:0]            join_job;
  logic [PORT_COUNT-1:0]       join_mask;
  logic [PORT_COUNT-1:0]       resend_mask;
  logic [PORT_COUNT*JOB_W-1:0] raw_jobs_of;

  function automatic logic [JOB_W-1:0] number_of(input logic [JOB_COUNT-1:0] one);
    number_of = '0;
    for (int j = 0; j < JOB_COUNT; j++)
      if (one[j]) number_of = number_of | JOB_W'(j);
  endfunction

  always_comb begin
    join_job    = '0;
    join_mask   = '0;
    raw_jobs_of = '0;
    resend_mask = '0;
    for (int p = 0; p < PORT_COUNT; p++)
      if (resend_port[p]) resend_mask = resend_mask | alike[p*PORT_COUNT +: PORT_COUNT];
    if (found && kind[0]) begin
      join_job = number_of(join_choice);
      for (int p = 0; p < PORT_COUNT; p++)
        join_mask[p] = (join_choice & job_mask[p*JOB_COUNT +: JOB_COUNT]) != '0;
    end
    if (found && kind[1])
      for (int p = 0; p < PORT_COUNT; p++)
        raw_jobs_of[p*JOB_W +: JOB_W] = number_of(raws[p*JOB_COUNT +: JOB_COUNT]);
  end

  always_comb begin
    choice = '0;
    job    = '0;
    mask   = '0;
    if (found) begin
      choice = kind[0] ? join_choice : '0;
      job    = kind[0] ? join_job : '0;
      mask   = kind[0] ? join_mask : kind[1] ? raw_port : resend_mask;
      for (int p = 0; p < PORT_COUNT; p++) begin
        if (kind[1] && raw_port[p]) choice = choice | raws[p*JOB_COUNT +: JOB_COUNT];
        if (kind[1] && raw_port[p]) job = job | raw_jobs_of[p*JOB_W +: JOB_W];
        if (kind[2] && resend_port[p]) job = job | resend_job[p*JOB_W +: JOB_W];
      end
    end
  end

  always_ff @(posedge clk) begin
    if (goes) c_valid <= 1'b0;
    if (goes) c_choice <= '0;
    if (chooses) begin
      c_valid  <= 1'b1;
      c_kind   <= kind[2] ? ina_pkg::KIND_RESEND
                : kind[1] ? ina_pkg::KIND_RAW : ina_pkg::KIND_JOIN;
      c_choice <= choice;
      c_job    <= job;
      c_mask   <= mask;
      c_takes  <= kind[2] ? '0 : mask;
    end
    if (rst) begin
      c_valid  <= 1'b0;
      c_choice <= '0;
    end
  end

  // Go. The sums of each job that have been chosen, and how many of them came after the one that
  // a retransmission wants: SLOT_COUNT of them fill the history.
  logic [ORDINAL_W-1:0] sums_chosen [JOB_COUNT];
  logic [SLOT_W-1:0]    m_resend_slot;
  logic [ORDINAL_W-1:0] m_sums_since;
  logic                 m_new;

  // Of the retransmission that goes: all its ports want the same, so any of them will do.
  logic                 c_probe;
  logic [SLOT_W-1:0]    c_slot;
  logic [ORDINAL_W-1:0] c_ordinal;

  always_comb begin
    c_probe   = 1'b0;
    c_slot    = '0;
    c_ordinal = '0;
    for (int p = 0; p < PORT_COUNT; p++) begin
      if (c_mask[p]) begin
        c_probe   = c_probe | resend_probe[p];
        c_slot    = c_slot | resend_slot[p*SLOT_W +: SLOT_W];
        c_ordinal = c_ordinal | resend_ordinal[p*ORDINAL_W +: ORDINAL_W];
      end
    end
  end

  assign m_dropped = m_kind == ina_pkg::KIND_RESEND && !m_probe
      && m_sums_since > ORDINAL_W'(SLOT_COUNT);

  always_ff @(posedge clk) begin
    if (!m_valid || m_ready) m_valid <= c_valid;
    m_new   <= goes;
    dropped <= (m_valid && m_new && m_dropped && !rst) ? m_mask : '0;
    if (goes) begin
      m_kind        <= c_kind;
      m_job         <= c_job;
      m_mask        <= c_mask;
      m_probe       <= c_probe;
      m_resend_slot <= c_slot;
      m_sums_since  <= sums_chosen[c_job] - c_ordinal;
      if (c_kind == ina_pkg::KIND_JOIN && !(undo_valid && undo_job == c_job))
        sums_chosen[c_job] <= sums_chosen[c_job] + 1'b1;
    end
    if (undo_valid && !(goes && c_kind == ina_pkg::KIND_JOIN && undo_job == c_job))
      sums_chosen[undo_job] <= sums_chosen[undo_job] - 1'b1;
    if (opened) sums_chosen[opened_job] <= '0;
    if (rst) m_valid <= 1'b0;
  end

  // The heads of a job's queues are in the same slot on all its ports.
  always_comb begin
    m_slot = m_resend_slot;
    if (m_kind != ina_pkg::KIND_RESEND)
      for (int p = 0; p < PORT_COUNT; p++)
        if (m_mask[p]) m_slot = take_slot[p*SLOT_W +: SLOT_W];
  end

  // What is under way of each job: one more, and one or two fewer.
  always_ff @(posedge clk) begin : count_ahead
    logic       more;
    logic [1:0] fewer;

    if (goes || done_valid || undo_valid || rst) begin
      for (int j = 0; j < JOB_COUNT; j++) begin
        more  = goes && c_choice[j];
        fewer = 2'(done_valid && done_job == JOB_W'(j)) + 2'(undo_valid && undo_job == JOB_W'(j));
        ahead[j]     <= rst ? '0 : ahead[j] + FILL_W'(more) - FILL_W'(fewer);
        any_ahead[j] <= !rst && (more || ahead[j] != FILL_W'(fewer));
      end
    end
  end

  always_comb begin
    job_quiet = ~any_ahead & ~c_choice;
    for (int p = 0; p < PORT_COUNT; p++)
      job_quiet = job_quiet & ~resend_pending[p*JOB_COUNT +: JOB_COUNT];
  end

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_chosen
    always_ff @(posedge clk) begin
      if (rst) begin
        chosen[p]    <= '0;
        resending[p] <= 1'b0;
        settled_1[p] <= 1'b0;
        settled_2[p] <= 1'b0;
      end else begin
        chosen[p]    <= chosen[p] + 2'(goes && c_mask[p]) - 2'(settled_2[p]);
        settled_1[p] <= settled[p];
        settled_2[p] <= settled_1[p];
        if (goes && c_kind == ina_pkg::KIND_RESEND && c_mask[p]) resending[p] <= 1'b1;
        else if (resend_pop[p]) resending[p] <= 1'b0;
      end
    end
  end

endmodule

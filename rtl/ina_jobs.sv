// SPDX-License-Identifier: Apache-2.0
//
// The table of jobs: who may join, who has joined, and which are broken or over.
//
// Children are the hosts and switches below that have ranks of a job, each with one flow at a port of
// its own. The flow of one may be the job's border, and go on upward; then its down flow comes by an
// uplink (docs/protocol.md, Several switches).
//
// A context is freed when the LEAVEs of all its children have gone out: before that, some receiver may
// still lack a sum, and its retransmission must find the flow known. It is given out again when
// nothing of the old job is under way any more; until then a JOIN does not wait for it, but takes
// another or is refused: what is under way may hang on an output that is stuck, and a JOIN that
// waits stops its port.
//
// Where there are other switches, a broken job that all have left is `over`: it stays for a quiet time,
// in which its packets are dropped, and is freed then. A receiver elsewhere may not have left: what
// passed by raw could be put together there with a sum that is still on its way.
//
// A job of which no packet came between two pulses of `age` has expired: its hosts are dead, or
// idle for too long. It breaks, so that its packets go out raw, and is freed when none is left. But one
// that lacks a rank is freed at once, and its JOINs are lost: they come again, and ask again.
//
// What waits of it may wait for an output that takes nothing. At the next pulse such ports are `stuck`, and
// lose what waits for them (ina_merge), until it is gone: one dead port would else keep all contexts.
//
// A job has the VLAN and the priority of the JOIN that opened its context.
//
// A JOIN that is refused because no context is free, or its VLAN has all that it may, asks for one,
// unless its port has all that it may: ina_trailer tells one of the jobs that it may have it of. The
// JOINs of a job's ranks come close together, and ask once: a job that was the last to ask does not
// ask again.
//
// A request takes six clocks: chosen by turns, registered, looked up, compared with what its job
// has, decided, answered. What all jobs have is kept as vectors of JOB_COUNT bits, so that one
// operation serves all.

`default_nettype none

module ina_jobs #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int COUNT_W    = $clog2(JOB_COUNT + 1)
) (
    input  logic clk,
    input  logic rst,
    input  logic age,   // one clock now and then: the end of the time-to-live
    input  logic tick,  // one clock at intervals of the quiet time

    // Where this switch stands; constant.
    input  logic [1:0]            level,  // 1 to 3
    input  logic [PORT_COUNT-1:0] uplinks,
    // Jobs that a port may have opened and that lack a rank; 0, and what is more than that: all but one,
    // or the only one.
    input  logic [6:0]            quota,
    // Contexts that the jobs of one VLAN may have; 0, and what is more than that: all.
    input  logic [6:0]            vlan_quota,

    // A JOIN on a port asks for a flow, and holds until answer_valid: five clocks a port at most.
    // But in the second clock after another port's answer it may stop asking: it was that flow.
    input  logic [PORT_COUNT-1:0]                  ask_valid,
    input  logic [PORT_COUNT*ina_pkg::ASK_T_W-1:0] ask,
    output logic [PORT_COUNT-1:0]                  answer_valid,
    output logic                                   answer_granted,
    output logic                                   answer_held,  // not now, but perhaps later
    output logic [JOB_W-1:0]                       answer_job,
    output logic [JOB_COUNT-1:0]                   context_wanted,  // with it: refused for want of one of these

    // From each port's judge: a packet of a job has come, the job breaks, its LEAVE has passed by its
    // queue or its flow is put out.
    input  logic [PORT_COUNT-1:0]       hit_valid,
    input  logic [PORT_COUNT-1:0]       break_valid,
    input  logic [PORT_COUNT-1:0]       leave_valid,
    input  logic [PORT_COUNT*JOB_W-1:0] hit_job,

    // From each port's judge too: packets that came by other ports break this job, or put out its flow.
    input  logic [PORT_COUNT-1:0] contest_breaks,
    input  logic [PORT_COUNT-1:0] contest_leaves,
    input  logic [JOB_W-1:0]      contest_job,  // of a clock ago; of one port at most

    // From both paths: the jobs whose packets were not alike break.
    input  logic [JOB_COUNT-1:0] mismatch,

    // From ina_ends: the LEAVEs of these ports have gone out.
    input  logic                  done_valid,
    input  logic [JOB_W-1:0]      done_job,
    input  logic [PORT_COUNT-1:0] done_mask,

    input  logic [JOB_COUNT-1:0]            job_begun,      // its JOIN has gone up (ina_parts)
    input  logic [JOB_COUNT-1:0]            job_quiet,      // nothing of this context is under way
    input  logic [PORT_COUNT*JOB_COUNT-1:0] queue_waiting,  // something of it waits on this port

    output logic [JOB_COUNT-1:0]            job_valid,
    output logic [JOB_COUNT-1:0]            job_complete,
    output logic [JOB_COUNT-1:0]            job_broken,
    output logic [JOB_COUNT-1:0]            job_over,  // broken, and all have left
    // For each port, the jobs
    output logic [PORT_COUNT*JOB_COUNT-1:0] job_mask,    // of which it has a child
    output logic [PORT_COUNT*JOB_COUNT-1:0] job_border,  // ... that is the border
    output logic [PORT_COUNT*JOB_COUNT-1:0] job_down,    // of which it has the down flow
    output logic [JOB_COUNT-1:0]            job_freed,   // one clock
    // How many have a context, a clock ago; and of each job, how many others had one when it got its
    // own.
    output logic [COUNT_W-1:0]              job_count,
    output logic [JOB_COUNT*COUNT_W-1:0]    job_before,

    // Ports that keep contexts from being given out again, since they take nothing: what waits for them is
    // to be dropped.
    input  logic [PORT_COUNT*JOB_COUNT-1:0] resend_pending,  // an answer of it waits on this port
    output logic [PORT_COUNT-1:0]           stuck,

    // To and from ina_memory: a request asks for a block, which is always there for a context that holds
    // none; a job that is opened takes it. Contexts of which nothing is under way give it back.
    output logic                 look,
    output logic [31:0]          look_asked,
    output logic                 take,
    output logic [JOB_W-1:0]     take_job,
    output logic [JOB_COUNT-1:0] job_idle,
    input  logic [JOB_COUNT-1:0] job_held,

    // One clock each, for ina_counters.
    output logic                 opened,  // with the answer
    output logic                 lacked,  // likewise: refused because no context is free
    output logic [JOB_COUNT-1:0] newly_closed,  // all have left
    output logic [JOB_COUNT-1:0] newly_broken,
    output logic [JOB_COUNT-1:0] newly_expired,

    // A job may expire, or has and is not freed yet, or memory of a freed one is to be given back.
    output logic busy
);

  localparam int PORTS_W = $clog2(PORT_COUNT + 1);

  logic [63:0]          job_id      [JOB_COUNT];
  logic [15:0]          tag         [JOB_COUNT];  // of the JOIN that opened it, as in ask_t
  logic [15:0]          rank_count  [JOB_COUNT];
  logic [PORTS_W-1:0]   child_count [JOB_COUNT];
  logic [PORTS_W-1:0]   missing     [JOB_COUNT];  // children that have not joined
  logic [PORT_COUNT*JOB_COUNT-1:0] job_opened;    // of each port, those that its JOINs have opened
  logic [JOB_COUNT-1:0] bordered;                 // it has a border
  logic [JOB_COUNT-1:0] downed;                   // and a down flow

  // ask_valid comes late in a clock, so it is looked at in the next one. A port that has been
  // answered meanwhile has nothing more to ask.
  logic [PORT_COUNT-1:0] asked;
  logic [PORT_COUNT-1:0] wanted;

  assign wanted = asked & ~answer_valid;

  always_ff @(posedge clk) asked <= rst ? '0 : ask_valid & ~answer_valid;

  // A request's stages, one clock each.
  logic asks;
  logic choosing;
  logic looking;
  logic comparing;
  logic deciding;

  assign asks = !choosing && !looking && !comparing && !deciding && wanted != '0;

  always_ff @(posedge clk) begin
    {choosing, looking, comparing, deciding} <= {asks, choosing, looking, comparing};
    if (rst) {choosing, looking, comparing, deciding} <= '0;
  end

  // Taken over, from the ports that ask in turn: none starves while others ask without end.
  logic [PORT_COUNT-1:0] choice;
  logic [PORT_COUNT-1:0] request_port;
  ina_pkg::ask_t         request;

  ina_turn #(.WIDTH(PORT_COUNT)) turn (
      .clk, .rst, .asks, .wanted, .choice, .served(choosing), .which(choice));

  always_ff @(posedge clk) begin
    if (choosing) begin
      request_port <= choice;
      for (int p = 0; p < PORT_COUNT; p++)
        if (choice[p]) request <= ask[p*ina_pkg::ASK_T_W +: ina_pkg::ASK_T_W];
    end
  end

  // What its place says of this switch. Without one, the job is of this switch alone.
  logic [15:0]        children;
  logic               is_border;  // its connection turns round further up
  logic               from_above;
  logic [PORTS_W-1:0] child_ports;

  assign children  = request.place == '0 ? request.rank_count
      : level == 2'd3 ? 16'(request.place[16 +: 8])
      : level == 2'd2 ? 16'(request.place[8 +: 8]) : 16'(request.place[0 +: 8]);
  assign is_border = request.place[24 +: 8] > 8'(level);

  always_ff @(posedge clk) begin : count_ports
    logic [PORTS_W-1:0] count;

    count = '0;
    for (int p = 0; p < PORT_COUNT; p++) count = count + PORTS_W'(!uplinks[p]);
    child_ports <= count;
    from_above  <= (request_port & uplinks) != '0;
  end

  // A context that is free and quiet stays so, but in the clock of job_freed, when a judge may still act
  // for the old job. Then it gives its memory back, and only then it is given out.
  assign job_idle   = ~job_valid & ~job_freed & job_quiet;
  assign look       = looking;

  // Where a child may be a switch, a block holds two windows (docs/protocol.md, The window).
  assign look_asked = level < 2'd2 ? request.window
      : request.window[30] ? {request.window[30:0], 1'b0} : 32'h8000_0000;

  // Looked up: its job, or the lowest context that was free a clock ago.
  logic             any_free;
  logic [JOB_W-1:0] lowest_free;
  logic             known_q;
  logic             found_q;
  logic [JOB_W-1:0] index_q;
  logic             possible;
  logic [JOB_COUNT-1:0] waits_q;  // jobs that its port has opened and that lack a rank
  logic [JOB_COUNT-1:0] waits_d;
  logic [JOB_COUNT-1:0] vlan_q;   // contexts of its VLAN
  logic [JOB_COUNT-1:0] vlan_d;
  logic [JOB_COUNT-1:0] asked_q;  // contexts that it may ask for: of no higher priority
  logic [JOB_COUNT-1:0] asked_d;
  logic [JOB_COUNT-1:0] knows;    // the context that has its job
  logic [JOB_W-1:0] known_index;

  always_comb begin
    knows       = '0;
    known_index = '0;
    if (looking || !ina_pkg::SIMULATED) begin
      for (int j = 0; j < JOB_COUNT; j++) begin
        knows[j] = job_valid[j] && job_id[j] == request.job_id;
        if (knows[j]) known_index = known_index | JOB_W'(j);
      end
    end
  end

  always_comb begin
    waits_d = '0;
    for (int p = 0; p < PORT_COUNT; p++)
      if (request_port[p]) waits_d = waits_d | job_opened[p*JOB_COUNT +: JOB_COUNT];
    waits_d = waits_d & job_valid & ~job_complete;
    for (int j = 0; j < JOB_COUNT; j++) begin
      vlan_d[j]  = job_valid[j] && tag[j][11:0] == request.tag[11:0];
      asked_d[j] = job_valid[j] && tag[j][15:13] <= request.tag[15:13];
    end
  end

  always_ff @(posedge clk) begin
    any_free <= 1'b0;
    for (int j = JOB_COUNT - 1; j >= 0; j--) begin
      if (!job_valid[j] && !job_held[j]) begin
        any_free    <= 1'b1;
        lowest_free <= JOB_W'(j);
      end
    end
    if (looking) begin
      waits_q  <= waits_d;
      vlan_q   <= vlan_d;
      asked_q  <= asked_d;
      known_q  <= knows != '0;
      found_q  <= any_free;
      index_q  <= knows != '0 ? known_index : lowest_free;
      possible <= children > 16'd1 && children <= 16'(child_ports) && children <= request.rank_count
          && request.window[31] && (!is_border || uplinks != '0);
    end
  end

  // Compared. The result holds in the next clock too, when it is decided, unless the job breaks or
  // lapses: only an answer adds flows to a job. One from above is held until
  // the job's own JOIN has gone up.
  //
  // A port that has opened as many jobs that lack a rank as it may does not get this one, nor does a VLAN
  // that has as many as it may.
  logic [JOB_COUNT-1:0]  index_hot;
  logic [COUNT_W-1:0]    share;  // constant
  logic [COUNT_W-1:0]    waits_count;
  logic                  has_share;
  logic [COUNT_W-1:0]    vlan_share;  // constant
  logic [COUNT_W-1:0]    vlan_count;
  logic                  vlan_full;
  logic                  held;
  logic [JOB_COUNT-1:0]  lacks_context;  // one of these
  logic [63:0]           wanted_by;      // the job that was the last to ask
  logic [JOB_COUNT-1:0]  fits;   // this one, if it is not broken now
  logic                  opens;  // ... and the request is the first of its job
  logic                  still_asks;
  logic                  lacks;       // the job lacks this child
  logic                  lacks_free;  // there is no context for the job
  logic                  lacked_q;
  logic                  lacks_down;  // the job lacks its down flow
  logic [PORT_COUNT-1:0] mask_of_index;

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_mask_of_index
    assign mask_of_index[p] = job_mask[p*JOB_COUNT + 32'(index_q)];
  end

  assign lacks = job_valid[index_q] && !job_complete[index_q] && !job_broken[index_q]
      && rank_count[index_q] == request.rank_count && 16'(child_count[index_q]) == children
      && (request_port & mask_of_index) == '0 && !(bordered[index_q] && is_border);

  assign lacks_down = known_q && job_valid[index_q] && !job_broken[index_q] && !downed[index_q]
      && !(job_complete[index_q] && !bordered[index_q]);

  assign lacks_free = !from_above && possible && !known_q && (!found_q || vlan_full) && !has_share;

  assign index_hot = JOB_COUNT'(1) << index_q;
  assign has_share = waits_count >= share;
  assign vlan_full = vlan_count >= vlan_share;

  always_comb begin
    waits_count = '0;
    vlan_count  = '0;
    for (int j = 0; j < JOB_COUNT; j++) begin
      waits_count = waits_count + COUNT_W'(waits_q[j]);
      vlan_count  = vlan_count + COUNT_W'(vlan_q[j]);
    end
  end

  always_ff @(posedge clk) begin
    share <= JOB_COUNT > 1 ? COUNT_W'(JOB_COUNT - 1) : COUNT_W'(1);
    if (quota != '0 && quota < 7'(JOB_COUNT)) share <= COUNT_W'(quota);
    vlan_share <= COUNT_W'(JOB_COUNT);
    if (vlan_quota != '0 && vlan_quota < 7'(JOB_COUNT)) vlan_share <= COUNT_W'(vlan_quota);
  end

  always_ff @(posedge clk) begin
    if (comparing) begin
      held <= from_above ? lacks_down && !job_begun[index_q]
                         : possible && !known_q && found_q && !vlan_full && has_share;
      fits <= (from_above ? lacks_down && job_begun[index_q]
                          : possible && (known_q ? lacks : found_q && !vlan_full && !has_share))
          ? index_hot : '0;
      opens <= !from_above && possible && !known_q && found_q && !vlan_full && !has_share;
      lacked_q <= lacks_free && !found_q;
      lacks_context <= '0;
      if (lacks_free && request.job_id != wanted_by)
        lacks_context <= vlan_full ? asked_q & vlan_q : asked_q;
      still_asks <= (request_port & ask_valid) != '0;
    end
  end

  // Decided.
  logic [JOB_COUNT-1:0] grants;
  logic                 decides;

  assign decides = deciding && still_asks;
  // The job may have broken or lapsed since it was compared.
  assign grants  = decides
      ? fits & ~((job_broken | ~job_valid | lapses) & {JOB_COUNT{known_q}}) : '0;
  assign take    = decides && opens;
  assign take_job = index_q;

  always_ff @(posedge clk) begin
    answer_valid   <= (decides && !rst) ? request_port : '0;
    answer_granted <= grants != '0;
    answer_held    <= held;
    answer_job     <= index_q;
    opened         <= take && !rst;
    lacked         <= decides && lacked_q && !rst;
    context_wanted <= (decides && !rst) ? lacks_context : '0;
    if (context_wanted != '0) wanted_by <= request.job_id;
    if (rst) wanted_by <= '0;
  end

  // Requests are decided six clocks apart, so the count has all that were opened before.
  always_ff @(posedge clk) begin : count_jobs
    logic [COUNT_W-1:0] count;

    count = '0;
    for (int j = 0; j < JOB_COUNT; j++) count = count + COUNT_W'(job_valid[j]);
    job_count <= count;
    for (int j = 0; j < JOB_COUNT; j++)
      if (take && take_job == JOB_W'(j)) job_before[j*COUNT_W +: COUNT_W] <= job_count;
  end

  // Jobs that are heard of before the pulse or in its clock live on. It takes effect a clock later. Of
  // one that lacks a rank only JOINs of its ranks count, for it may lack it for ever.
  logic                 age_q;      // the pulse, a clock ago
  logic [JOB_COUNT-1:0] heard;      // of these, since the pulse before
  logic [JOB_COUNT-1:0] heard_now;  // ... in this clock
  logic [JOB_COUNT-1:0] expired;
  logic [JOB_COUNT-1:0] expires;
  logic [JOB_COUNT-1:0] lapses;     // ... and lacks a rank: it is forgotten with all that waits

  always_comb begin
    heard_now = '0;
    for (int p = 0; p < PORT_COUNT; p++)
      if (hit_valid[p]) heard_now[hit_job[p*JOB_W +: JOB_W]] = 1'b1;
    heard_now = (heard_now & job_complete) | grants;
  end

  // Two clocks later, when all that the port has taken before waits in its queue.
  logic                  contested_1;
  logic                  contested_2;
  logic [PORT_COUNT-1:0] contest_leaves_1;
  logic [PORT_COUNT-1:0] contest_leaves_2;
  logic [JOB_W-1:0]      contest_job_0;
  logic [JOB_W-1:0]      contest_job_1;
  logic [JOB_W-1:0]      contest_job_2;
  logic [JOB_COUNT-1:0]  contest_hot;

  assign contest_hot = JOB_COUNT'(contested_2) << contest_job_2;

  always_ff @(posedge clk) begin
    contested_1      <= !rst && (contest_breaks | contest_leaves) != '0;
    contested_2      <= !rst && contested_1;
    contest_leaves_1 <= contest_leaves;
    contest_leaves_2 <= contest_leaves_1;
    {contest_job_0, contest_job_1, contest_job_2} <= {contest_job, contest_job_0, contest_job_1};
  end

  assign expires = age_q ? job_valid & ~heard & ~expired & ~job_over : '0;
  assign lapses  = expires & ~job_complete & ~job_broken;
  assign busy    = age_q || expired != '0 || (job_held & ~job_valid) != '0 || contest_breaks != '0
      || contest_leaves != '0 || contested_1 || contested_2;

  // A job that had expired, or ended, before the pulse, and still has something that waits: the port
  // where it waits takes nothing.
  logic [JOB_COUNT-1:0] ends_late;
  logic [JOB_COUNT-1:0] overdue;

  assign ends_late = expired | (job_held & ~job_valid);

  always_ff @(posedge clk) begin
    overdue <= rst ? '0 : ends_late & (overdue | {JOB_COUNT{age_q}});
    for (int p = 0; p < PORT_COUNT; p++)
      stuck[p] <= !rst && (overdue & (queue_waiting[p*JOB_COUNT +: JOB_COUNT]
          | resend_pending[p*JOB_COUNT +: JOB_COUNT])) != '0;
  end

  // Breaks that concern a job which is not broken yet.
  logic [JOB_COUNT-1:0] breaks;

  always_comb begin
    breaks = (expires & ~lapses) | mismatch | contest_hot;
    for (int p = 0; p < PORT_COUNT; p++)
      if (break_valid[p]) breaks[hit_job[p*JOB_W +: JOB_W]] = 1'b1;
    breaks = breaks & job_valid & ~job_broken;
  end

  // For each port the jobs whose LEAVE has gone out, with this clock's.
  logic [PORT_COUNT*JOB_COUNT-1:0] left_q;
  logic [PORT_COUNT*JOB_COUNT-1:0] left_d;
  logic [PORT_COUNT*JOB_COUNT-1:0] gone_q;    // they have left when nothing waits of them any more
  logic [JOB_COUNT-1:0]            done_hot;
  logic [JOB_COUNT-1:0]            waits;     // something of the job is in a queue
  logic [JOB_COUNT-1:0]            all_left;

  assign done_hot = done_valid ? JOB_COUNT'(1) << done_job : '0;

  always_comb begin
    left_d   = left_q;
    waits    = '0;
    all_left = job_valid;
    for (int p = 0; p < PORT_COUNT; p++) begin
      left_d[p*JOB_COUNT +: JOB_COUNT] = left_d[p*JOB_COUNT +: JOB_COUNT]
          | (gone_q[p*JOB_COUNT +: JOB_COUNT] & ~queue_waiting[p*JOB_COUNT +: JOB_COUNT] & job_quiet)
          | (done_hot & {JOB_COUNT{done_mask[p]}});
      waits = waits
          | (queue_waiting[p*JOB_COUNT +: JOB_COUNT]
             & (job_mask[p*JOB_COUNT +: JOB_COUNT] | job_down[p*JOB_COUNT +: JOB_COUNT]));
      all_left = all_left
          & (left_d[p*JOB_COUNT +: JOB_COUNT] | ~job_mask[p*JOB_COUNT +: JOB_COUNT]);
    end
    all_left = all_left | job_over | lapses | (job_valid & expired & job_quiet & ~waits);
  end

  // Up to the next tick it may be no time at all, up to the one after it is a whole quiet time.
  logic                 several;  // other switches may have ranks of its jobs; constant
  logic [JOB_COUNT-1:0] lingers;  // it is over in the next clock
  logic [JOB_COUNT-1:0] ticked;   // it was over at the last tick
  logic [JOB_COUNT-1:0] frees;

  assign several = level > 2'd1 || uplinks != '0;
  assign lingers = all_left & job_broken & {JOB_COUNT{several}} & ~(ticked & {JOB_COUNT{tick}});
  assign frees   = all_left & ~lingers;

  always_ff @(posedge clk) begin
    job_freed     <= frees;
    job_valid     <= job_valid & ~frees;
    job_complete  <= job_complete & ~frees;
    job_over      <= lingers;
    if (tick) ticked <= job_over & lingers;
    newly_closed  <= all_left & ~job_over;
    newly_broken  <= breaks;
    newly_expired <= expires;
    job_broken    <= job_broken | breaks;
    age_q         <= age;
    heard         <= (age_q ? '0 : heard) | heard_now;
    expired       <= (expired | expires) & ~all_left;
    left_q        <= left_d;
    for (int p = 0; p < PORT_COUNT; p++) begin
      if (leave_valid[p]) gone_q[p*JOB_COUNT + 32'(hit_job[p*JOB_W +: JOB_W])] <= 1'b1;
      if (contested_2 && contest_leaves_2[p]) gone_q[p*JOB_COUNT + 32'(contest_job_2)] <= 1'b1;
    end
    // Only the job at index_q is granted.
    if (take) begin
      job_id[index_q]      <= request.job_id;
      tag[index_q]         <= request.tag;
      rank_count[index_q]  <= request.rank_count;
      child_count[index_q] <= children[PORTS_W-1:0];
      missing[index_q]     <= children[PORTS_W-1:0] - 1'b1;
    end
    if (grants != '0 && known_q && !from_above) missing[index_q] <= missing[index_q] - 1'b1;
    for (int j = 0; j < JOB_COUNT; j++) begin
      if (grants[j]) begin
        if (!known_q) begin
          job_valid[j]    <= 1'b1;
          job_broken[j]   <= 1'b0;
          job_complete[j] <= children == 16'd1;
          expired[j]      <= 1'b0;
          bordered[j]     <= is_border;
          downed[j]       <= 1'b0;
        end else if (from_above) begin
          downed[j] <= 1'b1;
        end else begin
          job_complete[j] <= missing[index_q] == PORTS_W'(1);
          bordered[j]     <= bordered[j] || is_border;
        end
        for (int p = 0; p < PORT_COUNT; p++) begin
          if (!known_q) begin
            job_mask[p*JOB_COUNT + j]   <= 1'b0;
            job_opened[p*JOB_COUNT + j] <= request_port[p];
            job_border[p*JOB_COUNT + j] <= 1'b0;
            job_down[p*JOB_COUNT + j]   <= 1'b0;
            left_q[p*JOB_COUNT + j]     <= 1'b0;
            gone_q[p*JOB_COUNT + j]     <= 1'b0;
          end
          if (request_port[p]) begin
            if (from_above) job_down[p*JOB_COUNT + j] <= 1'b1;
            else job_mask[p*JOB_COUNT + j] <= 1'b1;
            if (!from_above && is_border) job_border[p*JOB_COUNT + j] <= 1'b1;
          end
        end
      end
    end
    if (rst) begin
      job_valid     <= '0;
      job_freed     <= '0;
      job_complete  <= '0;
      job_broken    <= '0;
      job_over      <= '0;
      ticked        <= '0;
      expired       <= '0;
      heard         <= '0;
      newly_closed  <= '0;
      newly_broken  <= '0;
      newly_expired <= '0;
    end
  end

endmodule

`default_nettype wire

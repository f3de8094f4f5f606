// SPDX-License-Identifier: Apache-2.0
//
// The job table: which ranks may join and which have joined, and which jobs are broken.
//
// Children are the hosts and switches below that have ranks of a job. Each has one flow, on its own
// port. One of these flows may be the job's border, which continues upward; then the down flow of
// the job comes in by an uplink (docs/protocol.md, Several switches).
//
// A context is freed when the LEAVEs of all its children have gone out. Before that some receiver
// may still lack a sum, and its retransmission must find the flow known. The context is given to
// another job when no packet of the old job is under way any more. Until then a JOIN does not wait
// for it, but takes another context or is refused: the packets under way may wait for an output
// that is stuck, and a JOIN that waits stops its port.
//
// If there are other switches, a broken job that all children have left lingers: it stays for a
// quiet time, in which its packets are dropped, and is freed then. A receiver at another switch may
// not have left. If packets passed raw, it could combine them with a sum that is still under way.
//
// A silent job expires (ina_expiry): it breaks and is freed, or lapses.
//
// A job has the VLAN and the priority of the JOIN that opened its context.
//
// A JOIN that is refused because no context is free, or because its VLAN is at its quota, asks for
// a context, unless its port is at its quota. ina_trailer then asks one of the jobs that the JOIN
// may ask. The JOINs of one job's ranks come close together and ask once: the job that asked last
// does not ask again.
//
// A request takes six clocks: it is chosen by round robin, registered, looked up, compared with the
// state of its job, decided, and answered. The state of all jobs is kept in vectors of JOB_COUNT
// bits, so that one operation serves all jobs.

`default_nettype none

module ina_jobs #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int COUNT_W    = $clog2(JOB_COUNT + 1)
) (
    input  logic clk,
    input  logic rst,
    input  logic age,   // one clock at the end of each time-to-live
    input  logic tick,  // one clock at intervals of the quiet time

    // The place of this switch; constant.
    input  logic [1:0]            level,  // 1 to 3
    input  logic [PORT_COUNT-1:0] uplinks,
    // Most jobs lacking a rank that one port may have opened. 0, or a number above the limit: all
    // but one, or the only one.
    input  logic [6:0]            quota,
    // Most contexts of one VLAN's jobs. 0, or a larger number than there are: all.
    input  logic [6:0]            vlan_quota,

    // A JOIN on a port asks for a flow, and holds its request until answer_valid: at most five
    // clocks for each port. But in the second clock after another port's answer it may stop asking,
    // because that answer was for its flow.
    input  logic [PORT_COUNT-1:0]                  ask_valid,
    input  logic [PORT_COUNT*ina_pkg::ASK_T_W-1:0] ask,
    output logic [PORT_COUNT-1:0]                  answer_valid,
    output logic                                   answer_granted,
    output logic                                   answer_held,  // dropped; perhaps granted later
    output logic [JOB_W-1:0]                       answer_job,
    output logic [JOB_COUNT-1:0]                   context_wanted,  // with it: contexts to ask for

    // From each port's judge: a packet of the job has come; the job breaks; its LEAVE has passed by
    // the queue, or its flow is evicted.
    input  logic [PORT_COUNT-1:0]       hit_valid,
    input  logic [PORT_COUNT-1:0]       break_valid,
    input  logic [PORT_COUNT-1:0]       leave_valid,
    input  logic [PORT_COUNT*JOB_W-1:0] hit_job,

    // Also from each port's judge: packets that came in by other ports break this job, or evict its
    // flow.
    input  logic [PORT_COUNT-1:0] contest_breaks,
    input  logic [PORT_COUNT-1:0] contest_leaves,
    input  logic [JOB_W-1:0]      contest_job,  // of the previous clock; one port at most

    // From both paths: these jobs break, because their packets differ.
    input  logic [JOB_COUNT-1:0] mismatch,

    // From ina_ends: the LEAVEs of these ports have gone out.
    input  logic                  done_valid,
    input  logic [JOB_W-1:0]      done_job,
    input  logic [PORT_COUNT-1:0] done_mask,

    input  logic [JOB_COUNT-1:0]            job_begun,      // its JOIN has gone up (ina_parts)
    input  logic [JOB_COUNT-1:0]            job_quiet,      // no packet of it is under way
    input  logic [PORT_COUNT*JOB_COUNT-1:0] queue_waiting,  // a packet of it waits on this port

    output logic [JOB_COUNT-1:0]            job_valid,
    output logic [JOB_COUNT-1:0]            job_complete,
    output logic [JOB_COUNT-1:0]            job_broken,
    output logic [JOB_COUNT-1:0]            job_lingers,  // broken, and all children have left
    // For each port, the jobs that have there:
    output logic [PORT_COUNT*JOB_COUNT-1:0] job_mask,    // a child
    output logic [PORT_COUNT*JOB_COUNT-1:0] job_border,  // a child that is the border
    output logic [PORT_COUNT*JOB_COUNT-1:0] job_down,    // the down flow
    output logic [JOB_COUNT-1:0]            job_freed,   // one clock
    // The number of jobs that had a context in the previous clock. For each job, how many others
    // had a context when it got its own.
    output logic [COUNT_W-1:0]              job_count,
    output logic [JOB_COUNT*COUNT_W-1:0]    job_before,

    // Ports that take nothing, and so keep contexts from being given to other jobs. Frames that
    // wait for them are to be dropped.
    input  logic [PORT_COUNT*JOB_COUNT-1:0] resend_pending,  // an answer of it waits on this port
    output logic [PORT_COUNT-1:0]           stuck,

    // To and from ina_memory. A request asks for a block, and a context without a block always gets
    // one. A job that is opened takes the block. A context gives its block back when no packet of
    // it is under way.
    output logic                 look,
    output logic [31:0]          look_asked,
    output logic                 take,
    output logic [JOB_W-1:0]     take_job,
    output logic [JOB_COUNT-1:0] job_idle,
    input  logic [JOB_COUNT-1:0] job_has_block,

    // One clock each, for ina_counters.
    output logic                 opened,  // valid with the answer
    output logic                 lacked,  // valid with the answer: no context is free
    output logic [JOB_COUNT-1:0] newly_closed,  // all children have left
    output logic [JOB_COUNT-1:0] newly_broken,
    output logic [JOB_COUNT-1:0] newly_expired,

    // A job may expire, or has expired and is not freed yet, or a freed context still holds memory.
    output logic busy
);

  localparam int PORTS_W = $clog2(PORT_COUNT + 1);

  logic [63:0]          job_id      [JOB_COUNT];
  logic [15:0]          tag         [JOB_COUNT];  // of the JOIN that opened it, as in ask_t
  logic [15:0]          rank_count  [JOB_COUNT];
  logic [PORTS_W-1:0]   child_count [JOB_COUNT];
  logic [PORTS_W-1:0]   missing     [JOB_COUNT];  // children that have not joined
  logic [PORT_COUNT*JOB_COUNT-1:0] job_opened;    // for each port, the jobs that it has opened
  logic [JOB_COUNT-1:0] bordered;                 // has a border
  logic [JOB_COUNT-1:0] downed;                   // has a down flow

  // ask_valid comes late in a clock, so it is used in the next one. A port that is answered in that
  // clock asks no more.
  logic [PORT_COUNT-1:0] asked, wanted;

  assign wanted = asked & ~answer_valid;

  always_ff @(posedge clk) asked <= rst ? '0 : ask_valid & ~answer_valid;

  // The stages of a request, one clock each.
  logic asks, choosing, looking, comparing, deciding;

  assign asks = !choosing && !looking && !comparing && !deciding && wanted != '0;

  always_ff @(posedge clk) begin
    {choosing, looking, comparing, deciding} <= {asks, choosing, looking, comparing};
    if (rst) {choosing, looking, comparing, deciding} <= '0;
  end

  // The request is taken from one of the asking ports. They take turns, so no port starves while
  // others ask without end.
  logic [PORT_COUNT-1:0] choice, request_port;
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

  // The number of children in the place is that for this switch's level. Without a place all ranks
  // of the job are at this switch.
  logic [15:0]        children;
  logic               is_border;  // the connection continues to a higher switch
  logic               from_above;
  logic [PORTS_W-1:0] child_ports;

  assign children  = request.place == '0 ? request.rank_count
      : level == 2'd3 ? 16'(request.place[16 +: 8])
      : level == 2'd2 ? 16'(request.place[8 +: 8]) : 16'(request.place[0 +: 8]);
  assign is_border = request.place[ina_pkg::PLACE_LEVEL_AT*8 +: 8] > 8'(level);

  always_ff @(posedge clk) begin : count_ports
    logic [PORTS_W-1:0] count;

    count = '0;
    for (int p = 0; p < PORT_COUNT; p++) count = count + PORTS_W'(!uplinks[p]);
    child_ports <= count;
    from_above  <= (request_port & uplinks) != '0;
  end

  // A free and quiet context stays free and quiet, except in the clock of job_freed, when a judge
  // may still act for the old job. The context gives its memory back first, and is given to another
  // job only then.
  assign job_idle   = ~job_valid & ~job_freed & job_quiet;
  assign look       = looking;

  // If a child may be a switch, a block holds two windows (docs/protocol.md, The window).
  assign look_asked = level < 2'd2 ? request.window
      : request.window[30] ? {request.window[30:0], 1'b0} : 32'h8000_0000;

  // Looked up: the context of its job, or the lowest context that was free in the previous clock.
  logic                 any_free, known_q, found_q, possible;
  logic [JOB_W-1:0]     lowest_free, known_index, index_q;
  logic [JOB_COUNT-1:0] waits_d, waits_q;  // jobs that its port has opened and that lack a rank
  logic [JOB_COUNT-1:0] vlan_d, vlan_q;    // contexts of its VLAN
  logic [JOB_COUNT-1:0] asked_d, asked_q;  // contexts that it may ask for: of no higher priority
  logic [JOB_COUNT-1:0] knows;             // the context of its job

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
      if (!job_valid[j] && !job_has_block[j]) begin
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

  // Compared. The result still holds in the next clock, when it is decided, unless the job breaks
  // or lapses: only an answer adds flows to a job. A JOIN from above is held until the job's own
  // JOIN has gone up.
  //
  // A port at its quota of jobs that lack a rank gets no context, nor does a VLAN at its quota.
  logic [JOB_COUNT-1:0]  index_hot;
  logic [COUNT_W-1:0]    port_limit;  // quota of a port; constant
  logic [COUNT_W-1:0]    waits_count;
  logic                  port_full;   // the port is at its quota
  logic [COUNT_W-1:0]    vlan_limit;  // quota of a VLAN; constant
  logic [COUNT_W-1:0]    vlan_count;
  logic                  vlan_full;   // the VLAN is at its quota
  logic                  held;
  logic [JOB_COUNT-1:0]  lacks_context;  // contexts that it asks for
  logic [63:0]           wanted_by;      // job id of the last JOIN that asked
  logic [JOB_COUNT-1:0]  fits;   // the context that may grant it, unless it is broken now
  logic                  opens;  // it opens that context for its job
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

  assign lacks_free = !from_above && possible && !known_q && (!found_q || vlan_full) && !port_full;

  assign index_hot = JOB_COUNT'(1) << index_q;
  assign port_full = waits_count >= port_limit;
  assign vlan_full = vlan_count >= vlan_limit;

  always_comb begin
    waits_count = '0;
    vlan_count  = '0;
    for (int j = 0; j < JOB_COUNT; j++) begin
      waits_count = waits_count + COUNT_W'(waits_q[j]);
      vlan_count  = vlan_count + COUNT_W'(vlan_q[j]);
    end
  end

  always_ff @(posedge clk) begin
    port_limit <= JOB_COUNT > 1 ? COUNT_W'(JOB_COUNT - 1) : COUNT_W'(1);
    if (quota != '0 && quota < 7'(JOB_COUNT)) port_limit <= COUNT_W'(quota);
    vlan_limit <= COUNT_W'(JOB_COUNT);
    if (vlan_quota != '0 && vlan_quota < 7'(JOB_COUNT)) vlan_limit <= COUNT_W'(vlan_quota);
  end

  always_ff @(posedge clk) begin
    if (comparing) begin
      held <= from_above ? lacks_down && !job_begun[index_q]
                         : possible && !known_q && found_q && !vlan_full && port_full;
      fits <= (from_above ? lacks_down && job_begun[index_q]
                          : possible && (known_q ? lacks : found_q && !vlan_full && !port_full))
          ? index_hot : '0;
      opens <= !from_above && possible && !known_q && found_q && !vlan_full && !port_full;
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
  // The job may have broken or lapsed since the comparison.
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

  // Requests are decided six clocks apart, so the count includes all jobs that were opened before.
  always_ff @(posedge clk) begin : count_jobs
    logic [COUNT_W-1:0] count;

    count = '0;
    for (int j = 0; j < JOB_COUNT; j++) count = count + COUNT_W'(job_valid[j]);
    job_count <= count;
    for (int j = 0; j < JOB_COUNT; j++)
      if (take && take_job == JOB_W'(j)) job_before[j*COUNT_W +: COUNT_W] <= job_count;
  end

  // Silent jobs.
  logic [JOB_COUNT-1:0] expires, lapses, expired, all_left;
  logic                 expiry_busy;

  ina_expiry #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) expiry (
      .clk, .rst, .age, .hit_valid, .hit_job, .grants, .known(known_q), .job_valid, .job_complete,
      .job_broken, .job_lingers, .job_has_block, .ends(all_left), .queue_waiting, .resend_pending,
      .expires, .lapses, .expired, .stuck, .busy(expiry_busy));

  // Two clocks later, when all packets that the port took before are in its queue.
  logic                  contested_1, contested_2, leaves;
  logic [PORT_COUNT-1:0] contest_leaves_1, contest_leaves_2;
  logic [JOB_W-1:0]      contest_job_0, contest_job_1, contest_job_2;
  logic [JOB_COUNT-1:0]  contest_hot;

  assign contest_hot = JOB_COUNT'(contested_2) << contest_job_2;

  always_ff @(posedge clk) begin
    contested_1      <= !rst && (contest_breaks | contest_leaves) != '0;
    contested_2      <= !rst && contested_1;
    contest_leaves_1 <= contest_leaves;
    contest_leaves_2 <= contest_leaves_1;
    {contest_job_0, contest_job_1, contest_job_2} <= {contest_job, contest_job_0, contest_job_1};
  end

  assign busy = expiry_busy || contest_breaks != '0 || contest_leaves != '0 || contested_1
      || contested_2 || leaves || (newly_closed | newly_broken | newly_expired) != '0;

  // Jobs that break now and were not broken before.
  logic [JOB_COUNT-1:0] breaks;

  always_comb begin
    breaks = (expires & ~lapses) | mismatch | contest_hot;
    for (int p = 0; p < PORT_COUNT; p++)
      if (break_valid[p]) breaks[hit_job[p*JOB_W +: JOB_W]] = 1'b1;
    breaks = breaks & job_valid & ~job_broken;
  end

  // For each port, the jobs whose LEAVE has gone out, including this clock.
  logic [PORT_COUNT*JOB_COUNT-1:0] left_d, left_q;
  logic [PORT_COUNT*JOB_COUNT-1:0] gone_q;    // they count as left when no packet of them waits
  logic [JOB_COUNT-1:0]            done_hot;
  logic [JOB_COUNT-1:0]            waits;     // a packet of the job is in a queue

  assign done_hot = done_valid ? JOB_COUNT'(1) << done_job : '0;
  assign leaves   = (gone_q & ~left_q & ~queue_waiting & {PORT_COUNT{job_valid}}) != '0;

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
    all_left = all_left | job_lingers | lapses | (job_valid & expired & job_quiet & ~waits);
  end

  // The time to the next tick may be short, but the next two ticks are at least a quiet time apart.
  logic                 several;    // other switches may have ranks of the jobs here; constant
  logic [JOB_COUNT-1:0] lingers_d;  // job_lingers in the next clock
  logic [JOB_COUNT-1:0] ticked;     // job_lingers at the last tick
  logic [JOB_COUNT-1:0] frees;

  assign several   = level > 2'd1 || uplinks != '0;
  assign lingers_d = all_left & job_broken & {JOB_COUNT{several}} & ~(ticked & {JOB_COUNT{tick}});
  assign frees     = all_left & ~lingers_d;

  always_ff @(posedge clk) begin
    job_freed    <= frees;
    job_valid    <= job_valid & ~frees;
    job_complete <= job_complete & ~frees;
    job_lingers  <= lingers_d;
    job_broken   <= job_broken | breaks;
    left_q       <= left_d;
    if (tick) ticked <= job_lingers & lingers_d;
    newly_closed  <= all_left & ~job_lingers;
    newly_broken  <= breaks;
    newly_expired <= expires;
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
      {job_valid, job_freed, job_complete, job_broken, job_lingers, ticked} <= '0;
      {newly_closed, newly_broken, newly_expired} <= '0;
    end
  end

endmodule

`default_nettype wire

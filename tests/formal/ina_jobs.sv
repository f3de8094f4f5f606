// SPDX-License-Identifier: Apache-2.0
//
// ina_jobs decides which ports are in a job, and when its context is free again. The proof follows one
// context of the solver's choice. It keeps its own record of that context from requests, answers, packets and
// LEAVEs. All ranks of each job are at this switch, although there may be other switches.
//
//   1. At most one port is answered in a clock, and only a port that asks.
//   2. A grant opens a free context, or joins an open one. An open context that is joined has this id, this
//      rank count and no flow on this port, is not broken, and lacks a rank. Impossible requests are refused:
//      less than two ranks, more ranks than ports, a window that is not negated.
//   3. A job's ports are those that were granted since it was opened. It is complete when there are as many
//      of them as it has ranks, and then it stays complete.
//   4. A context is freed if the LEAVEs of all its ports have gone out, or its job has expired, and if no
//      packet of it is under way, and none waits in a queue of its ports. It is not freed before that. A port
//      may count as left in two other ways: its LEAVE passed by its queue, or its flow was evicted, by a
//      packet at its port or two clocks after a packet came at another port. It then counts as left when no
//      packet of the job is under way or waits there.
//   5. It is given to a new job only when no packet of the old job is under way (`job_quiet`).
//   6. A job breaks when a judge or a path says so, also if several of them do in one clock. It also breaks
//      two clocks after a packet at another port breaks it or evicts a flow. It stays broken until it is
//      freed. An expired job is broken.
//   7. No two contexts have the same id.
//   8. A job expires at a pulse of `age`, and at no other time, if since the pulse before no packet of it
//      came while it was complete, and no port joined it. It expires once. If it lacks a rank and is not
//      broken, it is freed immediately.
//   9. No port has ever opened every context for jobs that lack a rank.
//  10. A request is held if and only if all of these hold: its id has no context, a context is free and
//      quiet, its VLAN may have one more, and its port has opened all others for jobs that lack a rank. It is
//      refused only if it is impossible, if its id has a context that it cannot join, if no context is free
//      and quiet, or if its VLAN is at its quota.
//  11. If there are other switches, a broken job that would be freed is kept instead, and is freed at the
//      second tick from then on. It is closed once.
//  12. A job that is opened takes a block of memory in that clock, and holds it. Nothing else takes a block.
//  13. Contexts are wanted together with a refusal, if the reason is that no context is free and quiet, or
//      that its VLAN is at its quota. They are not wanted with any other answer. Nor are they wanted if its
//      port has opened a job that lacks a rank, which is its quota, or if the last request that wanted some
//      had the same id. A context is lacked under the same conditions, with two differences: the id does not
//      matter, and no context may be free. The contexts that are wanted are those of jobs of no higher
//      priority. If the VLAN is at its quota, they are only those of this VLAN.
//  14. No VLAN has more contexts than its quota.
//  15. A port is stuck while packets wait there of a job that had expired at a pulse of `age`, or that had
//      been freed and still held memory then, and at no other time.
//  16. `busy` is 1 when a job ends. It is 1 in the clock before too, unless a LEAVE goes out by a path then.

module formal_ina_jobs (
    input logic clk
);
  localparam int PORT_COUNT = 2;
  localparam int JOB_COUNT  = 2;
  localparam int JOB_W      = 1;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic [PORT_COUNT-1:0]    wants;
  (* anyseq *) logic [PORT_COUNT-1:0]    withdraws;
  logic [PORT_COUNT-1:0]                 ask_valid;
  (* anyseq *) logic [PORT_COUNT*64-1:0] ask_job_id;
  (* anyseq *) logic [PORT_COUNT*16-1:0] ask_rank_count;
  (* anyseq *) logic [PORT_COUNT*32-1:0] ask_window;
  (* anyseq *) logic [PORT_COUNT*16-1:0] ask_tag;
  logic [PORT_COUNT*ina_pkg::ASK_T_W-1:0] ask;
  logic [PORT_COUNT-1:0] answer_valid;
  logic                  answer_granted;
  logic                  answer_held;
  logic [JOB_W-1:0]      answer_job;
  logic [JOB_COUNT-1:0]  context_wanted;
  logic                  lacked;

  (* anyconst *) logic                      several;  // there are other switches
  (* anyconst *) logic [6:0]                quota;    // one of two contexts
  (* anyconst *) logic [6:0]                vlan_quota;  // ... one or both
  (* anyseq *) logic                        age;
  (* anyseq *) logic                        tick;
  (* anyseq *) logic [PORT_COUNT-1:0]       hit_valid;
  (* anyseq *) logic [PORT_COUNT-1:0]       break_valid;
  (* anyseq *) logic [PORT_COUNT-1:0]       leave_valid;
  (* anyseq *) logic [PORT_COUNT*JOB_W-1:0] hit_job;
  (* anyseq *) logic [PORT_COUNT-1:0]       contest_breaks;
  (* anyseq *) logic [PORT_COUNT-1:0]       contest_leaves;
  (* anyseq *) logic [JOB_W-1:0]            contest_job;
  (* anyseq *) logic [JOB_COUNT-1:0]        mismatch;
  (* anyseq *) logic                        done_valid;
  (* anyseq *) logic [JOB_W-1:0]            done_job;
  (* anyseq *) logic [PORT_COUNT-1:0]       done_mask;
  (* anyseq *) logic [JOB_COUNT-1:0]        job_quiet;
  (* anyseq *) logic [PORT_COUNT*JOB_COUNT-1:0] queue_waiting;
  (* anyseq *) logic [PORT_COUNT*JOB_COUNT-1:0] resend_pending;
  logic [PORT_COUNT-1:0]                 stuck;

  logic [JOB_COUNT-1:0]            job_valid;
  logic [JOB_COUNT-1:0]            job_complete;
  logic [JOB_COUNT-1:0]            job_broken;
  logic [JOB_COUNT-1:0]            job_lingers;
  logic [PORT_COUNT*JOB_COUNT-1:0] job_mask;
  logic [JOB_COUNT-1:0]            job_freed;
  logic [JOB_COUNT-1:0]            newly_closed;
  logic [JOB_COUNT-1:0]            newly_expired;
  logic                            busy;

  // As in ina_memory: the memory of a job that is opened is held until its context is idle, and for some time
  // longer.
  (* anyseq *) logic [JOB_COUNT-1:0] gives;
  logic [JOB_COUNT-1:0]              holds;
  logic [JOB_COUNT-1:0]              job_idle;
  logic                              take;
  logic [JOB_W-1:0]                  take_job;
  logic                              took;
  logic [JOB_W-1:0]                  took_job;

  always_ff @(posedge clk) begin
    holds <= holds & ~(gives & job_idle);
    if (take) holds[take_job] <= 1'b1;
    if (rst) holds <= '0;
    took     <= !rst && take;
    took_job <= take_job;
  end

  ina_jobs #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) dut (
      .clk, .rst, .age, .tick, .level(several ? 2'd2 : 2'd1), .uplinks('0), .quota, .vlan_quota,
      .ask_valid, .ask,
      .answer_valid, .answer_granted, .answer_held, .answer_job, .context_wanted,
      .hit_valid, .break_valid, .leave_valid, .hit_job, .contest_breaks, .contest_leaves, .contest_job,
      .mismatch,
      .done_valid, .done_job, .done_mask, .job_begun('0), .job_quiet, .queue_waiting,
      .job_valid, .job_complete, .job_broken, .job_lingers, .job_mask, .job_border(), .job_down(),
      .job_freed, .job_count(), .job_before(), .look(), .look_asked(), .take, .take_job, .job_idle, .job_has_block(holds), .resend_pending, .stuck,
      .opened(), .lacked, .newly_closed, .newly_broken(), .newly_expired, .busy);

  // A request holds until its answer. But in the second clock after a JOIN was granted, a port may stop
  // asking for a while (ina_elsewhere).
  logic [PORT_COUNT-1:0] withdrew;  // in the clock before
  logic                  granted_1, granted_2;

  assign ask_valid = wants & ~withdraws;

  always_ff @(posedge clk) begin
    withdrew  <= rst ? '0 : withdraws;
    granted_1 <= !rst && answer_valid != '0 && answer_granted;
    granted_2 <= !rst && granted_1;
  end

  always_comb if ((withdraws & ~withdrew) != '0) assume (granted_2);

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_ask
    assign ask[p*ina_pkg::ASK_T_W +: ina_pkg::ASK_T_W] =
        {ask_tag[p*16 +: 16], ask_window[p*32 +: 32], 32'd0, ask_rank_count[p*16 +: 16],
         ask_job_id[p*64 +: 64]};

    formal_stream #(.WIDTH(128), .ASSUME(1)) rules (
        .clk, .rst, .valid(wants[p]), .ready(answer_valid[p]),
        .payload({ask_job_id[p*64 +: 64], ask_rank_count[p*16 +: 16], ask_window[p*32 +: 32],
                  ask_tag[p*16 +: 16]}));

    // Few bits of each decide; more of them would only make the proof slower.
    always_comb begin
      assume (ask_job_id[p*64 + 2 +: 62] == '0);
      assume (ask_rank_count[p*16 + 3 +: 12] == '0);
      assume (ask_window[p*32 + 4 +: 27] == '0);
      assume (ask_tag[p*16 + 1 +: 11] == '0 && ask_tag[p*16 + 14 +: 2] == '0);
    end
  end

  // LEAVEs go out only from jobs that no port can join any more (ina_judge breaks a job if a rank leaves
  // before the job is complete), and only from a job's own ports. The LEAVE of a sum counts for all ports. A
  // judge may still act in the clock in which the context is freed.
  (* anyconst *) logic [JOB_W-1:0] followed;
  logic [PORT_COUNT-1:0] leaves;  // of the followed job, in this clock
  logic [PORT_COUNT-1:0] goes;    // the same, through the queue
  logic [PORT_COUNT-1:0] contests_now, contests_1, contests_2;  // of the followed job, two clocks ago
  logic [PORT_COUNT-1:0] outs_1, outs_2;                        // ... the flow is evicted
  logic [JOB_W-1:0]      contest_of;
  logic [PORT_COUNT-1:0] hits;
  logic [PORT_COUNT-1:0] told_by;  // judges report it
  logic [PORT_COUNT-1:0] waits;   // in these ports' queues
  logic [PORT_COUNT-1:0] mask;

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_followed
    assign mask[p]   = job_mask[p*JOB_COUNT + 32'(followed)];
    assign waits[p]  = queue_waiting[p*JOB_COUNT + 32'(followed)];
    assign hits[p]   = hit_valid[p] && hit_job[p*JOB_W +: JOB_W] == followed;
    assign told_by[p] = break_valid[p] && hit_job[p*JOB_W +: JOB_W] == followed;
    assign goes[p]   = leave_valid[p] && hit_job[p*JOB_W +: JOB_W] == followed;
    assign leaves[p] = done_valid && done_job == followed && done_mask[p];
  end

  always_comb begin
    if ((leaves | goes) != '0)
      assume (((job_valid[followed] && (job_complete[followed] || job_broken[followed]))
          || job_freed[followed]) && (goes & ~mask) == '0 && ((leaves & ~mask) == '0 || leaves == '1));
  end

  assign contests_now = contest_of == followed ? contest_breaks | contest_leaves : '0;

  always_ff @(posedge clk) begin
    contest_of <= contest_job;
    contests_1 <= rst ? '0 : contests_now;
    contests_2 <= rst ? '0 : contests_1;
    outs_1     <= contests_now & contest_leaves;
    outs_2     <= outs_1;
  end

  // At most one flow is evicted, and the packet that evicts it has broken its job before.
  always_comb begin
    if (rst) assume ((contest_breaks | contest_leaves) == '0);
    assume (((contest_breaks | contest_leaves) & ((contest_breaks | contest_leaves) - 1'b1)) == '0);
    if (contests_2 != '0 && job_valid[followed]) begin
      assume ((contests_2 & ~mask) == '0);
      if (outs_2 != '0) assume (job_broken[followed]);
    end
  end

  // The record. An answer is visible in the clock after its decision, so the other inputs of the decision are
  // delayed by a clock.
  logic                  known;  // the record's state before this clock's answer
  logic                  known_now;
  logic                  busy_before, done_before;
  logic                  was_used;  // since the reset; before that no packet is under way
  logic [PORT_COUNT-1:0] ports;
  logic [PORT_COUNT-1:0] ports_now;
  logic [PORT_COUNT-1:0] left;
  logic [PORT_COUNT-1:0] left_now;
  logic [PORT_COUNT-1:0] leaves_before;
  logic [PORT_COUNT-1:0] goes_before;
  logic [PORT_COUNT-1:0] gone;
  logic [PORT_COUNT-1:0] ports_waited;
  logic [PORT_COUNT-1:0] newly_left;
  logic                  told;    // a break was reported in the clock before
  logic                  broken;
  logic                  quiet_before;
  logic                  freed_before;
  logic [63:0]           id;
  logic [15:0]           ranks;
  logic [63:0]           id_now;
  logic [15:0]           ranks_now;
  logic [63:0]           asked_id;
  logic [15:0]           asked_ranks;
  logic [31:0]           asked_window;
  logic [31:0]           asked_place;
  logic [15:0]           asked_tag;
  logic [15:0]           port_count_now;
  logic                  granted;
  logic                  granted_this;
  logic                  opens;
  logic                  ends;    // all its ranks have left
  logic                  frees;
  logic                  over;
  logic                  over_now;
  logic                  ticked;  // it was already kept at the last tick
  logic                  tick_before;
  logic                  age_before;
  logic                  heard_before;  // a packet of the job came after all its ranks had joined
  logic                  late;          // it has expired or been freed, and was not given to a job since
  logic                  overdue;       // ... at a pulse, and has been so since
  logic                  overdue_before;
  logic [PORT_COUNT-1:0] held_up;       // packets of the job waited at these ports
  logic [PORT_COUNT-1:0] held_up_else;  // ... of another job
  logic                  waits_before;
  logic                  heard;         // since the last pulse of age
  logic                  heard_now;
  logic                  silent;        // the pulse was two clocks ago, and no packet came before it
  logic                  expired;
  logic                  expires;
  logic                  lapses;         // ... and lacks a rank
  logic [15:0]           port_count;
  logic                  lapsed_1, lapsed_2, lapsed_3;
  logic                  expired_now;

  always_comb begin
    asked_id       = '0;
    asked_ranks    = '0;
    asked_window   = '0;
    asked_place    = '0;
    asked_tag      = '0;
    port_count_now = '0;
    port_count     = '0;
    for (int p = 0; p < PORT_COUNT; p++) begin
      if (answer_valid[p])
        {asked_tag, asked_window, asked_place, asked_ranks, asked_id} = ask[p*ina_pkg::ASK_T_W +: ina_pkg::ASK_T_W];
      port_count_now = port_count_now + 16'(ports_now[p]);
      port_count     = port_count + 16'(ports[p]);
    end
  end

  assign granted      = answer_valid != '0 && answer_granted;
  assign granted_this = granted && answer_job == followed;
  assign opens        = granted_this && !known;
  assign newly_left   = (leaves_before & ports) | (gone & ~ports_waited & {PORT_COUNT{quiet_before}});
  assign left_now     = opens ? '0 : left | newly_left;
  assign lapses       = expires && !broken && port_count != ranks;
  assign ends         = known && ((left | newly_left) == ports || over || lapses
      || (expired && quiet_before && !waits_before));
  assign over_now     = ends && several && broken && !(ticked && tick_before);
  assign frees        = ends && !over_now;
  assign known_now    = opens || (known && !frees);
  assign ports_now    = opens ? answer_valid : granted_this ? ports | answer_valid : ports;
  assign id_now       = opens ? asked_id : id;
  assign ranks_now    = opens ? asked_ranks : ranks;
  assign heard_now    = heard || heard_before || granted_this;
  assign expires      = silent && known && !expired && !over;
  assign expired_now  = known_now && !opens && !over_now && (expired || expires);
  assign late         = expired_now || (holds[followed] && !job_valid[followed]);

  always_ff @(posedge clk) begin
    leaves_before <= rst ? '0 : leaves;
    goes_before   <= rst ? '0 : goes | (contests_2 & outs_2);
    gone          <= (rst || opens) ? '0 : gone | goes_before;
    ports_waited  <= waits;
    quiet_before  <= job_quiet[followed];
    freed_before  <= !rst && job_freed[followed];
    lapsed_1      <= !rst && lapses;
    lapsed_2      <= !rst && lapsed_1;
    lapsed_3      <= !rst && lapsed_2;
    tick_before   <= !rst && tick;
    over          <= !rst && over_now;
    ticked        <= !rst && (tick_before ? over && over_now : ticked);
    age_before    <= !rst && age;
    heard_before  <= !rst && hits != '0 && job_complete[followed];
    overdue        <= !rst && late && (overdue || age_before);
    overdue_before <= !rst && overdue;
    for (int p = 0; p < PORT_COUNT; p++) begin
      held_up[p] <= queue_waiting[p*JOB_COUNT + 32'(followed)] || resend_pending[p*JOB_COUNT + 32'(followed)];
      held_up_else[p] <= queue_waiting[p*JOB_COUNT + 32'(!followed)] || resend_pending[p*JOB_COUNT + 32'(!followed)];
    end
    waits_before  <= (waits & mask) != '0;
    heard         <= !rst && !age_before && heard_now;
    silent        <= !rst && age_before && !heard_now;
    expired       <= !rst && expired_now;
    told          <= !rst && job_valid[followed] && (mismatch[followed] || told_by != '0 || contests_2 != '0);
    broken        <= !rst && job_valid[followed] && job_broken[followed];
    known         <= !rst && known_now;
    was_used      <= !rst && (was_used || known_now);
    busy_before   <= busy;
    done_before   <= done_valid;
    ports         <= ports_now;
    left          <= left_now;
    id            <= id_now;
    ranks         <= ranks_now;
  end

  // A free context without packets under way stays so; in the clock in which it is freed a judge may still
  // act for the old job.
  always_comb begin
    if (!rst && !known && !known_now && quiet_before && !freed_before)
      assume (job_quiet[followed]);
    if (!was_used) assume (job_quiet[followed]);
  end

  always_comb begin
    if (!rst) begin
      p1_one:   assert ((answer_valid & (answer_valid - 1'b1)) == '0);
      p1_asked: assert ((answer_valid & ~ask_valid) == '0);
      if (granted) begin
        p2_possible: assert (asked_ranks > 16'd1 && asked_ranks <= 16'(PORT_COUNT)
            && asked_window[31]);
      end
      if (granted_this && known) begin
        p2_joins: assert (!frees && !broken && id == asked_id && ranks == asked_ranks
            && (ports & answer_valid) == '0);
      end
      p3_valid: assert (job_valid[followed] == known_now);
      if (known_now) begin
        p3_ports:    assert (mask == ports_now);
        p3_complete: assert (job_complete[followed] == (port_count_now == ranks_now));
        p3_ranks:    assert (port_count_now <= ranks_now);
      end
      p4_freed: assert (job_freed[followed] == frees);
      if (took && took_job == followed) begin
        p12_opens: assert (opens);
      end
      if (known_now) begin
        p12_held: assert (holds[followed]);
      end
      if (opens) begin
        p5_quiet: assert (quiet_before && !freed_before);
        p12_takes: assert (took && took_job == followed);
      end
      if ((broken || told) && known_now && !opens) begin
        p6_broken: assert (job_broken[followed]);
      end
      if (expired_now) begin
        p6_expired: assert (job_broken[followed] && busy);
      end
      p11_over:   assert (job_lingers[followed] == over_now);
      p11_closed: assert (newly_closed[followed] == (ends && !over));
      if (newly_closed[followed]) begin
        p16_before: assert (busy_before || done_before);
        p16_counted: assert (busy);
      end
      if (granted && !granted_this && known_now) begin
        p7_id: assert (asked_id != id);
      end
    end
  end

  always_comb begin
    if (!rst) begin
      p8_expires: assert (newly_expired[followed] == expires);
      p15_stuck:  assert (!overdue_before || (held_up & ~stuck) == '0);
      p15_else:   assert (overdue_before || (stuck & ~held_up_else) == '0);
      p15_waits:  assert ((stuck & ~held_up_else & ~held_up) == '0);
    end
  end

  // All contexts as the look-up saw them, three clocks before its answer is visible; whether they were free
  // and quiet, four clocks before. Their ids and tags are known from the answers that opened them.
  localparam int SEEN_W = (3 + PORT_COUNT) * JOB_COUNT;

  logic [63:0]                     id_of  [JOB_COUNT];
  logic [15:0]                     tag_of [JOB_COUNT];
  logic [JOB_COUNT-1:0]            free_1;
  logic [SEEN_W-1:0]               seen_1, seen_2, seen_3;
  logic [JOB_COUNT-1:0]            valid_1;
  logic [JOB_COUNT-1:0]            valid_3;
  logic [JOB_COUNT-1:0]            free_4;
  logic [JOB_COUNT-1:0]            complete_3;
  logic [PORT_COUNT*JOB_COUNT-1:0] mask_3;
  logic                            broken_1;
  logic                            possible;
  logic [JOB_COUNT-1:0]            has_id;     // of these contexts, those with the id of this answer
  logic [JOB_COUNT-1:0]            waiting;    // its port has opened them, and they lack a rank
  logic [JOB_COUNT-1:0]            others_wait;
  logic [PORT_COUNT-1:0]           opener_of [JOB_COUNT];
  logic                            has_share;
  logic                            may_join;   // its id is that of the followed job, which lacks this rank
  logic                            may_refuse;
  logic [PORT_COUNT-1:0]           has_all;    // now: it has opened every context, and all of these jobs lack
                                               // a rank
  logic                            is_full;
  logic [63:0]                     wanted_by;  // the id of the last request that wanted some
  logic [JOB_COUNT-1:0]            in_vlan;    // contexts of this answer's VLAN
  logic                            vlan_full;
  logic [JOB_COUNT-1:0]            may_ask;    // ... that it may ask to be given up
  logic                            lacks;      // the answer is a refusal because no context is free, or
                                               // because the VLAN is at its quota
  logic [JOB_COUNT-1:0]            asks_for;

  assign {valid_3, free_4, complete_3, mask_3} = seen_3;
  assign possible = asked_ranks > 16'd1 && asked_ranks <= 16'(PORT_COUNT)
      && asked_window[31];
  assign may_join = has_id[followed] && !complete_3[followed] && !broken_1 && ranks == asked_ranks
      && (ports & answer_valid) == '0;
  assign may_refuse = !possible || (has_id != '0 && !may_join) || lapses || lapsed_1 || lapsed_2 || lapsed_3
      || (has_id == '0 && (free_4 == '0 || vlan_full));

  assign is_full   = possible && has_id == '0 && (free_4 == '0 || vlan_full);
  assign vlan_full = vlan_quota == 7'd1 ? in_vlan != '0 : in_vlan == '1;
  assign lacks     = answer_valid != '0 && is_full && waiting == '0;
  assign asks_for  = (!lacks || asked_id == wanted_by) ? '0
      : vlan_full ? may_ask & in_vlan : may_ask;

  always_ff @(posedge clk) begin
    if (asks_for != '0) wanted_by <= asked_id;
    if (rst) wanted_by <= '0;
  end

  always_comb begin
    has_share = 1'b0;
    has_all   = '1;
    for (int j = 0; j < JOB_COUNT; j++) begin
      has_id[j]  = valid_3[j] && id_of[j] == asked_id;
      in_vlan[j] = valid_3[j] && tag_of[j][11:0] == asked_tag[11:0];
      may_ask[j] = valid_3[j] && tag_of[j][15:13] <= asked_tag[15:13];
      waiting[j] = valid_3[j] && !complete_3[j] && opener_of[j] == answer_valid;
      for (int p = 0; p < PORT_COUNT; p++)
        if (!job_valid[j] || !valid_1[j] || job_complete[j] || !opener_of[j][p]) has_all[p] = 1'b0;
    end
    for (int j = 0; j < JOB_COUNT; j++) begin
      others_wait    = waiting;
      others_wait[j] = 1'b1;
      if (free_4[j] && others_wait == '1) has_share = 1'b1;
    end
  end

  always_ff @(posedge clk) begin
    free_1   <= ~job_valid & ~holds;
    seen_1   <= {job_valid, free_1, job_complete, job_mask};
    seen_2   <= seen_1;
    seen_3   <= seen_2;
    valid_1  <= rst ? '0 : job_valid;
    broken_1 <= job_broken[followed];
    for (int j = 0; j < JOB_COUNT; j++)
      if (granted && 32'(answer_job) == j && !valid_1[j])
        {opener_of[j], tag_of[j], id_of[j]} <= {answer_valid, asked_tag, asked_id};
  end

  always_comb begin
    if (!rst) begin
      p9_share: assert (has_all == '0);
      p13_lacked: assert (lacked == (lacks && free_4 == '0));
      p13_wanted: assert (context_wanted == asks_for);
      if (vlan_quota == 7'd1 && job_valid == '1 && valid_1 == '1) begin
        p14_vlan: assert (tag_of[0][11:0] != tag_of[1][11:0]);
      end
      if (answer_valid != '0) begin
        p10_held: assert (answer_held == (possible && has_id == '0 && !vlan_full && has_share));
        if (!answer_granted && !answer_held) begin
          p10_refused: assert (may_refuse);
        end
        if (answer_granted) begin
          p10_granted: assert (!answer_held);
        end
      end
    end
  end

  logic opened_twice;
  logic freed_once;

  always_ff @(posedge clk) begin
    if (rst) begin
      freed_once   <= 1'b0;
      opened_twice <= 1'b0;
    end else begin
      if (frees && ports == '1 && !broken) freed_once <= 1'b1;
      if (opens && freed_once) opened_twice <= 1'b1;
    end
  end

  always_comb begin
    if (!rst) begin
      reuse:   cover (opened_twice);
      refuse:  cover (answer_valid != '0 && !answer_granted && !answer_held);
      wanted:  cover (context_wanted != '0 && wanted_by != '0);
      in_full_vlan: cover (context_wanted != '0 && free_4 != '0);
      spared:  cover (context_wanted != '0 && !vlan_full && context_wanted != valid_3);
      held:    cover (answer_valid != '0 && answer_held);
      no_room: cover (answer_valid != '0 && !answer_granted && possible && has_id == '0
          && !answer_held);
      breaks:  cover (broken && freed_once);
      ends_silent: cover (frees && expired && left != ports && freed_once);
      goes_by: cover (frees && gone == ports && left != '0);
      lingers: cover (frees && over);
      still_waits: cover (expired && quiet_before && waits_before);
      gets_stuck:  cover (stuck != '0 && expired && freed_once);
    end
  end
endmodule

// SPDX-License-Identifier: Apache-2.0
//
// Finds the packets that are ready, and those of them that have room at every output they need: one
// bit for each job and port. A packet that is chosen and not yet issued has not moved its queues;
// it does not count.

`default_nettype none

module ina_pick_ready #(
    parameter int PORT_COUNT = 4,
    parameter int JOB_COUNT  = 4
) (
    input  logic clk,

    input  logic [PORT_COUNT-1:0]           uplinks,
    input  logic [JOB_COUNT-1:0]            job_valid,
    input  logic [JOB_COUNT-1:0]            job_open,   // valid, and not closing
    input  logic [JOB_COUNT-1:0]            job_complete,
    input  logic [JOB_COUNT-1:0]            job_broken,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] job_mask,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] job_down,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] join_out,  // by port, the jobs whose sums leave by it
    input  logic [PORT_COUNT*JOB_COUNT-1:0] down_out,  // the same for sums from above
    input  logic [PORT_COUNT*JOB_COUNT-1:0] next_join_out,  // join_out in the next clock
    input  logic [PORT_COUNT*JOB_COUNT-1:0] next_down_out,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] queue_ready,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] queue_waiting,
    input  logic [PORT_COUNT-1:0]           resend_valid,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] resend_behind,

    // For each path: the job of a sum or raw packet that is chosen and not yet issued, whether
    // another packet may be chosen, and which ports have room (ina_pick_issue). Sums and
    // retransmissions are ready whether their path is free or not.
    input  logic [JOB_COUNT-1:0]  join_jobs,
    input  logic                  join_free,
    input  logic [PORT_COUNT-1:0] join_credit,
    input  logic [JOB_COUNT-1:0]  relay_jobs,
    input  logic                  relay_free,
    input  logic [PORT_COUNT-1:0] relay_credit,
    input  logic [PORT_COUNT-1:0] relay_resends,  // ports of a chosen retransmission

    // Packets that were issued (ina_pick_progress).
    input  logic [JOB_COUNT-1:0]  any_ahead,
    input  logic [PORT_COUNT-1:0] resending,

    output logic                            any,         // a packet is ready, with or without room
    output logic                            any_behind,  // a job waits: some receiver is behind
    output logic [JOB_COUNT-1:0]            joins,       // jobs whose sums have room
    output logic [JOB_COUNT-1:0]            downs,       // jobs whose sums from above have room
    output logic [PORT_COUNT*JOB_COUNT-1:0] raw_ready,   // by port, with or without room
    output logic [PORT_COUNT-1:0]           raw_room,
    output logic [PORT_COUNT-1:0]           resends,
    output logic                            any_join,   // any of joins, downs, resends
    output logic                            any_down,
    output logic                            any_resend
);

  logic [JOB_COUNT-1:0]  join_behind;  // in the previous clock a receiver of it was behind
  logic [JOB_COUNT-1:0]  down_behind;
  logic [JOB_COUNT-1:0]  join_ready;
  logic [JOB_COUNT-1:0]  join_room;
  logic [JOB_COUNT-1:0]  down_ready;
  logic [JOB_COUNT-1:0]  down_room;
  logic [JOB_COUNT-1:0]  raw_jobs;
  logic [PORT_COUNT-1:0] resend_ready;

  logic [PORT_COUNT*JOB_COUNT-1:0] raw_d;
  logic [PORT_COUNT*JOB_COUNT-1:0] raw_q;

  always_ff @(posedge clk) begin : gather
    logic [JOB_COUNT-1:0] join_behind_d;
    logic [JOB_COUNT-1:0] down_behind_d;
    logic [JOB_COUNT-1:0] behind;

    join_behind_d = '0;
    down_behind_d = '0;
    for (int p = 0; p < PORT_COUNT; p++) begin
      behind        = resend_behind[p*JOB_COUNT +: JOB_COUNT];
      join_behind_d = join_behind_d | (behind & next_join_out[p*JOB_COUNT +: JOB_COUNT]);
      down_behind_d = down_behind_d | (behind & next_down_out[p*JOB_COUNT +: JOB_COUNT]);
    end
    join_behind <= join_behind_d;
    down_behind <= down_behind_d;
  end

  assign raw_jobs = job_open & job_broken & ~any_ahead & ~join_jobs & ~relay_jobs;
  assign raw_room = (join_credit & ~uplinks & {PORT_COUNT{join_free}})
      | (relay_credit & uplinks & {PORT_COUNT{relay_free}});

  assign any_behind = (job_open & (join_behind | down_behind)) != '0;

  always_comb begin
    join_ready = job_open & ~join_jobs & job_complete & ~job_broken & ~join_behind;
    join_room  = '1;
    down_ready = '0;
    down_room  = '1;
    for (int p = 0; p < PORT_COUNT; p++) begin
      join_ready = join_ready
          & (queue_ready[p*JOB_COUNT +: JOB_COUNT] | ~job_mask[p*JOB_COUNT +: JOB_COUNT]);
      down_ready = down_ready
          | (queue_ready[p*JOB_COUNT +: JOB_COUNT] & job_down[p*JOB_COUNT +: JOB_COUNT]);
      if (!join_credit[p]) join_room = join_room & ~join_out[p*JOB_COUNT +: JOB_COUNT];
      if (!relay_credit[p]) down_room = down_room & ~down_out[p*JOB_COUNT +: JOB_COUNT];
    end
    down_ready = down_ready & job_open & ~relay_jobs & ~job_broken & ~down_behind;
  end

  // If no packet of a job is under way, its packets keep waiting. So it is enough that they waited
  // in the previous clock and none has been chosen since.
  assign raw_d = {PORT_COUNT{raw_jobs}} & queue_waiting & (job_mask | job_down);

  always_ff @(posedge clk) raw_q <= raw_d;

  assign raw_ready    = raw_q & {PORT_COUNT{job_valid & ~join_jobs & ~relay_jobs}};
  assign resend_ready = resend_valid & ~resending & ~relay_resends;

  assign any     = join_ready != '0 || down_ready != '0 || raw_d != '0 || resend_ready != '0;
  assign joins   = join_ready & join_room;
  assign downs   = down_ready & down_room;
  assign resends = resend_ready & relay_credit;

  assign any_join   = joins != '0;
  assign any_down   = downs != '0;
  assign any_resend = resends != '0;

endmodule

`default_nettype wire

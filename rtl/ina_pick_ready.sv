// SPDX-License-Identifier: Apache-2.0
//
// What could be chosen, and of it what has room wherever it leaves: bits for all jobs and ports
// side by side. What is chosen and not yet issued has not moved its queues, and does not count.

`default_nettype none

module ina_pick_ready #(
    parameter int PORT_COUNT = 4,
    parameter int JOB_COUNT  = 4
) (
    input  logic clk,

    input  logic [JOB_COUNT-1:0]            job_valid,
    input  logic [JOB_COUNT-1:0]            job_complete,
    input  logic [JOB_COUNT-1:0]            job_broken,
    input  logic [JOB_COUNT-1:0]            job_closing,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] job_mask,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] job_down,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] join_out,  // of each port, the jobs whose sums leave there
    input  logic [PORT_COUNT*JOB_COUNT-1:0] down_out,  // ... and those that came from above
    input  logic [PORT_COUNT*JOB_COUNT-1:0] queue_ready,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] queue_waiting,
    input  logic [PORT_COUNT-1:0]           resend_valid,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] resend_behind,

    // What has been chosen so far (ina_pick_progress).
    input  logic [JOB_COUNT-1:0]  chosen_jobs,     // of a sum or raw packet that is not yet issued
    input  logic [PORT_COUNT-1:0] chosen_resends,  // of a retransmission
    input  logic [JOB_COUNT-1:0]  any_ahead,
    input  logic [PORT_COUNT-1:0] resending,
    input  logic [PORT_COUNT-1:0] credit,

    output logic                            any,       // something could be chosen, if it had room
    output logic                            held,      // ... or once no receiver is behind
    output logic [JOB_COUNT-1:0]            joins,     // jobs whose sums have room
    output logic [JOB_COUNT-1:0]            downs,     // ... that came from above
    output logic [PORT_COUNT*JOB_COUNT-1:0] raw_ready, // of each port, whether it has room or not
    output logic [PORT_COUNT-1:0]           resends
);

  logic [JOB_COUNT-1:0]  join_behind;  // a receiver of it was, a clock ago
  logic [JOB_COUNT-1:0]  down_behind;
  logic [JOB_COUNT-1:0]  alive;
  logic [JOB_COUNT-1:0]  join_ready;
  logic [JOB_COUNT-1:0]  join_room;
  logic [JOB_COUNT-1:0]  down_ready;
  logic [JOB_COUNT-1:0]  down_room;
  logic [JOB_COUNT-1:0]  raw_jobs;
  logic [PORT_COUNT-1:0] resend_ready;

  always_ff @(posedge clk) begin : gather
    logic [JOB_COUNT-1:0] join_behind_d;
    logic [JOB_COUNT-1:0] down_behind_d;
    logic [JOB_COUNT-1:0] behind;

    join_behind_d = '0;
    down_behind_d = '0;
    for (int p = 0; p < PORT_COUNT; p++) begin
      behind        = resend_behind[p*JOB_COUNT +: JOB_COUNT];
      join_behind_d = join_behind_d | (behind & join_out[p*JOB_COUNT +: JOB_COUNT]);
      down_behind_d = down_behind_d | (behind & down_out[p*JOB_COUNT +: JOB_COUNT]);
    end
    join_behind <= join_behind_d;
    down_behind <= down_behind_d;
  end

  assign alive    = job_valid & ~job_closing & ~chosen_jobs;
  assign raw_jobs = alive & job_broken & ~any_ahead;

  assign held = (alive & (join_behind | down_behind)) != '0;

  always_comb begin
    join_ready = alive & job_complete & ~job_broken & ~join_behind;
    join_room  = '1;
    down_ready = '0;
    down_room  = '1;
    for (int p = 0; p < PORT_COUNT; p++) begin
      join_ready = join_ready
          & (queue_ready[p*JOB_COUNT +: JOB_COUNT] | ~job_mask[p*JOB_COUNT +: JOB_COUNT]);
      down_ready = down_ready
          | (queue_ready[p*JOB_COUNT +: JOB_COUNT] & job_down[p*JOB_COUNT +: JOB_COUNT]);
      if (!credit[p]) join_room = join_room & ~join_out[p*JOB_COUNT +: JOB_COUNT];
      if (!credit[p]) down_room = down_room & ~down_out[p*JOB_COUNT +: JOB_COUNT];
      raw_ready[p*JOB_COUNT +: JOB_COUNT] = raw_jobs & queue_waiting[p*JOB_COUNT +: JOB_COUNT]
          & (job_mask[p*JOB_COUNT +: JOB_COUNT] | job_down[p*JOB_COUNT +: JOB_COUNT]);
    end
    down_ready = down_ready & alive & ~job_broken & ~down_behind;
  end

  assign resend_ready = resend_valid & ~resending & ~chosen_resends;

  assign any     = join_ready != '0 || down_ready != '0 || raw_ready != '0 || resend_ready != '0;
  assign joins   = join_ready & join_room;
  assign downs   = down_ready & down_room;
  assign resends = resend_ready & credit;

endmodule

`default_nettype wire

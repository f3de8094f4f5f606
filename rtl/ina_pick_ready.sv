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
    input  logic [PORT_COUNT*JOB_COUNT-1:0] queue_ready,
    input  logic [PORT_COUNT-1:0]           resend_valid,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] resend_behind,

    // What has been chosen so far (ina_pick_progress).
    input  logic [JOB_COUNT-1:0]  chosen_jobs,     // of a sum or raw packet that is not yet issued
    input  logic [PORT_COUNT-1:0] chosen_resends,  // of a retransmission
    input  logic [JOB_COUNT-1:0]  any_ahead,
    input  logic [PORT_COUNT-1:0] resending,
    input  logic [PORT_COUNT-1:0] credit,

    output logic                            any,       // something could be chosen, if it had room
    output logic [JOB_COUNT-1:0]            joins,     // jobs whose heads have room
    output logic [PORT_COUNT*JOB_COUNT-1:0] raw_ready, // of each port, whether it has room or not
    output logic [PORT_COUNT-1:0]           resends
);

  logic [JOB_COUNT-1:0]  behind_q;  // a receiver of it was, a clock ago
  logic [JOB_COUNT-1:0]  alive;
  logic [JOB_COUNT-1:0]  join_ready;
  logic [JOB_COUNT-1:0]  join_room;
  logic [JOB_COUNT-1:0]  raw_jobs;
  logic [PORT_COUNT-1:0] resend_ready;

  always_ff @(posedge clk) begin : gather
    logic [JOB_COUNT-1:0] behind_d;

    behind_d = '0;
    for (int p = 0; p < PORT_COUNT; p++)
      behind_d = behind_d | resend_behind[p*JOB_COUNT +: JOB_COUNT];
    behind_q <= behind_d;
  end

  assign alive    = job_valid & ~job_closing & ~chosen_jobs;
  assign raw_jobs = alive & job_broken & ~any_ahead;

  always_comb begin
    join_ready = alive & job_complete & ~job_broken & ~behind_q;
    join_room  = '1;
    for (int p = 0; p < PORT_COUNT; p++) begin
      join_ready = join_ready
          & (queue_ready[p*JOB_COUNT +: JOB_COUNT] | ~job_mask[p*JOB_COUNT +: JOB_COUNT]);
      if (!credit[p]) join_room = join_room & ~job_mask[p*JOB_COUNT +: JOB_COUNT];
      raw_ready[p*JOB_COUNT +: JOB_COUNT] = raw_jobs
          & queue_ready[p*JOB_COUNT +: JOB_COUNT] & job_mask[p*JOB_COUNT +: JOB_COUNT];
    end
  end

  assign resend_ready = resend_valid & ~resending & ~chosen_resends;

  assign any     = join_ready != '0 || raw_ready != '0 || resend_ready != '0;
  assign joins   = join_ready & join_room;
  assign resends = resend_ready & credit;

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// Which jobs have expired. If no packet of a job came between two pulses of `age`, the job has
// expired: its hosts are dead or were idle for too long. It breaks, so that its packets are sent
// raw, and is freed when no packet of it is left. But an expired job that lacks a rank lapses: it is
// freed immediately, and its JOINs are lost. Their senders retransmit them, and so ask again.
//
// Packets of an expired job may wait for an output that takes nothing. At the next pulse such a
// port is `stuck`: it loses the packets that wait for it (ina_merge) until none of the job is left.
// Otherwise one dead port could hold all contexts.

`default_nettype none

module ina_expiry #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1
) (
    input  logic clk,
    input  logic rst,
    input  logic age,  // one clock at the end of each time-to-live

    // A packet of a job has come to a port; a JOIN is granted a flow of a job, which is known
    // already or opened.
    input  logic [PORT_COUNT-1:0]       hit_valid,
    input  logic [PORT_COUNT*JOB_W-1:0] hit_job,
    input  logic [JOB_COUNT-1:0]        grants,
    input  logic                        known,

    input  logic [JOB_COUNT-1:0]            job_valid,
    input  logic [JOB_COUNT-1:0]            job_complete,
    input  logic [JOB_COUNT-1:0]            job_broken,
    input  logic [JOB_COUNT-1:0]            job_lingers,
    input  logic [JOB_COUNT-1:0]            job_has_block,
    input  logic [JOB_COUNT-1:0]            ends,  // no packet of an expired job is left
    input  logic [PORT_COUNT*JOB_COUNT-1:0] queue_waiting,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] resend_pending,

    output logic [JOB_COUNT-1:0]  expires,
    output logic [JOB_COUNT-1:0]  lapses,   // it expires and lacks a rank
    output logic [JOB_COUNT-1:0]  expired,  // and has not ended
    output logic [PORT_COUNT-1:0] stuck,
    // A job may expire, or has expired and is not freed yet, or a freed context still has memory.
    output logic                  busy
);

  // A job that gets a packet before the pulse or in its clock does not expire. A pulse takes effect
  // one clock later. If a job lacks a rank, only JOINs of its ranks count, because that rank may
  // never come.
  logic                 age_q;  // the pulse, one clock later
  logic [JOB_COUNT-1:0] heard;  // jobs that got a packet since the last pulse
  logic [JOB_COUNT-1:0] hears;  // jobs that get one in this clock

  always_comb begin
    hears = '0;
    for (int p = 0; p < PORT_COUNT; p++)
      if (hit_valid[p]) hears[hit_job[p*JOB_W +: JOB_W]] = 1'b1;
    hears = (hears & job_complete) | grants;
  end

  assign expires = age_q ? job_valid & ~heard & ~expired & ~job_lingers : '0;
  assign lapses  = expires & ~job_complete & ~job_broken;
  assign busy    = age_q || expired != '0 || (job_has_block & ~job_valid) != '0;

  always_ff @(posedge clk) begin
    age_q   <= age;
    heard   <= (age_q ? '0 : heard) | hears;
    expired <= (expired | expires) & ~ends;
    for (int j = 0; j < JOB_COUNT; j++) begin
      if (grants[j]) begin
        if (!known) expired[j] <= 1'b0;
      end
    end
    if (rst) begin
      heard   <= '0;
      expired <= '0;
    end
  end

  // A job that had expired or ended before the pulse, and still has packets that wait: the port
  // where they wait takes nothing.
  logic [JOB_COUNT-1:0] ends_late;
  logic [JOB_COUNT-1:0] overdue;

  assign ends_late = expired | (job_has_block & ~job_valid);

  always_ff @(posedge clk) begin
    overdue <= rst ? '0 : ends_late & (overdue | {JOB_COUNT{age_q}});
    for (int p = 0; p < PORT_COUNT; p++)
      stuck[p] <= !rst && (overdue & (queue_waiting[p*JOB_COUNT +: JOB_COUNT]
          | resend_pending[p*JOB_COUNT +: JOB_COUNT])) != '0;
  end

endmodule

`default_nettype wire

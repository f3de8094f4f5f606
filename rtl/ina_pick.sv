// SPDX-License-Identifier: Apache-2.0
//
// Chooses whose packet the join takes next: the heads of a whole job, the head of one queue of a
// broken job, or a retransmission. Who was served last waits longest.
//
// A packet is chosen only when every port that it leaves on has room for it, so nothing behind
// this module ever waits. At most CHOSEN_MAX packets a port may be chosen while ina_rebuild does
// not know of them: that is what its `room` promises.

module ina_pick #(
    parameter int PORT_COUNT = 4,
    parameter int JOB_COUNT  = 4,
    parameter int SLOT_COUNT = 128,
    parameter int JOB_W      = $clog2(JOB_COUNT),
    parameter int SLOT_W     = $clog2(SLOT_COUNT),
    parameter int FILL_W     = SLOT_W + 1
) (
    input  logic clk,
    input  logic rst,

    // Jobs and queues. A closing job has sent its LEAVEs into the tree.
    input  logic [JOB_COUNT-1:0]                   job_valid,
    input  logic [JOB_COUNT-1:0]                   job_complete,
    input  logic [JOB_COUNT-1:0]                   job_broken,
    input  logic [JOB_COUNT-1:0]                   job_closing,
    input  logic [JOB_COUNT*PORT_COUNT-1:0]        job_mask,
    input  logic [PORT_COUNT*JOB_COUNT*FILL_W-1:0] queue_fill,
    input  logic [PORT_COUNT*JOB_COUNT*SLOT_W-1:0] queue_head,

    // The oldest retransmission of each port, and its removal once it has begun.
    input  logic [PORT_COUNT-1:0]        resend_valid,
    input  logic [PORT_COUNT-1:0]        resend_probe,
    input  logic [PORT_COUNT*JOB_W-1:0]  resend_job,
    input  logic [PORT_COUNT*SLOT_W-1:0] resend_slot,
    input  logic [PORT_COUNT*JOB_COUNT-1:0] resend_pending,  // of each port, the jobs they are of
    input  logic [PORT_COUNT-1:0]        resend_pop,

    // Room, and the chosen packets' progress.
    input  logic [PORT_COUNT-1:0] rebuild_room,
    input  logic [PORT_COUNT-1:0] settled,      // ina_rebuild has the header, or never gets it
    input  logic                  done_valid,   // a join or raw packet has been popped
    input  logic [JOB_W-1:0]      done_job,
    input  logic                  undo_valid,   // a chosen join was called off
    input  logic [JOB_W-1:0]      undo_job,

    output logic                  m_valid,
    input  logic                  m_ready,
    output logic [1:0]            m_kind,
    output logic [JOB_W-1:0]      m_job,
    output logic [SLOT_W-1:0]     m_slot,
    output logic [PORT_COUNT-1:0] m_mask,
    output logic                  m_probe,

    output logic [JOB_COUNT-1:0] job_quiet,  // nothing of it is chosen, or asked for from history
    output logic                 busy        // there is something to choose
);

  localparam int CHOSEN_MAX = 2;
  localparam int CHOICES    = JOB_COUNT + JOB_COUNT*PORT_COUNT + PORT_COUNT;
  localparam int RAW_AT     = JOB_COUNT;                         // job-major
  localparam int RESEND_AT  = JOB_COUNT + JOB_COUNT*PORT_COUNT;

  logic [FILL_W-1:0]     ahead [JOB_COUNT];  // chosen and not yet popped
  logic [1:0]            chosen [PORT_COUNT];
  logic [PORT_COUNT-1:0] settled_1, settled_2;  // room follows a header within two clocks
  logic [PORT_COUNT-1:0] credit;
  logic [PORT_COUNT-1:0] resending;          // its oldest retransmission has been chosen

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_credit
    assign credit[p] = rebuild_room[p] && chosen[p] < 2'(CHOSEN_MAX);
  end

  // What could go, and what of it has room.
  logic [CHOICES-1:0]    ready;
  logic [CHOICES-1:0]    eligible;
  logic [PORT_COUNT-1:0] waiting;  // of the job of this round of the loop
  logic [PORT_COUNT-1:0] mask;

  always_comb begin
    ready    = '0;
    eligible = '0;
    waiting  = '0;
    mask     = '0;
    for (int j = 0; j < JOB_COUNT; j++) begin
      mask = job_mask[j*PORT_COUNT +: PORT_COUNT];
      for (int p = 0; p < PORT_COUNT; p++)
        waiting[p] = queue_fill[(p*JOB_COUNT + j)*FILL_W +: FILL_W] > ahead[j];
      if (job_valid[j] && !job_closing[j]) begin
        if (!job_broken[j]) begin
          ready[j]    = job_complete[j] && (mask & ~waiting) == '0;
          eligible[j] = ready[j] && (mask & ~credit) == '0;
        end else if (ahead[j] == '0) begin
          ready[RAW_AT + j*PORT_COUNT +: PORT_COUNT]    = waiting & mask;
          eligible[RAW_AT + j*PORT_COUNT +: PORT_COUNT] = waiting & mask & credit;
        end
      end
    end
    ready[RESEND_AT +: PORT_COUNT]    = resend_valid & ~resending;
    eligible[RESEND_AT +: PORT_COUNT] = resend_valid & ~resending & credit;
  end

  assign busy = ready != '0 || m_valid;

  // Round robin: the lowest choice above the last one, else the lowest.
  logic [CHOICES-1:0] above;  // a mask: the choices above the last one
  logic [CHOICES-1:0] preferred;
  logic [CHOICES-1:0] choice;
  logic               choose;

  assign preferred = ((eligible & above) != '0) ? (eligible & above) : eligible;
  assign choice    = preferred & (~preferred + 1'b1);
  assign choose    = eligible != '0 && (!m_valid || m_ready);

  // What the choice stands for.
  logic [1:0]            kind;
  logic [JOB_W-1:0]      job;
  logic [SLOT_W-1:0]     slot;
  logic [PORT_COUNT-1:0] ports;
  logic                  probe;

  always_comb begin
    kind  = ina_pkg::KIND_JOIN;
    job   = '0;
    slot  = '0;
    ports = '0;
    probe = 1'b0;
    if (choose) begin
      for (int j = 0; j < JOB_COUNT; j++) begin
        if (choice[j]) begin
          job   = JOB_W'(j);
          ports = job_mask[j*PORT_COUNT +: PORT_COUNT];
        end
        for (int p = 0; p < PORT_COUNT; p++) begin
          if (choice[RAW_AT + j*PORT_COUNT + p]) begin
            kind     = ina_pkg::KIND_RAW;
            job      = JOB_W'(j);
            ports[p] = 1'b1;
          end
        end
      end
      // The heads of a job's queues are in the same slot on all its ports.
      for (int p = 0; p < PORT_COUNT; p++)
        if (ports[p])
          slot = queue_head[(p*JOB_COUNT + 32'(job))*SLOT_W +: SLOT_W] + ahead[job][SLOT_W-1:0];
      for (int p = 0; p < PORT_COUNT; p++) begin
        if (choice[RESEND_AT + p]) begin
          kind     = ina_pkg::KIND_RESEND;
          job      = resend_job[p*JOB_W +: JOB_W];
          slot     = resend_slot[p*SLOT_W +: SLOT_W];
          probe    = resend_probe[p];
          ports[p] = 1'b1;
        end
      end
    end
  end

  always_ff @(posedge clk) begin
    if (!m_valid || m_ready) m_valid <= choose;
    if (choose) begin
      m_kind  <= kind;
      m_job   <= job;
      m_slot  <= slot;
      m_mask  <= ports;
      m_probe <= probe;
      above   <= ~(choice | (choice - 1'b1));
    end
    if (rst) begin
      m_valid <= 1'b0;
      above   <= '1;
    end
  end

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_ahead
    logic [PORT_COUNT-1:0] pending;

    for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_pending
      assign pending[p] = resend_pending[p*JOB_COUNT + j];
    end
    assign job_quiet[j] = ahead[j] == '0 && pending == '0;

    always_ff @(posedge clk) begin
      if (rst) ahead[j] <= '0;
      else
        ahead[j] <= ahead[j]
            + FILL_W'(choose && kind != ina_pkg::KIND_RESEND && job == JOB_W'(j))
            - FILL_W'(done_valid && done_job == JOB_W'(j))
            - FILL_W'(undo_valid && undo_job == JOB_W'(j));
    end
  end

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_chosen
    always_ff @(posedge clk) begin
      if (rst) begin
        chosen[p]    <= '0;
        resending[p] <= 1'b0;
        settled_1[p] <= 1'b0;
        settled_2[p] <= 1'b0;
      end else begin
        chosen[p]    <= chosen[p] + 2'(choose && ports[p]) - 2'(settled_2[p]);
        settled_1[p] <= settled[p];
        settled_2[p] <= settled_1[p];
        if (choose && choice[RESEND_AT + p]) resending[p] <= 1'b1;
        else if (resend_pop[p]) resending[p] <= 1'b0;
      end
    end
  end

endmodule

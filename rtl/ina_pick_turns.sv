// SPDX-License-Identifier: Apache-2.0
//
// Chooses one ready packet. The kinds take turns, and so do the jobs or ports of each kind: the one
// that was served last waits longest. The ready packets are registered with `scan`, and the choice
// is valid in the next clock. The turns of each port's raw packets were computed in the two clocks
// before.

`default_nettype none

module ina_pick_turns #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1
) (
    input  logic clk,
    input  logic rst,

    input  logic [PORT_COUNT-1:0]                     uplinks,
    input  logic                                      scan,
    input  logic                                      join_free,  // its path may get another packet
    input  logic                                      relay_free,
    input  logic                                      any_join,   // any of joins
    input  logic                                      any_down,
    input  logic                                      any_resend,
    input  logic [JOB_COUNT-1:0]                      joins,
    input  logic [JOB_COUNT-1:0]                      downs,
    input  logic [PORT_COUNT*JOB_COUNT-1:0]           raw_ready,
    input  logic [PORT_COUNT-1:0]                     raw_room,
    input  logic [PORT_COUNT-1:0]                     resends,
    input  logic [PORT_COUNT*ina_pkg::RESEND_T_W-1:0] resend,  // for each port
    input  logic [PORT_COUNT*JOB_COUNT-1:0]           job_mask,
    input  logic [PORT_COUNT*JOB_COUNT-1:0]           job_down,
    input  logic [JOB_COUNT-1:0]                      job_part,  // its sums are parts
    input  logic [PORT_COUNT*JOB_COUNT-1:0]           join_out,  // by port, the jobs whose sums go
    input  logic [PORT_COUNT*JOB_COUNT-1:0]           down_out,  // the same for sums from above

    output logic                  m_valid,
    output logic                  m_relay,  // its path is ina_relay
    output logic [1:0]            m_kind,
    output logic [JOB_COUNT-1:0]  m_jobs,   // a sum or raw packet: its job, one-hot
    output logic [JOB_W-1:0]      m_job,
    output logic                  m_part,
    output logic [PORT_COUNT-1:0] m_from,
    output logic [PORT_COUNT-1:0] m_mask,
    output ina_pkg::resend_t      m_resend  // valid for a retransmission
);
  localparam int RESEND_W = ina_pkg::RESEND_T_W;

  logic                             scan_q;
  logic [PORT_COUNT*JOB_COUNT-1:0]  raw_turns;  // by port, the job whose turn it is
  logic [PORT_COUNT*JOB_COUNT-1:0]  raws_q;
  logic [PORT_COUNT-1:0]            raw_ports;
  logic [PORT_COUNT*PORT_COUNT-1:0] alike_q;    // by port, those that want the same sum

  always_comb begin
    for (int p = 0; p < PORT_COUNT; p++)
      raw_ports[p] = raw_room[p]
          && (raw_ready[p*JOB_COUNT +: JOB_COUNT] & raw_turns[p*JOB_COUNT +: JOB_COUNT]) != '0;
  end

  // One sum of the history serves all ports that want it, each with its own header.
  always_ff @(posedge clk) begin
    scan_q <= scan && !rst;
    if (scan) begin
      raws_q <= raw_turns;
      for (int p = 0; p < PORT_COUNT; p++)
        for (int q = 0; q < PORT_COUNT; q++)
          alike_q[p*PORT_COUNT + q] <= resends[q]
              && (p == q || resend[p*RESEND_W +: RESEND_W] == resend[q*RESEND_W +: RESEND_W]);
    end
  end

  // Turns of the kinds, of the jobs, and of the ports.
  logic [3:0]            kind;  // one-hot: down, resend, raw, join
  logic [JOB_COUNT-1:0]  join_choice;
  logic [JOB_COUNT-1:0]  down_choice;
  logic [PORT_COUNT-1:0] raw_port;
  logic [PORT_COUNT-1:0] resend_port;

  ina_pick_kind kind_turn (
      .clk, .rst, .asks(scan),
      .wanted({any_down && relay_free, any_resend && relay_free, raw_ports != '0,
               any_join && join_free}),
      .choice(kind), .served(m_valid));
  ina_turn #(.WIDTH(JOB_COUNT)) down_turn (
      .clk, .rst, .asks(scan), .wanted(downs), .choice(down_choice),
      .served(m_valid && kind[3]), .which(down_choice));
  ina_turn #(.WIDTH(JOB_COUNT)) join_turn (
      .clk, .rst, .asks(scan), .wanted(joins), .choice(join_choice),
      .served(m_valid && kind[0]), .which(join_choice));
  ina_turn #(.WIDTH(PORT_COUNT)) raw_turn (
      .clk, .rst, .asks(scan), .wanted(raw_ports), .choice(raw_port),
      .served(m_valid && kind[1]), .which(raw_port));
  ina_turn #(.WIDTH(PORT_COUNT)) resend_turn (
      .clk, .rst, .asks(scan), .wanted(resends), .choice(resend_port),
      .served(m_valid && kind[2]), .which(resend_port));
  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_raw
    logic [JOB_COUNT-1:0] choice_of_port;

    ina_turn #(.WIDTH(JOB_COUNT)) job_turn (
        .clk, .rst, .asks(1'b1), .wanted(raw_ready[p*JOB_COUNT +: JOB_COUNT]),
        .choice(choice_of_port),
        .served(m_valid && kind[1] && raw_port[p]), .which(raws_q[p*JOB_COUNT +: JOB_COUNT]));

    always_ff @(posedge clk) raw_turns[p*JOB_COUNT +: JOB_COUNT] <= choice_of_port;
  end

  assign m_valid = scan_q && kind != '0;
  assign m_relay = kind[3] || kind[2] || (kind[1] && (raw_port & uplinks) != '0);
  assign m_kind  = kind[3] ? ina_pkg::KIND_DOWN
                 : kind[2] ? ina_pkg::KIND_RESEND
                 : kind[1] ? ina_pkg::KIND_RAW : ina_pkg::KIND_JOIN;

  // The packet of each kind is computed in parallel, and then one is selected.
  logic [JOB_W-1:0]            join_job;
  logic [PORT_COUNT-1:0]       join_from;
  logic [PORT_COUNT-1:0]       join_mask;
  logic [JOB_W-1:0]            down_job;
  logic [PORT_COUNT-1:0]       down_from;
  logic [PORT_COUNT-1:0]       down_mask;
  logic [PORT_COUNT-1:0]       resend_mask;
  logic [PORT_COUNT*JOB_W-1:0] raw_jobs;

  function automatic logic [JOB_W-1:0] number_of(input logic [JOB_COUNT-1:0] one);
    number_of = '0;
    for (int j = 0; j < JOB_COUNT; j++)
      if (one[j]) number_of = number_of | JOB_W'(j);
  endfunction

  always_comb begin
    join_job    = '0;
    join_from   = '0;
    join_mask   = '0;
    down_job    = '0;
    down_from   = '0;
    down_mask   = '0;
    raw_jobs    = '0;
    resend_mask = '0;
    m_resend    = '0;
    for (int p = 0; p < PORT_COUNT; p++) begin
      if (resend_port[p]) resend_mask = resend_mask | alike_q[p*PORT_COUNT +: PORT_COUNT];
      if (resend_port[p]) m_resend = m_resend | resend[p*RESEND_W +: RESEND_W];
    end
    if (scan_q && kind[0]) begin
      join_job = number_of(join_choice);
      for (int p = 0; p < PORT_COUNT; p++) begin
        join_from[p] = (join_choice & job_mask[p*JOB_COUNT +: JOB_COUNT]) != '0;
        join_mask[p] = (join_choice & join_out[p*JOB_COUNT +: JOB_COUNT]) != '0;
      end
    end
    if (scan_q && kind[3]) begin
      down_job = number_of(down_choice);
      for (int p = 0; p < PORT_COUNT; p++) begin
        down_from[p] = (down_choice & job_down[p*JOB_COUNT +: JOB_COUNT]) != '0;
        down_mask[p] = (down_choice & down_out[p*JOB_COUNT +: JOB_COUNT]) != '0;
      end
    end
    if (scan_q && kind[1])
      for (int p = 0; p < PORT_COUNT; p++)
        raw_jobs[p*JOB_W +: JOB_W] = number_of(raws_q[p*JOB_COUNT +: JOB_COUNT]);
  end

  always_comb begin
    m_jobs = '0;
    m_job  = '0;
    m_part = 1'b0;
    m_from = '0;
    m_mask = '0;
    if (scan_q) begin
      m_jobs = kind[0] ? join_choice : kind[3] ? down_choice : '0;
      m_job  = kind[0] ? join_job : kind[3] ? down_job : kind[2] ? m_resend.job[JOB_W-1:0] : '0;
      m_part = kind[0] && (join_choice & job_part) != '0;
      m_from = kind[0] ? join_from : kind[3] ? down_from : kind[1] ? raw_port : resend_mask;
      m_mask = kind[0] ? join_mask : kind[3] ? down_mask : kind[1] ? raw_port : resend_mask;
      for (int p = 0; p < PORT_COUNT; p++) begin
        if (kind[1] && raw_port[p]) m_jobs = m_jobs | raws_q[p*JOB_COUNT +: JOB_COUNT];
        if (kind[1] && raw_port[p]) m_job = m_job | raw_jobs[p*JOB_W +: JOB_W];
      end
    end
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// Merges the packet ends of both paths, one a clock. At the end of a packet its last beat is in the
// history, and the packets that waited for it have left. Packets of one path never end in
// consecutive clocks (ina_beats), so the end of a relayed packet waits for one clock at most. The
// outputs are registers, because there is much logic after them.

`default_nettype none

module ina_ends #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1
) (
    input  logic clk,
    input  logic rst,

    input  logic                             join_valid,
    input  logic                             join_raw,
    input  logic                             join_part,
    input  logic                             join_leave,
    input  logic [JOB_W-1:0]                 join_job,
    input  logic [PORT_COUNT-1:0]            join_mask,
    input  logic [ina_pkg::BEAT_INDEX_W-1:0] join_beat,
    input  logic [2:0]                       join_quads,

    input  logic                             relay_valid,  // not for retransmissions
    input  logic                             relay_raw,
    input  logic                             relay_leave,
    input  logic [JOB_W-1:0]                 relay_job,
    input  logic [PORT_COUNT-1:0]            relay_mask,
    input  logic [ina_pkg::BEAT_INDEX_W-1:0] relay_beat,
    input  logic [2:0]                       relay_quads,

    input  logic [PORT_COUNT*JOB_COUNT-1:0]  job_mask,

    output logic                             m_valid,
    output logic                             m_raw,
    output logic                             m_up,       // a part has gone up
    output logic                             m_leave,    // a LEAVE has gone out
    output logic [PORT_COUNT-1:0]            m_left,     // with m_leave: on these ports
    output logic [JOB_W-1:0]                 m_job,
    output logic [PORT_COUNT-1:0]            m_mask,     // ports by which it left
    // Ports whose payloads went into the packet; none for a sum from above.
    output logic [PORT_COUNT-1:0]            m_counted,
    output logic [ina_pkg::BEAT_INDEX_W-1:0] m_beat,     // last beat of the packet
    output logic [2:0]                       m_quads,
    output logic                             busy  // an end is to be reported, or is at m_*
);

  typedef struct packed {
    logic                             raw;
    logic                             leave;
    logic [JOB_W-1:0]                 job;
    logic [PORT_COUNT-1:0]            mask;
    logic [ina_pkg::BEAT_INDEX_W-1:0] beat;
    logic [2:0]                       quads;
  } end_t;

  end_t joined;
  end_t relayed;
  end_t late;   // waited for this clock
  end_t reported;
  logic late_valid;
  logic tells;
  logic sums;

  assign joined   = {join_raw, join_leave, join_job, join_mask, join_beat, join_quads};
  assign relayed  = {relay_raw, relay_leave, relay_job, relay_mask, relay_beat, relay_quads};
  assign reported = join_valid ? joined : late_valid ? late : relayed;
  assign tells    = join_valid || late_valid || relay_valid;
  assign sums     = join_valid && !join_raw;
  assign busy     = late_valid || m_valid;

  always_ff @(posedge clk) begin
    late_valid <= join_valid && relay_valid && !rst;
    if (relay_valid) late <= relayed;
  end

  always_ff @(posedge clk) begin
    m_valid <= tells && !rst;
    m_up    <= sums && join_part && !rst;
    m_leave <= tells && reported.leave && !rst;
    if (tells) begin
      m_raw     <= reported.raw;
      m_left    <= reported.raw ? reported.mask : '1;
      m_job     <= reported.job;
      m_mask    <= reported.mask;
      m_counted <= reported.raw ? reported.mask : '0;
      m_beat    <= reported.beat;
      m_quads   <= reported.quads;
      for (int p = 0; p < PORT_COUNT; p++)
        if (sums) m_counted[p] <= job_mask[p*JOB_COUNT + 32'(reported.job)];
    end
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// Completes sums after the tree with facts that only the switch knows. One clock of latency.
//
//   trailer, flags bit 0  an int32 sum of the message has overflowed
//   trailer, flags bit 2  a packet of the job has met congestion since the job's last trailer
//   trailer, flags bit 3  another job was refused for lack of a context; only one of the jobs that
//                         may be asked gets this bit
//   JOIN                  lowers the window to the job's window here; if all ranks of the job are
//                         below this switch, writes how many jobs had a context before it
//   a packet's last beat  bytes after its end become zeros, for ina_payload_crc

`default_nettype none

module ina_trailer #(
    parameter  int JOB_COUNT = 4,
    parameter  int SIDE_W    = 1,  // width of the side data of each beat
    parameter  int SLOT_W    = 7,
    localparam int JOB_W     = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int COUNT_W   = $clog2(JOB_COUNT + 1)
) (
    input  logic clk,
    input  logic rst,

    input  logic [JOB_COUNT-1:0] job_valid,
    // The window of each job in packets, less one; it is a power of two.
    input  logic [JOB_COUNT*SLOT_W-1:0] job_window,
    input  logic [JOB_COUNT*COUNT_W-1:0] job_before,  // jobs that had a context before it

    input  logic [JOB_COUNT-1:0] context_wanted,  // from ina_jobs: ask one of these jobs
    // From ina_relay: a packet of this job from above has met congestion.
    input  logic             down_marked,
    input  logic [JOB_W-1:0] down_job,

    input  logic                           s_valid,
    input  logic [ina_pkg::BEAT_W-1:0]     s_data,
    input  logic [ina_pkg::LANE_COUNT-1:0] s_overflow,
    input  logic [SIDE_W-1:0]              s_side,
    input  logic                           s_raw,     // not a sum
    input  logic                           s_part,    // a sum of some ranks only
    input  logic                           s_marked,  // with s_first: a packet has ECN = 3
    input  logic [JOB_W-1:0]               s_job,
    input  logic                           s_first,
    input  logic                           s_last,
    input  logic [2:0]                     s_quads,   // 1 to 4; 4 unless s_last
    input  logic                           s_starts,  // the packet starts a message
    input  logic                           s_ends,    // the packet ends a message

    output logic                       m_valid,
    output logic [ina_pkg::BEAT_W-1:0] m_data,
    output logic [SIDE_W-1:0]          m_side
);

  localparam int QUAD_W    = ina_pkg::QUAD_W;
  localparam int TYPE_AT   = ina_pkg::MESSAGE_TYPE_AT * 8;
  localparam int FLAGS_AT  = ina_pkg::TRAILER_FLAGS_AT * 8;
  localparam int BEFORE_AT = FLAGS_AT + ina_pkg::FLAG_BEFORE;

  logic [JOB_COUNT-1:0]           overflowed;  // in the current message of each job
  logic [ina_pkg::LANE_COUNT-1:0] elements;
  logic                           overflowed_d;
  logic [JOB_COUNT-1:0]           congested;   // the next trailer of each job is to say so
  logic                           congested_d;
  logic                           ends;
  logic [JOB_COUNT-1:0]           wanted;      // the first DATA trailer of one of these asks
  logic                           asks;
  logic                           is_control;  // a JOIN or LEAVE

  // The lanes that are neither in the message's header nor in its trailer.
  always_comb begin
    elements = '1;
    if (s_first && s_starts) elements[7:0] = '0;
    for (int q = 0; q < ina_pkg::QUAD_COUNT; q++)
      if (s_last && s_ends && s_quads == 3'(q + 1)) elements[q*4 +: 4] = '0;
  end

  assign overflowed_d = (s_overflow & elements) != '0
      || (overflowed[s_job] && !(s_first && s_starts));
  assign congested_d = congested[s_job] || (s_first && s_marked);
  assign ends        = s_valid && !s_raw && s_last && s_ends;
  assign asks        = ends && !is_control && wanted[s_job];
  assign is_control  = s_first && s_starts && s_data[TYPE_AT +: 8] != ina_pkg::TYPE_DATA;

  // A JOIN's lane becomes the largest value of minus all windows: the ranks' windows, which are in
  // the sum already, and the job's. The job's value is larger if it has a one where the sum has a
  // zero.
  localparam int WINDOW_AT = ina_pkg::MESSAGE_WINDOW_AT * 8;

  logic [ina_pkg::LANE_W-1:0] asked;
  logic [ina_pkg::LANE_W-1:0] granted;
  logic                       is_join;
  logic                       lowers;

  assign asked   = s_data[WINDOW_AT +: ina_pkg::LANE_W];
  assign granted = ~(ina_pkg::LANE_W'(job_window[s_job*SLOT_W +: SLOT_W]));
  assign is_join = s_first && s_starts && s_data[TYPE_AT +: 8] == ina_pkg::TYPE_JOIN;
  assign lowers  = is_join && !s_raw && asked[ina_pkg::LANE_W-1] && (granted & ~asked) != '0;

  // If the sum of all ranks is made here, the upper half of the JOIN's flags gets this number.
  logic [15:0] earlier;

  assign earlier = (is_join && !s_part) ? 16'(job_before[s_job*COUNT_W +: COUNT_W]) : '0;

  always_ff @(posedge clk) begin
    m_valid <= s_valid && !rst;
    if (s_valid) begin
      m_side <= s_side;
      m_data <= s_data;
      if (lowers) m_data[WINDOW_AT +: ina_pkg::LANE_W] <= granted;
      for (int q = 0; q < ina_pkg::QUAD_COUNT; q++)
        if (ends && s_quads == 3'(q + 1)) begin
          if (overflowed_d) m_data[q*QUAD_W + FLAGS_AT + ina_pkg::FLAG_OVERFLOW] <= 1'b1;
          if (congested_d) m_data[q*QUAD_W + FLAGS_AT + ina_pkg::FLAG_CONGESTED] <= 1'b1;
          if (asks) m_data[q*QUAD_W + FLAGS_AT + ina_pkg::FLAG_WANTED] <= 1'b1;
          m_data[q*QUAD_W + BEFORE_AT +: 16] <= s_data[q*QUAD_W + BEFORE_AT +: 16] | earlier;
        end
      for (int q = 1; q < ina_pkg::QUAD_COUNT; q++)
        if (s_quads <= 3'(q)) m_data[q*QUAD_W +: QUAD_W] <= '0;
      if (!s_raw) overflowed[s_job] <= overflowed_d;
    end
  end

  // The next job of a context does not inherit the congestion or the request of the previous job.
  always_ff @(posedge clk) begin
    wanted <= rst ? '0 : ((asks ? '0 : wanted) | context_wanted) & job_valid;
    if (s_valid && !s_raw) congested[s_job] <= congested_d && !ends;
    if (down_marked) congested[down_job] <= 1'b1;
    for (int j = 0; j < JOB_COUNT; j++) if (!job_valid[j]) congested[j] <= 1'b0;
  end

endmodule

`default_nettype wire

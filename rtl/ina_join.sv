// SPDX-License-Identifier: Apache-2.0
//
// Runs the packets that are to be summed, and raw packets of the same ports, through the tree: one
// beat a clock, without a gap between packets.
//
//   next      the length of the packet comes from the queue
//   stage 0   reads a beat, and with the first beat the headers, of every port that takes part
//   stage 1   the outputs of the RAMs
//   stage 2   the same in registers, because RAMs are slow; ina_message compares them
//   stage 3   the operands; with the first beat the packet is sent on or cancelled
//
// Packets that differ never reach the tree: the job breaks, and its packets stay in the queues, to
// be sent raw. Sums of the job that were chosen already are cancelled in the same way.
//
// m_from are the operands of the tree. m_mask are the ports that the result goes to, each with its
// own header.

`default_nettype none

module ina_join #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    parameter  int SLOT_COUNT = 128,
    // The functions of the tree, as in ina_tree.
    parameter  bit HALF_FORMATS = 1'b1,
    parameter  bit MAX_MIN      = 1'b1,
    parameter  bit INT32        = 1'b1,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int SLOT_W     = $clog2(SLOT_COUNT),
    localparam int HEADER_T_W = ina_pkg::HEADER_T_W
) (
    input  logic clk,
    input  logic rst,

    // From ina_pick.
    input  logic                  s_valid,
    output logic                  s_ready,
    input  logic                  s_raw,   // one packet, unchanged
    input  logic [JOB_W-1:0]      s_job,
    input  logic [SLOT_W-1:0]     s_slot,
    input  logic [PORT_COUNT-1:0] s_from,  // ports whose payloads it takes
    input  logic [PORT_COUNT-1:0] s_mask,  // ports by which it leaves
    input  logic                  s_part,  // the sum is a part

    // To all ports' ina_queue. A result is valid in the next clock and stays.
    output logic                                   peek_read,
    input  logic [PORT_COUNT*ina_pkg::QUADS_W-1:0] peek_quads,
    output logic                                   reads_headers,
    output logic [PORT_COUNT-1:0]                  header_read,
    output logic [PORT_COUNT-1:0]                  beat_read,
    output logic [JOB_W-1:0]                       read_job,
    output logic [SLOT_W-1:0]                      read_slot,
    output logic [ina_pkg::BEAT_INDEX_W-1:0]       read_beat,
    input  logic [PORT_COUNT*HEADER_T_W-1:0]       queue_header,
    input  logic [PORT_COUNT*ina_pkg::BEAT_W-1:0]  queue_data,

    // Jobs, as in ina_verdict.
    input  logic [JOB_COUNT-1:0] job_valid,
    input  logic [JOB_COUNT-1:0] job_broken,
    input  logic [JOB_COUNT-1:0] others_stopped,
    output logic [JOB_COUNT-1:0] stopped,
    output logic [JOB_COUNT-1:0] closing,
    output logic                 undo_valid,
    output logic [JOB_W-1:0]     undo_job,
    output logic [JOB_COUNT-1:0] mismatch,

    // To ina_rebuild: the headers, in the clock in which the packet's first beat goes into the
    // tree.
    output logic [PORT_COUNT-1:0]            settled,       // header_valid, or cancelled
    output logic [PORT_COUNT-1:0]            header_valid,
    output logic [PORT_COUNT*HEADER_T_W-1:0] header,
    output logic                             header_ce,

    // To the tree, with the fields of the beat that ina_trailer needs after it.
    output logic                                              m_load,  // valid, or cancelled
    output logic                                              m_valid,
    output logic [PORT_COUNT-1:0]                             m_mask,
    output logic [PORT_COUNT-1:0]                             m_from,
    output logic [PORT_COUNT*ina_pkg::BEAT_W-1:0]             m_data,
    output logic [ina_pkg::LANE_COUNT*ina_pkg::LANE_OP_W-1:0] m_op,
    output logic [ina_pkg::FORMAT_W-1:0]                      m_format,
    output logic                                              m_raw,
    output logic                                              m_part,
    output logic [JOB_W-1:0]                                  m_job,
    output logic [SLOT_W-1:0]                                 m_slot,
    output logic [ina_pkg::BEAT_INDEX_W-1:0]                  m_beat,
    output logic                                              m_first,
    output logic                                              m_last,
    output logic [2:0]                                        m_quads,
    output logic                                              m_starts,   // starts a message
    output logic                                              m_ends,     // ends a message
    output logic                                              m_leave,    // a LEAVE: ends the job

    output logic busy
);

  localparam int BEAT_W = ina_pkg::BEAT_W;

  // The packet of a beat, as ina_pick chose it, and the beat's place in it. Both move with the beat
  // from stage to stage.
  typedef struct packed {
    logic                  raw;
    logic                  part;
    logic [JOB_W-1:0]      job;
    logic [SLOT_W-1:0]     slot;
    logic [PORT_COUNT-1:0] from;
    logic [PORT_COUNT-1:0] mask;
  } packet_t;

  typedef struct packed {
    logic [ina_pkg::BEAT_INDEX_W-1:0] beat;
    logic                             first;
    logic                             last;
    logic [2:0]                       quads;
  } place_t;

  // The next packet. The packets of a join are compared later; until then the length of the first
  // one is used.
  logic                        next_valid;
  logic                        next_pop;
  packet_t                     next;
  logic [ina_pkg::QUADS_W-1:0] next_quads;

  // Not in the clock in which the previous packet is popped, because that is known too late in it.
  assign s_ready   = !next_valid;
  assign peek_read = s_valid && s_ready;

  always_ff @(posedge clk) begin
    if (next_pop) next_valid <= 1'b0;
    if (peek_read) next_valid <= 1'b1;
    if (peek_read) next <= {s_raw, s_part, s_job, s_slot, s_from, s_mask};
    if (rst) next_valid <= 1'b0;
  end

  always_comb begin
    next_quads = '0;
    if (next_valid)
      for (int p = PORT_COUNT - 1; p >= 0; p--)
        if (next.from[p])
          next_quads = peek_quads[p*ina_pkg::QUADS_W +: ina_pkg::QUADS_W];
  end

  // Stage 0.
  logic    s0_valid;
  packet_t s0;
  place_t  s0_at;
  logic    s0_ready;
  logic    beats_busy;

  assign next_pop = next_valid && s0_ready;

  ina_beats #(.SIDE_W($bits(next))) beats (
      .clk, .rst, .s_valid(next_valid), .s_ready(s0_ready), .s_quads(next_quads), .s_side(next),
      .waits(1'b0), .m_valid(s0_valid), .m_beat(s0_at.beat), .m_first(s0_at.first),
      .m_last(s0_at.last), .m_quads(s0_at.quads), .m_side(s0), .busy(beats_busy));

  assign beat_read     = s0_valid ? s0.from : '0;
  assign reads_headers = s0_valid && s0_at.first;
  assign header_read   = reads_headers ? s0.from : '0;
  assign read_job      = s0.job;
  assign read_slot     = s0.slot;
  assign read_beat     = s0_at.beat;

  // Stage 1.
  logic    s1_valid;
  packet_t s1;
  place_t  s1_at;

  always_ff @(posedge clk) begin
    s1_valid <= s0_valid && !rst;
    if (s0_valid) begin
      s1    <= s0;
      s1_at <= s0_at;
    end
  end

  // Stage 2.
  logic                             s2_valid;
  packet_t                          s2;
  place_t                           s2_at;
  logic [PORT_COUNT*HEADER_T_W-1:0] s2_header;
  logic [PORT_COUNT*BEAT_W-1:0]     s2_data;

  always_ff @(posedge clk) begin
    s2_valid <= s1_valid && !rst;
    if (s1_valid) begin
      s2    <= s1;
      s2_at <= s1_at;
      for (int p = 0; p < PORT_COUNT; p++) begin
        if (s1.from[p])
          s2_data[p*BEAT_W +: BEAT_W] <= queue_data[p*BEAT_W +: BEAT_W];
        if (s1.from[p] && s1_at.first)
          s2_header[p*HEADER_T_W +: HEADER_T_W] <= queue_header[p*HEADER_T_W +: HEADER_T_W];
      end
    end
  end

  // Stage 3: its registers are the outputs to the tree and to ina_rebuild.
  logic s3_valid;
  logic differs;  // the packets to be summed do not match
  logic leave;
  logic begins;

  always_ff @(posedge clk) begin
    s3_valid <= s2_valid && !rst;
    if (s2_valid) begin
      m_raw   <= s2.raw;
      m_part  <= s2.part;
      m_job   <= s2.job;
      m_slot  <= s2.slot;
      m_from  <= s2.from;
      m_mask  <= s2.mask;
      m_beat  <= s2_at.beat;
      m_first <= s2_at.first;
      m_last  <= s2_at.last;
      m_quads <= s2_at.quads;
      for (int p = 0; p < PORT_COUNT; p++) begin
        if (s2.from[p])
          m_data[p*BEAT_W +: BEAT_W] <= s2_data[p*BEAT_W +: BEAT_W];
        if (s2.mask[p] && s2_at.first) begin
          header[p*HEADER_T_W +: HEADER_T_W] <= s2_header[p*HEADER_T_W +: HEADER_T_W];
          // RoCEv2 permits UDP checksum 0, and the old checksum would be wrong for the new payload.
          header[p*HEADER_T_W + ina_pkg::UDP_CHECKSUM_AT*8 +: 16] <= '0;
        end
      end
    end
  end

  ina_message #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .HALF_FORMATS(HALF_FORMATS),
                .MAX_MIN(MAX_MIN), .INT32(INT32)) message (
      .clk, .rst, .job_valid,
      .s_valid(s2_valid), .s_raw(s2.raw), .s_job(s2.job), .s_from(s2.from),
      .s_first(s2_at.first), .s_last(s2_at.last), .s_quads(s2_at.quads), .s_header(s2_header),
      .s_data(s2_data),
      .m_differs(differs), .m_marked(header_ce), .m_op, .m_format, .m_starts, .m_ends,
      .m_leave(leave));

  // The LEAVE of a part does not end the job: its sum is still to come.
  assign m_leave = leave && !m_part;

  ina_verdict #(.JOB_COUNT(JOB_COUNT)) verdict (
      .clk, .rst, .job_valid, .job_broken, .others_stopped,
      .s_next_job(s2.job), .s_valid(s3_valid), .s_first(m_first), .s_job(m_job), .s_sums(!m_raw),
      .s_wrong(differs), .s_leave(m_leave), .s_refuse(1'b0), .begins, .m_valid, .stopped, .closing,
      .undo_valid, .undo_job, .mismatch);

  assign m_load       = s3_valid;
  assign settled      = begins ? m_mask : '0;
  assign header_valid = (begins && m_valid) ? m_mask : '0;

  assign busy = next_valid || beats_busy || s1_valid || s2_valid || s3_valid || undo_valid;

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// Runs the packets that need no addition past the tree, so that they do not occupy it: sums from
// above, retransmissions with a sum from the history, probes, and raw packets of the uplinks. One
// beat a clock, without a gap between packets:
//
//   next      reads the packet's length from the queue, and its sum's or part's from the history
//   stage 0   reads a beat, and with the first beat the headers; waits while ina_join reads headers
//   stage 1   the outputs of the RAMs
//   stage 2   the same in registers, because RAMs are slow; ina_alike compares them
//   stage 3   with the first beat the packet is sent on or cancelled
//   out       the beat, with zeros after the end of the packet
//
// A sum from above leaves with the headers of all packets that have waited for it. It is compared
// with their opcodes and lengths, and with the part of the same number, which is read from the
// history in the same clocks. If they differ, the job breaks, as in ina_join.
//
// A retransmission whose length differs from that of its sum is cancelled too: after the end of the
// sum the history holds bytes of other packets.

`default_nettype none

module ina_relay #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    parameter  int SLOT_COUNT = 128,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int SLOT_W     = $clog2(SLOT_COUNT),
    localparam int HEADER_T_W = ina_pkg::HEADER_T_W
) (
    input  logic clk,
    input  logic rst,

    // From ina_pick.
    input  logic                        s_valid,
    output logic                        s_ready,
    input  logic [1:0]                  s_kind,     // DOWN, RESEND or RAW
    input  logic [JOB_W-1:0]            s_job,
    input  logic [SLOT_W-1:0]           s_slot,
    // Ports whose payload it takes; or the ports of retransmissions, whose headers it takes.
    input  logic [PORT_COUNT-1:0]       s_from,
    input  logic [PORT_COUNT-1:0]       s_mask,     // ports by which it leaves
    input  logic                        s_above,    // a retransmission: its sum came from above
    input  logic                        s_probe,    // a probe
    input  logic                        s_dropped,  // its sum was overwritten: only remove it
    input  logic [ina_pkg::QUADS_W-1:0] s_quads,    // a retransmission or probe: its length

    // To all ports' ina_queue. A result is valid in the next clock and stays.
    output logic                                   peek_read,
    input  logic [PORT_COUNT*ina_pkg::QUADS_W-1:0] peek_quads,
    input  logic                                   others_read,  // ina_join reads headers now
    output logic [PORT_COUNT-1:0]                  header_read,
    output logic                                   read_resend,  // those of retransmissions
    output logic [PORT_COUNT-1:0]                  beat_read,
    output logic [JOB_W-1:0]                       read_job,
    output logic [SLOT_W-1:0]                      read_slot,
    output logic [ina_pkg::BEAT_INDEX_W-1:0]       read_beat,
    input  logic [PORT_COUNT*HEADER_T_W-1:0]       queue_header,
    input  logic [PORT_COUNT*ina_pkg::BEAT_W-1:0]  queue_data,

    // To both histories, at the same place: that of the sums made here, and that of the sums from
    // above.
    output logic                        history_read,
    input  logic [ina_pkg::BEAT_W-1:0]  here_data,
    input  logic [ina_pkg::QUADS_W-1:0] here_quads,  // length, read with peek_read
    input  logic [ina_pkg::BEAT_W-1:0]  above_data,
    input  logic [ina_pkg::QUADS_W-1:0] above_quads,

    // Removes the oldest retransmission of these ports, when its packet begins.
    output logic [PORT_COUNT-1:0] resend_pop,

    // One clock, for ina_counters: ports whose retransmission is answered, and ports whose
    // retransmission is dropped because its length differs from that of its sum.
    output logic [PORT_COUNT-1:0] resend_answered,
    output logic [PORT_COUNT-1:0] resend_differed,

    // Jobs, as in ina_verdict.
    input  logic [JOB_COUNT-1:0] job_valid,
    input  logic [JOB_COUNT-1:0] job_broken,
    input  logic [JOB_COUNT-1:0] others_stopped,
    output logic [JOB_COUNT-1:0] stopped,
    output logic [JOB_COUNT-1:0] closing,
    output logic                 undo_valid,
    output logic [JOB_W-1:0]     undo_job,
    output logic [JOB_COUNT-1:0] mismatch,

    // To ina_rebuild: the headers, before the first beat of the packet.
    output logic [PORT_COUNT-1:0]            settled,       // header_valid, or cancelled
    output logic [PORT_COUNT-1:0]            header_valid,
    output logic [PORT_COUNT*HEADER_T_W-1:0] header,
    output logic                             header_ce,

    // The beats.
    output logic                             m_valid,
    output logic [PORT_COUNT-1:0]            m_mask,
    output logic [ina_pkg::BEAT_W-1:0]       m_data,
    output logic [1:0]                       m_kind,
    output logic [JOB_W-1:0]                 m_job,
    output logic [SLOT_W-1:0]                m_slot,
    output logic [ina_pkg::BEAT_INDEX_W-1:0] m_beat,
    output logic                             m_first,
    output logic                             m_last,
    output logic [2:0]                       m_quads,
    output logic                             m_leave,  // the packet is a LEAVE
    output logic                             m_marked,  // KIND_DOWN: came with ECN = 3

    output logic busy
);

  localparam int BEAT_W  = ina_pkg::BEAT_W;
  localparam int QUADS_W = ina_pkg::QUADS_W;
  localparam int EQUAL_W = ina_pkg::EQUAL_LANES * ina_pkg::LANE_W;
  localparam int TYPE_AT   = ina_pkg::MESSAGE_TYPE_AT * 8;
  localparam int WINDOW_AT = ina_pkg::MESSAGE_WINDOW_AT * 8;

  // The packet of a beat, as ina_pick chose it, and the beat's place in it. Both move with the beat
  // from stage to stage.
  typedef struct packed {
    logic [1:0]            kind;
    logic [JOB_W-1:0]      job;
    logic [SLOT_W-1:0]     slot;
    logic [PORT_COUNT-1:0] from;
    logic [PORT_COUNT-1:0] mask;
    logic                  above;
    logic                  probe;
    logic                  dropped;
    logic                  differs;  // its length differs from that in the history
  } packet_t;

  typedef struct packed {
    logic [ina_pkg::BEAT_INDEX_W-1:0] beat;
    logic                             first;
    logic                             last;
    logic [2:0]                       quads;
  } place_t;

  // The next packet.
  logic               next_valid;
  logic               next_pop;
  packet_t            next;
  packet_t            next_compared;
  logic [QUADS_W-1:0] next_resend_quads;
  logic [QUADS_W-1:0] next_quads;
  logic               next_resends;

  // Not in the clock in which the previous packet is popped, because that is known too late in it.
  assign s_ready      = !next_valid;
  assign peek_read    = s_valid && s_ready;
  assign next_resends = next.kind == ina_pkg::KIND_RESEND;

  always_ff @(posedge clk) begin
    if (next_pop) next_valid <= 1'b0;
    if (peek_read) next_valid <= 1'b1;
    if (peek_read) begin
      next <= {s_kind, s_job, s_slot, s_from, s_mask, s_above, s_probe, s_dropped, 1'b0};
      next_resend_quads <= s_quads;
    end
    if (rst) next_valid <= 1'b0;
  end

  always_comb begin
    next_quads = next_resends ? next_resend_quads : '0;
    if (next_valid && !next_resends)
      for (int p = 0; p < PORT_COUNT; p++)
        if (next.from[p]) next_quads = next_quads | peek_quads[p*QUADS_W +: QUADS_W];
    next_compared = next;
    case (next.kind)
      ina_pkg::KIND_RESEND: next_compared.differs = !next.probe
          && next_quads != (next.above ? above_quads : here_quads);
      ina_pkg::KIND_DOWN:   next_compared.differs = next_quads != here_quads;
      default:              next_compared.differs = 1'b0;
    endcase
  end

  // Stage 0.
  logic    s0_valid;
  packet_t s0;
  place_t  s0_at;
  logic    s0_ready;
  logic    beats_busy;

  assign next_pop = next_valid && s0_ready;

  ina_beats #(.SIDE_W($bits(next))) beats (
      .clk, .rst, .s_valid(next_valid), .s_ready(s0_ready), .s_quads(next_quads),
      .s_side(next_compared), .waits(others_read), .m_valid(s0_valid), .m_beat(s0_at.beat),
      .m_first(s0_at.first), .m_last(s0_at.last), .m_quads(s0_at.quads), .m_side(s0),
      .busy(beats_busy));

  assign read_resend  = s0.kind == ina_pkg::KIND_RESEND;
  assign beat_read    = (s0_valid && !read_resend) ? s0.from : '0;
  assign header_read  = (s0_valid && s0_at.first) ? s0.from | s0.mask : '0;
  assign history_read = s0_valid
      && (read_resend || (s0.kind == ina_pkg::KIND_DOWN && s0_at.first));
  assign read_job     = s0.job;
  assign read_slot    = s0.slot;
  assign read_beat    = s0_at.beat;

  // Stage 1.
  logic              s1_valid;
  packet_t           s1;
  place_t            s1_at;
  logic              s1_resends;
  logic [BEAT_W-1:0] s1_queue;  // the beat of the port that it takes

  assign s1_resends = s1.kind == ina_pkg::KIND_RESEND;

  always_comb begin
    s1_queue = '0;
    if ((s1_valid && !s1_resends) || !ina_pkg::SIMULATED)
      for (int p = 0; p < PORT_COUNT; p++)
        if (s1.from[p]) s1_queue = s1_queue | queue_data[p*BEAT_W +: BEAT_W];
  end

  always_ff @(posedge clk) begin
    s1_valid   <= s0_valid && !rst;
    resend_pop <= (s0_valid && s0_at.first && read_resend && !rst) ? s0.mask : '0;
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
  logic [BEAT_W-1:0]                s2_data;
  // The lanes of the part that must be equal in the sum from above.
  logic [EQUAL_W-1:0]               s2_part;
  // The part's lane of the window, if it is a JOIN.
  logic [ina_pkg::LANE_W-1:0]       s2_part_window;

  always_ff @(posedge clk) begin
    s2_valid <= s1_valid && !rst;
    if (s1_valid) begin
      s2    <= s1;
      s2_at <= s1_at;
      // A probe has zeros as payload.
      s2_data <= !s1_resends ? s1_queue : s1.probe ? '0 : s1.above ? above_data : here_data;
      for (int p = 0; p < PORT_COUNT; p++)
        if ((s1.from[p] || s1.mask[p]) && s1_at.first)
          s2_header[p*HEADER_T_W +: HEADER_T_W] <= queue_header[p*HEADER_T_W +: HEADER_T_W];
      if (s1_at.first) begin
        s2_part        <= here_data[EQUAL_W-1:0];
        s2_part_window <= here_data[WINDOW_AT +: ina_pkg::LANE_W];
      end
    end
  end

  // The fields of the packet from above.
  logic [7:0]         opcode;
  logic [QUADS_W-1:0] quads;
  logic [7:0]         message_type;
  logic               marked;

  always_comb begin
    opcode = '0;
    quads  = '0;
    marked = 1'b0;
    if ((s2_valid && s2_at.first) || !ina_pkg::SIMULATED) begin
      for (int p = 0; p < PORT_COUNT; p++) begin
        if (s2.from[p]) begin
          opcode = opcode | s2_header[p*HEADER_T_W + ina_pkg::BTH_OPCODE_AT*8 +: 8];
          quads  = quads | s2_header[p*HEADER_T_W + ina_pkg::QUADS_AT +: QUADS_W];
          marked = marked | s2_header[p*HEADER_T_W + ina_pkg::CONGESTED_AT];
        end
      end
    end
  end

  assign message_type = s2_data[TYPE_AT +: 8];

  // Stage 3.
  logic              s3_valid;
  packet_t           s3;
  place_t            s3_at;
  logic [BEAT_W-1:0] s3_data;
  logic              s3_leave;
  logic              s3_goes_on;
  logic              downs;    // the first beat of a packet from above
  logic              differs;
  // A JOIN from above grants more than the part: its sum was made without this part.
  logic              grants_more;
  logic              begins;
  logic              answers;  // the first beat of an answer with a sum

  assign downs = s2_valid && s2_at.first && s2.kind == ina_pkg::KIND_DOWN;

  ina_alike #(.HEADER_COUNT(PORT_COUNT), .BEAT_COUNT(2)) alike (
      .clk, .s_valid(downs), .s_header_mask(s2.from | s2.mask), .s_header(s2_header),
      .s_beat_mask(2'b11), .s_lanes({s2_part, s2_data[EQUAL_W-1:0]}),
      .s_starts(opcode == ina_pkg::RC_SEND_FIRST || opcode == ina_pkg::RC_SEND_ONLY),
      .s_join(message_type == ina_pkg::TYPE_JOIN), .m_differs(differs));

  always_ff @(posedge clk) begin
    s3_valid <= s2_valid && !rst;
    if (downs)
      grants_more <= opcode == ina_pkg::RC_SEND_ONLY && message_type == ina_pkg::TYPE_JOIN
          && $signed(s2_data[WINDOW_AT +: ina_pkg::LANE_W]) < $signed(s2_part_window);
    if (s2_valid) begin
      s3      <= s2;
      s3_at   <= s2_at;
      s3_data <= s2_data;
      if (s2_at.first) begin
        header_ce <= downs && marked;
        s3_leave  <= s2.kind != ina_pkg::KIND_RESEND && opcode == ina_pkg::RC_SEND_ONLY
            && quads == QUADS_W'(ina_pkg::JOIN_QUADS)
            && s2_data[TYPE_AT-1:0] == ina_pkg::MESSAGE_MAGIC_VERSION
            && message_type == ina_pkg::TYPE_LEAVE;
        for (int p = 0; p < PORT_COUNT; p++) begin
          if (s2.mask[p]) begin
            header[p*HEADER_T_W +: HEADER_T_W] <= s2_header[p*HEADER_T_W +: HEADER_T_W];
            // RoCEv2 permits UDP checksum 0, and the old checksum would be wrong for the new
            // payload.
            header[p*HEADER_T_W + ina_pkg::UDP_CHECKSUM_AT*8 +: 16] <= '0;
          end
        end
      end
    end
  end

  ina_verdict #(.JOB_COUNT(JOB_COUNT)) verdict (
      .clk, .rst, .job_valid, .job_broken, .others_stopped,
      .s_next_job(s2.job), .s_valid(s3_valid), .s_first(s3_at.first), .s_job(s3.job),
      .s_sums(s3.kind == ina_pkg::KIND_DOWN), .s_wrong(differs || grants_more || s3.differs), .s_leave(s3_leave),
      .s_refuse(s3.dropped || s3.differs), .begins, .m_valid(s3_goes_on), .stopped, .closing,
      .undo_valid, .undo_job, .mismatch);

  assign settled      = begins ? s3.mask : '0;
  assign header_valid = (begins && s3_goes_on) ? s3.mask : '0;
  assign answers      = begins && s3.kind == ina_pkg::KIND_RESEND && !s3.probe && !s3.dropped;
  assign resend_answered = (answers && !s3.differs) ? s3.mask : '0;
  assign resend_differed = (answers && s3.differs) ? s3.mask : '0;

  // The output.
  always_ff @(posedge clk) begin
    m_valid <= s3_goes_on && !rst;
    if (s3_valid) begin
      m_kind  <= s3.kind;
      m_job   <= s3.job;
      m_slot  <= s3.slot;
      m_mask  <= s3.mask;
      m_beat  <= s3_at.beat;
      m_first <= s3_at.first;
      m_last  <= s3_at.last;
      m_quads <= s3_at.quads;
      m_leave <= s3_leave;
      m_marked <= header_ce;
      m_data  <= s3_data;
      for (int q = 1; q < ina_pkg::QUAD_COUNT; q++)
        if (s3_at.quads <= 3'(q)) m_data[q*ina_pkg::QUAD_W +: ina_pkg::QUAD_W] <= '0;
    end
  end

  logic unused;
  assign unused = &{s3.from, s3.above};

  assign busy = next_valid || beats_busy || s1_valid || s2_valid || s3_valid || m_valid || undo_valid;

endmodule

`default_nettype wire

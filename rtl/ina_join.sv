// SPDX-License-Identifier: Apache-2.0
//
// Runs the chosen packets through the tree, one beat a clock, without a gap between packets:
//
//   next      the packet's length comes from the queue
//   stage 0   reads a beat (and with the first beat the headers) of every port that takes part
//   stage 1   the RAMs' outputs
//   stage 2   these in registers, for RAMs are slow; ina_message compares them
//   stage 3   the operands; with the first beat the packet goes on or is called off
//
// What differs never reaches the tree: the job breaks, and its packets stay in the queues, to go
// out raw. Sums behind it that were chosen already are called off in the same way. What came from
// above is held against the part of the same number, which is read from the history beside it.
//
// A retransmission of another length than its sum's is called off too: behind the end of the sum the
// history has what others left there.
//
// A retransmission has one operand, the sum from the history, and it is always the first; what came
// from above is one too. m_leaves are the tree's operands, m_mask the ports that the result goes to,
// each with its own header.

`default_nettype none

module ina_join #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    parameter  int SLOT_COUNT = 128,
    // What is in the tree, as ina_tree has it.
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
    input  logic [1:0]            s_kind,
    input  logic [JOB_W-1:0]      s_job,
    input  logic [SLOT_W-1:0]     s_slot,
    input  logic [PORT_COUNT-1:0] s_from,     // whose payloads it takes; or headers of retransmissions
    input  logic [PORT_COUNT-1:0] s_mask,     // where it leaves
    input  logic                  s_part,     // the history in question is that of parts
    input  logic                  s_probe,    // of a retransmission
    input  logic                  s_dropped,  // the sum has left the history: only taken out

    // To all ports' ina_queue, whose results come in the next clock and stay.
    output logic                                  peek_read,
    input  logic [PORT_COUNT*ina_pkg::QUADS_W-1:0] peek_quads,
    output logic [PORT_COUNT-1:0]                 header_read,
    output logic [PORT_COUNT-1:0]                 beat_read,
    output logic [JOB_W-1:0]                      read_job,
    output logic [SLOT_W-1:0]                     read_slot,
    output logic                                  read_resend,  // a retransmission's header
    output logic [ina_pkg::BEAT_INDEX_W-1:0]      read_beat,
    input  logic [PORT_COUNT*HEADER_T_W-1:0]      queue_header,
    input  logic [PORT_COUNT*ina_pkg::BEAT_W-1:0] queue_data,

    // To ina_history, read at the same place.
    output logic                       history_read,
    output logic                       history_part,
    input  logic [ina_pkg::BEAT_W-1:0] history_data,
    input  logic [ina_pkg::QUADS_W-1:0] history_quads,  // the sum's length, as peek_quads

    // Each port's oldest retransmission is removed when its packet begins.
    output logic [PORT_COUNT-1:0] resend_pop,

    // One clock, for ina_counters: the ports whose retransmission is answered, or dropped because
    // its length is not the sum's.
    output logic [PORT_COUNT-1:0] resend_answered,
    output logic [PORT_COUNT-1:0] resend_differed,

    // Jobs.
    input  logic [JOB_COUNT-1:0] job_valid,
    input  logic [JOB_COUNT-1:0] job_broken,
    output logic [JOB_COUNT-1:0] job_closing,     // its LEAVEs are in the tree
    // In the clock after `settled`:
    output logic                 mismatch_valid,  // the job breaks
    output logic                 undo_valid,      // a chosen sum was called off
    output logic                 undo_part,       // ... that would have been a part
    output logic [JOB_W-1:0]     undo_job,        // of both

    // To ina_rebuild: the headers, with the packet's first beat into the tree.
    output logic [PORT_COUNT-1:0]            settled,       // header_valid, or called off
    output logic [PORT_COUNT-1:0]            header_valid,
    output logic [PORT_COUNT*HEADER_T_W-1:0] header,
    output logic                             header_ce,

    // To the tree, and what ina_trailer behind it must know of the beat.
    output logic                                              m_load,  // m_valid, or called off: known early
    output logic                                              m_valid,
    output logic [PORT_COUNT-1:0]                             m_mask,
    output logic [PORT_COUNT-1:0]                             m_leaves,
    output logic [PORT_COUNT*ina_pkg::BEAT_W-1:0]             m_data,
    output logic [ina_pkg::LANE_COUNT*ina_pkg::LANE_OP_W-1:0] m_op,
    output logic [ina_pkg::FORMAT_W-1:0]                      m_format,
    output logic [1:0]                                        m_kind,
    output logic                                              m_part,
    output logic [JOB_W-1:0]                                  m_job,
    output logic [SLOT_W-1:0]                                 m_slot,
    output logic [ina_pkg::BEAT_INDEX_W-1:0]                  m_beat,
    output logic                                              m_first,
    output logic                                              m_last,
    output logic [2:0]                                        m_quads,
    output logic                                              m_starts,   // packet starts a message
    output logic                                              m_ends,     // packet ends a message
    output logic                                              m_leave,    // it ends with this LEAVE

    output logic busy
);

  localparam int BEAT_W  = ina_pkg::BEAT_W;
  localparam int EQUAL_W = ina_pkg::EQUAL_LANES * ina_pkg::LANE_W;

  // What goes with a beat from stage to stage: its packet, as ina_pick chose it, and its place in
  // it.
  typedef struct packed {
    logic [1:0]            kind;
    logic [JOB_W-1:0]      job;
    logic [SLOT_W-1:0]     slot;
    logic [PORT_COUNT-1:0] from;
    logic [PORT_COUNT-1:0] mask;
    logic                  part;
    logic                  probe;
    logic                  dropped;
    logic                  differs;  // in length from what the history has
  } packet_t;

  typedef struct packed {
    logic [ina_pkg::BEAT_INDEX_W-1:0] beat;
    logic                             first;
    logic                             last;
    logic [2:0]                       quads;
  } place_t;

  // The next packet. A join's packets are compared later; until then the first one's length holds.
  logic                        next_valid;
  logic                        next_pop;
  packet_t                     next;
  packet_t                     next_compared;
  logic [ina_pkg::QUADS_W-1:0] next_quads;

  assign s_ready   = !next_valid || next_pop;
  assign peek_read = s_valid && s_ready;

  always_ff @(posedge clk) begin
    if (s_ready) next_valid <= s_valid;
    if (peek_read) next <= {s_kind, s_job, s_slot, s_from, s_mask, s_part, s_probe, s_dropped, 1'b0};
    if (rst) next_valid <= 1'b0;
  end

  always_comb begin
    next_quads = '0;
    if (next_valid)
      for (int p = PORT_COUNT - 1; p >= 0; p--)
        if (next.from[p])
          next_quads = peek_quads[p*ina_pkg::QUADS_W +: ina_pkg::QUADS_W];
    next_compared         = next;
    next_compared.differs = ((next.kind == ina_pkg::KIND_RESEND && !next.probe)
                             || next.kind == ina_pkg::KIND_DOWN) && next_quads != history_quads;
  end

  // Stage 0.
  logic                             s0_valid;
  packet_t                          s0;
  logic [ina_pkg::BEAT_INDEX_W-1:0] s0_beat;
  logic [ina_pkg::BEAT_INDEX_W-1:0] s0_last_beat;
  logic [2:0]                       s0_last_quads;
  logic                             s0_first;
  logic                             s0_last;
  logic [ina_pkg::BEAT_INDEX_W+1:0] next_quads_less_1;
  logic                             unused_borrow;  // a packet has 256 quads at most

  assign {unused_borrow, next_quads_less_1} = next_quads - 1'b1;
  assign next_pop = next_valid && (!s0_valid || s0_last);

  always_ff @(posedge clk) begin
    if (!s0_valid || s0_last) s0_valid <= next_valid;
    if (next_pop) begin
      s0            <= next_compared;
      s0_beat       <= '0;
      s0_first      <= 1'b1;
      s0_last       <= next_quads <= ina_pkg::QUADS_W'(ina_pkg::QUAD_COUNT);
      s0_last_beat  <= next_quads_less_1[2 +: ina_pkg::BEAT_INDEX_W];
      s0_last_quads <= {1'b0, next_quads_less_1[1:0]} + 1'b1;
    end else if (s0_valid) begin
      s0_beat  <= s0_beat + 1'b1;
      s0_first <= 1'b0;
      s0_last  <= s0_beat + 1'b1 == s0_last_beat;
    end
    if (rst) s0_valid <= 1'b0;
  end

  assign read_resend  = s0.kind == ina_pkg::KIND_RESEND;
  assign beat_read    = (s0_valid && !read_resend) ? s0.from : '0;
  assign header_read  = (s0_valid && s0_first) ? s0.from | s0.mask : '0;
  assign history_read = s0_valid
      && (read_resend || (s0.kind == ina_pkg::KIND_DOWN && s0_first));
  assign history_part = s0.part;
  assign read_job     = s0.job;
  assign read_slot    = s0.slot;
  assign read_beat    = s0_beat;

  // Stage 1.
  logic    s1_valid;
  packet_t s1;
  place_t  s1_at;
  logic    s1_resend;

  assign s1_resend  = s1.kind == ina_pkg::KIND_RESEND;
  assign resend_pop = (s1_valid && s1_resend && s1_at.first) ? s1.mask : '0;

  always_ff @(posedge clk) begin
    s1_valid <= s0_valid && !rst;
    if (s0_valid) begin
      s1    <= s0;
      s1_at <= {s0_beat, s0_first, s0_last, s0_last ? s0_last_quads : 3'd4};
    end
  end

  // Stage 2.
  logic                             s2_valid;
  packet_t                          s2;
  place_t                           s2_at;
  logic [PORT_COUNT*HEADER_T_W-1:0] s2_header;
  logic [PORT_COUNT*BEAT_W-1:0]     s2_data;
  logic [EQUAL_W-1:0]               s2_part;  // of the part, the lanes that it must share

  always_ff @(posedge clk) begin
    s2_valid <= s1_valid && !rst;
    if (s1_valid) begin
      s2    <= s1;
      s2_at <= s1_at;
      for (int p = 0; p < PORT_COUNT; p++) begin
        if (s1.from[p] && !s1_resend)
          s2_data[p*BEAT_W +: BEAT_W] <= queue_data[p*BEAT_W +: BEAT_W];
        if ((s1.from[p] || s1.mask[p]) && s1_at.first)
          s2_header[p*HEADER_T_W +: HEADER_T_W] <= queue_header[p*HEADER_T_W +: HEADER_T_W];
      end
      // A probe has no payload of its own: zeros.
      if (s1_resend) s2_data[BEAT_W-1:0] <= s1.probe ? '0 : history_data;
      if (s1.kind == ina_pkg::KIND_DOWN && s1_at.first) s2_part <= history_data[EQUAL_W-1:0];
    end
  end

  // Stage 3: its registers are the outputs to the tree and to ina_rebuild.
  logic s3_valid;
  logic s3_probe;
  logic s3_dropped;
  logic s3_differs;
  logic differs;  // what was to be summed
  logic leave;

  always_ff @(posedge clk) begin
    s3_valid <= s2_valid && !rst;
    if (s2_valid) begin
      m_kind     <= s2.kind;
      m_job      <= s2.job;
      m_slot     <= s2.slot;
      m_part     <= s2.part;
      m_mask     <= s2.mask;
      m_leaves   <= (s2.kind == ina_pkg::KIND_RESEND) ? PORT_COUNT'(1) : s2.from;
      m_beat     <= s2_at.beat;
      m_first    <= s2_at.first;
      m_last     <= s2_at.last;
      m_quads    <= s2_at.quads;
      s3_probe   <= s2.probe;
      s3_dropped <= s2.dropped;
      s3_differs <= s2.differs;
      for (int p = 0; p < PORT_COUNT; p++) begin
        if (s2.from[p] || p == 0)
          m_data[p*BEAT_W +: BEAT_W] <= s2_data[p*BEAT_W +: BEAT_W];
        if (s2.mask[p] && s2_at.first) begin
          header[p*HEADER_T_W +: HEADER_T_W] <= s2_header[p*HEADER_T_W +: HEADER_T_W];
          // RoCEv2 allows no UDP checksum, and that of another payload would be wrong.
          header[p*HEADER_T_W + ina_pkg::UDP_CHECKSUM_AT*8 +: 16] <= '0;
        end
      end
    end
  end

  ina_message #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .HALF_FORMATS(HALF_FORMATS),
                .MAX_MIN(MAX_MIN), .INT32(INT32)) message (
      .clk, .rst, .job_valid,
      .s_valid(s2_valid), .s_kind(s2.kind), .s_job(s2.job), .s_from(s2.from), .s_mask(s2.mask),
      .s_first(s2_at.first), .s_last(s2_at.last), .s_quads(s2_at.quads), .s_header(s2_header),
      .s_data(s2_data), .s_part(s2_part),
      .m_differs(differs), .m_marked(header_ce), .m_op, .m_format, .m_starts, .m_ends,
      .m_leave(leave));

  // A job whose packets were not alike is over at once; ina_jobs says so a little later.
  logic [JOB_COUNT-1:0] differed;
  logic                 stale;   // chosen before its job broke or ended
  logic                 sums;    // a packet that was to be summed, or is the sum from above
  logic                 wrong;
  logic                 undo;
  logic                 refuse_d;  // undone, or dropped
  logic                 refuse_q;
  logic                 begins;   // the first beat
  logic                 answers;  // ... of a retransmission whose sum is there

  assign begins       = s3_valid && m_first;
  assign stale        = job_broken[m_job] || job_closing[m_job] || !job_valid[m_job]
      || differed[m_job];
  assign sums         = m_kind == ina_pkg::KIND_JOIN || m_kind == ina_pkg::KIND_DOWN;
  assign wrong        = differs || (m_kind == ina_pkg::KIND_DOWN && s3_differs);
  assign undo         = sums && (stale || wrong);
  assign m_leave      = leave && !(m_kind == ina_pkg::KIND_JOIN && m_part);
  assign refuse_d     = undo || s3_dropped || s3_differs;
  assign m_load       = s3_valid;
  assign m_valid      = s3_valid && !(m_first ? refuse_d : refuse_q);
  assign settled      = begins ? m_mask : '0;
  assign header_valid = (begins && !refuse_d) ? m_mask : '0;
  assign answers      = begins && m_kind == ina_pkg::KIND_RESEND && !s3_probe && !s3_dropped;
  assign resend_answered = (answers && !s3_differs) ? m_mask : '0;
  assign resend_differed = (answers && s3_differs) ? m_mask : '0;

  always_ff @(posedge clk) begin
    undo_valid     <= begins && undo && !rst;
    mismatch_valid <= begins && undo && !stale && !rst;
    if (begins) begin
      refuse_q  <= refuse_d;
      undo_job  <= m_job;
      undo_part <= m_kind == ina_pkg::KIND_JOIN && m_part;
      if (sums) begin
        if (!undo && m_leave) job_closing[m_job] <= 1'b1;
        if (wrong) differed[m_job] <= 1'b1;
      end
    end
    for (int j = 0; j < JOB_COUNT; j++) begin
      if (!job_valid[j]) begin
        job_closing[j] <= 1'b0;
        differed[j]    <= 1'b0;
      end
    end
    if (rst) begin
      job_closing <= '0;
      differed    <= '0;
    end
  end

  assign busy = next_valid || s0_valid || s1_valid || s2_valid || s3_valid || undo_valid;

endmodule

`default_nettype wire

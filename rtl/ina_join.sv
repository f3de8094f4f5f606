// SPDX-License-Identifier: Apache-2.0
//
// Runs the chosen packets through the tree, one beat a clock, without a gap between packets:
//
//   next      the packet's length comes from the queue
//   stage 0   reads a beat (and with the first beat the headers) of every port that takes part
//   stage 1   the RAMs' outputs
//   stage 2   the operands; the first beat decides whether the packets of a join are alike
//
// What differs never reaches the tree: the job breaks, and its packets stay in the queues, to go
// out raw. Joins behind it that were chosen already are called off in the same way.

module ina_join #(
    parameter int PORT_COUNT = 4,
    parameter int JOB_COUNT  = 4,
    parameter int SLOT_COUNT = 128,
    // What is in the tree, as ina_tree has it.
    parameter bit HALF_FORMATS = 1'b1,
    parameter bit MAX_MIN      = 1'b1,
    parameter bit INT32        = 1'b1,
    parameter int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    parameter int SLOT_W     = $clog2(SLOT_COUNT),
    parameter int HEADER_T_W = ina_pkg::HEADER_T_W
) (
    input  logic clk,
    input  logic rst,

    // From ina_pick.
    input  logic                  s_valid,
    output logic                  s_ready,
    input  logic [1:0]            s_kind,
    input  logic [JOB_W-1:0]      s_job,
    input  logic [SLOT_W-1:0]     s_slot,
    input  logic [PORT_COUNT-1:0] s_mask,
    input  logic                  s_probe,
    input  logic                  s_dropped,  // the sum has left the history: only taken out

    // To all ports' ina_queue, whose results come in the next clock and stay.
    output logic                                  peek_read,
    input  logic [PORT_COUNT*ina_pkg::QUADS_W-1:0] peek_quads,
    output logic [PORT_COUNT-1:0]                 header_read,
    output logic [PORT_COUNT-1:0]                 beat_read,
    output logic [JOB_W-1:0]                      read_job,
    output logic [SLOT_W-1:0]                     read_slot,
    output logic [ina_pkg::BEAT_INDEX_W-1:0]      read_beat,
    input  logic [PORT_COUNT*HEADER_T_W-1:0]      queue_header,
    input  logic [PORT_COUNT*ina_pkg::BEAT_W-1:0] queue_data,

    // To ina_history, read at the same place.
    output logic                       history_read,
    input  logic [ina_pkg::BEAT_W-1:0] history_data,

    // The oldest retransmission's header of each port; removed when its packet begins.
    input  logic [PORT_COUNT*HEADER_T_W-1:0] resend_header,
    output logic [PORT_COUNT-1:0]            resend_pop,

    // Jobs.
    input  logic [JOB_COUNT-1:0] job_valid,
    input  logic [JOB_COUNT-1:0] job_broken,
    output logic [JOB_COUNT-1:0] job_closing,     // its LEAVEs are in the tree
    output logic                 mismatch_valid,  // the job breaks
    output logic                 undo_valid,      // a chosen join was called off
    output logic [JOB_W-1:0]     active_job,      // of both
    output logic [PORT_COUNT-1:0] active_mask,    // its ports

    // To ina_rebuild: the headers, with the packet's first beat into the tree.
    output logic [PORT_COUNT-1:0]            settled,       // header_valid, or called off
    output logic [PORT_COUNT-1:0]            header_valid,
    output logic [PORT_COUNT*HEADER_T_W-1:0] header,
    output logic                             header_ce,

    // To the tree, and what ina_trailer behind it must know of the beat.
    output logic                                              m_valid,
    output logic [PORT_COUNT-1:0]                             m_mask,
    output logic [PORT_COUNT*ina_pkg::BEAT_W-1:0]             m_data,
    output logic [ina_pkg::LANE_COUNT*ina_pkg::LANE_OP_W-1:0] m_op,
    output logic [ina_pkg::FORMAT_W-1:0]                      m_format,
    output logic [1:0]                                        m_kind,
    output logic [JOB_W-1:0]                                  m_job,
    output logic [SLOT_W-1:0]                                 m_slot,
    output logic [ina_pkg::BEAT_INDEX_W-1:0]                  m_beat,
    output logic                                              m_first,
    output logic                                              m_last,
    output logic [2:0]                                        m_quads,
    output logic                                              m_starts,   // packet starts a message
    output logic                                              m_ends,     // packet ends a message
    output logic                                              m_leave,    // packet is a LEAVE

    output logic busy
);

  localparam int OPCODE_AT = ina_pkg::BTH_OPCODE_AT * 8;
  localparam int EQUAL_W   = ina_pkg::EQUAL_LANES * ina_pkg::LANE_W;
  localparam int RULE_W    = ina_pkg::LANE_OP_W + ina_pkg::FORMAT_W;

  // The next packet. A join's packets are compared later; until then the first one's length holds.
  logic                        next_valid;
  logic                        next_take;
  logic [1:0]                  next_kind;
  logic [JOB_W-1:0]            next_job;
  logic [SLOT_W-1:0]           next_slot;
  logic [PORT_COUNT-1:0]       next_mask;
  logic                        next_probe;
  logic                        next_dropped;
  logic [ina_pkg::QUADS_W-1:0] next_quads;

  assign s_ready   = !next_valid || next_take;
  assign peek_read = s_valid && s_ready;

  always_ff @(posedge clk) begin
    if (s_ready) next_valid <= s_valid;
    if (peek_read) begin
      next_kind  <= s_kind;
      next_job   <= s_job;
      next_slot  <= s_slot;
      next_mask  <= s_mask;
      next_probe <= s_probe;
      next_dropped <= s_dropped;
    end
    if (rst) next_valid <= 1'b0;
  end

  always_comb begin
    next_quads = '0;
    if (next_valid)
      for (int p = PORT_COUNT - 1; p >= 0; p--)
        if (next_mask[p])
          next_quads = (next_kind == ina_pkg::KIND_RESEND)
              ? resend_header[p*HEADER_T_W + ina_pkg::HEADER_W +: ina_pkg::QUADS_W]
              : peek_quads[p*ina_pkg::QUADS_W +: ina_pkg::QUADS_W];
  end

  // Stage 0.
  logic                             s0_valid;
  logic [1:0]                       s0_kind;
  logic [JOB_W-1:0]                 s0_job;
  logic [SLOT_W-1:0]                s0_slot;
  logic [PORT_COUNT-1:0]            s0_mask;
  logic                             s0_probe;
  logic                             s0_dropped;
  logic [ina_pkg::BEAT_INDEX_W-1:0] s0_beat;
  logic [ina_pkg::BEAT_INDEX_W-1:0] s0_last_beat;
  logic [2:0]                       s0_last_quads;
  logic                             s0_first;
  logic                             s0_last;
  logic [ina_pkg::BEAT_INDEX_W+1:0] next_quads_less_1;
  logic                             unused_borrow;  // a packet has 256 quads at most

  assign {unused_borrow, next_quads_less_1} = next_quads - 1'b1;
  assign s0_first  = s0_beat == '0;
  assign s0_last   = s0_beat == s0_last_beat;
  assign next_take = next_valid && (!s0_valid || s0_last);

  always_ff @(posedge clk) begin
    if (!s0_valid || s0_last) s0_valid <= next_valid;
    if (next_take) begin
      s0_kind       <= next_kind;
      s0_job        <= next_job;
      s0_slot       <= next_slot;
      s0_mask       <= next_mask;
      s0_probe      <= next_probe;
      s0_dropped    <= next_dropped;
      s0_beat       <= '0;
      s0_last_beat  <= next_quads_less_1[2 +: ina_pkg::BEAT_INDEX_W];
      s0_last_quads <= {1'b0, next_quads_less_1[1:0]} + 1'b1;
    end else begin
      s0_beat <= s0_beat + 1'b1;
    end
    if (rst) s0_valid <= 1'b0;
  end

  assign beat_read    = (s0_valid && s0_kind != ina_pkg::KIND_RESEND) ? s0_mask : '0;
  assign header_read  = s0_first ? beat_read : '0;
  assign history_read = s0_valid && s0_kind == ina_pkg::KIND_RESEND;
  assign resend_pop   = (history_read && s0_first) ? s0_mask : '0;
  assign read_job     = s0_job;
  assign read_slot    = s0_slot;
  assign read_beat    = s0_beat;

  // Stage 1.
  logic                             s1_valid;
  logic [1:0]                       s1_kind;
  logic [JOB_W-1:0]                 s1_job;
  logic [SLOT_W-1:0]                s1_slot;
  logic [PORT_COUNT-1:0]            s1_mask;
  logic                             s1_probe;
  logic                             s1_dropped;
  logic [ina_pkg::BEAT_INDEX_W-1:0] s1_beat;
  logic                             s1_first;
  logic                             s1_last;
  logic [2:0]                       s1_quads;
  logic [HEADER_T_W-1:0]            s1_resend_header;

  always_ff @(posedge clk) begin
    s1_valid <= s0_valid && !rst;
    if (s0_valid) begin
      s1_kind  <= s0_kind;
      s1_job   <= s0_job;
      s1_slot  <= s0_slot;
      s1_mask  <= s0_mask;
      s1_probe <= s0_probe;
      s1_dropped <= s0_dropped;
      s1_beat  <= s0_beat;
      s1_first <= s0_first;
      s1_last  <= s0_last;
      s1_quads <= s0_last ? s0_last_quads : 3'd4;
    end
    for (int p = 0; p < PORT_COUNT; p++)
      if (resend_pop[p]) s1_resend_header <= resend_header[p*HEADER_T_W +: HEADER_T_W];
  end

  // Stage 2: its registers are the outputs to the tree and to ina_rebuild.
  logic s2_valid;
  logic s2_dropped;

  always_ff @(posedge clk) begin
    s2_valid <= s1_valid && !rst;
    if (s1_valid) begin
      m_kind  <= s1_kind;
      m_job   <= s1_job;
      m_slot  <= s1_slot;
      m_mask  <= s1_mask;
      m_beat  <= s1_beat;
      m_first <= s1_first;
      m_last  <= s1_last;
      m_quads <= s1_quads;
      s2_dropped <= s1_dropped;
      for (int p = 0; p < PORT_COUNT; p++) begin
        if (s1_mask[p]) begin
          // A probe has no payload of its own: zeros.
          m_data[p*ina_pkg::BEAT_W +: ina_pkg::BEAT_W] <=
              (s1_kind != ina_pkg::KIND_RESEND) ? queue_data[p*ina_pkg::BEAT_W +: ina_pkg::BEAT_W]
              : s1_probe ? '0 : history_data;
          if (s1_first) begin
            header[p*HEADER_T_W +: HEADER_T_W] <= (s1_kind == ina_pkg::KIND_RESEND)
                ? s1_resend_header : queue_header[p*HEADER_T_W +: HEADER_T_W];
            // RoCEv2 allows no UDP checksum, and that of another payload would be wrong.
            header[p*HEADER_T_W + ina_pkg::UDP_CHECKSUM_AT*8 +: 16] <= '0;
          end
        end
      end
    end
  end

  // The lowest port that takes part speaks for all.
  logic [7:0]         opcode;
  logic [8:0]         quads;
  logic [EQUAL_W-1:0] lanes;
  logic               starts;
  logic               ends;
  logic               in_order;
  logic               known;
  logic               is_data;
  logic               alike;
  logic               marked;

  always_comb begin
    opcode = '0;
    quads  = '0;
    lanes  = '0;
    if (s2_valid) begin
      for (int p = PORT_COUNT - 1; p >= 0; p--) begin
        if (m_mask[p]) begin
          opcode = header[p*HEADER_T_W + OPCODE_AT +: 8];
          quads  = header[p*HEADER_T_W + ina_pkg::HEADER_W +: ina_pkg::QUADS_W];
          lanes  = m_data[p*ina_pkg::BEAT_W +: EQUAL_W];
        end
      end
    end
  end

  assign starts = opcode == ina_pkg::RC_SEND_FIRST || opcode == ina_pkg::RC_SEND_ONLY;
  assign ends   = opcode == ina_pkg::RC_SEND_LAST || opcode == ina_pkg::RC_SEND_ONLY;

  always_comb begin
    alike  = 1'b1;
    marked = 1'b0;
    if (s2_valid && m_first && m_kind == ina_pkg::KIND_JOIN) begin
      for (int p = 0; p < PORT_COUNT; p++) begin
        if (m_mask[p]) begin
          if (header[p*HEADER_T_W + OPCODE_AT +: 8] != opcode
              || header[p*HEADER_T_W + ina_pkg::HEADER_W +: ina_pkg::QUADS_W] != quads
              || (starts && m_data[p*ina_pkg::BEAT_W +: EQUAL_W] != lanes))
            alike = 1'b0;
          if (header[p*HEADER_T_W + ina_pkg::CONGESTED_AT]) marked = 1'b1;
        end
      end
    end
  end

  // A message that can be summed, or a JOIN or LEAVE.
  logic [7:0] message_type;
  logic       control;

  assign message_type = lanes[24 +: 8];
  assign is_data      = message_type == ina_pkg::TYPE_DATA;
  assign control      = opcode == ina_pkg::RC_SEND_ONLY && quads == 9'(ina_pkg::JOIN_QUADS)
      && lanes[23:0] == ina_pkg::MESSAGE_MAGIC_VERSION;
  assign known = is_data
      ? (lanes[23:0] == ina_pkg::MESSAGE_MAGIC_VERSION && number_known && operation_known)
      : (control && (message_type == ina_pkg::TYPE_JOIN || message_type == ina_pkg::TYPE_LEAVE));

  // What is done with the message's elements, and their format.
  logic [7:0]                    number;
  logic [7:0]                    operation;
  logic                          number_known;
  logic                          operation_known;
  logic [ina_pkg::LANE_OP_W-1:0] header_op;
  logic [ina_pkg::FORMAT_W-1:0]  header_format;

  assign number          = lanes[32 +: 8];
  assign operation       = lanes[40 +: 8];
  assign number_known    = (INT32 && number == ina_pkg::NUMBER_INT32)
      || number == ina_pkg::NUMBER_FLOAT32
      || (HALF_FORMATS && (number == ina_pkg::NUMBER_BFLOAT16
                           || number == ina_pkg::NUMBER_FLOAT16));
  assign operation_known = operation == ina_pkg::OPERATION_SUM
      || (MAX_MIN && (operation == ina_pkg::OPERATION_MAX || operation == ina_pkg::OPERATION_MIN));
  assign header_op       = (number == ina_pkg::NUMBER_INT32)
      ? (operation == ina_pkg::OPERATION_MAX ? ina_pkg::LANE_MAX_INT32
         : operation == ina_pkg::OPERATION_MIN ? ina_pkg::LANE_MIN_INT32 : ina_pkg::LANE_ADD_INT32)
      : (operation == ina_pkg::OPERATION_MAX ? ina_pkg::LANE_MAX_FLOAT
         : operation == ina_pkg::OPERATION_MIN ? ina_pkg::LANE_MIN_FLOAT : ina_pkg::LANE_ADD_FLOAT);
  assign header_format   = number == ina_pkg::NUMBER_BFLOAT16 ? ina_pkg::FORMAT_BFLOAT16
      : number == ina_pkg::NUMBER_FLOAT16 ? ina_pkg::FORMAT_FLOAT16 : ina_pkg::FORMAT_WORD;

  // The message that each job is in.
  logic [JOB_COUNT-1:0] in_message;
  logic [JOB_COUNT*RULE_W-1:0]   rules;
  logic [ina_pkg::LANE_OP_W-1:0] op;
  logic [ina_pkg::FORMAT_W-1:0]  element_format;
  logic                 stale;   // chosen before its job broke or ended
  logic                 undo;
  logic                 refuse;  // undone, or dropped
  logic                 refusing;
  logic                 begins;  // the first beat of a join that goes through

  assign in_order   = starts != in_message[m_job];
  assign stale      = job_broken[m_job] || job_closing[m_job] || !job_valid[m_job];
  assign undo       = m_kind == ina_pkg::KIND_JOIN
      && (stale || !alike || !in_order || (starts && !known));
  assign refuse     = undo || s2_dropped;
  assign begins     = s2_valid && m_first && m_kind == ina_pkg::KIND_JOIN && !undo;
  assign {op, element_format} = (m_first && starts) ? {header_op, header_format}
                                                    : rules[m_job*RULE_W +: RULE_W];
  // What comes alone goes through the tree as it is.
  assign m_format   = (m_kind == ina_pkg::KIND_JOIN) ? element_format : ina_pkg::FORMAT_WORD;

  assign active_job     = m_job;
  assign active_mask    = m_mask;
  assign undo_valid     = s2_valid && m_first && undo;
  assign mismatch_valid = undo_valid && !stale;
  assign m_valid        = s2_valid && !(m_first ? refuse : refusing);
  assign settled        = (s2_valid && m_first) ? m_mask : '0;
  assign header_valid   = (s2_valid && m_first && !refuse) ? m_mask : '0;
  assign header_ce      = marked;
  assign m_starts       = starts;
  assign m_ends         = ends;
  assign m_leave        = m_kind != ina_pkg::KIND_RESEND && m_first && control
      && message_type == ina_pkg::TYPE_LEAVE;

  always_ff @(posedge clk) begin
    if (s2_valid && m_first) refusing <= refuse;
    if (begins) begin
      in_message[m_job] <= !ends;
      if (starts) rules[m_job*RULE_W +: RULE_W] <= {header_op, header_format};
      if (m_leave) job_closing[m_job] <= 1'b1;
    end
    for (int j = 0; j < JOB_COUNT; j++) begin
      if (!job_valid[j]) begin
        in_message[j]  <= 1'b0;
        job_closing[j] <= 1'b0;
      end
    end
    if (rst) begin
      in_message  <= '0;
      job_closing <= '0;
    end
  end

  // Each lane's rule (docs/protocol.md, A message).
  always_comb begin
    for (int i = 0; i < ina_pkg::LANE_COUNT; i++)
      m_op[i*ina_pkg::LANE_OP_W +: ina_pkg::LANE_OP_W] =
          (m_first && starts && i < 8) ? ina_pkg::LANE_MAX_INT32 : op;
    if (m_last && ends) begin
      for (int q = 0; q < ina_pkg::QUAD_COUNT; q++)
        if (m_quads == 3'(q + 1))
          m_op[q*4*ina_pkg::LANE_OP_W +: 4*ina_pkg::LANE_OP_W] =
              {ina_pkg::LANE_MAX_INT32, ina_pkg::LANE_MAX_INT32, ina_pkg::LANE_OR,
               ina_pkg::LANE_ADD_INT32};
    end
  end

  assign busy = next_valid || s0_valid || s1_valid || s2_valid;

endmodule

// SPDX-License-Identifier: Apache-2.0
//
// Reads the headers and first beats of the packets that are to be joined, one from each port.
// Checks that they match and can be summed, and derives the operation of the tree on each lane of
// their beats. The result comes one clock later.

`default_nettype none

module ina_message #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    // The functions of the tree, as in ina_tree.
    parameter  bit HALF_FORMATS = 1'b1,
    parameter  bit MAX_MIN      = 1'b1,
    parameter  bit INT32        = 1'b1,
    localparam int JOB_W        = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1
) (
    input  logic clk,
    input  logic rst,

    input  logic [JOB_COUNT-1:0] job_valid,  // a job begins outside of any message

    // The beats of chosen packets. The headers are valid with the first beat.
    input  logic                                      s_valid,
    input  logic                                      s_raw,  // one packet, unchanged
    input  logic [JOB_W-1:0]                          s_job,
    input  logic [PORT_COUNT-1:0]                     s_from,  // ports that take part
    input  logic                                      s_first,
    input  logic                                      s_last,
    input  logic [2:0]                                s_quads,
    input  logic [PORT_COUNT*ina_pkg::HEADER_T_W-1:0] s_header,
    input  logic [PORT_COUNT*ina_pkg::BEAT_W-1:0]     s_data,

    // Results for the beat of the previous clock. m_differs and m_marked are valid for the first
    // beat of a sum.
    output logic                                              m_differs,  // must not be summed
    output logic                                              m_marked,  // one has ECN = 3
    output logic [ina_pkg::LANE_COUNT*ina_pkg::LANE_OP_W-1:0] m_op,
    output logic [ina_pkg::FORMAT_W-1:0]                      m_format,
    output logic                                              m_starts,  // starts a message
    output logic                                              m_ends,    // ends a message
    output logic                                              m_leave    // is a LEAVE
);

  localparam int BEAT_W       = ina_pkg::BEAT_W;
  localparam int LANE_W       = ina_pkg::LANE_W;
  localparam int LANE_OP_W    = ina_pkg::LANE_OP_W;
  localparam int FORMAT_W     = ina_pkg::FORMAT_W;
  localparam int HEADER_T_W   = ina_pkg::HEADER_T_W;
  localparam int OPCODE_AT    = ina_pkg::BTH_OPCODE_AT * 8;
  localparam int QUADS_AT     = ina_pkg::QUADS_AT;
  localparam int QUADS_W      = ina_pkg::QUADS_W;
  localparam int TYPE_AT      = ina_pkg::MESSAGE_TYPE_AT * 8;
  localparam int NUMBER_AT    = ina_pkg::MESSAGE_NUMBER_AT * 8;
  localparam int OPERATION_AT = ina_pkg::MESSAGE_OPERATION_AT * 8;

  logic begins;  // the first beat of a packet
  logic joins;   // the first beat of a join

  assign begins = s_valid && s_first;
  assign joins  = begins && !s_raw;

  // The fields of the packets. If they match, the OR is the common value.
  logic [7:0]         opcode;
  logic [QUADS_W-1:0] quads;
  logic [31:0]        identity;  // magic, version, type
  logic [7:0]         number;
  logic [7:0]         operation;
  logic               marked;

  always_comb begin
    opcode    = '0;
    quads     = '0;
    identity  = '0;
    number    = '0;
    operation = '0;
    marked    = 1'b0;
    if (begins || !ina_pkg::SIMULATED) begin
      for (int p = 0; p < PORT_COUNT; p++) begin
        if (s_from[p]) begin
          opcode    = opcode | s_header[p*HEADER_T_W + OPCODE_AT +: 8];
          quads     = quads | s_header[p*HEADER_T_W + QUADS_AT +: QUADS_W];
          identity  = identity | s_data[p*BEAT_W +: 32];
          number    = number | s_data[p*BEAT_W + NUMBER_AT +: 8];
          operation = operation | s_data[p*BEAT_W + OPERATION_AT +: 8];
          marked    = marked | s_header[p*HEADER_T_W + ina_pkg::CONGESTED_AT];
        end
      end
    end
  end

  // A packet that starts a message must be DATA that can be summed, or a JOIN or LEAVE.
  logic       starts;
  logic       ends;
  logic [7:0] message_type;
  logic       identified;
  logic       control;
  logic       number_known;
  logic       operation_known;
  logic       known;

  assign starts = opcode == ina_pkg::RC_SEND_FIRST || opcode == ina_pkg::RC_SEND_ONLY;
  assign ends   = opcode == ina_pkg::RC_SEND_LAST || opcode == ina_pkg::RC_SEND_ONLY;

  assign message_type    = identity[TYPE_AT +: 8];
  assign identified      = identity[TYPE_AT-1:0] == ina_pkg::MESSAGE_MAGIC_VERSION;
  assign control         = identified && opcode == ina_pkg::RC_SEND_ONLY
      && quads == QUADS_W'(ina_pkg::JOIN_QUADS);
  assign number_known    = (INT32 && number == ina_pkg::NUMBER_INT32)
      || number == ina_pkg::NUMBER_FLOAT32
      || (HALF_FORMATS && (number == ina_pkg::NUMBER_BFLOAT16
                           || number == ina_pkg::NUMBER_FLOAT16));
  assign operation_known = operation == ina_pkg::OPERATION_SUM
      || (MAX_MIN && (operation == ina_pkg::OPERATION_MAX || operation == ina_pkg::OPERATION_MIN));
  assign known = (message_type == ina_pkg::TYPE_DATA)
      ? (identified && number_known && operation_known)
      : (control && (message_type == ina_pkg::TYPE_JOIN || message_type == ina_pkg::TYPE_LEAVE));

  // The comparison.
  localparam int EQUAL_W = ina_pkg::EQUAL_LANES * LANE_W;
  logic [PORT_COUNT*EQUAL_W-1:0] lanes;
  logic                          differs;
  logic                          unfit;  // unknown, or not the expected part of a message

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_lanes
    assign lanes[p*EQUAL_W +: EQUAL_W] = s_data[p*BEAT_W +: EQUAL_W];
  end

  ina_alike #(.HEADER_COUNT(PORT_COUNT), .BEAT_COUNT(PORT_COUNT)) alike (
      .clk, .s_valid(joins), .s_header_mask(s_from), .s_header, .s_beat_mask(s_from),
      .s_lanes(lanes), .s_starts(starts), .s_join(message_type == ina_pkg::TYPE_JOIN),
      .m_differs(differs));

  assign m_differs = differs || unfit;

  always_ff @(posedge clk) begin
    if (joins) unfit <= starts == in_message[s_job] || (starts && !known);
    if (begins) m_marked <= joins && marked;
  end

  // Whether each job is inside a message, and the operation and format of its elements. A cancelled
  // join counts too, because no packet of its job is summed after it.
  logic [JOB_COUNT-1:0]                      in_message;
  logic [JOB_COUNT*(LANE_OP_W+FORMAT_W)-1:0] rules;
  logic [LANE_OP_W-1:0]                      header_op;
  logic [FORMAT_W-1:0]                       header_format;
  logic [LANE_OP_W-1:0]                      op_q; // of the packet
  logic [FORMAT_W-1:0]                       format_q;
  logic [LANE_OP_W-1:0]                      op_d;
  logic [FORMAT_W-1:0]                       format_d;
  logic                                      starts_d;
  logic                                      ends_d;

  // A message that is not known does not enter the tree, so the bits that distinguish the known
  // ones are enough.
  logic is_int32;
  logic is_max;
  logic is_min;

  assign is_int32  = INT32 && number[1:0] == ina_pkg::NUMBER_INT32[1:0];
  assign is_max    = MAX_MIN && operation[1:0] == ina_pkg::OPERATION_MAX[1:0];
  assign is_min    = MAX_MIN && operation[1:0] == ina_pkg::OPERATION_MIN[1:0];
  assign header_op = is_int32
      ? (is_max ? ina_pkg::LANE_MAX_INT32 : is_min ? ina_pkg::LANE_MIN_INT32 : ina_pkg::LANE_ADD_INT32)
      : (is_max ? ina_pkg::LANE_MAX_FLOAT : is_min ? ina_pkg::LANE_MIN_FLOAT : ina_pkg::LANE_ADD_FLOAT);
  assign header_format = !HALF_FORMATS ? ina_pkg::FORMAT_WORD
      : number[1:0] == ina_pkg::NUMBER_BFLOAT16[1:0] ? ina_pkg::FORMAT_BFLOAT16
      : number[2] ? ina_pkg::FORMAT_FLOAT16 : ina_pkg::FORMAT_WORD;

  assign {op_d, format_d} = !s_first ? {op_q, format_q}
      : starts ? {header_op, header_format}
      : rules[s_job*(LANE_OP_W+FORMAT_W) +: LANE_OP_W + FORMAT_W];
  assign starts_d         = s_first ? starts : m_starts;
  assign ends_d           = s_first ? ends : m_ends;

  always_ff @(posedge clk) begin
    if (joins) begin
      in_message[s_job] <= !ends;
      if (starts) rules[s_job*(LANE_OP_W+FORMAT_W) +: LANE_OP_W + FORMAT_W] <=
          {header_op, header_format};
    end
    for (int j = 0; j < JOB_COUNT; j++)
      if (!job_valid[j]) in_message[j] <= 1'b0;
    if (rst) in_message <= '0;
  end

  // The rule of each lane (docs/protocol.md, A message). A raw packet goes through the tree
  // unchanged.
  always_ff @(posedge clk) begin
    if (s_valid) begin
      op_q             <= op_d;
      format_q <= format_d;
      m_starts <= starts_d;
      m_ends   <= ends_d;
      m_leave  <= begins && control && message_type == ina_pkg::TYPE_LEAVE;
      m_format <= !s_raw ? format_d : ina_pkg::FORMAT_WORD;
      m_op     <= {ina_pkg::LANE_COUNT{op_d}};
      if (s_first && starts)
        m_op[8*LANE_OP_W-1:0] <= {8{ina_pkg::LANE_MAX_INT32}};
      for (int q = 0; q < ina_pkg::QUAD_COUNT; q++)
        if (s_last && ends_d && s_quads == 3'(q + 1))
          m_op[q*4*LANE_OP_W +: 4*LANE_OP_W] <=
              {ina_pkg::LANE_MAX_INT32, ina_pkg::LANE_MAX_INT32, ina_pkg::LANE_OR,
               ina_pkg::LANE_ADD_INT32};
    end
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// Computes the data that each port writes into a TRACE (docs/protocol.md, TRACE): its slot, and the
// change of the TRACE's iCRC. There is one such module in a switch. m_marks follows a change of
// `jobs` one clock later.

`default_nettype none

module ina_trace_mark #(
    parameter  int PORT_COUNT = 4,
    localparam int MARK_W     = ina_pkg::TRACE_T_W
) (
    input  logic clk,

    input  logic [1:0]  level,  // 1 to 3
    input  logic [63:0] id,
    input  logic [6:0]  jobs,

    output logic [PORT_COUNT*MARK_W-1:0] m_marks
);
  localparam int SLOT_W = ina_pkg::TRACE_SLOT_W;

  // From the first slot to the trailer there are four quads, which is one beat. The bytes before a
  // slot are zeros too, and zeros add nothing to a CRC. The port number differs from port to port,
  // and is added below.
  logic [ina_pkg::BEAT_W-1:0] slots;
  logic [31:0]                crc;
  logic [6:0]                 crc_jobs;

  always_comb begin
    slots = '0;
    for (int l = 1; l <= 3; l++)
      if (level == 2'(l)) slots[(l-1)*SLOT_W+:SLOT_W] = {32'(jobs), 32'd0, id};
  end

  ina_crc of_slots (
      .clk, .s_valid(1'b1), .s_first(1'b0), .s_other(1'b0), .s_data(slots), .m_crc(crc));

  always_ff @(posedge clk) crc_jobs <= jobs;

  localparam int PORT_AT = ina_pkg::TRACE_PORT_AT * 8;

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_port
    localparam logic [31:0] AT_LEVEL_1 = ina_crc_pkg::advance(32'(p), 4 * SLOT_W - PORT_AT);
    localparam logic [31:0] AT_LEVEL_2 = ina_crc_pkg::advance(32'(p), 3 * SLOT_W - PORT_AT);
    localparam logic [31:0] AT_LEVEL_3 = ina_crc_pkg::advance(32'(p), 2 * SLOT_W - PORT_AT);

    // An ina_pkg::trace_t.
    assign m_marks[p*MARK_W +: MARK_W] =
        {crc ^ (level == 2'd1 ? AT_LEVEL_1 : level == 2'd2 ? AT_LEVEL_2 : AT_LEVEL_3),
         level, 4'(p), crc_jobs, id};
  end

endmodule

`default_nettype wire

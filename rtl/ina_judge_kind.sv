// SPDX-License-Identifier: Apache-2.0
//
// Classifies a packet: by its headers two clocks of en before the judge has it, and by its message
// header one clock before. If a packet here is RoCE at all, it is a marked request.

`default_nettype none

module ina_judge_kind (
    input  logic clk,
    input  logic rst,
    input  logic en,
    input  logic tick,  // the second tick after a reset ends the quiet time

    input  logic                        early_valid,
    input  logic [7:0]                  early_opcode,
    input  logic [ina_pkg::QUADS_W-1:0] early_quads,
    input  logic                        next_valid,
    input  logic                        next_first,
    input  logic                        next_candidate,
    input  logic [31:0]                 next_lane_0,  // first lane of the beat of payload
    input  logic [63:0]                 next_job_id,  // job id in the same beat
    input  logic [63:0]                 flow_job_id,  // of the packet's flow, if it has one

    output logic next_join,
    // Valid with the packet at the judge:
    output logic quiet,        // a SEND within the quiet time
    output logic well_formed,  // at least as long as its opcode needs
    output logic is_join,
    output logic is_leave,
    output logic other_job     // starts a message of another job than the flow's
);

  // The remaining ticks of the quiet time, one bit each. Without quiet time `tick` is always 1,
  // during reset too.
  logic [1:0] quiet_ticks;

  always_ff @(posedge clk) begin
    if (rst) quiet_ticks <= {2{!tick}};
    else if (tick) quiet_ticks <= quiet_ticks >> 1;
  end

  logic next_quiet;
  logic next_well_formed;
  logic next_starts;   // First or Only: the payload begins with a message header
  logic next_control;  // has the size of a JOIN or LEAVE: one packet of 48 bytes

  assign next_join = next_valid && next_candidate && next_first && next_control
      && next_lane_0 == {ina_pkg::TYPE_JOIN, ina_pkg::MESSAGE_MAGIC_VERSION};

  always_ff @(posedge clk) begin
    if (en && early_valid) begin
      next_quiet       <= quiet_ticks[0] && early_opcode < ina_pkg::RC_SENDS_END;
      next_starts      <= early_opcode == ina_pkg::RC_SEND_ONLY
          || early_opcode == ina_pkg::RC_SEND_FIRST;
      next_well_formed <= (early_opcode == ina_pkg::RC_SEND_ONLY) ? early_quads >= 3
                        : (early_opcode == ina_pkg::RC_SEND_FIRST) ? early_quads >= 2 : 1'b1;
      next_control     <= early_opcode == ina_pkg::RC_SEND_ONLY
          && early_quads == ina_pkg::QUADS_W'(ina_pkg::JOIN_QUADS);
    end
    if (en && next_valid) begin
      is_join  <= next_join;
      is_leave <= next_first && next_control
          && next_lane_0 == {ina_pkg::TYPE_LEAVE, ina_pkg::MESSAGE_MAGIC_VERSION};
      if (next_first) begin
        quiet       <= next_quiet;
        other_job   <= next_candidate && next_starts && next_job_id != flow_job_id;
        well_formed <= next_well_formed;
      end
    end
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// Two streams of frames onto one port, a frame of each in turn. One clock of latency.

module ina_merge (
    input  logic clk,
    input  logic rst,

    // Rebuilt frames.
    input  logic                           s0_axis_tvalid,
    output logic                           s0_axis_tready,
    input  logic [ina_pkg::BEAT_W-1:0]     s0_axis_tdata,
    input  logic [ina_pkg::BEAT_BYTES-1:0] s0_axis_tkeep,
    input  logic                           s0_axis_tlast,

    // Passed frames.
    input  logic                           s1_axis_tvalid,
    output logic                           s1_axis_tready,
    input  logic [ina_pkg::BEAT_W-1:0]     s1_axis_tdata,
    input  logic [ina_pkg::BEAT_BYTES-1:0] s1_axis_tkeep,
    input  logic                           s1_axis_tlast,

    output logic                           m_axis_tvalid,  // also says that something is in here
    input  logic                           m_axis_tready,
    output logic [ina_pkg::BEAT_W-1:0]     m_axis_tdata,
    output logic [ina_pkg::BEAT_BYTES-1:0] m_axis_tkeep,
    output logic                           m_axis_tlast
);
  logic in_frame;  // between a frame's first beat and its last: `owner` keeps its turn
  logic owner;
  logic turn;      // whose turn it is now
  logic free;      // the output register can be loaded
  logic take;

  assign free           = !m_axis_tvalid || m_axis_tready;
  assign turn           = in_frame ? owner : owner ? !s0_axis_tvalid : s1_axis_tvalid;
  assign s0_axis_tready = free && !turn;
  assign s1_axis_tready = free && turn;
  assign take           = free && (turn ? s1_axis_tvalid : s0_axis_tvalid);

  always_ff @(posedge clk) begin
    if (rst) begin
      in_frame      <= 1'b0;
      owner         <= 1'b0;
      m_axis_tvalid <= 1'b0;
    end else begin
      if (take) begin
        in_frame <= turn ? !s1_axis_tlast : !s0_axis_tlast;
        owner    <= turn;
      end
      if (take) m_axis_tvalid <= 1'b1;
      else if (m_axis_tready) m_axis_tvalid <= 1'b0;
    end
  end

  always_ff @(posedge clk) begin
    if (take) begin
      m_axis_tdata <= turn ? s1_axis_tdata : s0_axis_tdata;
      m_axis_tkeep <= turn ? s1_axis_tkeep : s0_axis_tkeep;
      m_axis_tlast <= turn ? s1_axis_tlast : s0_axis_tlast;
    end
  end

endmodule

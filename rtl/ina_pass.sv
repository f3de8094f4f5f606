// SPDX-License-Identifier: Apache-2.0
//
// Stores every frame of a port unchanged until ina_judge has decided. One token for each frame, in
// the order of the frames, passes or discards it. Frames that pass leave at a beat a clock,
// whatever their length. A discarded frame takes one clock.

`default_nettype none

module ina_pass (
    input  logic clk,
    input  logic rst,

    // Accepted input beats: s_valid only with s_ready = 1. ina_ingress ANDs s_ready with the en of
    // its pipeline to make tready.
    input  logic                           s_valid,
    output logic                           s_ready,  // a register; 1 during reset (beats are lost)
    input  logic                           s_last,
    input  logic [ina_pkg::BEAT_W-1:0]     s_data,
    input  logic [ina_pkg::BEAT_BYTES-1:0] s_keep,

    // One token a frame. It may come before the frame's last beat. There is no ready: no more
    // frames are accepted than there is room for tokens.
    input  logic token_valid,
    input  logic token_pass,  // 1: the frame passes; 0: it is discarded
    input  logic token_trace, // it is a TRACE whose slot is to be filled

    // One clock for each frame that passes; never for a frame of more than 256 beats.
    output logic passed,
    // A frame is on its way out, or a whole frame and its token wait.
    output logic busy,

    output logic                           m_axis_tvalid,
    input  logic                           m_axis_tready,
    output logic [ina_pkg::BEAT_W-1:0]     m_axis_tdata,
    output logic [ina_pkg::BEAT_BYTES-1:0] m_axis_tkeep,
    output logic                           m_axis_tlast,
    output logic                           m_trace  // valid with all beats of a frame
);
  localparam int BEAT_DEPTH      = 512;
  localparam int FRAME_BEATS_MAX = 256;
  localparam int FRAME_DEPTH     = 64;   // most whole frames that wait here
  localparam int TOKEN_DEPTH     = 128;  // more than FRAME_DEPTH + 1: one more frame is coming in
  localparam int ADDRESS_W       = $clog2(BEAT_DEPTH);
  localparam int AT_W            = ADDRESS_W + 1;  // one bit more: differences count beats

  logic [ina_pkg::BEAT_W-1:0]     data_ram[0:BEAT_DEPTH-1];
  logic [ina_pkg::BEAT_BYTES-1:0] keep_ram[0:BEAT_DEPTH-1];

  logic [AT_W-1:0] write_at;
  logic [AT_W-1:0] frame_at;  // where the incoming frame begins
  logic [AT_W-1:0] read_at;
  logic            too_long;  // the frame is longer than FRAME_BEATS_MAX: none of it is kept
  logic            overruns;  // it is, with this beat
  logic            write;

  assign overruns = too_long || write_at - frame_at == AT_W'(FRAME_BEATS_MAX);
  assign write    = s_valid && !overruns;

  // Where each whole frame ends, and its decision.
  logic            end_ready;
  logic            end_valid;
  logic            decide;
  logic [AT_W-1:0] end_at;
  logic            token_ready;
  logic            decided_valid;
  logic            decided_pass;
  logic            decided_trace;
  logic [$clog2(FRAME_DEPTH+2)-1:0] end_count;
  logic [$clog2(TOKEN_DEPTH+2)-1:0] token_count;

  ina_fifo #(.WIDTH(AT_W), .DEPTH(FRAME_DEPTH)) ends (
      .clk, .rst,
      .s_valid(s_valid && s_last), .s_ready(end_ready),
      .s_data(overruns ? frame_at : write_at + 1'b1),
      .m_valid(end_valid), .m_ready(decide), .m_data(end_at), .count(end_count));

  ina_fifo #(.WIDTH(2), .DEPTH(TOKEN_DEPTH)) tokens (
      .clk, .rst,
      .s_valid(token_valid), .s_ready(token_ready), .s_data({token_trace, token_pass}),
      .m_valid(decided_valid), .m_ready(decide), .m_data({decided_trace, decided_pass}),
      .count(token_count));

  // Neither fill nor end_count includes the beat that comes in with this clock, so room is kept for
  // one more.
  logic [AT_W-1:0] fill;

  assign fill = write_at - read_at;

  always_ff @(posedge clk) begin
    s_ready <= rst || (fill < AT_W'(BEAT_DEPTH - 1) && 32'(end_count) < FRAME_DEPTH);
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      write_at <= '0;
      frame_at <= '0;
      too_long <= 1'b0;
    end else if (s_valid) begin
      write_at <= overruns ? frame_at : write_at + 1'b1;
      too_long <= overruns && !s_last;
      if (s_last && !overruns) frame_at <= write_at + 1'b1;
    end
  end

  always_ff @(posedge clk) begin
    if (write) begin
      data_ram[write_at[ADDRESS_W-1:0]] <= s_data;
      keep_ram[write_at[ADDRESS_W-1:0]] <= s_keep;
    end
  end

  // The way out: read_at runs to stop_at through a frame that passes, and jumps over a discarded
  // one. The next decision is made while the last beat of a frame is read, so no clock is lost
  // after it.
  logic [AT_W-1:0] stop_at;
  logic [AT_W-1:0] next_at;
  logic            read;
  logic            trace;  // the frame up to stop_at is a TRACE

  assign next_at = read_at + 1'b1;
  assign read    = read_at != stop_at && (!m_axis_tvalid || m_axis_tready);
  assign decide  = end_valid && decided_valid
      && (read_at == stop_at || (read && next_at == stop_at));
  assign passed  = decide && decided_pass && end_at != stop_at;
  assign busy   = read_at != stop_at || m_axis_tvalid || (end_count != '0 && token_count != '0);

  always_ff @(posedge clk) begin
    if (rst) begin
      read_at       <= '0;
      stop_at       <= '0;
      m_axis_tvalid <= 1'b0;
    end else begin
      if (decide) stop_at <= end_at;
      if (decide && !decided_pass) read_at <= end_at;
      else if (read) read_at <= next_at;
      if (read) m_axis_tvalid <= 1'b1;
      else if (m_axis_tready) m_axis_tvalid <= 1'b0;
    end
  end

  always_ff @(posedge clk) begin
    if (decide) trace <= decided_trace;
    if (read) begin
      m_trace      <= trace;
      m_axis_tdata <= data_ram[read_at[ADDRESS_W-1:0]];
      m_axis_tkeep <= keep_ram[read_at[ADDRESS_W-1:0]];
      m_axis_tlast <= next_at == stop_at;
    end
  end

  // end_ready is always 1 while s_ready = 1. token_ready is always 1 if there is one token a frame.
  logic unused;
  assign unused = end_ready || token_ready;

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
//
// ina_pass: a frame that may pass does so whole, unchanged and in its turn. A frame that may not leaves
// nothing. Each beat that goes in names its frame and its place, so the proof recognizes every beat that
// comes out. (The RAMs have a few beats: see the constants in proofs.txt.)
//
//   1. The output obeys AXI4-Stream: valid, data, keep and last stay until ready.
//   2. Frames come out in the order in which they came in, none of them twice: beat 0, 1, 2 and so on, with
//      `last` at the frame's own last beat, data and keep unchanged.
//   3. A frame comes out only if its last beat is in, its token says so, and it is no longer than
//      FRAME_BEATS_MAX.
//   4. Nothing is lost: a frame that is skipped has a token that discards it, or is too long. When the module
//      is not busy, all frames that may pass have come out.
//   5. `passed` is set for one clock for each frame that comes out.
//   6. A frame that may pass does: while the module is busy and the output ready, a beat comes out at least
//      every 4 clocks for each frame that is discarded before it.
//   7. Between two frames that may pass no clock is lost.
//   8. With each beat comes the TRACE data of its frame's token.

module formal_ina_pass (
    input logic clk
);
  localparam int BEAT_W          = ina_pkg::BEAT_W;      // 6: three bits of frame, three of beat
  localparam int KEEP_W          = ina_pkg::BEAT_BYTES;  // 2
  localparam int FRAME_BEATS_MAX = 2;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic s_valid;
  (* anyseq *) logic s_last;
  (* anyseq *) logic token_valid;
  (* anyseq *) logic token_pass;
  (* anyseq *) logic token_trace;
  (* anyseq *) logic m_ready;
  logic              s_ready;
  logic [BEAT_W-1:0] s_data;
  logic              passed;
  logic              busy;
  logic              m_valid;
  logic [BEAT_W-1:0] m_data;
  logic [KEEP_W-1:0] m_keep;
  logic              m_last;
  logic              m_trace;

  ina_pass dut (
      .clk, .rst, .s_valid, .s_ready, .s_last, .s_data, .s_keep(s_data[1:0] ^ s_data[4:3]),
      .token_valid, .token_pass, .token_trace, .passed, .busy,
      .m_axis_tvalid(m_valid), .m_axis_tready(m_ready), .m_axis_tdata(m_data),
      .m_axis_tkeep(m_keep), .m_axis_tlast(m_last), .m_trace);

  // 1.
  formal_stream #(.WIDTH(2 + KEEP_W + BEAT_W)) output_rules (
      .clk, .rst, .valid(m_valid), .ready(m_ready), .payload({m_trace, m_last, m_keep, m_data}));

  // The input. Frames are numbered modulo 8; fewer than 8 are between input and output.
  logic [3:0] frame_in;    // the frame that comes in
  logic [2:0] beat_in;
  logic [3:0] tokens;      // that have come
  logic [7:0] goes_on;     // of each frame, its token
  logic [7:0] traces;
  logic [7:0] too_long;
  logic [2:0] last_beat [8];
  logic [3:0] frame_out;   // the oldest frame that may still come out
  logic [2:0] beat_out;

  assign s_data = {frame_in[2:0], beat_in};

  always_comb begin
    assume (!s_valid || s_ready);
    assume (!s_valid || s_last || beat_in < 3'd6);
    // A token comes for a frame of which a beat has come in, one token for each frame.
    if (token_valid) assume (frame_in - tokens < 4'd8 && (tokens != frame_in || beat_in != '0));
    // As many frames as these numbers can distinguish.
    if (s_valid) assume (frame_in - frame_out < 4'd7);
  end

  logic [3:0] out_now;  // the frame at the output

  assign out_now = {frame_out[3] ^ (m_data[5:3] < frame_out[2:0]), m_data[5:3]};

  always_ff @(posedge clk) begin
    if (rst) begin
      frame_in  <= '0;
      beat_in   <= '0;
      tokens    <= '0;
      frame_out <= '0;
      beat_out  <= '0;
    end else begin
      if (s_valid) begin
        beat_in <= s_last ? '0 : beat_in + 1'b1;
        if (s_last) begin
          frame_in <= frame_in + 1'b1;
          last_beat[frame_in[2:0]] <= beat_in;
          too_long[frame_in[2:0]]  <= beat_in >= 3'(FRAME_BEATS_MAX);
        end
      end
      if (token_valid) begin
        tokens <= tokens + 1'b1;
        goes_on[tokens[2:0]] <= token_pass;
        traces[tokens[2:0]]  <= token_trace;
      end
      if (m_valid && m_ready) begin
        beat_out  <= m_last ? '0 : beat_out + 1'b1;
        frame_out <= m_last ? out_now + 1'b1 : out_now;
      end
    end
  end

  // For the frames from frame_out on: whether a frame that may pass comes before this clock's output, or is
  // in the module although no beat is under way.
  logic [7:0] may_go;   // by distance from frame_out
  logic [7:0] skipped;

  for (genvar i = 0; i < 8; i++) begin : gen_frame
    logic [3:0] number;

    assign number = frame_out + 4'(i);
    assign may_go[i] = 4'(i) < frame_in - frame_out && 4'(i) < tokens - frame_out
        && goes_on[number[2:0]] && !too_long[number[2:0]];
    assign skipped[i] = may_go[i] && 4'(i) < out_now - frame_out;
  end

  logic [3:0] passes;  // clocks of `passed` less frames that have begun to come out

  always_ff @(posedge clk) begin
    if (rst) passes <= '0;
    else passes <= passes + 4'(passed) - 4'(m_valid && m_ready && m_last);
  end

  logic [4:0] clocks;  // busy and ready, and no beat

  always_ff @(posedge clk)
    clocks <= (rst || !busy || !m_ready || m_valid) ? '0 : clocks + 1'b1;

  // 7. A frame that is too long ends where it begins.
  (* hierconn *) logic \dut.end_valid ;
  (* hierconn *) logic \dut.decided_valid ;
  (* hierconn *) logic \dut.decided_pass ;
  (* hierconn *) logic [2:0] \dut.end_at ;
  (* hierconn *) logic [2:0] \dut.stop_at ;
  logic waited_1, waited_2;  // for one and two clocks, with the output ready

  always_ff @(posedge clk) begin
    waited_1 <= !rst && m_ready && \dut.end_valid && \dut.decided_valid && \dut.decided_pass
        && \dut.end_at != \dut.stop_at ;
    waited_2 <= !rst && m_ready && waited_1;
  end

  always_comb begin
    if (!rst) begin
      p7_no_gap: assert (!waited_2 || m_valid);
      if (m_valid) begin
        p2_beat:  assert (m_data[2:0] == beat_out && (beat_out == '0 || out_now == frame_out));
        p2_last:  assert (m_last == (beat_out == last_beat[m_data[5:3]]));
        p2_keep:  assert (m_keep == (m_data[1:0] ^ m_data[4:3]));
        p3_may:   assert (may_go[3'(out_now - frame_out)] && out_now - frame_out < 4'd8);
        p4_none_lost: assert (skipped == '0);
        p8_trace: assert (m_trace == traces[m_data[5:3]]);
      end
      if (!busy) begin
        p4_all_out:   assert (may_go == '0 && passes == '0 && !m_valid);
      end
      p5_passed: assert (passes <= 4'd2);
      p6_goes:   assert (clocks <= 5'd24);
    end
  end

  logic [1:0] frames;
  logic       long_one;

  always_ff @(posedge clk) begin
    if (rst) begin
      frames   <= '0;
      long_one <= 1'b0;
    end else begin
      if (m_valid && m_ready && m_last && beat_out != '0 && frames != '1) frames <= frames + 1'b1;
      if (s_valid && s_last && beat_in == 3'd3) long_one <= 1'b1;
    end
  end

  always_comb begin
    if (!rst) begin
      two:     cover (frames == 2'd2);
      beyond:  cover (long_one && frames == 2'd1 && frame_out == 4'd2);
      skips:   cover (m_valid && out_now == 4'd2 && frame_out == '0);
      full:    cover (!s_ready && beat_in != '0);
    end
  end
endmodule

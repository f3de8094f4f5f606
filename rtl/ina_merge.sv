// SPDX-License-Identifier: Apache-2.0
//
// Merges two streams of frames onto one port. The streams take turns, one whole frame each. One
// clock of latency.
//
// Rebuilt frames that have a VLAN tag get it here, because one more source for each bit costs
// nothing in this module. The bytes after the MAC addresses move by four bytes, and the four bytes
// that do not fit into a beat go into the next one.
//
// With `drops`, a beat is lost if the output register is occupied, and so is the rest of its frame.
// If the beginning of the frame has left, an end of one byte that is not the frame's follows. So its
// length does not match its headers, and no receiver accepts it as a whole frame.

`default_nettype none

module ina_merge (
    input  logic clk,
    input  logic rst,

    // Rebuilt frames. The tag is that of the frame whose beat is offered.
    input  logic                           s0_axis_tvalid,
    output logic                           s0_axis_tready,
    input  logic [ina_pkg::BEAT_W-1:0]     s0_axis_tdata,
    input  logic [ina_pkg::BEAT_BYTES-1:0] s0_axis_tkeep,
    input  logic                           s0_axis_tlast,
    input  logic                           s0_tagged,
    input  logic [31:0]                    s0_tag,

    // Passed frames.
    input  logic                           s1_axis_tvalid,
    output logic                           s1_axis_tready,
    input  logic [ina_pkg::BEAT_W-1:0]     s1_axis_tdata,
    input  logic [ina_pkg::BEAT_BYTES-1:0] s1_axis_tkeep,
    input  logic                           s1_axis_tlast,

    output logic                           m_axis_tvalid,  // also means busy
    input  logic                           m_axis_tready,
    output logic [ina_pkg::BEAT_W-1:0]     m_axis_tdata,
    output logic [ina_pkg::BEAT_BYTES-1:0] m_axis_tkeep,
    output logic                           m_axis_tlast,

    input  logic                           drops
);
  localparam int BEAT_W     = ina_pkg::BEAT_W;
  localparam int BEAT_BYTES = ina_pkg::BEAT_BYTES;
  localparam int TAG_BYTES  = ina_pkg::VLAN_BYTES;
  localparam int TAG_W      = TAG_BYTES * 8;
  localparam int TAG_AT     = 8 * ina_pkg::ETHERTYPE_AT;  // the proof of this module replaces it

  logic in_frame;  // between the first and the last beat of a frame, which `owner` sends
  logic owner;
  logic stream;   // stream that sends in this clock
  logic free;     // the output register can be loaded
  logic accepts;  // a beat can be taken
  logic take;
  logic losing;    // the rest of the current frame is lost
  logic loses;     // this beat is lost
  logic is_cut;    // the frame at the output still lacks an end

  logic [TAG_W-1:0]     spilled;    // the last bytes of the previous rebuilt beat
  logic [TAG_BYTES-1:0] spilled_keep;
  logic                 spills;     // they end their frame, in a beat without others
  logic                 moves;      // the bytes of the rebuilt frame after the MACs move
  logic                 moves_all;  // all bytes of the beat move
  logic                 ends;       // the output beat is the last one of its frame

  assign free    = (!m_axis_tvalid || m_axis_tready) && !is_cut;
  assign accepts = free || drops || losing;
  assign loses   = losing || !free;
  assign stream  = in_frame ? owner : owner ? !s0_axis_tvalid : s1_axis_tvalid;
  // Equals !turn if s0_axis_tvalid. s0_axis_tvalid is left out, because a tvalid that depends on
  // ready comes late.
  assign s0_axis_tready = accepts && !spills && !(in_frame ? owner : !owner && s1_axis_tvalid);
  assign s1_axis_tready = accepts && stream;
  assign take           = accepts && (spills || (stream ? s1_axis_tvalid : s0_axis_tvalid));
  assign moves          = spills || s0_tagged;
  assign moves_all      = moves && in_frame;
  assign ends           = spills || (stream ? s1_axis_tlast
      : s0_axis_tlast && !(s0_tagged && s0_axis_tkeep[BEAT_BYTES-TAG_BYTES]));

  always_ff @(posedge clk) begin
    if (rst) begin
      in_frame      <= 1'b0;
      owner         <= 1'b0;
      spills        <= 1'b0;
      m_axis_tvalid <= 1'b0;
      losing        <= 1'b0;
      is_cut        <= 1'b0;
    end else begin
      if (take) begin
        in_frame <= !ends;
        owner    <= stream;
        spills   <= !stream && s0_axis_tlast && !ends;
        losing   <= loses && !ends;
      end
      if (take && loses && in_frame && !losing) is_cut <= 1'b1;
      else if (m_axis_tready) is_cut <= 1'b0;
      if (take && !loses) m_axis_tvalid <= 1'b1;
      else if (m_axis_tready) m_axis_tvalid <= is_cut;
    end
  end

  always_ff @(posedge clk) begin
    if (is_cut && m_axis_tready) begin
      m_axis_tkeep <= BEAT_BYTES'(1);
      m_axis_tlast <= 1'b1;
    end
    if (take) begin
      spilled      <= s0_axis_tdata[BEAT_W-1-:TAG_W];
      spilled_keep <= s0_axis_tkeep[BEAT_BYTES-1-:TAG_BYTES];
    end
    if (take && !loses) begin
      m_axis_tdata <= stream ? s1_axis_tdata
          : {moves ? s0_axis_tdata[BEAT_W-TAG_W-1:TAG_AT] : s0_axis_tdata[BEAT_W-1:TAG_AT+TAG_W],
             moves_all ? s0_axis_tdata[TAG_AT-1-:TAG_W]
                 : moves ? s0_tag : s0_axis_tdata[TAG_AT+:TAG_W],
             moves_all ? {s0_axis_tdata[TAG_AT-TAG_W-1:0], spilled} : s0_axis_tdata[TAG_AT-1:0]};
      m_axis_tkeep <= stream ? s1_axis_tkeep
          : spills ? BEAT_BYTES'(spilled_keep)
          : moves ? {s0_axis_tkeep[BEAT_BYTES-TAG_BYTES-1:0], {TAG_BYTES{1'b1}}} : s0_axis_tkeep;
      m_axis_tlast <= ends;
    end
  end

endmodule

`default_nettype wire

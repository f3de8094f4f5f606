// SPDX-License-Identifier: Apache-2.0
//
// ina_top in a simulator with four states, driven by a bench (Vina_top.h) through stdin and stdout:
// for each line with the inputs, one with the outputs that follow. Wide ones come where they matter:
// beats where one may be valid, counters where they have changed.

`timescale 1ns / 1ns

module four_state;
  localparam PORTS = `INA_PORT_COUNT;
  localparam COUNTERS_W = 26 * 64;  // ina_pkg::COUNTER_COUNT
  localparam LINE = 64 + PORTS * 160;  // characters
  localparam STDIN = 32'h8000_0000;

  reg                   clk, rst, age, tick, patience;
  reg  [1:0]            place_level;
  reg  [PORTS-1:0]      place_uplinks;
  reg  [63:0]           place_id;
  reg  [PORTS-1:0]      s_axis_tvalid, s_axis_tlast, m_axis_tready;
  reg  [PORTS*512-1:0]  s_axis_tdata;
  reg  [PORTS*64-1:0]   s_axis_tkeep;
  wire [PORTS-1:0]      s_axis_tready, m_axis_tvalid, m_axis_tlast;
  wire [PORTS*512-1:0]  m_axis_tdata;
  wire [PORTS*64-1:0]   m_axis_tkeep;
  wire                  busy;
  wire [COUNTERS_W-1:0] counters;
  reg  [COUNTERS_W-1:0] shown;
  wire                  counted = counters !== shown;  // not read word for word each time
  reg  [8*LINE-1:0]     line;
  integer               out;

  ina_top dut (
      .clk(clk), .rst(rst), .age(age), .tick(tick), .patience(patience),
      .place_level(place_level), .place_uplinks(place_uplinks), .place_id(place_id), .quota(7'd0),
      .vlan_quota(7'd0), .trusted_ports('0), .port_priority('0),
      .s_axis_tvalid(s_axis_tvalid), .s_axis_tready(s_axis_tready), .s_axis_tdata(s_axis_tdata),
      .s_axis_tkeep(s_axis_tkeep), .s_axis_tlast(s_axis_tlast),
      .m_axis_tvalid(m_axis_tvalid), .m_axis_tready(m_axis_tready), .m_axis_tdata(m_axis_tdata),
      .m_axis_tkeep(m_axis_tkeep), .m_axis_tlast(m_axis_tlast),
      .busy(busy), .counters(counters));

  initial begin
    shown = 0;
    // Not $display: vvp keeps what it says until there is more.
    out = $fopen("/dev/stdout", "w");
    while ($fgets(line, STDIN) != 0
           && $sscanf(line, "%b %b %b %b %b %h %h %h %b %b %b %h %h", clk, rst, age, tick, patience,
                      place_level, place_uplinks, place_id, m_axis_tready, s_axis_tvalid,
                      s_axis_tlast, s_axis_tdata, s_axis_tkeep) >= 11) begin
      #1;
      $fwrite(out, "%b %b %b %b", busy, s_axis_tready, m_axis_tvalid, m_axis_tlast);
      if (m_axis_tvalid !== 0) $fwrite(out, " beats %h %h", m_axis_tdata, m_axis_tkeep);
      if (counted) begin
        $fwrite(out, " counters %h", counters);
        shown = counters;
      end
      $fwrite(out, "\n");
      $fflush(out);
    end
    $finish;
  end
endmodule

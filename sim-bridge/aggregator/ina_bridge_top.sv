// SPDX-License-Identifier: Apache-2.0
//
// The aggregator as the bridge runs it, for Verilator. Its inputs come from registers: logic that
// hangs on a top level's inputs is worked out for every change of them, that behind a register once
// a clock. And the bridge takes every beat at once, which lets Verilator drop the logic that waits.

module ina_bridge_top #(
    parameter int PORT_COUNT = 4,
    parameter int JOB_COUNT  = 16,
    parameter int SLOT_COUNT = 128,
    parameter int MEMORY     = 512,
    parameter int GRAIN      = 8
) (
    input  logic clk,
    input  logic rst,
    input  logic age,
    input  logic tick,
    input  logic patience,
    input  logic [1:0]            place_level,
    input  logic [PORT_COUNT-1:0] place_uplinks,
    input  logic [63:0]           place_id,
    input  logic [6:0]            quota,
    input  logic [6:0]            vlan_quota,
    input  logic [PORT_COUNT-1:0] trusted_ports,
    input  logic [PORT_COUNT*3-1:0] port_priority,

    // As ina_top's.
    input  logic [PORT_COUNT-1:0]                     s_axis_tvalid,
    output logic [PORT_COUNT-1:0]                     s_axis_tready,
    input  logic [PORT_COUNT*ina_pkg::BEAT_W-1:0]     s_axis_tdata,
    input  logic [PORT_COUNT*ina_pkg::BEAT_BYTES-1:0] s_axis_tkeep,
    input  logic [PORT_COUNT-1:0]                     s_axis_tlast,

    output logic [PORT_COUNT-1:0]                     m_axis_tvalid,
    output logic [PORT_COUNT*ina_pkg::BEAT_W-1:0]     m_axis_tdata,
    output logic [PORT_COUNT*ina_pkg::BEAT_BYTES-1:0] m_axis_tkeep,
    output logic [PORT_COUNT-1:0]                     m_axis_tlast,

    output logic                                                 busy,
    output logic [ina_pkg::COUNTER_COUNT*ina_pkg::COUNTER_W-1:0] counters
);
  localparam int BEAT_W = ina_pkg::BEAT_W;
  localparam int KEEP_W = ina_pkg::BEAT_BYTES;

  logic                         top_age;
  logic                         top_tick;
  logic                         top_patience;
  logic [1:0]                   top_level;
  logic [PORT_COUNT-1:0]        top_uplinks;
  logic [63:0]                  top_id;
  logic [6:0]                   top_quota;
  logic [6:0]                   top_vlan_quota;
  logic [PORT_COUNT-1:0]        top_trusted;
  logic [PORT_COUNT*3-1:0]      top_priority;
  logic [PORT_COUNT-1:0]        top_tvalid;
  logic [PORT_COUNT-1:0]        top_tready;
  logic [PORT_COUNT*BEAT_W-1:0] top_tdata;
  logic [PORT_COUNT*KEEP_W-1:0] top_tkeep;
  logic [PORT_COUNT-1:0]        top_tlast;
  logic                         top_busy;

  assign s_axis_tready = ~top_tvalid | top_tready;
  assign busy          = top_busy || top_tvalid != '0 || top_age;

  always_ff @(posedge clk) begin
    top_age  <= age;
    top_tick <= tick;
    top_patience <= patience;
    {top_level, top_uplinks, top_id} <= {place_level, place_uplinks, place_id};
    {top_quota, top_vlan_quota, top_trusted, top_priority} <= {quota, vlan_quota, trusted_ports, port_priority};
    for (int p = 0; p < PORT_COUNT; p++) begin
      if (!top_tvalid[p] || top_tready[p]) begin
        top_tvalid[p] <= s_axis_tvalid[p];
        if (s_axis_tvalid[p]) begin
          top_tdata[p*BEAT_W +: BEAT_W] <= s_axis_tdata[p*BEAT_W +: BEAT_W];
          top_tkeep[p*KEEP_W +: KEEP_W] <= s_axis_tkeep[p*KEEP_W +: KEEP_W];
          top_tlast[p]                  <= s_axis_tlast[p];
        end
      end
    end
    if (rst) top_tvalid <= '0;
  end

  ina_top #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT), .MEMORY(MEMORY),
            .GRAIN(GRAIN)) top (
      .clk, .rst, .age(top_age), .tick(top_tick), .patience(top_patience),
      .place_level(top_level), .place_uplinks(top_uplinks), .place_id(top_id), .quota(top_quota),
      .vlan_quota(top_vlan_quota), .trusted_ports(top_trusted), .port_priority(top_priority),
      .s_axis_tvalid(top_tvalid), .s_axis_tready(top_tready), .s_axis_tdata(top_tdata),
      .s_axis_tkeep(top_tkeep), .s_axis_tlast(top_tlast),
      .m_axis_tvalid, .m_axis_tready('1), .m_axis_tdata, .m_axis_tkeep, .m_axis_tlast,
      .busy(top_busy), .counters);

endmodule

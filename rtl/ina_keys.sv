// SPDX-License-Identifier: Apache-2.0
//
// Stores the keys of all ports' flows, and makes the comparisons that ina_elsewhere asks for: one
// RAM and one comparator, which serve the ports in turn.
//
// A port's key is written in the clock after the answer that grants its JOIN. A comparison takes
// four clocks: a port is chosen, its key and the flow's key are read, and they are compared. In the
// clock after the answer all ports get the hash of the new flow (ina_elsewhere). If the keys are
// equal, the port of the flow gets a notice, one clock after the comparison, that a packet of its
// flow came in by another port.

`default_nettype none

module ina_keys #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int SEARCH_W   = ina_pkg::SEARCH_T_W,
    localparam int FOUND_W    = ina_pkg::FOUND_T_W
) (
    input  logic clk,
    input  logic rst,

    // This port learns the key of the packet that it holds. At most one port does in a clock.
    input  logic [PORT_COUNT-1:0] learn,
    input  logic [JOB_W-1:0]      learn_job,

    // A search_t from each port, and a found_t for it. A port asks until its search is done.
    input  logic [PORT_COUNT*SEARCH_W-1:0] search,
    output logic [PORT_COUNT*FOUND_W-1:0]  found,

    // A packet of this port's flow has come in by another port. The flow may have ended in the
    // meantime.
    output logic [PORT_COUNT-1:0] contest_valid,
    output logic [JOB_W-1:0]      contest_job
);
  localparam int KEY_W     = ina_pkg::KEY_W;
  localparam int HASH_W    = ina_pkg::HASH_W;
  localparam int PORT_W    = PORT_COUNT > 1 ? $clog2(PORT_COUNT) : 1;  // ina_top refuses one port
  localparam int ADDRESS_W = PORT_W + JOB_W;

  logic [KEY_W-1:0] ram [0:(1<<ADDRESS_W)-1];

  // The requests of the ports, with the same field of all ports in one vector. The port of a flow
  // is counted round from the asking port.
  logic [PORT_COUNT-1:0]        search_valid;
  logic [PORT_COUNT*PORT_W-1:0] search_port;
  logic [PORT_COUNT*JOB_W-1:0]  search_job;
  logic [PORT_COUNT*HASH_W-1:0] hash;
  logic [PORT_COUNT*KEY_W-1:0]  key;

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_search
    logic [3:0] port;
    logic [5:0] job;
    logic       unused;

    assign {search_valid[p], port, job, hash[p*HASH_W +: HASH_W], key[p*KEY_W +: KEY_W]} =
        search[p*SEARCH_W +: SEARCH_W];
    assign search_job[p*JOB_W +: JOB_W]    = job[JOB_W-1:0];
    assign unused = &job;

    always_comb begin
      search_port[p*PORT_W +: PORT_W] = '0;
      for (int o = 0; o < PORT_COUNT - 1; o++)
        if (port == 4'(o)) search_port[p*PORT_W +: PORT_W] = PORT_W'((p + 1 + o) % PORT_COUNT);
    end
  end

  // The port and the flow that are learned, one clock later.
  logic [PORT_COUNT-1:0] writer;
  logic [JOB_W-1:0]      write_job;
  logic                  writes;
  logic [HASH_W-1:0]     learned_hash;
  logic [HASH_W-1:0]     learned_hash_d;

  assign writes = writer != '0;

  always_ff @(posedge clk) begin
    writer       <= rst ? '0 : learn;
    write_job    <= learn_job;
    learned_hash <= learned_hash_d;
  end

  always_comb begin
    learned_hash_d = '0;
    for (int p = 0; p < PORT_COUNT; p++)
      if (learn[p]) learned_hash_d = learned_hash_d | hash[p*HASH_W +: HASH_W];
  end

  // The stages of a search. While a key is written, reading waits.
  logic                  asks;
  logic                  choosing;
  logic                  reading;
  logic                  comparing;
  logic [PORT_COUNT-1:0] choice;
  logic [PORT_COUNT-1:0] reader;

  assign asks = search_valid != '0 && !choosing && !reading && !comparing;

  ina_turn #(.WIDTH(PORT_COUNT)) turn (
      .clk, .rst, .asks, .wanted(search_valid), .choice, .served(choosing), .which(choice));

  always_ff @(posedge clk) begin
    choosing  <= asks;
    reading   <= choosing || (reading && writes);
    comparing <= reading && !writes;
    if (choosing) reader <= choice;
    if (rst) {choosing, reading, comparing} <= '0;
  end

  // The key of the port whose turn it is, and the flow that it asks about.
  logic [PORT_COUNT-1:0] owner;
  logic [KEY_W-1:0]      owner_key;
  logic [PORT_W-1:0]     write_port;
  logic [PORT_W-1:0]     read_port;
  logic [JOB_W-1:0]      read_job;

  assign owner = writes ? writer : reader;

  always_comb begin
    owner_key  = '0;
    write_port = '0;
    read_port  = '0;
    read_job   = '0;
    for (int p = 0; p < PORT_COUNT; p++) begin
      if (writer[p]) write_port = write_port | PORT_W'(p);
      if (owner[p] && (writes || reading || !ina_pkg::SIMULATED))
        owner_key = owner_key | key[p*KEY_W +: KEY_W];
      if (reader[p]) begin
        read_port = read_port | search_port[p*PORT_W +: PORT_W];
        read_job  = read_job | search_job[p*JOB_W +: JOB_W];
      end
    end
  end

  logic [KEY_W-1:0] asked_key;
  logic [KEY_W-1:0] flow_key;

  always_ff @(posedge clk) begin
    if (writes) ram[{write_port, write_job}] <= owner_key;
    if (reading) begin
      asked_key <= owner_key;
      flow_key  <= ram[{read_port, read_job}];
    end
  end

  logic equal;

  assign equal = asked_key == flow_key;

  always_ff @(posedge clk) begin
    contest_valid <= '0;
    if (comparing && equal && !rst) contest_valid[read_port] <= 1'b1;
    contest_job <= read_job;
  end

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_found
    assign found[p*FOUND_W +: FOUND_W] =
        {comparing && reader[p], equal, learned_hash};
  end

endmodule

`default_nettype wire

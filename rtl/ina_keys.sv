// SPDX-License-Identifier: Apache-2.0
//
// The keys of all ports' flows, for the comparisons that ina_elsewhere asks for: a RAM and one
// comparator for all ports, which are served in turn.
//
// A port's key goes in when its JOIN is granted, in the clock after the answer. A comparison takes
// four clocks: the port is chosen, its key and the flow's are read, they are compared.

`default_nettype none

module ina_keys #(
    parameter  int PORT_COUNT = 4,
    parameter  int JOB_COUNT  = 4,
    parameter  int KEY_W      = 88,
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int OTHER_W    = PORT_COUNT > 2 ? $clog2(PORT_COUNT - 1) : 1
) (
    input  logic clk,
    input  logic rst,

    // The key of the packet at each port's judge, which stands still for what follows.
    input  logic [PORT_COUNT*KEY_W-1:0] key,

    // This port learns it; one port at most.
    input  logic [PORT_COUNT-1:0] learn,
    input  logic [JOB_W-1:0]      learn_job,

    // These ports ask whether it is that of a flow: search_port 0 is the port behind the one that
    // asks, and so on round. A port asks until it is told that its search is done.
    input  logic [PORT_COUNT-1:0]         search_valid,
    input  logic [PORT_COUNT*OTHER_W-1:0] search_port,
    input  logic [PORT_COUNT*JOB_W-1:0]   search_job,
    output logic [PORT_COUNT-1:0]         search_done,
    output logic                          search_equal
);
  localparam int PORT_W    = $clog2(PORT_COUNT);
  localparam int ADDRESS_W = PORT_W + JOB_W;

  logic [KEY_W-1:0] ram [0:(1<<ADDRESS_W)-1];

  // What is learned, a clock later.
  logic [PORT_COUNT-1:0] writer;
  logic [JOB_W-1:0]      write_job;
  logic                  writes;

  assign writes = writer != '0;

  always_ff @(posedge clk) begin
    writer    <= rst ? '0 : learn;
    write_job <= learn_job;
  end

  // A search's stages. While a key is written, reading waits.
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

  // The key of the port whose turn it is, and the flow of which it asks.
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
        read_port = read_port
            | PORT_W'((p + 1 + 32'(search_port[p*OTHER_W +: OTHER_W])) % PORT_COUNT);
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

  assign search_done  = comparing ? reader : '0;
  assign search_equal = asked_key == flow_key;

endmodule

`default_nettype wire

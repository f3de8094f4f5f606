// SPDX-License-Identifier: Apache-2.0
//
// The packet memory that all jobs share: allocates one block to each job. Every port's queue and
// each history have MEMORY packets, and a job has the same block in all of them.
//
// A block is a power of two of packets, at least a grain and at most SLOT_COUNT, and begins at a
// multiple of its size. So the slot of a job's packet is the first slot of the block with the
// packet's number, modulo the block's size, in the lower bits.
//
// For each context without a block one grain is reserved. So no job is refused for lack of memory,
// and a larger block only takes grains that are not reserved.
//
//   free        one bit a grain
//   spare       number of grains that are free and not reserved
//   whole       for each size, the blocks that are entirely free    registers, one clock later
//   any, first  whether a block may be taken, and the lowest one    registers, one clock later
//
// A context holds its block until it is idle: no packet of its job is under way any more. Then the
// block is freed, one context after the other, one block every second clock. `any` includes the
// block two clocks after `has_block` has fallen, in time for a `look` one clock after that.
//
// Properties:
//
//   1. No two contexts that hold a block have a slot in common.
//   2. Every block is inside the memory, a power of two, and begins at a multiple of its size.
//   3. If no context holds a block, all grains are free: blocks are given back whole.
//   4. A context without a block always finds a grain.
//   5. From three clocks after the last change on, a context gets the largest block that is no
//      larger than it asks for, is free, and leaves a grain to each other context without a block.
//      If there are quotas, it is no larger than MEMORY / JOB_COUNT, or a grain.

`default_nettype none

module ina_memory #(
    parameter  int JOB_COUNT  = 16,
    parameter  int SLOT_COUNT = 128,  // most packets of one job: a power of two
    parameter  int MEMORY     = 512,  // packets: a multiple of GRAIN, at least JOB_COUNT * GRAIN
    parameter  int GRAIN      = 8,    // packets of the smallest block: a power of two
    localparam int JOB_W      = JOB_COUNT > 1 ? $clog2(JOB_COUNT) : 1,
    localparam int SLOT_W     = $clog2(SLOT_COUNT),
    localparam int INDEX_W    = $clog2(MEMORY)
) (
    input  logic clk,
    input  logic rst,

    input  logic has_quota,  // constant: no block larger than MEMORY / JOB_COUNT, or a grain

    // A JOIN asks for a block with `look`. The block is taken two clocks later or more, if no other
    // block was taken since. The context must have had no block one clock before `look`.
    input  logic             look,
    input  logic [31:0]      asked,  // minus the packets
    input  logic             take,
    input  logic [JOB_W-1:0] take_job,

    // These contexts no longer need their blocks. Stays 1 until the block is given back.
    input  logic [JOB_COUNT-1:0] idle,
    output logic [JOB_COUNT-1:0] has_block,

    // The block that a context has, or had last.
    output logic [JOB_COUNT*INDEX_W-1:0] job_base,    // its first packet in the memory
    output logic [JOB_COUNT*SLOT_W-1:0]  job_window,  // its packets, less one

    output logic busy  // a block is to be given back
);

  localparam int GRAIN_W = $clog2(GRAIN);
  localparam int GRAINS  = MEMORY / GRAIN;
  localparam int FIRST_W = GRAINS > 1 ? $clog2(GRAINS) : 1;
  localparam int SIZES   = $clog2(SLOT_COUNT / GRAIN) + 1;

  logic [GRAINS-1:0]  free;
  logic [FIRST_W-1:0] spare;

  // The free blocks of each size.
  logic [1:0]               changed;  // bit 0: one clock ago; bit 1: two clocks ago
  logic [SIZES-1:0]         any;
  logic [SIZES*FIRST_W-1:0] first;    // first grain of the lowest free block

  for (genvar s = 0; s < SIZES; s++) begin : gen_size
    localparam int BLOCKS = GRAINS >> s;

    logic [BLOCKS-1:0]  whole;
    logic [BLOCKS-1:0]  lowest_one;  // lowest 1 of whole: a carry chain beats priority logic
    logic [FIRST_W-1:0] lowest;

    assign lowest_one = whole & -whole;

    always_comb begin
      lowest = '0;
      if (changed[1] || !ina_pkg::SIMULATED)
        for (int b = 0; b < BLOCKS; b++) if (lowest_one[b]) lowest = lowest | FIRST_W'(b << s);
    end

    always_ff @(posedge clk) begin
      if (changed[0])
        for (int b = 0; b < BLOCKS; b++) whole[b] <= &free[b << s +: 1 << s];
      if (changed[1]) begin
        any[s]                      <= whole != '0 && 32'(spare) + 32'd1 >= 32'(1 << s);
        first[s*FIRST_W +: FIRST_W] <= lowest;
      end
    end
  end

  // Bit s: the JOIN asks for this size or a larger one. A request for less than a grain gets a
  // grain.
  logic             looked;
  logic [SIZES-1:0] asks;

  always_ff @(posedge clk) begin
    looked <= look && !rst;
    if (look) begin
      asks <= '1;
      for (int s = 1; s < SIZES; s++)
        asks[s] <= $signed(asked) <= -$signed(32'(GRAIN << s))
            && !(has_quota && (GRAIN << s) * JOB_COUNT > MEMORY);
    end
  end

  // The block that would be taken.
  logic [INDEX_W-1:0]   base_d;
  logic [SLOT_W-1:0] window_d;
  logic [INDEX_W-1:0]   base_q;
  logic [SLOT_W-1:0] window_q;

  always_comb begin
    base_d   = '0;
    window_d = '0;
    if (looked || !ina_pkg::SIMULATED)
      for (int s = 0; s < SIZES; s++)
        if (asks[s] && any[s]) begin
          base_d   = INDEX_W'(32'(first[s*FIRST_W +: FIRST_W]) << GRAIN_W);
          window_d = SLOT_W'((GRAIN << s) - 1);
        end
  end

  always_ff @(posedge clk) begin
    if (looked) begin
      base_q   <= base_d;
      window_q <= window_d;
    end
  end

  // The lowest context that has a block to give back. `idle` comes late in a clock, so it is used
  // in the next one. A block that was given back in that clock does not count.
  logic [JOB_COUNT-1:0] to_give_q;  // in the previous clock: a block whose context was idle
  logic [JOB_COUNT-1:0] to_give;
  logic [JOB_W-1:0]     lowest_to_give;
  logic                 gives;
  logic [JOB_W-1:0]     gives_job;

  always_ff @(posedge clk) to_give_q <= rst ? '0 : has_block & idle;

  assign to_give = to_give_q & has_block;
  assign busy    = (has_block & idle) != '0 || gives;

  always_comb begin
    lowest_to_give = '0;
    if (to_give != '0 || !ina_pkg::SIMULATED)
      for (int j = JOB_COUNT - 1; j >= 0; j--) if (to_give[j]) lowest_to_give = JOB_W'(j);
  end

  always_ff @(posedge clk) begin
    gives     <= to_give != '0 && !gives && !rst;
    gives_job <= lowest_to_give;
  end

  // The grains that are taken, and those that are given back. One grain of each block was reserved
  // before, and is reserved again.
  logic [INDEX_W-1:0] gives_base;
  logic [SLOT_W-1:0]  gives_window;
  logic [GRAINS-1:0]  taken;
  logic [GRAINS-1:0]  given;

  assign gives_base   = job_base[gives_job*INDEX_W +: INDEX_W];
  assign gives_window = job_window[gives_job*SLOT_W +: SLOT_W];

  for (genvar g = 0; g < GRAINS; g++) begin : gen_grain
    localparam logic [INDEX_W-1:0] AT = INDEX_W'(g * GRAIN);

    assign taken[g] = take && (AT & ~(INDEX_W'(window_q))) == base_q;
    assign given[g] = gives && (AT & ~(INDEX_W'(gives_window))) == gives_base;
  end

  // `take` comes late in a clock, so it only selects.
  logic [FIRST_W-1:0] spare_then;  // after the block is given back
  logic [FIRST_W-1:0] spare_less;  // and after a block is taken

  assign spare_then = spare + (gives ? FIRST_W'(32'(gives_window) >> GRAIN_W) : '0);
  assign spare_less = spare_then - FIRST_W'(32'(window_q) >> GRAIN_W);

  always_ff @(posedge clk) begin
    changed <= {changed[0], take || gives || rst};
    if (take || gives) begin
      free  <= (free & ~taken) | given;
      spare <= take ? spare_less : spare_then;
    end
    if (gives) has_block[gives_job] <= 1'b0;
    for (int j = 0; j < JOB_COUNT; j++) begin
      if (take && take_job == JOB_W'(j)) begin
        has_block[j]                   <= 1'b1;
        job_base[j*INDEX_W +: INDEX_W] <= base_q;
        job_window[j*SLOT_W +: SLOT_W] <= window_q;
      end
    end
    if (rst) begin
      free      <= '1;
      spare     <= FIRST_W'(GRAINS - JOB_COUNT);
      has_block <= '0;
    end
  end

endmodule

`default_nettype wire

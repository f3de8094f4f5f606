// SPDX-License-Identifier: Apache-2.0
//
// ina_memory gives blocks to jobs. Requests come as ina_jobs makes them. There is no look-up within two
// clocks of a take. A block that was looked up is taken at least two clocks later, for a context that held
// nothing in the clock before the look-up.
//
//   1. No two contexts that hold a block have a slot in common.
//   2. A block is inside the memory, not larger than SLOT_COUNT, and begins at a multiple of its size.
//   3. A block is held until its context is idle, and then given back. While a block waits for that, the
//      module is busy. It waits for at most two clocks for each context.
//   4. For each context that holds nothing, there is a grain that no context holds.
//   5. If nothing had changed for three clocks at the look-up, the block that is taken is the largest free
//      block of at most the requested size that leaves a grain to each other context that holds nothing. So
//      blocks that come back are merged: a slot that no context holds is free.
//   6. If there are shares, no block is larger than a context's share of the memory.

module formal_ina_memory (
    input logic clk
);
  localparam int JOB_COUNT  = 3;
  localparam int SLOT_COUNT = 4;
  localparam int MEMORY     = 6;
  localparam int GRAIN      = 1;
  localparam int JOB_W      = 2;
  localparam int SLOT_W     = 2;
  localparam int INDEX_W    = 3;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyconst *) logic               has_quota;  // a context's share is two packets
  (* anyseq *) logic                 look;
  (* anyseq *) logic [31:0]          asked;
  (* anyseq *) logic                 take;
  (* anyseq *) logic [JOB_W-1:0]     take_job;
  (* anyseq *) logic [JOB_COUNT-1:0] idle;
  logic [JOB_COUNT-1:0]              has_block;
  logic [JOB_COUNT*INDEX_W-1:0]      job_base;
  logic [JOB_COUNT*SLOT_W-1:0]       job_window;
  logic                              busy;

  ina_memory #(.JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT), .MEMORY(MEMORY), .GRAIN(GRAIN)) dut (
      .clk, .rst, .has_quota, .look, .asked, .take, .take_job, .idle, .has_block, .job_base, .job_window, .busy);

  // A look-up, and the take after it, if any.
  logic       looked;    // in the clock before
  logic       may_take;  // two or more clocks before, and nothing was taken since
  logic [JOB_COUNT-1:0] may_hold;  // contexts that held no block in the clock before
  logic [1:0] since_take;
  logic [2:0] still;     // clocks without a change before the latest clock
  logic       settled;   // nothing has changed for three clocks, nor in the latest one
  logic [JOB_COUNT-1:0] idle_q;
  logic [JOB_COUNT-1:0] has_block_q;
  logic [31:0] wanted;   // packets

  always_ff @(posedge clk) begin
    looked     <= !rst && look;
    may_take   <= !rst && !take && !look && (looked || may_take);
    since_take <= rst || take ? '0 : since_take == 2'd2 ? 2'd2 : since_take + 1'b1;
    still      <= rst || take || has_block != has_block_q ? '0 : still == 3'd7 ? 3'd7 : still + 1'b1;
    idle_q     <= rst ? '0 : idle & ~(take ? JOB_COUNT'(1) << take_job : '0);
    has_block_q <= rst ? '0 : has_block;
    if (look) begin
      wanted   <= -asked;
      may_hold <= ~has_block_q;
    end
  end

  // A change is visible in held a clock before it is visible in still.
  assign settled    = still >= 3'd3 && has_block == has_block_q;

  always_comb begin
    assume (!(look && (looked || take)));
    assume (!look || (asked[31] && since_take == 2'd2));
    assume (asked[30:4] == '1);
    assume (!take || (may_take && take_job < JOB_W'(JOB_COUNT) && may_hold[take_job]));
    // An idle context stays idle until a block is taken for it.
    assume ((idle_q & ~idle & has_block) == '0);
  end

  // The slots that are held.
  logic [MEMORY-1:0] slots_of [JOB_COUNT];
  logic [MEMORY-1:0] used;
  logic              fits_2, fits_4;  // blocks of this size are free
  logic [3:0]        free_count;
  logic [3:0]        to_come;         // contexts that hold no block

  always_comb begin
    used = '0;
    for (int j = 0; j < JOB_COUNT; j++) begin
      slots_of[j] = '0;
      for (int s = 0; s < MEMORY; s++)
        slots_of[j][s] = has_block[j] && 32'(job_base[j*INDEX_W +: INDEX_W]) <= s
            && s <= 32'(job_base[j*INDEX_W +: INDEX_W]) + 32'(job_window[j*SLOT_W +: SLOT_W]);
      used = used | slots_of[j];
    end
    free_count = '0;
    for (int s = 0; s < MEMORY; s++) free_count = free_count + 4'(!used[s]);
    to_come = '0;
    for (int j = 0; j < JOB_COUNT; j++) to_come = to_come + 4'(!has_block[j]);
    fits_2 = used[1:0] == '0 || used[3:2] == '0 || used[5:4] == '0;
    fits_4 = used[3:0] == '0;
  end

  logic [SLOT_W-1:0] window;  // of the block that was taken a clock ago
  logic              took;
  logic              took_4, took_2;  // ... it should have at least this size

  assign window = job_window[took_job*SLOT_W +: SLOT_W];

  logic [JOB_W-1:0] took_job;

  // The blocks that were free at the look-up.
  logic looked_2, looked_4;
  logic kept;  // a block of four, except for the others' grains

  always_ff @(posedge clk) begin
    took     <= !rst && take;
    took_job <= take_job;
    if (look) begin
      looked_2 <= settled && fits_2 && free_count > to_come;
      looked_4 <= settled && fits_4 && free_count > to_come + 4'd2;
      kept     <= settled && fits_4 && free_count <= to_come + 4'd2;
    end
    took_4   <= looked_4 && wanted >= 32'd4 && !has_quota;
    took_2   <= looked_2 && wanted >= 32'd2;
  end

  for (genvar j = 0; j < JOB_COUNT; j++) begin : gen_job
    logic [31:0] base;
    logic [31:0] size;

    logic [2:0] waits;  // idle, and the block is not given back

    always_ff @(posedge clk) waits <= (rst || !has_block[j] || !idle[j]) ? '0 : waits + 1'b1;

    assign base = 32'(job_base[j*INDEX_W +: INDEX_W]);
    assign size = 32'(job_window[j*SLOT_W +: SLOT_W]) + 32'd1;

    always_comb begin
      if (!rst && has_block[j]) begin
        assert (base + size <= MEMORY);
        assert (size == 32'd1 || size == 32'd2 || size == 32'd4);
        assert ((base & (size - 32'd1)) == '0);
        assert (!has_quota || size <= 32'd2);
        if (idle[j]) begin
          assert (busy && waits != 3'd7);
        end
      end
      if (!rst && has_block_q[j] && !idle_q[j]) begin
        assert (has_block[j]);
      end
    end
    for (genvar k = 0; k < j; k++) begin : gen_other
      always_comb if (!rst) begin
        assert ((slots_of[j] & slots_of[k]) == '0);
      end
    end
  end

  always_comb begin
    if (!rst) begin
      p4_each: assert (free_count >= to_come);
      if (took && took_4) begin
        p5_four: assert (window == 2'd3);
      end
      if (took && took_2) begin
        p5_two: assert (window >= 2'd1);
      end
      if (took && wanted == 32'd1) begin
        p5_one: assert (window == '0);
      end
      if (took && wanted < 32'd4) begin
        p5_less: assert (window < 2'd3);
      end
    end
  end

  logic [2:0] given;  // blocks that came back

  always_ff @(posedge clk) if (rst) given <= '0; else if ((has_block_q & ~has_block) != '0) given <= given | 3'(has_block_q & ~has_block);

  always_comb begin
    if (!rst) begin
      full:   cover (used == '1);
      four:   cover (took && window == 2'd3);
      less:   cover (took && wanted >= 32'd4 && window == 2'd1);
      keeps:  cover (took && wanted >= 32'd4 && kept && window == 2'd1);
      reused: cover (took && given[0] && took_job == '0 && window == 2'd3);
    end
  end
endmodule

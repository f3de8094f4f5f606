// SPDX-License-Identifier: Apache-2.0
//
// ina_ends reports every packet's end once, one end a clock. This proof assumes that the packets of one path
// never end in consecutive clocks. ina_beats proves that (property 2), and no later module changes the clocks
// between two beats.
//
//   1. Each end on either path is reported once, one or two clocks later, with the data that came with it.
//      The ends of one path are reported in order.
//   2. "A part has gone up" is reported with the end of a part that was summed, and at no other time.
//   3. A LEAVE is reported with the end of a LEAVE: for one port if it was raw, otherwise for all ports.
//   4. Payloads are counted for all the job's children if the packet was a sum, for one port if it was raw,
//      and for no port if it came from above.
//   5. The module is busy while an end waits or is reported.

module formal_ina_ends (
    input logic clk
);
  localparam int PORT_COUNT = 2;
  localparam int JOB_COUNT  = 2;
  localparam int JOB_W      = 1;
  localparam int INDEX_W    = ina_pkg::BEAT_INDEX_W;
  localparam int END_W      = 2 + JOB_W + PORT_COUNT + INDEX_W + 3;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic                  join_valid;
  (* anyseq *) logic                  join_raw;
  (* anyseq *) logic                  join_part;
  (* anyseq *) logic                  join_leave;
  (* anyseq *) logic [JOB_W-1:0]      join_job;
  (* anyseq *) logic [PORT_COUNT-1:0] join_mask;
  (* anyseq *) logic [INDEX_W-1:0]    join_beat;
  (* anyseq *) logic [2:0]            join_quads;
  (* anyseq *) logic                  relay_valid;
  (* anyseq *) logic                  relay_raw;
  (* anyseq *) logic                  relay_leave;
  (* anyseq *) logic [JOB_W-1:0]      relay_job;
  (* anyseq *) logic [PORT_COUNT-1:0] relay_mask;
  (* anyseq *) logic [INDEX_W-1:0]    relay_beat;
  (* anyseq *) logic [2:0]            relay_quads;
  (* anyseq *) logic [PORT_COUNT*JOB_COUNT-1:0] job_mask;
  logic                  m_valid;
  logic                  m_raw;
  logic                  m_up;
  logic                  m_leave;
  logic [PORT_COUNT-1:0] m_left;
  logic [JOB_W-1:0]      m_job;
  logic [PORT_COUNT-1:0] m_mask;
  logic [PORT_COUNT-1:0] m_counted;
  logic [INDEX_W-1:0]    m_beat;
  logic [2:0]            m_quads;
  logic                  busy;

  ina_ends #(.PORT_COUNT(PORT_COUNT), .JOB_COUNT(JOB_COUNT)) dut (
      .clk, .rst, .join_valid, .join_raw, .join_part, .join_leave, .join_job, .join_mask, .join_beat,
      .join_quads, .relay_valid, .relay_raw, .relay_leave, .relay_job, .relay_mask, .relay_beat,
      .relay_quads, .job_mask, .m_valid, .m_raw, .m_up, .m_leave, .m_left, .m_job, .m_mask,
      .m_counted, .m_beat, .m_quads, .busy);

  logic joined;  // an end on the join's path in the clock before
  logic relayed;

  always_ff @(posedge clk) begin
    joined  <= join_valid && !rst;
    relayed <= relay_valid && !rst;
  end

  always_comb begin
    if (joined) assume (!join_valid);
    if (relayed) assume (!relay_valid);
    if (rst) assume (!join_valid && !relay_valid);
  end

  // The end that waits: the relay's end of the clock before, if ina_join's was first. A report is for an end
  // of the clock before.
  logic [END_W-1:0]      waiting;
  logic                  waits;
  logic                  any;
  logic [END_W-1:0]      want;
  logic                  of_join;
  logic                  part;
  logic [PORT_COUNT-1:0] children;
  logic [PORT_COUNT-1:0] children_now;
  logic [END_W-1:0]      told;

  for (genvar p = 0; p < PORT_COUNT; p++) begin : gen_child
    assign children_now[p] = job_mask[p*JOB_COUNT + 32'(join_job)];
  end

  always_ff @(posedge clk) begin
    waits    <= join_valid && relay_valid && !rst;
    waiting  <= {relay_raw, relay_leave, relay_job, relay_mask, relay_beat, relay_quads};
    any      <= (join_valid || waits || relay_valid) && !rst;
    of_join  <= join_valid;
    part     <= join_part;
    children <= children_now;
    want     <= join_valid ? {join_raw, join_leave, join_job, join_mask, join_beat, join_quads}
        : waits ? waiting : {relay_raw, relay_leave, relay_job, relay_mask, relay_beat, relay_quads};
  end

  assign told = {m_raw, m_leave, m_job, m_mask, m_beat, m_quads};

  // All ends that came and were not reported: the one reported now, and the one that waits.
  logic [2:0] owed;

  always_ff @(posedge clk)
    owed <= rst ? '0 : owed + 3'(join_valid) + 3'(relay_valid) - 3'(m_valid);

  always_comb begin
    if (!rst) begin
      p1_owed:  assert (owed == 3'(waits) + 3'(any));
      p1_none:  assert (!(waits && (join_valid || relay_valid)));
      p1_valid: assert (m_valid == any);
      if (m_valid) begin
        p1_told:  assert (told == want);
        p2_up:    assert (m_up == (of_join && !m_raw && part));
        p3_left:  assert (m_left == (m_raw ? m_mask : '1));
        p4_counted: assert (m_counted == (m_raw ? m_mask : of_join ? children : '0));
      end else begin
        p3_none:  assert (!m_leave && !m_up);
      end
      p5_busy:  assert (busy == (waits || any));
    end
  end

  logic told_two;  // of two ends in one clock, the second is reported now

  always_ff @(posedge clk) told_two <= waits && !rst;

  always_comb begin
    if (!rst) begin
      late: cover (told_two && m_valid);
      both: cover (join_valid && relay_valid && owed == '0);
    end
  end
endmodule

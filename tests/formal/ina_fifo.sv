// SPDX-License-Identifier: Apache-2.0
//
// ina_fifo: a word that goes in comes out once, unchanged and in order. The proof follows one word: the word
// that is written to a slot of the RAM at a time, both of the solver's choice.
//
//   1. The output obeys the handshake: valid and data stay until ready.
//   2. `count` is the number of words that went in and have not come out.
//   3. Nothing comes out of an empty FIFO.
//   4. It accepts every word until DEPTH + 1 words are in.
//   5. The followed word comes out unchanged, after exactly the words that were before it.
//   6. A word that is in comes out: a FIFO that is not empty has valid within one clock.

module formal_ina_fifo (
    input logic clk
);
  localparam int WIDTH     = 3;
  localparam int DEPTH     = 4;
  localparam int ADDRESS_W = 2;
  localparam int COUNT_W   = 3;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic             s_valid;
  (* anyseq *) logic [WIDTH-1:0] s_data;
  (* anyseq *) logic             m_ready;
  logic                          s_ready;
  logic                          m_valid;
  logic [WIDTH-1:0]              m_data;
  logic [COUNT_W-1:0]            count;

  ina_fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH)) dut (
      .clk, .rst, .s_valid, .s_ready, .s_data, .m_valid, .m_ready, .m_data, .count);

  // 1.
  formal_stream #(.WIDTH(WIDTH)) output_rules (
      .clk, .rst, .valid(m_valid), .ready(m_ready), .payload(m_data));

  // The number of words in the FIFO, computed from the handshakes alone.
  logic [COUNT_W-1:0] inside;
  logic               push;
  logic               pop;

  assign push = s_valid && s_ready;
  assign pop  = m_valid && m_ready;
  always_ff @(posedge clk) inside <= rst ? '0 : inside + COUNT_W'(push) - COUNT_W'(pop);

  // The followed word: how many leave before it.
  (* anyseq *) logic  follow;
  logic               followed;
  logic [WIDTH-1:0]   word;
  logic [COUNT_W-1:0] before;

  always_ff @(posedge clk) begin
    if (rst) begin
      followed <= 1'b0;
    end else if (!followed) begin
      if (follow && push && \dut.write_at [ADDRESS_W-1:0] == \dut.proof_address ) begin
        followed <= 1'b1;
        word     <= s_data;
        before   <= inside - COUNT_W'(pop);
      end
    end else if (pop) begin
      followed <= before != '0;
      before   <= before - 1'b1;
    end
  end

  logic waited;  // nothing came out in the clock before, although the FIFO was not empty

  always_ff @(posedge clk) waited <= !rst && inside != '0 && !m_valid;

  always_comb begin
    if (!rst) begin
      p2_count: assert (count == inside);
      p3_empty: assert (!m_valid || inside != '0);
      p4_full:  assert (s_ready || inside == COUNT_W'(DEPTH + 1));
      if (followed && before == '0) begin
        p5_word: assert (!m_valid || m_data == word);
      end
      p6_comes_out: assert (!(waited && !m_valid));
    end
  end

  // For induction: the followed word is in its slot, or in the output register.
  (* hierconn *) logic [ADDRESS_W:0]   \dut.write_at ;
  (* hierconn *) logic [ADDRESS_W:0]   \dut.read_at ;
  (* hierconn *) logic [ADDRESS_W:0]   \dut.fill ;
  (* hierconn *) logic [ADDRESS_W-1:0] \dut.proof_address ;
  (* hierconn *) logic [WIDTH-1:0]     \dut.proof_word ;
  logic [ADDRESS_W:0] ahead;  // words in the RAM before the followed one

  assign ahead = (ADDRESS_W + 1)'(before - COUNT_W'(m_valid));

  always_comb begin
    if (!rst) begin
      i1_fill: assert (\dut.fill <= (ADDRESS_W + 1)'(DEPTH));
      i2_waited: assert (!waited || m_valid);
      i5_loaded: assert (m_valid || \dut.fill <= 1);
      if (followed) begin
        i3_before: assert (before < inside);
        if (!m_valid || before != '0) begin
          i4_slot: assert (\dut.proof_word == word && ahead < \dut.fill
              && \dut.proof_address == ADDRESS_W'(\dut.read_at + ahead));
        end
      end
    end
  end

  always_comb begin
    if (!rst) begin
      full:         cover (!s_ready);
      word_goes:    cover (followed && before == '0 && pop && word != '0);
      full_gap:     cover (!s_ready && pop && s_valid);
    end
  end
endmodule

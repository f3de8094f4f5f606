// SPDX-License-Identifier: Apache-2.0
//
// ina_queue: a packet that was committed reads back, in order, until its transaction has ended. The proof
// follows one job, one of its packets and one beat of that packet, all of the solver's choice. The jobs'
// blocks are any that do not overlap (ina_memory); the payloads are narrow (the constants in proofs.txt).
//
//   1. Packets are chosen in the order of their commits, none of them twice. But once one was sent raw, each
//      packet that has not left is chosen again, from the oldest on.
//   2. A chosen packet reads back as it was committed, with header, length and every beat, until it is
//      popped. No later commit overwrites it.
//   3. A job is ready if and only if it has a packet that has not been chosen, until one is sent raw. It
//      waits if and only if it has a packet.
//   4. `fill` is the number of packets that were committed and not popped.
//   5. `raw` and `sums` are the numbers of packets that were popped raw and as sums, `sums` at most
//      SLOT_COUNT.
//   6. Events of another job change none of this, nor does a retransmission.
//   7. The header of a retransmission reads back as it was committed at its entry, whichever packet's length
//      or beats are read in the same clock.

module formal_ina_queue (
    input logic clk
);
  localparam int JOB_COUNT  = 2;
  localparam int SLOT_COUNT = 2;
  localparam int MEMORY     = 3;
  localparam int BASE_W     = 2;
  localparam int JOB_W      = 1;
  localparam int SLOT_W     = 1;
  localparam int FILL_W     = 2;
  localparam int RAW_W      = 24;
  localparam int BEAT_W     = ina_pkg::BEAT_W;
  localparam int ENTRY_W    = ina_pkg::RESEND_ENTRY_W;
  localparam int INDEX_W    = ina_pkg::BEAT_INDEX_W;

  logic rst;
  formal_reset reset (.clk, .rst);

  (* anyseq *) logic [JOB_COUNT-1:0] job_valid;
  (* anyseq *) logic                 write_valid;
  (* anyseq *) logic [JOB_W-1:0]     write_job;
  (* anyseq *) logic                 write_opens;
  (* anyseq *) logic                 beat_1;
  (* anyseq *) logic [BEAT_W-1:0]    write_data;
  (* anyseq *) logic                 commit_valid;
  (* anyseq *) ina_pkg::header_t     commit_header;
  (* anyseq *) logic                 resend_valid;
  (* anyseq *) logic [ENTRY_W-1:0]   resend_entry;
  (* anyseq *) logic                 issue_valid;
  (* anyseq *) logic [JOB_W-1:0]     issue_job;
  (* anyseq *) logic                 issue_raw;
  (* anyseq *) logic                 pop_valid;
  (* anyseq *) logic                 pop_raw;
  (* anyseq *) logic [JOB_W-1:0]     pop_job;
  (* anyseq *) logic                 peek_read;
  (* anyseq *) logic                 header_read;
  (* anyseq *) logic                 beat_read;
  (* anyseq *) logic [JOB_W-1:0]     peek_job;
  (* anyseq *) logic [SLOT_W-1:0]    peek_slot;
  (* anyseq *) logic [JOB_W-1:0]     header_job;
  (* anyseq *) logic [SLOT_W-1:0]    header_slot;
  (* anyseq *) logic                 header_resend;
  (* anyseq *) logic [ENTRY_W-1:0]   header_entry;
  (* anyseq *) logic [JOB_W-1:0]     beat_job;
  (* anyseq *) logic [SLOT_W-1:0]    beat_slot;
  (* anyseq *) logic                 read_1;
  (* anyseq *) logic                 watch_read;
  (* anyseq *) logic [JOB_W-1:0]     watch_job;
  logic [SLOT_W-1:0]                 issue_slot;
  logic [JOB_COUNT-1:0]              ready;
  logic [JOB_COUNT-1:0]              waiting;
  logic [ina_pkg::QUADS_W-1:0]       peek_quads;
  ina_pkg::header_t                  read_header;
  logic [BEAT_W-1:0]                 read_data;
  logic [FILL_W-1:0]                 fill;
  logic [RAW_W-1:0]                  raw;
  logic [FILL_W-1:0]                 sums;

  // A block of two packets and a block of one, in either order, or two blocks of one.
  (* anyconst *) logic [JOB_COUNT*BASE_W-1:0] job_base;
  (* anyconst *) logic [JOB_COUNT*SLOT_W-1:0] job_window;
  logic [2:0]                                 window;  // packets in the followed job's block

  always_comb begin
    assume (job_base[1:0] != job_base[3:2] && job_base[1:0] != 2'd3 && job_base[3:2] != 2'd3);
    assume (!job_window[0] || (job_base[1:0] == 2'd0 && !job_window[1] && job_base[3:2] == 2'd2));
    assume (!job_window[1] || (job_base[3:2] == 2'd0 && !job_window[0] && job_base[1:0] == 2'd2));
  end

  assign window = 3'd1 + 3'(job_window[job]);

  logic [BASE_W-1:0] base_of [JOB_COUNT];

  assign base_of[0] = job_base[1:0];
  assign base_of[1] = job_base[3:2];

  ina_queue #(.JOB_COUNT(JOB_COUNT), .SLOT_COUNT(SLOT_COUNT), .MEMORY(MEMORY), .MTU(128)) dut (
      .clk, .rst, .job_valid, .job_base, .job_window,
      .write_valid, .write_job, .write_opens, .write_beat(INDEX_W'(beat_1)), .write_data,
      .commit_valid, .resend_valid, .resend_entry, .commit_header, .issue_valid, .issue_raw, .issue_job,
      .issue_slot, .ready, .waiting, .pop_valid, .pop_raw, .pop_job,
      .peek_read, .peek_index(base_of[peek_job] | BASE_W'(peek_slot)), .peek_quads,
      .header_read, .header_index(base_of[header_job] | BASE_W'(header_slot)), .header_resend, .header_entry,
      .read_header, .beat_read, .beat_index(base_of[beat_job] | BASE_W'(beat_slot)), .beat_at(INDEX_W'(read_1)),
      .read_data,
      .watch_read, .watch_job, .fill, .raw, .sums, .sum_count(), .sum_slot());

  // The followed job's ring: the packets in it, how many of them are chosen, and how many have left.
  (* anyconst *) logic [JOB_W-1:0] job;
  logic       open;      // its ring has begun
  logic [2:0] count;
  logic [2:0] chosen;
  logic [3:0] left_raw;
  logic [3:0] left_sums;
  logic       commit;
  logic       take;
  logic       raw_mode;  // a packet was sent raw
  logic       goes;      // ... or goes raw now
  logic       pop;
  logic [2:0] count_now;

  assign commit    = commit_valid && write_job == job;
  assign take      = issue_valid && issue_job == job;
  assign pop       = pop_valid && pop_job == job;
  assign count_now = (commit && write_opens) ? 3'd1 : count + 3'(commit) - 3'(pop);

  always_ff @(posedge clk) begin
    if (rst || !job_valid[job]) begin
      open   <= 1'b0;
      count  <= '0;
      chosen <= '0;
      raw_mode <= 1'b0;
      goes     <= 1'b0;
    end else begin
      if (commit && write_opens) begin
        open      <= 1'b1;
        left_raw  <= '0;
        left_sums <= '0;
      end else begin
        left_raw  <= left_raw + 4'(pop && pop_raw);
        left_sums <= left_sums + 4'(pop && !pop_raw && left_sums < 4'(SLOT_COUNT));
      end
      count  <= count_now;
      chosen <= chosen + 3'(take && !issue_raw) - 3'(pop && chosen != '0);
      raw_mode <= raw_mode || (take && issue_raw);
      goes     <= (goes && !pop) || (take && issue_raw);
    end
  end

  // The contracts of judge, pick and join: a ring begins with its JOIN. A packet is taken only if it fits,
  // chosen only if it is ready, and popped only if it is chosen. Raw packets go one by one, and only raw
  // packets follow them. A context is free only when its ring is empty. No job is chosen in two consecutive
  // clocks.
  logic             took;
  logic [JOB_W-1:0] took_job;

  always_ff @(posedge clk) begin
    took     <= issue_valid && !rst;
    took_job <= issue_job;
  end

  always_comb begin
    if (took && issue_job == took_job) assume (!issue_valid);
    assume (!commit_valid || (write_valid && !resend_valid));
    if (write_valid && write_job == job)
      assume (job_valid[job] && write_opens == !open && count < window);
    assume (!take || (issue_raw ? waiting[job] && !goes : ready[job] && !raw_mode));
    assume (!pop || (pop_raw ? goes : chosen != '0 && !raw_mode && !(take && issue_raw)));
    if (!job_valid[job]) assume (count == '0);
    if (pop) assume (open);
    assume (left_raw < 4'd14);
  end

  // The other job's ring begins with its JOIN as well.
  logic other_open;

  always_ff @(posedge clk)
    other_open <= !rst && (other_open || (commit_valid && write_job != job && write_opens));
  always_comb if (write_valid && write_job != job) assume (write_opens || other_open);

  // The followed packet: committed at a moment of the solver's choice.
  (* anyseq *) logic   follow;
  (* anyconst *) logic at_1;       // the followed beat
  logic                beat_there; // it was written since the last commit
  logic [BEAT_W-1:0]   beat;
  logic                followed;
  ina_pkg::header_t    header;
  logic [BEAT_W-1:0]   data;
  logic [2:0]          before;     // packets in the ring before it
  logic                writes_beat;
  logic                its_take;
  logic                its_slot_known;
  logic [SLOT_W-1:0]   its_slot;
  logic                new_slot;

  assign writes_beat = write_valid && write_job == job && beat_1 == at_1;
  // Chosen packets are the first ones of the ring.
  assign its_take = followed && take && (issue_raw ? before == '0 : chosen == before);

  always_ff @(posedge clk) begin
    if (writes_beat) beat <= write_data;
    if (commit || !job_valid[job]) beat_there <= 1'b0;  // the next packet goes to another place
    else if (writes_beat) beat_there <= 1'b1;
    new_slot <= its_take;
    if (new_slot) its_slot <= issue_slot;
    if (rst) begin
      followed   <= 1'b0;
      beat_there <= 1'b0;
    end else if (!followed) begin
      if (follow && commit && (beat_there || writes_beat)) begin
        followed <= 1'b1;
        header   <= commit_header;
        data     <= writes_beat ? write_data : beat;
        before   <= count - 3'(pop);
      end
      its_slot_known <= 1'b0;
    end else begin
      if (pop) begin
        before   <= before - 1'b1;
        followed <= before != '0;
      end
      its_slot_known <= its_slot_known || its_take;
    end
  end

  // The reads of the followed packet in the clock before.
  logic [SLOT_W-1:0] slot_now;
  logic              peeks_it;
  logic              reads_header;
  logic              reads_beat;
  logic              peeked;
  logic              header_was_read;
  logic              beat_was_read;
  logic              watched;

  assign slot_now = new_slot ? issue_slot : its_slot;
  assign peeks_it = followed && its_slot_known && peek_read && peek_job == job
      && peek_slot == slot_now;
  assign reads_header = followed && its_slot_known && header_read && !header_resend
      && header_job == job && header_slot == slot_now;
  assign reads_beat = followed && its_slot_known && beat_read && beat_job == job
      && beat_slot == slot_now && read_1 == at_1;

  always_ff @(posedge clk) begin
    peeked          <= !rst && peeks_it;
    header_was_read <= !rst && reads_header;
    beat_was_read   <= !rst && reads_beat;
    watched         <= !rst && watch_read && watch_job == job && (open || (commit && write_opens));
  end

  // 7: one entry, the solver's choice.
  (* anyconst *) logic [ENTRY_W-1:0] entry;
  logic             entry_known;
  ina_pkg::header_t entry_header;
  logic             entry_was_read;
  ina_pkg::header_t entry_header_then;

  always_ff @(posedge clk) begin
    if (resend_valid && resend_entry == entry) entry_header <= commit_header;
    entry_known       <= !rst && (entry_known || (resend_valid && resend_entry == entry));
    entry_was_read    <= !rst && entry_known && header_resend && header_entry == entry && header_read;
    entry_header_then <= entry_header;
  end

  always_comb begin
    if (!rst) begin
      if (entry_was_read) begin
        p7_header: assert (read_header == entry_header_then);
      end
      if (peeked) begin
        p2_length: assert (peek_quads == header.quads);
      end
      if (header_was_read) begin
        p2_header: assert (read_header == header);
      end
      if (beat_was_read) begin
        p2_beat:   assert (read_data == data);
      end
      p3_ready: assert (raw_mode || ready[job] == (open && count > chosen));
      p3_waits: assert (waiting[job] == (open && count != '0));
      if (watched && open) begin
        p4_fill:  assert (3'(fill) == count);
        p5_raw:   assert (raw == RAW_W'(left_raw));
        p5_sums:  assert (4'(sums) == left_sums);
      end
    end
  end

  logic [2:0] commits;

  always_ff @(posedge clk) begin
    if (rst) commits <= '0;
    else if (commit && commits != '1) commits <= commits + 1'b1;
  end

  always_comb begin
    if (!rst) begin
      wraps: cover (commits == 3'd4 && beat_was_read && peeked && header_was_read);
      resends: cover (commits == 3'd4 && entry_was_read);
      full:  cover (count == 3'(SLOT_COUNT));
      again_raw: cover (take && issue_raw && its_take && its_slot_known);
      again: cover (commits == 3'd2 && count == '0 && !open && left_sums == 4'd1);
    end
  end
endmodule

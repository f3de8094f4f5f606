// SPDX-License-Identifier: Apache-2.0
//
// Constants and structs that the modules share. The message format is docs/protocol.md's.

`default_nettype none

package ina_pkg;

  // One beat of a pipeline: 512 bits, 16 lanes of 32 bits, 4 quads of 16 bytes.
  localparam int BEAT_W     = 512;
  localparam int BEAT_BYTES = 64;
  localparam int LANE_W     = 32;
  localparam int LANE_COUNT = 16;
  localparam int QUAD_COUNT = 4;

  // For what only saves time in simulation.
`ifdef SYNTHESIS
  localparam bit SIMULATED = 1'b0;
`else
  localparam bit SIMULATED = 1'b1;
`endif

  // A beat of the largest payload (RoCE MTU 4096: 64 beats), and its length in quads (1 to 256).
  localparam int BEAT_INDEX_W = 6;
  localparam int QUADS_W      = 9;

  // What tells one flow of a port from another: UDP source port, VLAN or none, its id, IPv6 or IPv4,
  // source and destination IP, destination QPN. And a hash of it, for the other ports
  // (ina_elsewhere).
  localparam int KEY_W  = 16 + 1 + 12 + 1 + 256 + 24;
  localparam int HASH_W = 24;

  // Of a port's flow what the other ports see (ina_elsewhere).
  typedef struct packed {
    logic              valid;
    logic              fresh;  // learned in the clock before
    logic [HASH_W-1:0] hash;
  } known_t;
  localparam int KNOWN_T_W = 2 + HASH_W;

  localparam int PORT_MAX = 16;

  // What a port asks ina_keys: is the key of the packet that stands still there that of a flow? The
  // numbers have the most bits that parameters can ask for.
  typedef struct packed {
    logic              valid;
    logic [3:0]        port;  // 0 is the one behind the port that asks, and so on round
    logic [5:0]        job;
    logic [HASH_W-1:0] hash;  // of the packet, as its key, whether it asks or not
    logic [KEY_W-1:0]  key;
  } search_t;
  localparam int SEARCH_T_W = 1 + 4 + 6 + HASH_W + KEY_W;

  // And what it is told.
  typedef struct packed {
    logic              done;
    logic              equal;         // with done
    logic [HASH_W-1:0] learned_hash;  // of the flow that is `fresh`
  } found_t;
  localparam int FOUND_T_W = 2 + HASH_W;

  // A sum's number in its job, modulo 2^ORDINAL_W. A retransmission in ina_resend keeps it, to see
  // whether its sum was overwritten while it waited; it waits for far fewer sums.
  localparam int ORDINAL_W = 16;

  // The header record: MACs 12, VLAN tag 4, EtherType 2, IP 40, UDP 8, BTH 12. Fields are where an
  // IPv6 frame with a VLAN tag has them: no tag is zeros, and IPv4's 20 bytes are right before UDP,
  // with zeros before them.
  localparam int HEADER_BYTES = 78;
  localparam int HEADER_W     = 624;

  // Positions within the record, in bytes.
  localparam int VLAN_TCI_AT      = 14;
  localparam int IP_AT            = 18;
  localparam int IPV6_SOURCE_AT   = 26;
  localparam int IPV6_HOPS_AT     = 25;
  localparam int IPV4_AT          = 38;
  localparam int IPV4_TOS_AT      = 39;
  localparam int IPV4_TTL_AT      = 46;
  localparam int IPV4_CHECKSUM_AT = 48;
  localparam int IPV4_SOURCE_AT   = 50;
  localparam int UDP_SOURCE_AT    = 58;
  localparam int UDP_CHECKSUM_AT  = 64;
  localparam int BTH_OPCODE_AT    = 66;
  localparam int BTH_PAD_AT       = 67;  // its bits 5 and 4
  localparam int BTH_PKEY_AT      = 68;
  localparam int BTH_RESERVED_AT  = 70;  // resv8a
  localparam int BTH_QPN_AT       = 71;
  localparam int BTH_ACK_AT       = 74;  // its highest bit: AckReq
  localparam int BTH_PSN_AT       = 75;

  // A frame's form, {is_ipv6, has_vlan}: its payload begins at byte 54, 58 (2'b01), 74 or 78.
  localparam logic [1:0] FORM_IPV4      = 2'b00;
  localparam logic [1:0] FORM_IPV6      = 2'b10;
  localparam logic [1:0] FORM_IPV6_VLAN = 2'b11;

  localparam logic [15:0] ROCE_UDP_PORT = 16'd4791;

  // RC opcodes of the packets that can carry a contribution (IBTA vol. 1, table 35).
  localparam logic [7:0] RC_SEND_FIRST  = 8'h00;
  localparam logic [7:0] RC_SEND_MIDDLE = 8'h01;
  localparam logic [7:0] RC_SEND_LAST   = 8'h02;
  localparam logic [7:0] RC_SEND_ONLY   = 8'h04;
  localparam logic [7:0] RC_SENDS_END   = 8'h06;  // all smaller ones are SENDs

  localparam logic [5:0] DSCP = 6'd43;  // of aggregation traffic

  // Message header (docs/protocol.md).
  localparam logic [23:0] MESSAGE_MAGIC_VERSION = 24'h01_4E49;
  localparam logic [7:0]  TYPE_JOIN  = 8'd1;
  localparam logic [7:0]  TYPE_DATA  = 8'd2;
  localparam logic [7:0]  TYPE_LEAVE = 8'd3;
  localparam logic [7:0]  TYPE_TRACE = 8'd4;
  localparam logic [7:0]  NUMBER_INT32    = 8'd1;
  localparam logic [7:0]  NUMBER_FLOAT32  = 8'd2;
  localparam logic [7:0]  NUMBER_BFLOAT16 = 8'd3;
  localparam logic [7:0]  NUMBER_FLOAT16  = 8'd4;
  localparam logic [7:0]  OPERATION_SUM   = 8'd1;
  localparam logic [7:0]  OPERATION_MAX   = 8'd2;
  localparam logic [7:0]  OPERATION_MIN   = 8'd3;
  localparam int FLAG_OVERFLOW  = 0;  // bits of the trailer's flags
  localparam int FLAG_CONGESTED = 2;
  localparam int FLAG_WANTED    = 3;
  localparam int FLAG_BEFORE    = 16;  // up to bit 31, of a JOIN: a number
  localparam int EQUAL_LANES = 7;  // lanes 0 to 6 of the header; of a JOIN only
  localparam int PLACE_LANE  = 6;  // ... the first 6, for this one is its place
  localparam int WINDOW_LANE = 7;  // of a JOIN minus a window; of DATA an exponent
  localparam int JOIN_QUADS  = 3;  // a JOIN or LEAVE: header and trailer, 48 bytes
  localparam int TRACE_QUADS = 6;  // a TRACE: header, three slots of 16 bytes, trailer

  localparam int TRACE_SLOT_W = 128;

  // What a port writes into a TRACE.
  typedef struct packed {
    logic [31:0] crc;    // the iCRC differs in it
    logic [1:0]  level;  // of the switch: 1 to 3
    logic [3:0]  port;
    logic [6:0]  jobs;   // that have a context
    logic [63:0] id;     // of the switch
  } trace_t;
  localparam int TRACE_T_W = 32 + 2 + 4 + 7 + 64;

  // What the adder tree does with a lane: bits 1:0 what, bit 2 with numbers of the beat's format.
  localparam logic [2:0] LANE_ADD_INT32 = 3'd0;
  localparam logic [2:0] LANE_MAX_INT32 = 3'd1;
  localparam logic [2:0] LANE_MIN_INT32 = 3'd2;
  localparam logic [2:0] LANE_OR        = 3'd3;
  localparam logic [2:0] LANE_ADD_FLOAT = 3'd4;
  localparam logic [2:0] LANE_MAX_FLOAT = 3'd5;
  localparam logic [2:0] LANE_MIN_FLOAT = 3'd6;
  localparam int LANE_OP_W     = 3;
  localparam int LANE_OP_MIN   = 1;  // of max and min: this bit says min
  localparam int LANE_OP_FLOAT = 2;

  // The format of a beat's lanes of floats: one float32, or two numbers of 16 bits.
  localparam logic [1:0] FORMAT_WORD     = 2'd0;
  localparam logic [1:0] FORMAT_BFLOAT16 = 2'd1;
  localparam logic [1:0] FORMAT_FLOAT16  = 2'd2;
  localparam int FORMAT_W = 2;

  // Retransmissions of a port that may wait for the join: a power of two. A host goes back over all
  // that is unacknowledged at once (rxe: up to 128 packets). What finds no room is dropped, and
  // only the host's timer brings it back.
  localparam int RESEND_DEPTH   = 128;
  localparam int RESEND_ENTRY_W = $clog2(RESEND_DEPTH);

  // A packet's header record, the length of its payload, and the register of the iCRC behind the
  // headers, which ina_check fills in.
  typedef struct packed {
    logic [3:0]          filler;     // zeros, up to whole words: simulation moves them faster
    logic [31:0]         crc;
    logic                congested;  // ECN says: congestion experienced
    logic                is_ipv6;
    logic                has_vlan;
    logic [QUADS_W-1:0]  quads;      // payload in units of 16 bytes
    logic [HEADER_W-1:0] bytes;      // first byte of the frame in [7:0]
  } header_t;
  localparam int HEADER_T_W   = 4 + 32 + 3 + QUADS_W + HEADER_W;
  localparam int CONGESTED_AT = HEADER_W + QUADS_W + 2;  // bit of a header_t

  // What a JOIN asks for, from its message header, and in which VLAN.
  typedef struct packed {
    logic [15:0] tag;     // priority, DEI, VLAN id; without a VLAN tag the port's priority, and zeros
    logic [31:0] window;  // minus the packets
    logic [31:0] place;
    logic [15:0] rank_count;
    logic [63:0] job_id;
  } ask_t;
  localparam int ASK_T_W = 16 + 32 + 32 + 16 + 64;

  // What becomes of a packet (ina_judge_psn). No bit set: it is dropped.
  typedef struct packed {
    logic take;       // into the queue, to be added
    logic pass;       // unchanged, as a switch would
    logic break_job;  // its job cannot go on
    logic leave;      // a broken job's LEAVE passes by its queue, or its flow is put out
    logic put_out;    // its flow is forgotten
    logic resend;     // goes on with a sum of the history in place of its payload
    logic probe;      // with resend: not a sum, but a probe
  } verdict_t;

  // A retransmission or probe that waits for the join. Job and slot have the most bits that
  // parameters can ask for.
  localparam int JOB_MAX  = 64;
  localparam int SLOT_MAX = 32768;
  localparam int MEMORY_MAX = 65536;
  typedef struct packed {
    logic                 probe;
    logic                 part;     // not a sum of all ranks: a border's packet
    logic [5:0]           job;
    logic [14:0]          slot;     // of the sum in the history
    logic [ORDINAL_W-1:0] ordinal;  // of the sum
    logic [QUADS_W-1:0]   quads;
  } resend_t;
  localparam int RESEND_T_W = 2 + 6 + 15 + ORDINAL_W + QUADS_W;

  // Packets that a queue gave up unsummed are counted modulo 2^RAW_W, as PSNs are.
  localparam int RAW_W = 24;

  // Which packet a transaction of the join takes, and in whose headers it leaves. Where a job's ranks
  // are not all below this switch, its sum is a part: it leaves as the border's packet.
  localparam logic [1:0] KIND_JOIN   = 2'd0;  // the next ones of all children of a job, as their sum
  localparam logic [1:0] KIND_RAW    = 2'd1;  // the head of one queue of a broken job, as it is
  localparam logic [1:0] KIND_RESEND = 2'd2;  // a retransmission, with the sum from the history
  localparam logic [1:0] KIND_DOWN   = 2'd3;  // the next one from above, also as all that waits for it

  // Added to the PSN of a probe, the packet that stands for one past a gap (docs/protocol.md,
  // PSNs): so far ahead that no receiver ever expects it.
  localparam logic [23:0] PROBE_PSN_OFFSET = 24'h400000;

  localparam int COUNTER_COUNT = 26;
  localparam int COUNTER_W     = 64;

  // Positions of the counters, in the order of model/counters.h.
  localparam int COUNT_FRAMES_IN           = 0;
  localparam int COUNT_FRAMES_PASSED       = 1;
  localparam int COUNT_ICRC_DROPPED        = 2;
  localparam int COUNT_PACKETS_TAKEN       = 3;
  localparam int COUNT_PACKETS_JOINED      = 4;
  localparam int COUNT_BYTES_JOINED        = 5;
  localparam int COUNT_PACKETS_RAW         = 6;
  localparam int COUNT_DUPLICATES_ANSWERED = 7;
  localparam int COUNT_DUPLICATES_WAITING  = 8;
  localparam int COUNT_DUPLICATES_OLD      = 9;
  localparam int COUNT_GAPS                = 10;
  localparam int COUNT_NO_ROOM_DROPPED     = 11;
  localparam int COUNT_JOINS_GRANTED       = 12;
  localparam int COUNT_JOINS_REFUSED       = 13;
  localparam int COUNT_JOBS_OPENED         = 14;
  localparam int COUNT_JOBS_CLOSED         = 15;
  localparam int COUNT_JOBS_BROKEN         = 16;
  localparam int COUNT_ECN_MARKED          = 17;
  localparam int COUNT_JOBS_EXPIRED        = 18;
  localparam int COUNT_ANSWERS_DROPPED     = 19;
  localparam int COUNT_ANSWERS_DIFFER      = 20;
  localparam int COUNT_SUSPECTS_DROPPED    = 21;
  localparam int COUNT_ELSEWHERE_DROPPED   = 22;
  localparam int COUNT_JOINS_HELD          = 23;
  localparam int COUNT_QUIET_DROPPED       = 24;
  localparam int COUNT_CONTEXTS_LACKED     = 25;

endpackage

`default_nettype wire

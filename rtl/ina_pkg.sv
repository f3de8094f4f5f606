// SPDX-License-Identifier: Apache-2.0
//
// Constants and structs that the modules share. docs/protocol.md defines the message format.
//
// The width NAME_T_W of a struct is that of a constant of its type, because yosys 0.23 does not
// accept $bits of a type.

`default_nettype none

package ina_pkg;

  // One beat of a pipeline: 512 bits, 16 lanes of 32 bits, 4 quads of 16 bytes.
  localparam int BEAT_W     = 512;
  localparam int BEAT_BYTES = 64;
  localparam int LANE_W     = 32;
  localparam int LANE_COUNT = 16;
  localparam int QUAD_COUNT = 4;
  localparam int QUAD_W     = BEAT_W / QUAD_COUNT;

  // 1 in simulation: guards code that only saves simulation time.
`ifdef SYNTHESIS
  localparam bit SIMULATED = 1'b0;
`else
  localparam bit SIMULATED = 1'b1;
`endif

  // Index of a beat within the largest payload (RoCE MTU 4096: 64 beats), and that payload's length
  // in quads (1 to 256).
  localparam int BEAT_INDEX_W = 6;
  localparam int QUADS_W      = 9;

  // The key that identifies a flow on its port. The other ports see a hash of the key
  // (ina_elsewhere).
  typedef struct packed {
    logic [15:0]  udp_source;
    logic         has_vlan;
    logic [11:0]  vlan_id;
    logic         is_ipv6;
    logic [255:0] addresses;  // source and destination IP
    logic [23:0]  qpn;        // of the destination
  } key_t;
  localparam key_t KEY_ZERO = '0;
  localparam int KEY_W  = $bits(KEY_ZERO);
  localparam int HASH_W = 24;

  // A flow as the other ports see it (ina_elsewhere).
  typedef struct packed {
    logic              valid;
    logic              fresh;  // learned in the previous clock
    logic [HASH_W-1:0] hash;
  } known_t;
  localparam known_t KNOWN_ZERO = '0;
  localparam int KNOWN_T_W = $bits(KNOWN_ZERO);

  localparam int PORT_MAX = 16;

  // A port's request to ina_keys: compare the key of the packet that the port holds with the key of
  // one flow of another port. Port and job are as wide as the largest parameters need.
  typedef struct packed {
    logic              valid;
    logic [3:0]        port;  // counted round from the asking port: 0 is the port after it
    logic [5:0]        job;
    logic [HASH_W-1:0] hash;  // of the packet, like its key: always valid
    logic [KEY_W-1:0]  key;
  } search_t;
  localparam search_t SEARCH_ZERO = '0;
  localparam int SEARCH_T_W = $bits(SEARCH_ZERO);

  // The answer of ina_keys to the port.
  typedef struct packed {
    logic              done;
    logic              equal;         // valid with done
    logic [HASH_W-1:0] learned_hash;  // of the flow that is `fresh` in known_t
  } found_t;
  localparam found_t FOUND_ZERO = '0;
  localparam int FOUND_T_W = $bits(FOUND_ZERO);

  // The number of a sum in its job, modulo 2^ORDINAL_W. A retransmission in ina_resend keeps the
  // number of its sum, so that ina_pick can tell whether that sum has been overwritten while the
  // retransmission waited. It waits for far fewer sums than 2^ORDINAL_W.
  localparam int ORDINAL_W = 16;

  // The header record: MACs 12 bytes, VLAN tag 4, EtherType 2, IP 40, UDP 8, BTH 12. Every field is
  // where an IPv6 frame with a VLAN tag has it. Without a tag the tag's bytes are zeros. IPv4's 20
  // bytes are right before UDP, with zeros before them.
  localparam int HEADER_BYTES = 78;
  localparam int HEADER_W     = HEADER_BYTES * 8;

  // Positions within the record, in bytes. ETHERTYPE_AT is that of the VLAN tag, if there is one.
  localparam int ETHERTYPE_AT     = 12;
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
  localparam int BTH_PAD_AT       = 67;  // bits 5 and 4 of this byte
  localparam int BTH_PKEY_AT      = 68;
  localparam int BTH_RESERVED_AT  = 70;  // resv8a
  localparam int BTH_QPN_AT       = 71;
  localparam int BTH_ACK_AT       = 74;  // bit 7 of this byte: AckReq
  localparam int BTH_PSN_AT       = 75;

  // Lengths of the headers on the wire.
  localparam int VLAN_BYTES        = 4;   // a tag
  localparam int IPV6_EXTRA_BYTES  = 20;  // IPv6's header is longer than IPv4's by this
  localparam int IPV6_HEADER_BYTES = HEADER_BYTES - VLAN_BYTES;  // all headers, without a tag
  localparam int IPV4_HEADER_BYTES = IPV6_HEADER_BYTES - IPV6_EXTRA_BYTES;

  // The form of a frame, {is_ipv6, has_vlan}. The payload begins at byte 54 (2'b00), 58 (2'b01), 74
  // (2'b10) or 78 (2'b11).
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

  localparam logic [5:0] DSCP = 6'd43;  // that marks aggregation traffic

  // Positions in a message's header and trailer, in bytes (docs/protocol.md, Header and Trailer).
  localparam int MESSAGE_TYPE_AT         = 3;  // after the magic and the version
  localparam int MESSAGE_NUMBER_AT       = 4;
  localparam int MESSAGE_OPERATION_AT    = 5;
  localparam int MESSAGE_RANKS_AT        = 6;
  localparam int MESSAGE_JOB_ID_AT       = 8;
  localparam int MESSAGE_PLACE_AT        = 24;
  localparam int MESSAGE_WINDOW_AT       = 28;
  localparam int MESSAGE_HEADER_BYTES    = 32;
  localparam int TRAILER_CONTRIBUTORS_AT = 0;
  localparam int TRAILER_FLAGS_AT        = 4;

  // Values in the header and the trailer.
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
  localparam int FLAG_BEFORE    = 16;  // first of bits 31:16 of a JOIN's flags: a number of jobs
  // EQUAL lanes of the header: lanes 0 to 6. In a JOIN only lanes 0 to 5, because lane 6 is its
  // place.
  localparam int EQUAL_LANES = 7;
  localparam int PLACE_LANE  = MESSAGE_PLACE_AT * 8 / LANE_W;
  localparam int JOIN_QUADS  = 3;  // a JOIN or LEAVE: header and trailer, 48 bytes
  localparam int TRACE_QUADS = 6;  // a TRACE: header, three slots of 16 bytes, trailer

  // A JOIN's place: bits 7:0, 15:8 and 23:16 have the number of children at the switch of level 1, 2
  // and 3. The last byte has the level at which the connection turns down.
  localparam int PLACE_LEVEL_AT = 3;  // in bytes

  // A TRACE has one slot for each level.
  localparam int TRACE_SLOT_W  = QUAD_W;
  localparam int TRACE_PORT_AT = 8;  // position in a slot, in bytes, after the id of the switch

  // Data that a port writes into a TRACE.
  typedef struct packed {
    logic [31:0] crc;    // change of the iCRC
    logic [1:0]  level;  // level of the switch, 1 to 3
    logic [3:0]  port;
    logic [6:0]  jobs;   // number of jobs that have a context
    logic [63:0] id;     // id of the switch
  } trace_t;
  localparam trace_t TRACE_ZERO = '0;
  localparam int TRACE_T_W = $bits(TRACE_ZERO);

  // Operation of the adder tree on one lane: bits 1:0 select the operation; bit 2 selects numbers
  // in the beat's float format.
  localparam logic [2:0] LANE_ADD_INT32 = 3'd0;
  localparam logic [2:0] LANE_MAX_INT32 = 3'd1;
  localparam logic [2:0] LANE_MIN_INT32 = 3'd2;
  localparam logic [2:0] LANE_OR        = 3'd3;
  localparam logic [2:0] LANE_ADD_FLOAT = 3'd4;
  localparam logic [2:0] LANE_MAX_FLOAT = 3'd5;
  localparam logic [2:0] LANE_MIN_FLOAT = 3'd6;
  localparam int LANE_OP_W     = 3;
  localparam int LANE_OP_MIN   = 1;  // bit that is 1 for min and 0 for max
  localparam int LANE_OP_FLOAT = 2;

  // Number format of the float lanes of a beat: one float32, or two numbers of 16 bits.
  localparam logic [1:0] FORMAT_WORD     = 2'd0;
  localparam logic [1:0] FORMAT_BFLOAT16 = 2'd1;
  localparam logic [1:0] FORMAT_FLOAT16  = 2'd2;
  localparam int FORMAT_W = 2;

  // Retransmissions of a port that may wait for ina_relay: a power of two. A host that goes back
  // resends all its unacknowledged packets in one burst (rxe: up to 128). A retransmission that
  // finds no room is dropped; then the host must time out and send it again.
  localparam int RESEND_DEPTH   = 128;
  localparam int RESEND_ENTRY_W = $clog2(RESEND_DEPTH);

  // The header record of a packet, the length of its payload, and the CRC register after the
  // headers. ina_check fills in the register.
  typedef struct packed {
    logic [3:0]          filler;     // zeros; pad the struct to whole words, which simulate faster
    logic [31:0]         crc;
    logic                congested;  // ECN says congestion experienced
    logic                is_ipv6;
    logic                has_vlan;
    logic [QUADS_W-1:0]  quads;      // length of the payload in units of 16 bytes
    logic [HEADER_W-1:0] bytes;      // first byte of the frame in [7:0]
  } header_t;
  localparam header_t HEADER_ZERO = '0;
  localparam int HEADER_T_W   = $bits(HEADER_ZERO);
  // Positions of `quads` and `congested` in a header_t, in bits.
  localparam int QUADS_AT     = HEADER_W;
  localparam int CONGESTED_AT = QUADS_AT + QUADS_W + 2;

  // A JOIN's request: its VLAN tag and the fields of its message header.
  typedef struct packed {
    // Priority, DEI and VLAN id. Without a tag, or with one that is not trusted: the port's
    // priority, then zeros.
    logic [15:0] tag;
    logic [31:0] window;  // minus the requested packets
    logic [31:0] place;
    logic [15:0] rank_count;
    logic [63:0] job_id;
  } ask_t;
  localparam ask_t ASK_ZERO = '0;
  localparam int ASK_T_W = $bits(ASK_ZERO);

  // Decision about a packet (ina_judge_psn). If no bit is set, the packet is dropped.
  typedef struct packed {
    logic take;       // put it into the queue, to be summed
    logic pass;       // pass it unchanged, as a switch would
    logic break_job;  // break its job
    // A broken job's LEAVE passes without entering the queue, or the flow is evicted.
    logic leave;
    logic put_out;    // evict its flow
    logic resend;     // send it on with a sum from the history as payload
    logic probe;      // with resend: send a probe, not a sum
  } verdict_t;

  // A retransmission or probe that waits for ina_relay. Job and slot are as wide as the largest
  // parameters need.
  localparam int JOB_MAX  = 64;
  localparam int SLOT_MAX = 32768;
  localparam int MEMORY_MAX = 65536;
  typedef struct packed {
    logic                 probe;
    logic                 part;     // a border's packet: answered with a part
    logic [5:0]           job;
    logic [14:0]          slot;     // slot of the sum in the history
    logic [ORDINAL_W-1:0] ordinal;  // number of the sum
    logic [QUADS_W-1:0]   quads;
  } resend_t;
  localparam resend_t RESEND_ZERO = '0;
  localparam int RESEND_T_W = $bits(RESEND_ZERO);

  // The queue counts the packets that left it raw modulo 2^RAW_W, the range of PSNs.
  localparam int RAW_W = 24;

  // Kinds of packets that ina_pick chooses. If some ranks of a job are not below this switch, the
  // job's sum is a part, and leaves in the headers of the border's packet.
  localparam logic [1:0] KIND_JOIN   = 2'd0;  // sum of the next packets of all children of a job
  localparam logic [1:0] KIND_RAW    = 2'd1;  // the head of one queue of a broken job, unchanged
  localparam logic [1:0] KIND_RESEND = 2'd2;  // a retransmission, with the sum from the history
  localparam logic [1:0] KIND_DOWN   = 2'd3;  // the next packet from above, for all that wait for
                                              // it

  // Added to the PSN of a packet past a gap to make a probe (docs/protocol.md, PSNs). The offset is
  // so large that no receiver ever expects the result.
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

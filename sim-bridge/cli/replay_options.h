/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of `ina-bridge replay IN OUT`. OUT is the file of --pcap. The functions end the
 * program with one line if the command line is invalid.
 */
#ifndef INA_BRIDGE_REPLAY_OPTIONS_H
#define INA_BRIDGE_REPLAY_OPTIONS_H

#include <argp.h>

#include "options.h"

/* For --help. */
#define REPLAY_OPTIONS_HELP                                                                        \
	"replay, which must be the first word, runs the frames of the capture IN through the "     \
	"switch, at their times and without waiting, and writes a capture of both sides of the "   \
	"switch to OUT, as --pcap does. IN is pcap or pcapng. If it has Ethernet frames, each "    \
	"source MAC address is one port, from 0 in the order of appearance, since libpcap does "   \
	"not tell the interfaces of a pcapng file apart; it must have only frames on their way "   \
	"to the switch. If it is a file of --pcap (LINUX_SLL2), the ports are its interfaces, "    \
	"frames that left are not taken, and destination MAC addresses are found by IP address "   \
	"and ARP. The options for switches, cables, faults and files apply, but --quiet, "         \
	"--switch-delay, --link-rate and --link-delay are 0 and OUT has no limit unless they are " \
	"given. The exit code is 1 if a frame of IN could not be taken, and 2 if nothing was "     \
	"done."

/* Takes a word that is no option: `replay`, IN or OUT. */
void replay_options_take(struct argp_state *state, struct options *options, char *word);

/* Refuses an option that needs hosts: they do not run in a replay. Returns if it needs none. */
void replay_options_admit(struct argp_state *state, const struct bridge_option *option);

/* Opens IN, and takes the number of ports from it. All options have been read. */
void replay_options_open(struct argp_state *state, struct options *options);

/* Checks IN with the topology. */
void replay_options_check(struct argp_state *state, const struct options *options);

#endif

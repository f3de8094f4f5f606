/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of ina-bridge: any arguments. Accepted values are within their limits; all
 * others end in a message.
 *
 * argp ends the program if it finds an error, so the linker replaces functions by those of this
 * file (--wrap): an error comes back here.
 */
#include <argp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sanitizer/allocator_interface.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "sim-bridge/cli/command_line.h"

enum {
	ARGUMENTS_MAX = 48,
	FIRST_SOCKET_FD = 40, /* to FIRST_SOCKET_FD + SOCKETS - 1: open sockets for --port */
	SOCKETS = 34,         /* more than the largest number of ports */
	DELAY_MAX_NS = 1000000000,
	MESSAGE_BYTES_MAX = 4096,
	PIECES_MAX = 4096, /* memory blocks that parsing uses at a time */
};

static jmp_buf refused;

/*
 * The memory that parsing has allocated, and that an error leaves behind when it jumps out of argp.
 * The fuzzer has its own thread, whose memory does not count.
 */
static _Thread_local struct {
	void *pieces[PIECES_MAX];
	unsigned count;
	bool is_open;
} taken;

error_t __real_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
                          int *index, void *input);
error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
                          int *index, void *input);
void __wrap_argp_error(const struct argp_state *state, const char *format, ...);
void __wrap_argp_failure(const struct argp_state *state, int status, int number, const char *format,
                         ...);
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

/* argp's own complaints (an unknown option) come back as its result. */
error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
                          int *index, void *input)
{
	error_t result = __real_argp_parse(
	        argp, argc, argv, flags | ARGP_NO_EXIT | ARGP_NO_ERRS | ARGP_NO_HELP, index, input);

	if (result)
		longjmp(refused, 1);
	return 0;
}

/* The message is formatted, so that its arguments are read. */
static _Noreturn void refuse(const char *format, va_list list)
{
	char text[MESSAGE_BYTES_MAX];

	FUZZ_CHECK(vsnprintf(text, sizeof(text), format, list) > 0);
	longjmp(refused, 1);
}

void __wrap_argp_error(const struct argp_state *state, const char *format, ...)
{
	va_list list;

	(void)state;
	va_start(list, format);
	refuse(format, list);
}

void __wrap_argp_failure(const struct argp_state *state, int status, int number, const char *format,
                         ...)
{
	va_list list;

	(void)state;
	(void)status;
	(void)number;
	va_start(list, format);
	refuse(format, list);
}

static void note_malloc(const volatile void *piece, size_t bytes)
{
	(void)bytes;
	if (!taken.is_open)
		return;
	FUZZ_CHECK(taken.count < PIECES_MAX);
	taken.pieces[taken.count++] = (void *)(uintptr_t)piece;
}

static void note_free(const volatile void *piece)
{
	for (unsigned i = 0; taken.is_open && i < taken.count; i++) {
		if (taken.pieces[i] == piece)
			taken.pieces[i] = taken.pieces[--taken.count];
	}
}

static void give_back(void)
{
	taken.is_open = false;
	while (taken.count > 0)
		free(taken.pieces[--taken.count]);
}

static void open_sockets(void)
{
	for (int fd = FIRST_SOCKET_FD; fd < FIRST_SOCKET_FD + SOCKETS; fd += 2) {
		int ends[2];

		FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
		FUZZ_CHECK(dup2(ends[0], fd) == fd && dup2(ends[1], fd + 1) == fd + 1);
		close(ends[0]);
		close(ends[1]);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	open_sockets();
	FUZZ_CHECK(__sanitizer_install_malloc_and_free_hooks(note_malloc, note_free) > 0);
	return 0;
}

static void check_accepted(const struct options *options)
{
	const struct topology *topology = options->fabric.topology;

	FUZZ_CHECK(topology->host_count == options->port_count);
	FUZZ_CHECK(options->port_count >= 2 && options->port_count <= BRIDGE_PORTS_MAX);
	for (unsigned i = 0; i < options->port_count; i++) {
		const char *name = options->port_names[i];

		for (unsigned k = 0; name && options->port_names[k] && k < i; k++)
			FUZZ_CHECK(strcmp(options->port_names[k], name) != 0);
		if (name)
			continue;
		FUZZ_CHECK(options->port_fds[i] >= FIRST_SOCKET_FD &&
		           options->port_fds[i] < FIRST_SOCKET_FD + SOCKETS);
		for (unsigned k = 0; k < i; k++)
			FUZZ_CHECK(options->port_fds[i] != options->port_fds[k]);
	}
	for (unsigned i = 0; i < LINK_SIDES * topology->cable_count; i++) {
		const struct link_faults *faults =
		        &options->fabric.cables[i / LINK_SIDES].faults[i % LINK_SIDES];

		FUZZ_CHECK(faults->loss >= 0 && faults->loss <= 1);
		FUZZ_CHECK(faults->duplicate >= 0 && faults->duplicate <= 1);
		FUZZ_CHECK(faults->reorder >= 0 && faults->reorder <= 1);
		FUZZ_CHECK(faults->corrupt >= 0 && faults->corrupt <= 1);
		FUZZ_CHECK(faults->delay_ns <= 10 * (uint64_t)DELAY_MAX_NS);
	}
	FUZZ_CHECK(options->pcap_limit_bytes >= 1 << 20);
	for (unsigned i = 0; i < topology->switch_count; i++) {
		FUZZ_CHECK(options->fabric.bridges[i].aggregator <= BRIDGE_OFF);
		FUZZ_CHECK(options->fabric.bridges[i].steering <= BRIDGE_STEER_ALL);
	}
}

/* Arguments are separated by newlines. */
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	/* Not on the stack: it must be valid after a jump back. */
	static struct options options;
	static char program[] = "ina-bridge";
	static char *text;
	char *argv[ARGUMENTS_MAX + 2] = {program};
	int argc = 1;

	text = malloc(size + 1);
	FUZZ_CHECK(text);
	memcpy(text, input, size);
	text[size] = '\0';
	for (char *next = text; next && argc <= ARGUMENTS_MAX;)
		argv[argc++] = strsep(&next, "\n");
	FILE *saved = fuzz_silence();
	taken.is_open = true;
	if (setjmp(refused) == 0) {
		options_parse(&options, argc, argv, NULL);
		check_accepted(&options);
	}
	give_back();
	stderr = saved;
	free(text);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Lets the kernel try accesses to memory: it returns EFAULT where the process would get SIGSEGV. */
#include "probe.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES ((uintptr_t)4096)

/* The size of the kernel's signal set, in bytes. */
#define SET_BYTES ((uintptr_t)8)

/* The kernel reads the signal set before it rejects the command. */
static bool can_read(const void *memory)
{
	const uintptr_t set = (uintptr_t)memory / SET_BYTES * SET_BYTES;
	const long not_a_command = -1; /* neither SIG_BLOCK nor SIG_UNBLOCK nor SIG_SETMASK */

	return syscall(SYS_rt_sigprocmask, not_a_command, set, NULL, SET_BYTES) == 0 ||
	       errno != EFAULT;
}

/* FUTEX_WAKE_OP atomically adds 0 to the second word, and wakes no thread. */
static bool can_write(const void *memory)
{
	uint32_t nobody = 0;
	const uintptr_t word = (uintptr_t)memory / sizeof(nobody) * sizeof(nobody);

	return syscall(SYS_futex, &nobody, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, NULL, word,
	               FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, 0)) >= 0 ||
	       errno != EFAULT;
}

/*
 * Returns true for a remembered page. Otherwise asks the kernel, and remembers the page if it is
 * usable.
 */
static bool may(uintptr_t *pages, bool (*can)(const void *), const void *memory)
{
	const uintptr_t page = (uintptr_t)memory / PAGE_BYTES + 1; /* 0 marks an empty entry */
	uintptr_t *place = &pages[page % INA_PROBED_PAGES];

	if (*place == page)
		return true;
	if (!can(memory))
		return false;
	*place = page;
	return true;
}

/* Asks about one address in each page of the memory. If `pages` is NULL, no page is remembered. */
static bool may_all(uintptr_t *pages, bool (*can)(const void *), const void *memory, size_t bytes)
{
	const uintptr_t end = (uintptr_t)memory + bytes;

	for (uintptr_t at = (uintptr_t)memory; at < end; at = (at / PAGE_BYTES + 1) * PAGE_BYTES) {
		const void *address = (const void *)at;

		if (!(pages ? may(pages, can, address) : can(address)))
			return false;
	}
	return true;
}

bool ina_may_read(struct ina_probed *probed, const void *memory, size_t bytes)
{
	return may_all(probed->readable, can_read, memory, bytes);
}

bool ina_may_write(struct ina_probed *probed, const void *memory, size_t bytes)
{
	return may_all(probed->writable, can_write, memory, bytes);
}

bool ina_may_read_afresh(const void *memory, size_t bytes)
{
	return may_all(NULL, can_read, memory, bytes);
}

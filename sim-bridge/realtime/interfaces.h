/* SPDX-License-Identifier: Apache-2.0 */
/* The network interfaces of this network namespace, and their changes, by rtnetlink(7). */
#ifndef INA_BRIDGE_INTERFACES_H
#define INA_BRIDGE_INTERFACES_H

#include <net/if.h>
#include <stdbool.h>

struct interface {
	int index;
	char name[IF_NAMESIZE];
	unsigned type; /* ARPHRD_... */
	unsigned mtu;
	/*
	 * The index of the interface that this one is linked to in the same namespace, or 0: the
	 * other end of a veth pair, or the interface below a VLAN or a macvlan.
	 */
	int linked_to;
	bool is_loopback;
	bool is_up;   /* and its link too */
	bool is_gone; /* it was removed, or has moved to another namespace */
};

/* Finds an interface by its name, or by another name that it has. Returns 0, or -1 with errno. */
int interfaces_find(const char *name, struct interface *found);

/* Finds an interface by its index. Returns 0, or -1 with errno. */
int interfaces_find_index(int index, struct interface *found);

/* Returns a descriptor that is readable after changes from now on, or -1 with errno. */
int interfaces_watch(void);

/* Is called for each change, in their order. */
typedef void interfaces_change(void *context, const struct interface *changed);

/* Reads all changes. Returns false if the kernel has dropped some, because too many waited. */
bool interfaces_read(int fd, interfaces_change *change, void *context);

#endif

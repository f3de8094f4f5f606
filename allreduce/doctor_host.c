/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what this host needs for RDMA. */
#include "doctor_host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "finding.h"
#include "hostlib/options/device_list.h"
#include "hostlib/rdma/choice.h"
#include "library_options.h"

#define RDMA_CM "/dev/infiniband/rdma_cm"

/* Ethernet's usual MTU of 1500 allows packets of 1024 bytes. */
#define GOOD_MTU_BYTES 1024u

/*
 * The bytes of a netdev's MTU beyond the payload. rdma_rxe reserves 80 bytes for IPv6, UDP, the
 * longest RoCE headers and the iCRC. With 104, a payload of 4096 gives the familiar MTU of 4200.
 */
#define HEADROOM_BYTES 104u

#define TRIAL_BYTES (16u << 20)

/* The port and the GID that libina would use or, if it finds none, a port to find fault with. */
struct place {
	struct ina_ports ports;
	const struct ina_port *port;
	const struct ina_gid *gid; /* NULL: none */
	const char *list;          /* INA_HCA */
	struct ibv_context *context;
	struct ibv_port_attr attributes;
};

static const char *netdev_of(const struct place *place)
{
	return place->gid                   ? place->gid->netdev
	       : place->port->gid_count > 0 ? place->port->gids[0].netdev
	                                    : "NETDEV";
}

/* Is the port a better subject than the other: by its address, or since less is wrong with it? */
static bool is_closer(const struct ina_port *port, const struct ina_port *other, uint32_t bind)
{
	for (int i = 0; i < port->gid_count; i++) {
		if (port->gids[i].address == bind)
			return true;
	}
	return !other || ina_port_fault(port) > ina_port_fault(other);
}

/* Chooses as libina does. Without a choice, place->gid stays NULL. */
static void choose(struct place *place, uint32_t bind)
{
	char root[INET_ADDRSTRLEN + sizeof(":65535")];
	struct sockaddr_in address = {.sin_family = AF_INET};
	struct ina_wish wish = {.list = place->list, .bind = bind};
	struct ina_choice choice;

	/* libina also takes names, and other variables; "neighbours" says which device it uses. */
	if (!library_options_value("INA_ROOT", root, sizeof(root)))
		root[0] = '\0';
	root[strcspn(root, ":")] = '\0';
	if (inet_pton(AF_INET, root, &address.sin_addr) == 1) {
		wish.root = address.sin_addr.s_addr;
		wish.route = ina_route_address(&address);
	}
	if (ina_choose(&place->ports, &wish, &choice)) {
		place->port = choice.port;
		place->gid = choice.gid;
		return;
	}
	for (int i = 0; i < place->ports.count; i++) {
		const struct ina_port *port = &place->ports.list[i];

		if (ina_device_list_place(place->list, port->device, port->number) >= 0 &&
		    is_closer(port, place->port, bind))
			place->port = port;
	}
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (int i = 0; devices && devices[i] && !context; i++) {
		if (strcmp(ibv_get_device_name(devices[i]), name) == 0)
			context = ibv_open_device(devices[i]);
	}
	if (devices)
		ibv_free_device_list(devices);
	return context;
}

/* Writes the other ports, as "; not mlx5_0:1, which is down", or "". */
static void list_others(const struct place *place, char *text, size_t size)
{
	char name[INA_PORT_NAME_SIZE];
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < place->ports.count && used < size; i++) {
		const struct ina_port *port = &place->ports.list[i];
		enum ina_port_fault fault = ina_port_fault(port);
		bool in_list = ina_device_list_place(place->list, port->device, port->number) >= 0;

		if (port == place->port)
			continue;
		ina_port_name(port, name);
		used += (size_t)snprintf(text + used, size - used, "; not %s, which %s", name,
		                         !in_list                 ? "INA_HCA excludes"
		                         : fault == INA_PORT_FITS ? "is not preferred"
		                                                  : ina_port_fault_text(fault));
	}
}

static bool tell_port(const struct place *place)
{
	enum ina_port_fault fault = ina_port_fault(place->port);
	char name[INA_PORT_NAME_SIZE];
	char others[300];

	ina_port_name(place->port, name);
	list_others(place, others, sizeof(others));
	if (fault == INA_PORT_IS_INFINIBAND || fault == INA_PORT_IS_IWARP)
		finding_print(
		        FINDING_FAILED, "device",
		        "%s %s, and libina needs RoCE v2%s -- remedy: set INA_HCA to a device "
		        "that has it",
		        name, ina_port_fault_text(fault), others);
	else if (place->port->state != IBV_PORT_ACTIVE)
		finding_print(FINDING_FAILED, "device",
		              "the port %s is in state %s%s -- remedy: ip link set %s up, and "
		              "connect a cable",
		              name, ibv_port_state_str(place->port->state), others,
		              netdev_of(place));
	else if (access(RDMA_CM, R_OK | W_OK) != 0)
		finding_print(
		        FINDING_FAILED, "device",
		        "%s, but %s: %s -- remedy: modprobe rdma_ucm, and permission to use it",
		        name, RDMA_CM, strerror(errno));
	else {
		finding_print(FINDING_OK, "device", "%s, whose port is active%s", name, others);
		return true;
	}
	return false;
}

static bool tell_gid(const struct place *place, const char *bind)
{
	const struct ina_gid *gid = place->gid;
	char address[INET_ADDRSTRLEN];

	if (gid) {
		inet_ntop(AF_INET, &gid->address, address, sizeof(address));
		finding_print(FINDING_OK, "GID", "index %u of %s: RoCE v2, %s on %s", gid->index,
		              place->port->device, address, gid->netdev);
		return true;
	}
	if (bind)
		finding_print(
		        FINDING_FAILED, "GID",
		        "no device%s has a RoCE v2 GID of INA_BIND, %s -- remedy: set INA_BIND to "
		        "an address that `ip address` shows on the netdev of an RDMA device",
		        place->list[0] ? " that INA_HCA allows" : "", bind);
	else if (ina_port_fault(place->port) == INA_PORT_HAS_V1)
		finding_print(
		        FINDING_FAILED, "GID",
		        "%s has GIDs of RoCE v1 only -- remedy: turn RoCE v2 on in the card's "
		        "settings, or set INA_HCA to another device",
		        place->port->device);
	else
		finding_print(FINDING_FAILED, "GID",
		              "%s has no RoCE v2 GID of an IPv4 address -- remedy: ip address add "
		              "ADDRESS/PREFIX dev NETDEV, where `rdma link` shows NETDEV",
		              place->port->device);
	return false;
}

static int netdev_mtu(const char *netdev)
{
	struct ifreq request = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int mtu = -1;

	if (fd < 0)
		return -1;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%.15s", netdev);
	if (ioctl(fd, SIOCGIFMTU, &request) == 0)
		mtu = request.ifr_mtu;
	close(fd);
	return mtu;
}

static void tell_mtu(const struct place *place)
{
	unsigned int active = 128u << place->attributes.active_mtu;
	unsigned int maximum = 128u << place->attributes.max_mtu;
	const char *netdev = place->gid->netdev;
	int ethernet = netdev_mtu(netdev);

	if (active == maximum)
		finding_print(FINDING_OK, "MTU", "packets of %u bytes, because %s has MTU %d",
		              active, netdev, ethernet);
	else
		finding_print(active >= GOOD_MTU_BYTES ? FINDING_OK : FINDING_WARNING, "MTU",
		              "packets of %u bytes, because %s has MTU %d; for %u: ip link set %s "
		              "mtu %u, on all hosts and switches",
		              active, netdev, ethernet, maximum, netdev, maximum + HEADROOM_BYTES);
}

/* Registers some memory, to test the limit. Returns 0, or an errno. */
static int try_to_register(struct ibv_context *context, size_t bytes)
{
	struct ibv_pd *pd = ibv_alloc_pd(context);
	void *memory = aligned_alloc(4096, bytes);
	struct ibv_mr *mr = NULL;
	int error = 0;

	if (!pd || !memory) {
		error = ENOMEM;
	} else {
		mr = ibv_reg_mr(pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE);
		error = mr ? 0 : errno;
	}
	if (mr)
		ibv_dereg_mr(mr);
	free(memory);
	if (pd)
		ibv_dealloc_pd(pd);
	return error;
}

static bool tell_memory_lock(const struct place *place)
{
	struct rlimit limit = {0};
	int error = try_to_register(place->context, TRIAL_BYTES);

	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (error != 0) {
		char text[40] = "unlimited";

		if (limit.rlim_cur != RLIM_INFINITY)
			snprintf(text, sizeof(text), "%llu KiB",
			         (unsigned long long)limit.rlim_cur / 1024);
		finding_print(FINDING_FAILED, "memlock",
		              "cannot register %u MiB: %s; the limit on locked memory is %s -- "
		              "remedy: ulimit -l unlimited, or a memlock line in "
		              "/etc/security/limits.conf",
		              TRIAL_BYTES >> 20, strerror(error), text);
		return false;
	}
	if (limit.rlim_cur == RLIM_INFINITY)
		finding_print(FINDING_OK, "memlock", "no limit on locked memory");
	else
		finding_print(
		        FINDING_OK, "memlock",
		        "%u MiB can be registered; without CAP_IPC_LOCK, the limit is %llu KiB",
		        TRIAL_BYTES >> 20, (unsigned long long)limit.rlim_cur / 1024);
	return true;
}

/* Checks the port, the GID and the memory; the devices have been read. */
static bool check(struct place *place, const char *bind)
{
	bool port;
	bool gid;
	bool memory;

	place->context = open_device(place->port->device);
	if (!place->context) {
		finding_print(
		        FINDING_FAILED, "device",
		        "cannot open %s: %s -- remedy: permission to use /dev/infiniband/uverbs*",
		        place->port->device, strerror(errno));
		return false;
	}
	ibv_query_port(place->context, (uint8_t)place->port->number, &place->attributes);
	port = tell_port(place);
	gid = tell_gid(place, bind);
	if (gid)
		tell_mtu(place);
	memory = tell_memory_lock(place);
	ibv_close_device(place->context);
	return port && gid && memory;
}

bool doctor_host(void)
{
	char bound[INET_ADDRSTRLEN];
	char list[INA_DEVICE_LIST_SIZE];
	bool is_bound = library_options_value("INA_BIND", bound, sizeof(bound));
	bool is_listed = library_options_value("INA_HCA", list, sizeof(list));
	const char *bind = is_bound ? bound : NULL;
	struct place place = {.list = is_listed ? list : ""};
	struct in_addr address = {0};
	char text[300];
	bool fine = false;

	if (bind && inet_pton(AF_INET, bind, &address) != 1)
		address.s_addr = INADDR_NONE; /* no device has it */
	if (!ina_ports_read(&place.ports) || place.ports.count == 0) {
		finding_print(FINDING_FAILED, "device",
		              "this host has no RDMA device -- remedy: load the card's driver; or, "
		              "for soft-RoCE, rdma link add rxe0 type rxe netdev NETDEV");
	} else if (!ina_list_matches(&place.ports, place.list)) {
		ina_ports_explain(&place.ports, "", text, sizeof(text));
		finding_print(FINDING_FAILED, "device",
		              "INA_HCA is \"%s\", and allows no device of this host; these are %s "
		              "-- remedy: set INA_HCA to one that can be used, or unset it",
		              place.list, text);
	} else {
		choose(&place, address.s_addr);
		fine = check(&place, bind);
	}
	ina_ports_free(&place.ports);
	return fine;
}

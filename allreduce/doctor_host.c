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

/* The GID that libina would use, with its device and port. */
struct place {
	struct ibv_context *context;
	struct ibv_port_attr port;
	struct ibv_gid_entry gid;
	char address[INET_ADDRSTRLEN];
	char netdev[IF_NAMESIZE];
};

static const char *device_name(const struct place *place)
{
	return ibv_get_device_name(place->context->device);
}

/*
 * True for a RoCE v2 GID of an IPv4 address, ::ffff:a.b.c.d, and of the address `bind` unless that
 * is NULL.
 */
static bool is_wanted(const struct ibv_gid_entry *gid, const char *bind, char *address)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	if (gid->gid_type != IBV_GID_TYPE_ROCE_V2 ||
	    memcmp(gid->gid.raw, prefix, sizeof(prefix)) != 0)
		return false;
	inet_ntop(AF_INET, gid->gid.raw + sizeof(prefix), address, INET_ADDRSTRLEN);
	return !bind || strcmp(bind, address) == 0;
}

static bool find_gid(struct place *place, const char *bind)
{
	for (uint32_t g = 0; g < (uint32_t)place->port.gid_tbl_len; g++) {
		if (ibv_query_gid_ex(place->context, 1, g, &place->gid, 0) == 0 &&
		    is_wanted(&place->gid, bind, place->address)) {
			if (!if_indextoname(place->gid.ndev_ifindex, place->netdev))
				snprintf(place->netdev, sizeof(place->netdev), "?");
			return true;
		}
	}
	return false;
}

/* Opens the device that has the GID, or else any device, so that later checks have a subject. */
static bool find_place(struct ibv_device **devices, int count, const char *bind,
                       struct place *place, bool *has_gid)
{
	*has_gid = false;
	for (int i = 0; i < count && !*has_gid; i++) {
		struct ibv_context *before = place->context;

		place->context = ibv_open_device(devices[i]);
		if (!place->context) {
			place->context = before;
			continue;
		}
		if (before)
			ibv_close_device(before);
		if (ibv_query_port(place->context, 1, &place->port) == 0)
			*has_gid = find_gid(place, bind);
	}
	return place->context != NULL;
}

static bool tell_port(const struct place *place)
{
	if (place->port.link_layer != IBV_LINK_LAYER_ETHERNET) {
		finding_print(FINDING_FAILED, "device",
		              "%s has no Ethernet port, which RoCE needs -- remedy: set INA_BIND "
		              "to the address of a device that has one",
		              device_name(place));
		return false;
	}
	if (place->port.state != IBV_PORT_ACTIVE) {
		finding_print(FINDING_FAILED, "device",
		              "the port of %s is in state %s -- remedy: ip link set %s up, and "
		              "connect a cable",
		              device_name(place), ibv_port_state_str(place->port.state),
		              place->netdev[0] ? place->netdev : "NETDEV");
		return false;
	}
	if (access(RDMA_CM, R_OK | W_OK) != 0) {
		finding_print(
		        FINDING_FAILED, "device",
		        "%s, but %s: %s -- remedy: modprobe rdma_ucm, and permission to use it",
		        device_name(place), RDMA_CM, strerror(errno));
		return false;
	}
	finding_print(FINDING_OK, "device", "%s, whose port is active", device_name(place));
	return true;
}

static bool tell_gid(const struct place *place, const char *bind, bool has_gid)
{
	if (has_gid) {
		finding_print(FINDING_OK, "GID", "index %u of %s: RoCE v2, %s on %s",
		              place->gid.gid_index, device_name(place), place->address,
		              place->netdev);
		return true;
	}
	if (bind)
		finding_print(
		        FINDING_FAILED, "GID",
		        "no device has a RoCE v2 GID of INA_BIND, %s -- remedy: set INA_BIND to an "
		        "address that `ip address` shows on the netdev of an RDMA device",
		        bind);
	else
		finding_print(FINDING_FAILED, "GID",
		              "%s has no RoCE v2 GID of an IPv4 address -- remedy: ip address add "
		              "ADDRESS/PREFIX dev NETDEV, where `rdma link` shows NETDEV",
		              device_name(place));
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
	unsigned int active = 128u << place->port.active_mtu;
	unsigned int maximum = 128u << place->port.max_mtu;
	int ethernet = netdev_mtu(place->netdev);

	if (active == maximum)
		finding_print(FINDING_OK, "MTU", "packets of %u bytes, because %s has MTU %d",
		              active, place->netdev, ethernet);
	else
		finding_print(active >= GOOD_MTU_BYTES ? FINDING_OK : FINDING_WARNING, "MTU",
		              "packets of %u bytes, because %s has MTU %d; for %u: ip link set %s "
		              "mtu %u, on all hosts and switches",
		              active, place->netdev, ethernet, maximum, place->netdev,
		              maximum + HEADROOM_BYTES);
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

bool doctor_host(void)
{
	char address[INET_ADDRSTRLEN];
	bool is_bound = library_options_value("INA_BIND", address, sizeof(address));
	const char *bind = is_bound ? address : NULL;
	int count = 0;
	struct ibv_device **devices = ibv_get_device_list(&count);
	struct place place = {0};
	bool has_gid = false;
	bool fine = false;

	if (!devices || count == 0) {
		finding_print(FINDING_FAILED, "device",
		              "this host has no RDMA device -- remedy: load the card's driver; or, "
		              "for soft-RoCE, rdma link add rxe0 type rxe netdev NETDEV");
	} else if (!find_place(devices, count, bind, &place, &has_gid)) {
		finding_print(
		        FINDING_FAILED, "device",
		        "cannot open %s: %s -- remedy: permission to use /dev/infiniband/uverbs*",
		        ibv_get_device_name(devices[0]), strerror(errno));
	} else {
		bool port = tell_port(&place);
		bool gid = tell_gid(&place, bind, has_gid);

		if (gid)
			tell_mtu(&place);
		fine = tell_memory_lock(&place) && port && gid;
		ibv_close_device(place.context);
	}
	if (devices)
		ibv_free_device_list(devices);
	return fine;
}

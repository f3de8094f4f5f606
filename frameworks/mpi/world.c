/* SPDX-License-Identifier: Apache-2.0 */
/* MPI's own functions, and the values on which all ranks agree when MPI begins. */
#include "world.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/parse.h"
#include "hostlib/options/settings.h"
#include "hostlib/rdma/device.h"

/* The library of the other MPI: a process must not have both. */
#ifdef OPEN_MPI
#define NAME  "libina-mpi-openmpi.so"
#define OTHER "libmpich.so.12"
#else
#define NAME  "libina-mpi-mpich.so"
#define OTHER "libmpi.so.40"
#endif

/* Shorter messages cost mostly latency, and MPI's algorithms for them are as good. */
#define DEFAULT_THRESHOLD 16384

struct ina_mpi_real ina_mpi_real;
struct ina_mpi_world ina_mpi_world;

/*
 * Finds MPI's function by its second name, PMPI_...: a tool that is also preloaded may define the
 * first name, and would be called twice.
 */
static void *find(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function) {
		fprintf(stderr,
		        NAME ": no %s was found in the MPI of this program: is it another MPI?\n",
		        name);
		_Exit(EXIT_FAILURE);
	}
	return function;
}

__attribute__((constructor)) static void find_all(void)
{
	/* POSIX allows data pointers to hold functions; ISO C does not. */
#define FIND(name) *(void **)&ina_mpi_real.name = find("PMPI_" #name);
	INA_MPI_FUNCTIONS(FIND)
#undef FIND
}

static bool is_of_this_host(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool bound = fd >= 0 && bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;

	if (fd >= 0)
		close(fd);
	return bound;
}

/* INA_BIND and INA_HCA, in the environment or in a file; none if ina_open() refuses them. */
static struct ina_settings given_settings(void)
{
	struct ina_sources sources;
	struct ina_settings settings;
	struct ina_failure ignored;

	if (ina_settings_read(&settings, &sources, NULL, &ignored) != INA_OK)
		return (struct ina_settings){0};
	return settings;
}

/*
 * The IPv4 address by which other ranks reach this one, or 0 with the reason. INA_BIND may be the
 * address of another host, because some launchers pass their own environment to all ranks.
 */
static uint32_t own_address(int provided, const char **reason)
{
	static char said[160];
	const struct ina_settings given = given_settings();
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = given.bind.sin_addr};
	char text[INET_ADDRSTRLEN];

	*reason = said;
	ina_mpi_world.has_list = given.device[0] && given.bind.sin_addr.s_addr == 0;
	if (provided != MPI_THREAD_MULTIPLE) {
		snprintf(said, sizeof(said), "this MPI does not support MPI_THREAD_MULTIPLE");
		return 0;
	}
	if (address.sin_addr.s_addr != 0 && is_of_this_host(&address)) {
		if (!ina_device_has(address.sin_addr.s_addr)) {
			inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text));
			snprintf(said, sizeof(said),
			         "no RDMA device of its host has the address %s of INA_BIND", text);
			return 0;
		}
	} else {
		address.sin_addr.s_addr = ina_device_address(given.device);
		snprintf(said, sizeof(said),
		         "its host has no RDMA device with an IPv4 address, or INA_HCA allows none "
		         "(`ina-perf --doctor` there)");
	}
	if (address.sin_addr.s_addr != 0)
		*reason = NULL;
	return address.sin_addr.s_addr;
}

static uint64_t read_threshold(void)
{
	const char *text = getenv("INA_MPI_THRESHOLD");
	uint64_t bytes = DEFAULT_THRESHOLD;

	if (text && !ina_parse_whole(text, 0, SIZE_MAX, &bytes)) {
		fprintf(stderr,
		        "ina-mpi: INA_MPI_THRESHOLD is \"%.40s\": it must be a number of bytes\n",
		        text);
		PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
	}
	return bytes;
}

void ina_mpi_world_begin(int provided)
{
	struct ina_mpi_world *world = &ina_mpi_world;
	const char *verbose = getenv("INA_MPI_VERBOSE");
	uint64_t threshold = 0;
	uint32_t address;
	int ranks;

	if (dlopen(OTHER, RTLD_LAZY | RTLD_NOLOAD)) {
		fprintf(stderr, "ina-mpi: " NAME " is preloaded, but the program has " OTHER
		                ": preload the one for its MPI\n");
		_Exit(EXIT_FAILURE);
	}
	PMPI_Comm_rank(MPI_COMM_WORLD, &world->rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
	PMPI_Comm_dup(MPI_COMM_WORLD, &world->quiet);
	/*
	 * MPICH 4 creates the group of a communicator on request. Without it, a call of
	 * MPI_Comm_create_group() on the communicator ends with SIGSEGV.
	 */
	PMPI_Comm_group(world->quiet, &world->group);
	PMPI_Comm_dup(MPI_COMM_WORLD, &world->talk);
	PMPI_Comm_set_errhandler(world->talk, MPI_ERRORS_RETURN);
	PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &world->keyval,
	                        NULL);
	PMPI_Add_error_class(&world->error_class);
	world->verbose = verbose && strcmp(verbose, "0") != 0 ? verbose : NULL;
	if (world->rank == 0)
		threshold = read_threshold();
	ina_mpi_real.Bcast(&threshold, 1, MPI_UINT64_T, 0, world->talk);
	world->threshold = threshold;
	address = own_address(provided, &world->unable);
	world->addresses = calloc((size_t)ranks, sizeof(*world->addresses));
	if (!world->addresses)
		PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
	ina_mpi_real.Allgather(&address, 1, MPI_UINT32_T, world->addresses, 1, MPI_UINT32_T,
	                       world->talk);
	world->is_open = true;
}

void ina_mpi_world_end(void)
{
	ina_mpi_world.is_open = false;
	PMPI_Group_free(&ina_mpi_world.group);
	ina_mpi_real.Comm_free(&ina_mpi_world.quiet);
	ina_mpi_real.Comm_free(&ina_mpi_world.talk);
	PMPI_Comm_free_keyval(&ina_mpi_world.keyval);
	free(ina_mpi_world.addresses);
}

void ina_mpi_say_left(const char *reason)
{
	static atomic_bool said;

	if (!atomic_exchange(&said, true))
		fprintf(stderr, "ina-mpi: large collectives are left to MPI: %s\n", reason);
}

/*
 * Lets MPI progress by a probe that never finds a message: a probe that finds one may return
 * without progress, and for messages to the rank itself MPICH does not look at the network.
 */
void ina_mpi_poke(void)
{
	int ignored;

	PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, ina_mpi_world.quiet, &ignored, MPI_STATUS_IGNORE);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Environments as launchers make them: rank, rank count and root, and which variables count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hostlib/options/settings.h"

/* The variables that Open MPI 4.1.4 (Debian 12) sets by mpirun, as far as they may matter, for rank
 * 1 of 2. */
static const char *const OPEN_MPI[] = {
        "OMPI_COMM_WORLD_RANK=1",
        "OMPI_COMM_WORLD_SIZE=2",
        "OMPI_COMM_WORLD_LOCAL_RANK=1",
        "OMPI_UNIVERSE_SIZE=2",
        "OMPI_MCA_orte_hnp_uri=2101215232.0;tcp://192.0.2.2,10.0.0.2:60515;tcp6://[fd00::2]:40991",
        "PMIX_RANK=1",
        "PMIX_NAMESPACE=2101215233",
        NULL,
};

/* The same of Open MPI 5.0.7 (Debian 13), for rank 1 of 2 on two hosts. mpirun runs on the host
 * "localhost". */
static const char *const OPEN_MPI_5[] = {
        "OMPI_COMM_WORLD_RANK=1",
        "OMPI_COMM_WORLD_SIZE=2",
        "OMPI_COMM_WORLD_LOCAL_RANK=0",
        "OMPI_COMM_WORLD_LOCAL_SIZE=1",
        "OMPI_UNIVERSE_SIZE=2",
        "PMIX_RANK=1",
        "PMIX_NAMESPACE=prterun-localhost-4711@1",
        "PMIX_SERVER_URI41=prterun-localhost-4711@0.1;tcp4://192.0.2.3:45191",
        NULL,
};

/* srun: "OUTPUT ENVIRONMENT VARIABLES" of its man page; rank 3 of 8. */
static const char *const SLURM[] = {
        "SLURM_PROCID=3",
        "SLURM_NTASKS=8",
        "SLURM_STEP_NUM_TASKS=8",
        "SLURM_STEP_NODELIST=ina-no-such-host[07-10,12].invalid",
        "SLURM_LAUNCH_NODE_IPADDR=192.0.2.77",
        NULL,
};

/* torchrun: "Environment Variables" of its documentation; rank 2 of 4. */
static const char *const TORCHRUN[] = {
        "RANK=2",
        "WORLD_SIZE=4",
        "LOCAL_RANK=0",
        "MASTER_ADDR=192.0.2.9",
        "MASTER_PORT=29500",
        "TORCHELASTIC_RUN_ID=none",
        NULL,
};

/* mpiexec.hydra of MPICH 4.0.2 (Debian 12), rank 5 of 6 on 3 hosts. */
static const char *const MPICH[] = {"PMI_RANK=5", "PMI_SIZE=6", "PMI_FD=6", "MPI_LOCALNRANKS=2",
                                    NULL};

/* Eight ports from 18766, 18774 ... 19782 on; the job's name determines which. */
#define JOB_PORT (-1)

static int clear(void **state)
{
	(void)state;
	return clearenv();
}

static void set(const char *variable)
{
	char name[300];
	const char *equals = strchr(variable, '=');

	memcpy(name, variable, (size_t)(equals - variable));
	name[equals - variable] = '\0';
	assert_int_equal(setenv(name, equals + 1, 1), 0);
}

static void set_all(const char *const *variables)
{
	for (; *variables; variables++)
		set(*variables);
}

static void expect(const struct ina_options *options, int rank, int ranks, const char *address,
                   int port)
{
	struct ina_settings settings;
	struct ina_failure failure = {INA_OK, ""};

	if (ina_settings_make(&settings, options, &failure) != INA_OK)
		fail_msg("refused: %s", failure.text);
	assert_int_equal(settings.options.rank, rank);
	assert_int_equal(settings.options.ranks, ranks);
	assert_string_equal(inet_ntoa(settings.root.sin_addr), address);
	if (port != JOB_PORT) {
		assert_int_equal(ntohs(settings.root.sin_port), port);
		assert_int_equal(settings.root_ports, 1);
		return;
	}
	assert_in_range(ntohs(settings.root.sin_port), 18766, 18766 + 1016);
	assert_int_equal((ntohs(settings.root.sin_port) - 18766) % 8, 0);
	assert_int_equal(settings.root_ports, 8);
}

static void refuse(const struct ina_options *options, const char *words)
{
	struct ina_settings settings;
	struct ina_failure failure = {INA_OK, ""};

	assert_int_equal(ina_settings_make(&settings, options, &failure), INA_ERR_ARGUMENT);
	if (!strstr(failure.text, words))
		fail_msg("\"%s\" does not say \"%s\"", failure.text, words);
	assert_null(strchr(failure.text, '\n'));
}

static void open_mpi(void **state)
{
	(void)state;
	set_all(OPEN_MPI);
	expect(NULL, 1, 2, "192.0.2.2", JOB_PORT);
	set("INA_ROOT=192.0.2.5:4000");
	expect(NULL, 1, 2, "192.0.2.5", 4000);
}

static void open_mpi_5(void **state)
{
	(void)state;
	set_all(OPEN_MPI_5);
	expect(NULL, 1, 2, "127.0.0.1", JOB_PORT);
	set("PMIX_NAMESPACE=prterun-ina-no-such-host-4711@1");
	refuse(NULL, "PMIX_NAMESPACE is \"ina-no-such-host\"");
	/* All ranks are on one host: its name does not matter. */
	set("OMPI_COMM_WORLD_LOCAL_SIZE=2");
	expect(NULL, 1, 2, "127.0.0.1", JOB_PORT);
	set("OMPI_COMM_WORLD_LOCAL_SIZE=1");
	set("PMIX_NAMESPACE=prterun-");
	refuse(NULL, "the address of rank 0 is not given");
	/* srun started the ranks, without mpirun. */
	set("PMIX_NAMESPACE=slurm.pmix.77.0");
	refuse(NULL, "the address of rank 0 is not given");
	set_all(SLURM);
	set("SLURM_PROCID=1");
	set("SLURM_NTASKS=2");
	set("SLURM_STEP_NUM_TASKS=2");
	expect(NULL, 1, 2, "192.0.2.77", JOB_PORT);
}

static void mpich(void **state)
{
	(void)state;
	set_all(MPICH);
	refuse(NULL, "mpiexec -genv INA_ROOT");
	set("INA_ROOT=192.0.2.5");
	expect(NULL, 5, 6, "192.0.2.5", INA_DEFAULT_PORT);
	unsetenv("INA_ROOT");
	set("MPI_LOCALNRANKS=6");
	expect(NULL, 5, 6, "127.0.0.1", INA_DEFAULT_PORT);
}

static void slurm(void **state)
{
	(void)state;
	set_all(SLURM);
	/* The first node's name does not matter here. */
	expect(NULL, 3, 8, "192.0.2.77", INA_DEFAULT_PORT);
	set("SLURM_STEP_NODELIST=192.0.[2-3].[40-50],192.0.2.1");
	expect(NULL, 3, 8, "192.0.2.40", INA_DEFAULT_PORT);
	unsetenv("SLURM_STEP_NODELIST");
	set("SLURM_JOB_NODELIST=192.0.2.41");
	expect(NULL, 3, 8, "192.0.2.41", INA_DEFAULT_PORT);
	set("SLURM_JOB_NODELIST=ina-no-such-host.invalid");
	unsetenv("SLURM_LAUNCH_NODE_IPADDR");
	refuse(NULL, "SLURM_JOB_NODELIST is \"ina-no-such-host.invalid\"");
	/* The step has fewer tasks than the job. */
	set("INA_ROOT=192.0.2.1");
	set("SLURM_STEP_NUM_TASKS=4");
	unsetenv("SLURM_NTASKS");
	expect(NULL, 3, 4, "192.0.2.1", INA_DEFAULT_PORT);
	unsetenv("SLURM_STEP_NUM_TASKS");
	set("SLURM_NTASKS=16");
	expect(NULL, 3, 16, "192.0.2.1", INA_DEFAULT_PORT);
}

static void torchrun(void **state)
{
	(void)state;
	set_all(TORCHRUN);
	expect(NULL, 2, 4, "192.0.2.9", 29501);
	unsetenv("MASTER_PORT");
	expect(NULL, 2, 4, "192.0.2.9", INA_DEFAULT_PORT);
	set("MASTER_PORT=65535");
	refuse(NULL, "MASTER_PORT is \"65535\"");
}

/* A name: rank 0 listens on all its addresses, and the others look the name up. */
static void names(void **state)
{
	(void)state;
	set_all(TORCHRUN);
	set("MASTER_ADDR=localhost");
	expect(NULL, 2, 4, "127.0.0.1", 29501);
	set("RANK=0");
	expect(NULL, 0, 4, "0.0.0.0", 29501);
	set("MASTER_ADDR=127.0.0.1");
	expect(NULL, 0, 4, "127.0.0.1", 29501);
	set("MASTER_ADDR=ina-no-such-host.invalid");
	refuse(NULL, "MASTER_ADDR is \"ina-no-such-host.invalid");
	set("INA_ROOT=localhost:7000");
	set("RANK=1");
	expect(NULL, 1, 4, "127.0.0.1", 7000);
}

/* Launchers inside others: the inner one counts. */
static void nested(void **state)
{
	(void)state;
	set_all(SLURM);
	set_all(OPEN_MPI);
	expect(NULL, 1, 2, "192.0.2.2", JOB_PORT);
	set_all(TORCHRUN);
	expect(NULL, 2, 4, "192.0.2.9", 29501);
	clearenv();
	set_all(SLURM);
	set_all(MPICH);
	expect(NULL, 5, 6, "192.0.2.77", INA_DEFAULT_PORT);
}

/* RANK and WORLD_SIZE that a user exported in a shell count if they are consistent. */
static void contradictions(void **state)
{
	(void)state;
	set_all(OPEN_MPI);
	set("RANK=0");
	set("WORLD_SIZE=1");
	refuse(NULL, "torchrun says RANK=0, but Open MPI says OMPI_COMM_WORLD_RANK=1");
	set("RANK=1");
	refuse(NULL, "torchrun says WORLD_SIZE=1, but Open MPI says OMPI_COMM_WORLD_SIZE=2");
	set("WORLD_SIZE=2");
	expect(NULL, 1, 2, "192.0.2.2", JOB_PORT);
	set("PMIX_RANK=0");
	refuse(NULL, "RANK=1, but PMIx says PMIX_RANK=0");
	/* One of the two without the other means something else. */
	clearenv();
	set_all(OPEN_MPI);
	set("RANK=7");
	expect(NULL, 1, 2, "192.0.2.2", JOB_PORT);
}

static void ours_first(void **state)
{
	struct ina_options options;

	(void)state;
	set_all(OPEN_MPI);
	set("INA_RANK=3");
	refuse(NULL, "RANK is 3, but Open MPI says OMPI_COMM_WORLD_RANK=1");
	set("INA_RANKS=4");
	expect(NULL, 3, 4, "192.0.2.2", INA_DEFAULT_PORT);
	unsetenv("INA_RANK");
	refuse(NULL, "RANKS is 4, but Open MPI says OMPI_COMM_WORLD_SIZE=2");
	set("INA_RANKS=2");
	expect(NULL, 1, 2, "192.0.2.2", JOB_PORT);
	ina_options_init(&options);
	options.rank = 6;
	options.ranks = 7;
	options.root = "192.0.2.6";
	set("MASTER_ADDR=192.0.2.9");
	expect(&options, 6, 7, "192.0.2.6", INA_DEFAULT_PORT);
}

/* PMIx alone does not give the number of ranks. */
static void pmix(void **state)
{
	(void)state;
	set("PMIX_RANK=1");
	set("INA_ROOT=192.0.2.1");
	refuse(NULL, "the number of ranks is not given");
	set("INA_RANKS=3");
	expect(NULL, 1, 3, "192.0.2.1", INA_DEFAULT_PORT);
}

/* Variables that a shell or half a launcher has left do not count, but are named. */
static void halves(void **state)
{
	(void)state;
	set("RANK=1");
	refuse(NULL, "the number of ranks is not given (RANK is set, but not WORLD_SIZE)");
	set("INA_RANKS=2");
	refuse(NULL, "the rank is not given (RANK is set, but not WORLD_SIZE)");
	set("INA_RANK=1");
	set("INA_ROOT=192.0.2.1");
	expect(NULL, 1, 2, "192.0.2.1", INA_DEFAULT_PORT);
	clearenv();
	set("SLURM_NTASKS=4"); /* in the shell that salloc starts */
	refuse(NULL, "(SLURM_NTASKS is set, but not SLURM_PROCID)");
	clearenv();
	set("PMI_SIZE=4");
	refuse(NULL, "(PMI_SIZE is set, but not PMI_RANK)");
}

static void nonsense(void **state)
{
	(void)state;
	set_all(OPEN_MPI);
	set("OMPI_COMM_WORLD_RANK=one");
	refuse(NULL, "OMPI_COMM_WORLD_RANK is \"one\"");
	set("OMPI_COMM_WORLD_RANK=1");
	set("OMPI_COMM_WORLD_SIZE=0");
	refuse(NULL, "OMPI_COMM_WORLD_SIZE is \"0\"");
	set("OMPI_COMM_WORLD_SIZE=1025");
	refuse(NULL, "OMPI_COMM_WORLD_SIZE=1025: a job has at most 1024 ranks");
	clearenv();
	set_all(SLURM);
	set("SLURM_STEP_NODELIST=[");
	expect(NULL, 3, 8, "192.0.2.77", INA_DEFAULT_PORT);
	set("SLURM_STEP_NODELIST=,");
	expect(NULL, 3, 8, "192.0.2.77", INA_DEFAULT_PORT);
}

static struct ina_job job_by(const struct ina_options *options)
{
	struct ina_settings settings;
	struct ina_failure failure = {INA_OK, ""};

	if (ina_settings_make(&settings, options, &failure) != INA_OK)
		fail_msg("refused: %s", failure.text);
	return settings.job;
}

static struct ina_job job(void)
{
	return job_by(NULL);
}

static bool same(struct ina_job a, struct ina_job b)
{
	return a.tag == b.tag && a.key.low == b.key.low && a.key.high == b.key.high;
}

/* All ranks of one job get the same name; if a variable that distinguishes jobs differs, the name
 * differs. */
static void told_apart_by(const char *const *launcher, const char *rank, const char *other)
{
	struct ina_job before;

	clearenv();
	set_all(launcher);
	set("INA_ROOT=192.0.2.1");
	set("SLURM_JOB_ID=77");
	set("SLURM_STEP_ID=1");
	set("PBS_JOBID=12.host");
	unsetenv("PMIX_RANK"); /* it would have to agree with `rank` */
	before = job();
	assert_true(before.has_cookie);
	set(rank);
	assert_true(same(job(), before));
	set(other);
	assert_false(same(job(), before));
	assert_int_not_equal(job().tag, before.tag);
}

static void jobs(void **state)
{
	struct ina_options options;
	struct ina_job before;

	(void)state;
	ina_options_init(&options);
	told_apart_by(OPEN_MPI, "OMPI_COMM_WORLD_RANK=0", "PMIX_NAMESPACE=2101215234");
	told_apart_by(OPEN_MPI_5, "OMPI_COMM_WORLD_RANK=0",
	              "PMIX_NAMESPACE=prterun-localhost-4712@1");
	told_apart_by(SLURM, "SLURM_PROCID=0", "SLURM_STEP_ID=2");
	told_apart_by(SLURM, "SLURM_PROCID=0", "SLURM_JOB_ID=78");
	told_apart_by(TORCHRUN, "RANK=0", "TORCHELASTIC_RUN_ID=77");
	told_apart_by(TORCHRUN, "RANK=0", "MASTER_PORT=29502");
	told_apart_by(MPICH, "PMI_RANK=0", "PBS_JOBID=13.host");

	/* Nothing gives a name: all such ranks are one job. */
	clearenv();
	set("INA_RANK=0");
	set("INA_RANKS=2");
	set("INA_ROOT=192.0.2.1");
	before = job();
	assert_false(before.has_cookie);
	set("INA_ROOT=192.0.2.2");
	set("SLURM_JOB_ID=77"); /* a user who starts ranks by hand inside a job may start several
	                         * jobs */
	assert_true(same(job(), before));

	/* INA_COOKIE counts before any launcher. */
	set_all(OPEN_MPI);
	set("INA_COOKIE=mine");
	before = job();
	assert_true(before.has_cookie);
	clearenv();
	set_all(SLURM);
	set("INA_COOKIE=mine");
	assert_true(same(job(), before));
	set("INA_COOKIE=yours");
	assert_false(same(job(), before));
	set("INA_COOKIE=");
	refuse(NULL, "INA_COOKIE is empty");

	/* The option counts before INA_COOKIE. */
	options.cookie = "mine";
	assert_true(same(job_by(&options), before));
	options.cookie = "";
	refuse(&options, "option cookie is empty");

	/* A secret is used in the proof, and is never sent. */
	set("INA_COOKIE=mine");
	set("INA_SECRET=swordfish");
	assert_false(same(job(), before));
	assert_int_equal(job().tag, before.tag);
	assert_int_not_equal(job().key.low, before.key.low);
	assert_int_not_equal(job().key.high, before.key.high);
	set("INA_SECRET=");
	refuse(NULL, "INA_SECRET is empty");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(open_mpi, clear),
	        cmocka_unit_test_setup(open_mpi_5, clear),
	        cmocka_unit_test_setup(mpich, clear),
	        cmocka_unit_test_setup(slurm, clear),
	        cmocka_unit_test_setup(torchrun, clear),
	        cmocka_unit_test_setup(names, clear),
	        cmocka_unit_test_setup(nested, clear),
	        cmocka_unit_test_setup(contradictions, clear),
	        cmocka_unit_test_setup(ours_first, clear),
	        cmocka_unit_test_setup(pmix, clear),
	        cmocka_unit_test_setup(halves, clear),
	        cmocka_unit_test_setup(nonsense, clear),
	        cmocka_unit_test_setup(jobs, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Options and environment: which values are filled in, and which are refused with which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/deadline.h"
#include "hostlib/options/settings.h"

static int clear_environment(void **state)
{
	(void)state;
	clearenv();
	return 0;
}

static struct ina_options good(void)
{
	struct ina_options options;

	ina_options_init(&options);
	options.rank = 1;
	options.ranks = 4;
	options.root = "192.0.2.1";
	return options;
}

static void refused(const struct ina_options *options, const char *words)
{
	struct ina_settings settings;
	struct ina_failure failure;

	assert_int_equal(ina_settings_make(&settings, options, &failure), INA_ERR_ARGUMENT);
	if (!strstr(failure.text, words))
		fail_msg("\"%s\" does not say \"%s\"", failure.text, words);
}

static struct ina_settings made(const struct ina_options *options)
{
	struct ina_settings settings;
	struct ina_failure failure;

	assert_int_equal(ina_settings_make(&settings, options, &failure), INA_OK);
	return settings;
}

static void from_options(void **state)
{
	struct ina_options options = good();
	struct ina_settings settings = made(&options);

	(void)state;
	assert_int_equal(settings.root.sin_addr.s_addr, inet_addr("192.0.2.1"));
	assert_int_equal(ntohs(settings.root.sin_port), INA_DEFAULT_PORT);
	assert_int_equal(settings.bind.sin_addr.s_addr, 0);
	options.root = "192.0.2.7:4000";
	options.bind = "192.0.2.9";
	settings = made(&options);
	assert_int_equal(ntohs(settings.root.sin_port), 4000);
	assert_int_equal(settings.bind.sin_addr.s_addr, inet_addr("192.0.2.9"));
}

static void from_environment(void **state)
{
	struct ina_options options = good();
	struct ina_settings settings;

	(void)state;
	setenv("INA_RANK", "2", 1);
	setenv("INA_RANKS", "3", 1);
	setenv("INA_ROOT", "192.0.2.1:5000", 1);
	setenv("INA_BIND", "192.0.2.3", 1);
	setenv("INA_HCA", "mlx5_0:1,mlx5_1", 1);
	settings = made(NULL);
	assert_int_equal(settings.options.rank, 2);
	assert_int_equal(settings.options.ranks, 3);
	assert_int_equal(ntohs(settings.root.sin_port), 5000);
	assert_int_equal(settings.bind.sin_addr.s_addr, inet_addr("192.0.2.3"));
	assert_string_equal(settings.device, "mlx5_0:1,mlx5_1");
	options.device = "^mlx5_2";
	settings = made(&options);
	assert_string_equal(settings.device, "^mlx5_2");
}

/* Each row adds a variable to those of the rows before it, or changes one. */
static void bad_environment(void **state)
{
	static const struct {
		const char *name, *value, *words;
	} rows[] = {
	        {"OTHER", "", "INA_RANKS"},
	        {"INA_RANKS", "four", "INA_RANKS is \"four\""},
	        {"INA_RANKS", "1025", "from 1 to 1024"},
	        {"INA_RANKS", "4", "INA_RANK in the environment"},
	        {"INA_RANK", "-1", "INA_RANK is \"-1\""},
	        {"INA_RANK", "1x", "INA_RANK is \"1x\""},
	        {"INA_RANK", "1", "INA_ROOT"},
	        {"INA_ROOT", "ina-no-such-host.invalid",
	         "INA_ROOT is \"ina-no-such-host.invalid\""},
	        {"INA_ROOT", "192.0.2.1:99999", "INA_ROOT"},
	        {"INA_ROOT", "192.0.2.1", NULL},
	        {"INA_HCA", "mlx5_0:", "INA_HCA is \"mlx5_0:\""},
	        {"INA_BIND", "192.0.2.300", "INA_BIND"},
	};
	struct ina_options options = good();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		setenv(rows[i].name, rows[i].value, 1);
		if (rows[i].words)
			refused(NULL, rows[i].words);
	}
	options.root = "192.0.2.300";
	refused(&options, "option root");
	unsetenv("INA_BIND");
	options = good();
	options.device = "=";
	refused(&options, "option device is \"=\"");
}

/* A program knows only the members of the struct that its ina.h had. */
static void of_other_versions(void **state)
{
	struct {
		struct ina_options options;
		int unknown[2];
	} newer;
	struct ina_options options = good();
	struct ina_settings settings;
	size_t known = offsetof(struct ina_options, poll_count);

	(void)state;
	options.window = 3;
	options.poll_count = 12345; /* not part of the program's struct, so not an option */
	options.struct_size = known;
	settings = made(&options);
	assert_int_equal(settings.options.window, 3);
	assert_int_equal(settings.options.poll_count, good().poll_count);
	assert_int_equal(settings.options.timeout_ms, good().timeout_ms);
	memset(&options, 0xA5, sizeof(options));
	ina_options_init_size(&options, known);
	assert_int_equal(options.struct_size, known);
	for (size_t i = known; i < sizeof(options); i++)
		assert_int_equal(((unsigned char *)&options)[i], 0xA5);

	memset(&newer, 0xA5, sizeof(newer));
	ina_options_init_size(&newer.options, sizeof(newer));
	assert_int_equal(newer.unknown[1], 0);
	newer.options.rank = 1;
	newer.options.ranks = 4;
	newer.options.root = "192.0.2.1";
	made(&newer.options);
	newer.unknown[1] = 1;
	refused(&newer.options, "built for a later version");
}

/* The good options with another value of a member. */
#define refused_with(member, value, words)                                                         \
	do {                                                                                       \
		struct ina_options options = good();                                               \
                                                                                                   \
		options.member = value;                                                            \
		refused(&options, words);                                                          \
	} while (0)

static void refused_variable(const char *name, const char *value, const char *words)
{
	struct ina_options options = good();

	setenv(name, value, 1);
	refused(&options, words);
	unsetenv(name);
}

static void bad_options(void **state)
{
	(void)state;
	refused_with(struct_size, 8, "ina_options_init");
	refused_with(window, 0, "window is 0");
	refused_with(window, 129, "window is 129");
	refused_with(message_bytes, 1000, "message_bytes is 1000");
	refused_with(message_bytes, 48, "message_bytes is 48");
	refused_with(ack_timeout, 32, "ack_timeout is 32");
	refused_with(congestion_control, 2, "congestion_control is 2");
	refused_with(channels, 9, "channels is 9");
	refused_with(channels, -1, "channels is -1");
	refused_with(timeout_ms, 0, "timeout");
	refused_with(join_timeout_ms, -1, "join_timeout_ms");
	refused_with(algorithm, (enum ina_algorithm)5, "algorithm is 5");
	refused_with(ranks, 1025, "ranks is 1025");
	refused_with(rank, -2, "rank is -2");
	refused_variable("INA_ACK_TIMEOUT", "soon", "INA_ACK_TIMEOUT is \"soon\"");
	refused_variable("INA_RETRY_COUNT", "8", "INA_RETRY_COUNT is \"8\"");
	refused_variable("INA_INTRA_GBPS", "fast", "INA_INTRA_GBPS is \"fast\"");
	refused_variable("INA_CONGESTION_CONTROL", "yes", "INA_CONGESTION_CONTROL is \"yes\"");
	refused_variable("INA_CHANNELS", "0", "INA_CHANNELS is \"0\"");
}

/* The option counts before the variable. Messages have 4 packets if nothing sets their length. */
static void congestion_control(void **state)
{
	static const struct {
		const char *variable;
		int option;
		unsigned int message_bytes;
		int is_on;
		unsigned int window, bytes;
	} cases[] = {
	        {NULL, 0, 0, 0, 8, 16 * 4096}, {NULL, 1, 0, 1, 32, 4 * 4096},
	        {"1", 0, 0, 1, 32, 4 * 4096},  {"1", -1, 0, 0, 8, 16 * 4096},
	        {"0", 1, 0, 1, 32, 4 * 4096},  {"0", 0, 0, 0, 8, 16 * 4096},
	        {NULL, 1, 8192, 1, 8, 8192},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ina_options options = good();
		struct ina_settings settings;
		struct ina_failure failure;
		unsigned int packets;

		if (cases[i].variable)
			setenv("INA_CONGESTION_CONTROL", cases[i].variable, 1);
		options.congestion_control = cases[i].option;
		options.message_bytes = cases[i].message_bytes;
		settings = made(&options);
		unsetenv("INA_CONGESTION_CONTROL");
		assert_int_equal(ina_settings_fit(&settings, 4096, &packets, &failure), INA_OK);
		assert_int_equal(settings.options.congestion_control, cases[i].is_on);
		assert_int_equal(settings.options.window, cases[i].window);
		assert_int_equal(settings.options.message_bytes, cases[i].bytes);
		assert_int_equal(settings.receives, cases[i].window);
	}
}

/* The option counts before the variable. */
static void channels(void **state)
{
	static const struct {
		const char *variable;
		int option, wanted;
	} cases[] = {{NULL, 0, 1}, {NULL, 3, 3}, {"2", 0, 2}, {"2", 8, 8}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ina_options options = good();
		struct ina_settings settings;

		if (cases[i].variable)
			setenv("INA_CHANNELS", cases[i].variable, 1);
		options.channels = cases[i].option;
		settings = made(&options);
		unsetenv("INA_CHANNELS");
		assert_int_equal(settings.options.channels, cases[i].wanted);
		assert_int_equal(settings.tree, 0);
	}
}

static void fits(void **state)
{
	struct ina_options options = good();
	struct ina_settings settings;
	struct ina_failure failure;
	unsigned int packets;

	(void)state;
	settings = made(&options);
	assert_int_equal(ina_settings_fit(&settings, 1024, &packets, &failure), INA_OK);
	assert_int_equal(settings.options.message_bytes, 16384);
	assert_int_equal(packets, 128);

	options.window = 9;
	settings = made(&options);
	assert_int_equal(ina_settings_fit(&settings, 1024, &packets, &failure), INA_ERR_ARGUMENT);

	options.message_bytes = 1040; /* slightly more than one packet */
	options.window = 64;
	settings = made(&options);
	assert_int_equal(ina_settings_fit(&settings, 1024, &packets, &failure), INA_OK);
	assert_int_equal(packets, 128);

	options.message_bytes = 0;
	options.window = 3; /* 48 packets: grants are powers of two */
	settings = made(&options);
	assert_int_equal(ina_settings_fit(&settings, 1024, &packets, &failure), INA_OK);
	assert_int_equal(packets, 64);
}

/* The grant is never exceeded; while messages have whole packets, there are 16 or more. */
static void fits_what_is_granted(void **state)
{
	static const struct {
		unsigned int window, bytes, mtu, granted, new_window, new_bytes;
	} cases[] = {
	        {8, 65536, 4096, 128, 8, 65536}, {8, 65536, 4096, 64, 16, 16384},
	        {8, 65536, 4096, 32, 16, 8192},  {8, 65536, 4096, 8, 8, 4096},
	        {8, 65536, 4096, 4, 4, 4096},    {8, 65536, 4096, 1, 1, 4096},
	        {3, 4112, 4096, 8, 3, 4112},     {3, 4112, 4096, 4, 4, 4096},
	        {8, 4096, 1024, 32, 8, 4096},    {8, 4000, 1024, 16, 16, 1024},
	        {5, 16384, 1024, 64, 16, 4096},  {128, 1024, 1024, 32, 32, 1024},
	        {1, 131072, 1024, 64, 16, 4096}, {32, 16384, 4096, 64, 32, 8192},
	        {24, 16384, 4096, 64, 24, 8192},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned int window = cases[i].window, bytes = cases[i].bytes;

		ina_window_fit(&window, &bytes, cases[i].mtu, cases[i].granted);
		assert_int_equal(window, cases[i].new_window);
		assert_int_equal(bytes, cases[i].new_bytes);
	}
}

/* 2 s, or 8 ACK timeouts of 4.096 us * 2^n if these are longer, unless the option gives another
 * time. */
static void a_lost_join_is_waited_for(void **state)
{
	static const struct {
		unsigned int ack_timeout;
		int option, wanted_ms;
	} cases[] = {{0, 0, 2000},   {15, 0, 2000},   {16, 0, 2147},    {18, 0, 8589},
	             {18, 300, 300}, {0, 5000, 5000}, {31, 0, 70368744}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ina_options options = good();

		options.ack_timeout = cases[i].ack_timeout;
		options.join_timeout_ms = cases[i].option;
		assert_int_equal(made(&options).options.join_timeout_ms, cases[i].wanted_ms);
	}
}

static atomic_int slow_answers; /* counted by the thread of the resolver */

/* Replaces the C library's function: a resolver whose name server is down, and one that answers. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **found)
{
	/* A resolver that was given up answers while the next one works. */
	static _Thread_local struct sockaddr_in address = {.sin_family = AF_INET};
	static _Thread_local struct addrinfo one;

	(void)service;
	(void)hints;
	if (strcmp(host, "slow.example") == 0) {
		usleep(600000);
		slow_answers++;
	} else if (strcmp(host, "fast.example") != 0) {
		return EAI_NONAME;
	}
	address.sin_addr.s_addr = inet_addr("192.0.2.5");
	one.ai_addr = (struct sockaddr *)&address;
	*found = &one;
	return 0;
}

void freeaddrinfo(struct addrinfo *found)
{
	(void)found;
}

static void names(void **state)
{
	struct ina_options options = good();
	struct ina_settings settings;
	struct ina_failure failure;
	int64_t start_ms = ina_now_ms();

	(void)state;
	options.root = "fast.example:4000";
	settings = made(&options);
	assert_int_equal(settings.root.sin_addr.s_addr, inet_addr("192.0.2.5"));
	assert_int_equal(ntohs(settings.root.sin_port), 4000);
	options.root = "unknown.example";
	refused(&options, "unknown.example");
	options.root = "slow.example";
	options.open_timeout_ms = 100;
	assert_int_equal(ina_settings_make(&settings, &options, &failure), INA_ERR_TIMEOUT);
	assert_non_null(strstr(failure.text, "slow.example"));
	assert_non_null(strstr(failure.text, "within 100 ms"));
	assert_false(settings.can_meet);
	assert_true(ina_now_ms() - start_ms < 500);
	usleep(700000); /* the resolver's thread has ended, and has freed everything */
	assert_int_equal(slow_answers, 1);
	/* The time of the resolver is not added to the time for the ranks' meeting. */
	start_ms = ina_now_ms();
	options.open_timeout_ms = 5000;
	settings = made(&options);
	assert_int_equal(slow_answers, 2);
	assert_true(settings.deadline_ms >= start_ms + 5000);
	assert_true(settings.deadline_ms < start_ms + 5300);
}

/* A failure after rank and root are known can be sent to rank 0. */
static void can_meet(void **state)
{
	struct ina_options options = good();
	struct ina_settings settings;
	struct ina_failure failure;

	(void)state;
	options.bind = "nowhere";
	assert_int_equal(ina_settings_make(&settings, &options, &failure), INA_ERR_ARGUMENT);
	assert_true(settings.can_meet);
	options = good();
	options.window = 1000;
	assert_int_equal(ina_settings_make(&settings, &options, &failure), INA_ERR_ARGUMENT);
	assert_true(settings.can_meet);
	options = good();
	options.rank = -2;
	assert_int_equal(ina_settings_make(&settings, &options, &failure), INA_ERR_ARGUMENT);
	assert_false(settings.can_meet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(from_options, clear_environment),
	        cmocka_unit_test_setup(from_environment, clear_environment),
	        cmocka_unit_test_setup(bad_environment, clear_environment),
	        cmocka_unit_test_setup(of_other_versions, clear_environment),
	        cmocka_unit_test_setup(bad_options, clear_environment),
	        cmocka_unit_test_setup(congestion_control, clear_environment),
	        cmocka_unit_test_setup(channels, clear_environment),
	        cmocka_unit_test_setup(a_lost_join_is_waited_for, clear_environment),
	        cmocka_unit_test_setup(names, clear_environment),
	        cmocka_unit_test_setup(can_meet, clear_environment),
	        cmocka_unit_test_setup(fits, clear_environment),
	        cmocka_unit_test_setup(fits_what_is_granted, clear_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

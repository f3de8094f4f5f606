/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files, environment and program: which value counts, where an error says that it is, and which
 * variable it proposes. Linked with --wrap=open: /etc/ina.conf is a file of this test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hostlib/options/settings.h"

static char folder[] = "/tmp/ina_sources_XXXXXX";
static char system_file[64], home_file[64], other_file[64];

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list arguments;

	va_start(arguments, flags);
	if (flags & O_CREAT)
		mode = va_arg(arguments, mode_t);
	va_end(arguments);
	return __real_open(strcmp(path, "/etc/ina.conf") == 0 ? system_file : path, flags, mode);
}

static int make_folder(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(system_file, sizeof(system_file), "%s/etc", folder);
	snprintf(home_file, sizeof(home_file), "%s/.ina.conf", folder);
	snprintf(other_file, sizeof(other_file), "%s/other", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static int clear(void **state)
{
	(void)state;
	clearenv();
	setenv("HOME", folder, 1);
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	unlink(system_file);
	unlink(home_file);
	unlink(other_file);
	return 0;
}

static void write_bytes(const char *path, const char *text, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void write_text(const char *path, const char *text)
{
	write_bytes(path, text, strlen(text));
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

static struct ina_settings made(const struct ina_options *options)
{
	struct ina_settings settings;
	struct ina_failure failure;

	if (ina_settings_make(&settings, options, &failure) != INA_OK)
		fail_msg("refused: %s", failure.text);
	return settings;
}

/* The other ranks can learn of the fault: rank and root are known. */
static void refused(const struct ina_options *options, const char *words)
{
	struct ina_settings settings;
	struct ina_failure failure;

	assert_int_equal(ina_settings_make(&settings, options, &failure), INA_ERR_ARGUMENT);
	assert_true(settings.can_meet);
	if (!strstr(failure.text, words))
		fail_msg("\"%s\" does not say \"%s\"", failure.text, words);
}

/* /etc/ina.conf, ~/.ina.conf or INA_CONF_FILE, environment, program: the last one counts. */
static void later_ones_take_precedence(void **state)
{
	struct ina_options options = good();

	(void)state;
	assert_int_equal(made(&options).options.window, 8);
	write_text(system_file, "INA_WINDOW=1\nINA_CHANNELS=2\n");
	assert_int_equal(made(&options).options.window, 1);
	write_text(home_file, "INA_WINDOW=2\n");
	assert_int_equal(made(&options).options.window, 2);
	assert_int_equal(made(&options).options.channels, 2);
	write_text(other_file, "INA_WINDOW=3\nINA_WINDOW=4\n");
	setenv("INA_CONF_FILE", "", 1);
	assert_int_equal(made(&options).options.window, 2);
	setenv("INA_CONF_FILE", other_file, 1);
	assert_int_equal(made(&options).options.window, 4);
	setenv("INA_WINDOW", "5", 1);
	assert_int_equal(made(&options).options.window, 5);
	options.window = 6;
	assert_int_equal(made(&options).options.window, 6);
	options.window = 8; /* the default: as if it were not set */
	assert_int_equal(made(&options).options.window, 5);
	/* What a file says wrongly does not matter if a later place has a value. */
	write_text(system_file, "INA_WINDOW=many\n");
	assert_int_equal(made(&options).options.window, 5);
}

/* -1 is off, whatever the variable says. */
static void switches(void **state)
{
	static const struct {
		const char *variable;
		int option, is_on;
	} cases[] = {{NULL, 0, 0}, {NULL, 1, 1}, {NULL, -1, 0}, {"1", 0, 1},
	             {"1", -1, 0}, {"0", 1, 1},  {"0", 0, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ina_options options = good();
		struct ina_settings settings;

		if (cases[i].variable) {
			setenv("INA_PROGRESS_THREAD", cases[i].variable, 1);
			setenv("INA_FIXED_POINT", cases[i].variable, 1);
		}
		options.progress_thread = options.fixed_point = cases[i].option;
		settings = made(&options);
		assert_int_equal(settings.options.progress_thread, cases[i].is_on);
		assert_int_equal(settings.options.fixed_point, cases[i].is_on);
		unsetenv("INA_PROGRESS_THREAD");
		unsetenv("INA_FIXED_POINT");
	}
}

static void forms_of_lines(void **state)
{
	struct ina_options options = good();
	struct ina_settings settings;

	(void)state;
	write_text(home_file, "# INA_WINDOW=1\n\n \t# indented\n  INA_WINDOW \t=  7 \r\n"
	                      "INA_ALGORITHM=ring\nINA_SCHEDULE=leader\nINA_HCA=a = b # c\n"
	                      "INA_BIND=192.0.2.9");
	settings = made(&options);
	assert_int_equal(settings.options.window, 7);
	assert_int_equal(settings.options.algorithm, INA_ALGORITHM_RING);
	assert_int_equal(settings.options.schedule, INA_SCHEDULE_LEADER);
	assert_string_equal(settings.device, "a = b # c");
	assert_int_equal(settings.bind.sin_addr.s_addr, htonl(0xC0000209));
}

static void refused_file(const char *text, const char *words)
{
	struct ina_options options = good();
	char expected[300];

	write_text(home_file, text);
	snprintf(expected, sizeof(expected), "%s%s", home_file, words);
	refused(&options, expected);
}

static void faults_of_files(void **state)
{
	(void)state;
	refused_file("\nINA_WINDOW=0\n",
	             ":2: INA_WINDOW is \"0\": it must be a number from 1 to 128");
	refused_file("INA_ALGORITHM=rings\n",
	             ":1: INA_ALGORITHM is \"rings\": it must be auto, ina or ring");
	refused_file("INA_MESSAGE_BYTES=1000",
	             ":1: INA_MESSAGE_BYTES is \"1000\": it must be a multiple of 16 from 64 to "
	             "524288");
	refused_file("INA_FIXED_POINT=-1\n", ":1: INA_FIXED_POINT is \"-1\": it must be 0 or 1");
	refused_file("INA_BIND=nowhere\n", ":1: INA_BIND is \"nowhere\"");
	refused_file("INA_WINDOW=1\n\nINA_RNAK=1\n",
	             ":3: libina knows no INA_RNAK: did you mean INA_RANK?");
	refused_file("WINDOW=1\n", ":1: libina knows no WINDOW: did you mean INA_WINDOW?");
	refused_file("INA_WINDOW 1\n", ":1: a line must be KEY=value");
	refused_file("=1\n", ":1: a line must be KEY=value");
	refused_file("INA_MPI_VERBOSE=1\n", ":1: this variable is not read from files");
	refused_file("nonsense\nINA_RNAK=1\n", ":1: a line must be KEY=value");
	refused_file("INA_CONF_FILE=x\n", ":1: this variable is not read from files");
}

static void faults_of_the_meeting(void **state)
{
	struct ina_settings settings;
	struct ina_failure failure;
	struct ina_options options = good();

	(void)state;
	options.root = NULL;
	write_text(home_file, "INA_ROOT=192.0.2.300\n");
	assert_int_equal(ina_settings_make(&settings, &options, &failure), INA_ERR_ARGUMENT);
	assert_non_null(strstr(failure.text, ".ina.conf:1: INA_ROOT is \"192.0.2.300\""));
	/* The misspelt variable is the reason why the rank is not known. */
	setenv("INA_RNAK", "1", 1);
	assert_int_equal(ina_settings_make(&settings, NULL, &failure), INA_ERR_ARGUMENT);
	assert_non_null(strstr(failure.text, "did you mean INA_RANK?"));
	assert_false(settings.can_meet);
}

static void refused_variable(const char *name, const char *value, const char *words)
{
	struct ina_options options = good();

	setenv(name, value, 1);
	refused(&options, words);
	unsetenv(name);
}

static void faults_of_the_environment(void **state)
{
	struct ina_options options = good();

	(void)state;
	setenv("INA_CHANEL", "2", 1);
	refused(&options, "in the environment: libina knows no INA_CHANEL: did you mean "
	                  "INA_CHANNELS?");
	unsetenv("INA_CHANEL");
	setenv("INA_MPI_VERBOSE", "1", 1);
	setenv("INA_SEED", "1", 1);
	setenv("INANE", "1", 1);
	made(&options);
	setenv("INA_SCHEDULE", "flatter", 1);
	refused(&options, "INA_SCHEDULE is \"flatter\": it must be auto, flat, leader or parallel");
}

static void unreadable_files(void **state)
{
	static char large[INA_CONF_BYTES_MAX + 2];
	struct ina_options options = good();

	(void)state;
	setenv("INA_CONF_FILE", other_file, 1);
	refused(&options, "other: cannot read this file of options: No such file");
	setenv("INA_CONF_FILE", folder, 1);
	refused(&options, "cannot read this file of options: Is a directory");
	setenv("INA_CONF_FILE", other_file, 1);
	assert_int_equal(mkfifo(other_file, 0600), 0); /* it does not block */
	made(&options);
	unlink(other_file);
	write_bytes(other_file, "INA_WINDOW=1\n\0\n", 15);
	refused(&options, "it is not a text");
	memset(large, '#', sizeof(large));
	write_bytes(other_file, large, INA_CONF_BYTES_MAX + 1);
	refused(&options, "it is longer than 16 KiB");
	write_bytes(other_file, large, INA_CONF_BYTES_MAX);
	made(&options);
	memset(large, 'x', 300);
	large[300] = '\0';
	setenv("INA_CONF_FILE", large, 1);
	refused(&options, "INA_CONF_FILE: the path is too long");
	setenv("INA_CONF_FILE", "/dev/null", 1);
	made(&options);
}

/* Returns the port of the root, and the number of ports from it on at which it may be. */
static int root_port(const struct ina_options *options, int *count)
{
	struct ina_settings settings = made(options);

	*count = settings.root_ports;
	return ntohs(settings.root.sin_port);
}

/* The lower half is for rank 0: of a job with a cookie a block of 8, or all if there are fewer. */
static void ports(void **state)
{
	struct ina_options options = good();
	int blocks[2] = {0, 0};
	char cookie[20];
	int count;

	(void)state;
	assert_int_equal(made(&options).ports.count, 0);
	setenv("INA_PORTS", "20000-20031", 1);
	assert_int_equal(root_port(&options, &count), 20000);
	assert_int_equal(count, 1);
	assert_int_equal(made(&options).ports.first, 20000);
	assert_int_equal(made(&options).ports.count, 32);
	for (int i = 0; i < 64; i++) {
		int port;

		snprintf(cookie, sizeof(cookie), "job %d", i);
		options.cookie = cookie;
		port = root_port(&options, &count);
		assert_true(port == 20000 || port == 20008);
		assert_int_equal(count, 8);
		blocks[port == 20008]++;
	}
	assert_true(blocks[0] > 0 && blocks[1] > 0);
	setenv("INA_PORTS", "65530-65535", 1);
	assert_int_equal(root_port(&options, &count), 65530);
	assert_int_equal(count, 3);
	setenv("INA_PORTS", "65534-65535", 1);
	assert_int_equal(root_port(&options, &count), 65534);
	assert_int_equal(count, 1);
	options.root = "192.0.2.1:65534";
	assert_int_equal(root_port(&options, &count), 65534);
}

static void wrong_ports(void **state)
{
	static const char *const texts[] = {"",    "1",     "x-2",     "1-x",     "2-1",
	                                    "1-1", "0-5",   "1-2x",    "1-65536", "1-2-3",
	                                    "-",   "1 - 2", "1000:20", "1-"};
	struct ina_settings settings;
	struct ina_failure failure;
	struct ina_options options = good();
	int count;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char words[100];

		snprintf(words, sizeof(words), "INA_PORTS is \"%s\": it must be FIRST-LAST",
		         texts[i]);
		setenv("INA_PORTS", texts[i], 1);
		assert_int_equal(ina_settings_make(&settings, &options, &failure),
		                 INA_ERR_ARGUMENT);
		assert_non_null(strstr(failure.text, words));
	}
	setenv("INA_PORTS", "20000-20031", 1);
	options.root = "192.0.2.1:20016"; /* neighbours' */
	assert_int_equal(ina_settings_make(&settings, &options, &failure), INA_ERR_ARGUMENT);
	assert_string_equal(failure.text,
	                    "port 20016 of the option root is not in the lower half of INA_PORTS, "
	                    "20000-20031");
	/* torchrun does not know them. */
	options.root = NULL;
	setenv("MASTER_ADDR", "192.0.2.3", 1);
	setenv("MASTER_PORT", "29500", 1);
	assert_int_equal(root_port(&options, &count), 20000);
	unsetenv("INA_PORTS");
	assert_int_equal(root_port(&options, &count), 29501);
}

static void log_files(void **state)
{
	static char large[INA_LOG_FILE_SIZE + 1];
	struct ina_options options = good();
	char host[100] = "", wanted[200];

	(void)state;
	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	assert_string_equal(made(&options).log_file, "");
	assert_int_equal(made(&options).variables.log_level, INA_LOG_OFF);
	setenv("INA_LOG", "warn", 1);
	setenv("INA_LOG_FILE", "/a%%b.%h.%p.log", 1);
	snprintf(wanted, sizeof(wanted), "/a%%b.%s.%d.log", host, (int)getpid());
	assert_string_equal(made(&options).log_file, wanted);
	assert_int_equal(made(&options).variables.log_level, INA_LOG_WARN);
	refused_variable("INA_LOG_FILE", "/log.%r",
	                 "INA_LOG_FILE is \"/log.%r\": it must be a path");
	refused_variable("INA_LOG_FILE", "/log.%", "INA_LOG_FILE is \"/log.%\"");
	memset(large, 'x', INA_LOG_FILE_SIZE);
	refused_variable("INA_LOG_FILE", large, "of less than 256 characters");
	large[INA_LOG_FILE_SIZE - 1] = '\0';
	setenv("INA_LOG_FILE", large, 1);
	made(&options);
	refused_variable("INA_LOG", "debug", "INA_LOG is \"debug\": it must be off, warn or info");
}

/* A value of each variable that differs from its default. */
static const struct {
	const char *name, *value;
} VALUES[] = {
        {"INA_RANK", "2"},
        {"INA_RANKS", "3"},
        {"INA_ROOT", "192.0.2.7:1"},
        {"INA_COOKIE", "a job"},
        {"INA_SECRET", "hush"},
        {"INA_OPEN_TIMEOUT_MS", "1001"},
        {"INA_PEER_TIMEOUT_MS", "1002"},
        {"INA_BIND", "192.0.2.8"},
        {"INA_HCA", "rxe7"},
        {"INA_ALGORITHM", "ina"},
        {"INA_SCHEDULE", "parallel"},
        {"INA_CHANNELS", "4"},
        {"INA_WINDOW", "12"},
        {"INA_MESSAGE_BYTES", "4096"},
        {"INA_FIXED_POINT", "1"},
        {"INA_CONGESTION_CONTROL", "1"},
        {"INA_PROGRESS_THREAD", "1"},
        {"INA_POLL_COUNT", "5000"},
        {"INA_ACK_TIMEOUT", "16"},
        {"INA_JOIN_TIMEOUT_MS", "1003"},
        {"INA_TIMEOUT_MS", "1004"},
        {"INA_RETRY_COUNT", "6"},
        {"INA_DSCP", "0"},
        {"INA_TRAFFIC_CLASS", "255"},
        {"INA_INTRA_GBPS", "100"},
        {"INA_PORTS", "20000-20015"},
        {"INA_LOG", "info"},
        {"INA_LOG_FILE", "log.%p"},
};

#define VALUE_COUNT (sizeof(VALUES) / sizeof(VALUES[0]))

static void explained(const struct ina_options *options, char text[32768])
{
	if (ina_options_explain(options, text, 32768) != INA_OK)
		fail_msg("refused: %s", text);
}

static void has_line(const char *text, const char *name, const char *value, const char *source)
{
	char line[400];

	snprintf(line, sizeof(line), "%s\t%s\t%s\n", name, value, source);
	if (!strstr(text, line))
		fail_msg("\"%s\" is not in %s", line, text);
}

static void every_variable_is_explained(void **state)
{
	static char text[32768], before[32768];
	char line[100];
	size_t lines = 0;

	(void)state;
	explained(NULL, before);
	for (size_t i = 0; i < VALUE_COUNT; i++)
		setenv(VALUES[i].name, VALUES[i].value, 1);
	explained(NULL, text);
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, VALUE_COUNT); /* each variable has a value above */
	for (size_t i = 0; i < VALUE_COUNT; i++) {
		const char *value =
		        strcmp(VALUES[i].name, "INA_SECRET") == 0 ? "(secret)" : VALUES[i].value;

		has_line(text, VALUES[i].name, value, "environment");
		snprintf(line, sizeof(line), "%s\t%s\t", VALUES[i].name, VALUES[i].value);
		assert_null(strstr(before, line));
	}
	assert_null(strstr(text, "hush"));
}

static void sources_are_explained(void **state)
{
	static char text[32768];
	struct ina_options options;
	char source[100];

	(void)state;
	write_text(system_file, "INA_POLL_COUNT=1\n");
	write_text(home_file, "# mine\nINA_ROOT=192.0.2.4\n");
	setenv("RANK", "1", 1);
	setenv("WORLD_SIZE", "2", 1);
	setenv("MASTER_ADDR", "192.0.2.3", 1);
	setenv("MASTER_PORT", "29500", 1);
	setenv("TORCHELASTIC_RUN_ID", "run", 1);
	setenv("INA_LOG", "info", 1);
	ina_options_init(&options);
	options.window = 3;
	options.algorithm = INA_ALGORITHM_RING;
	explained(&options, text);
	has_line(text, "INA_POLL_COUNT", "1", "/etc/ina.conf:1");
	snprintf(source, sizeof(source), "%s:2", home_file);
	has_line(text, "INA_ROOT", "192.0.2.4", source);
	has_line(text, "INA_RANK", "1", "RANK");
	has_line(text, "INA_RANKS", "2", "WORLD_SIZE");
	has_line(text, "INA_COOKIE", "torchrun run.29500", "torchrun");
	has_line(text, "INA_LOG", "info", "environment");
	has_line(text, "INA_WINDOW", "3", "program");
	has_line(text, "INA_ALGORITHM", "ring", "program");
	has_line(text, "INA_ACK_TIMEOUT", "14", "default");
	has_line(text, "INA_DSCP", "43", "default"); /* docs/protocol.md, Marking */
	has_line(text, "INA_TRAFFIC_CLASS", "0", "default");
	has_line(text, "INA_MESSAGE_BYTES", "-", "default");
	has_line(text, "INA_BIND", "-", "default");
	has_line(text, "INA_SECRET", "-", "default");
	unlink(home_file);
	explained(NULL, text);
	has_line(text, "INA_ROOT", "192.0.2.3:29501", "MASTER_ADDR");
	/* The text is cut. */
	memset(text, 'x', sizeof(text));
	assert_int_equal(ina_options_explain(NULL, text, 10), INA_OK);
	assert_string_equal(text, "INA_RANK\t");
	assert_int_equal(text[10], 'x');
	options.window = 0;
	assert_int_equal(ina_options_explain(&options, text, sizeof(text)), INA_ERR_ARGUMENT);
	assert_string_equal(text, "the option window is 0: it must be a number from 1 to 128");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, clear, remove_files)
	const struct CMUnitTest tests[] = {
	        TEST(later_ones_take_precedence),
	        TEST(switches),
	        TEST(forms_of_lines),
	        TEST(faults_of_files),
	        TEST(faults_of_the_meeting),
	        TEST(faults_of_the_environment),
	        TEST(unreadable_files),
	        TEST(ports),
	        TEST(wrong_ports),
	        TEST(log_files),
	        TEST(every_variable_is_explained),
	        TEST(sources_are_explained),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

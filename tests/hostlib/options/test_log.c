/* SPDX-License-Identifier: Apache-2.0 */
/* The levels of the log, and its file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hostlib/options/log.h"

static char path[] = "/tmp/ina_log_XXXXXX";

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	return 0;
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void opened(struct ina_log *log, const struct ina_options *options, enum ina_log_level level,
                   const char *file)
{
	struct ina_failure failure;

	assert_int_equal(ina_log_open(log, options, level, file, &failure), INA_OK);
}

static void holds(const char *wanted)
{
	char text[1000];
	FILE *file = fopen(path, "r");
	size_t bytes;

	assert_non_null(file);
	bytes = fread(text, 1, sizeof(text) - 1, file);
	text[bytes] = '\0';
	fclose(file);
	assert_string_equal(text, wanted);
}

static void levels(void **state)
{
	const struct ina_options options = {.rank = 2, .ranks = 3};
	struct ina_log log = {0};

	(void)state;
	opened(&log, &options, INA_LOG_OFF, path);
	ina_warn(&log, "one %d", 1);
	ina_log(&log, "two");
	holds("");
	opened(&log, &options, INA_LOG_WARN, path);
	ina_warn(&log, "three %d", 3);
	ina_log(&log, "four");
	holds("libina: rank 2 of 3: three 3\n");
	opened(&log, &options, INA_LOG_INFO, path);
	ina_warn(&log, "five");
	ina_log(&log, "six %s", "6");
	holds("libina: rank 2 of 3: three 3\n"
	      "libina: rank 2 of 3: five\n"
	      "libina: rank 2 of 3: six 6\n");
}

static void take(void *context, const char *line)
{
	strcat(context, line);
	strcat(context, ";");
}

/* The program's function gets the lines of all levels, and the file gets none. */
static void functions(void **state)
{
	char taken[100] = "";
	const struct ina_options options = {.log = take, .log_context = taken};
	struct ina_log log = {0};
	struct ina_log_line *line;

	(void)state;
	assert_int_equal(truncate(path, 0), 0);
	opened(&log, &options, INA_LOG_WARN, path);
	ina_log(&log, "one");
	ina_warn(&log, "two");
	while ((line = ina_log_begin(&log))) {
		ina_log_write(&log, line);
		ina_log_end(&log, line);
	}
	assert_string_equal(taken, "one;two;");
	holds("");
}

static void unwritable(void **state)
{
	const struct ina_options options = {.rank = 2, .ranks = 3};
	struct ina_failure failure;
	struct ina_log log = {0};

	(void)state;
	assert_int_equal(ina_log_open(&log, &options, INA_LOG_WARN, "/nowhere/log", &failure),
	                 INA_ERR_ARGUMENT);
	assert_string_equal(failure.text, "cannot write the file /nowhere/log of INA_LOG_FILE: No "
	                                  "such file or directory");
	ina_warn(&log, "lost"); /* it does no harm */
	opened(&log, &options, INA_LOG_OFF, "/nowhere/log");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(levels),
	        cmocka_unit_test(functions),
	        cmocka_unit_test(unwritable),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}

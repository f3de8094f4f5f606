/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-init, the first process of a lab host. It brings up the network and the soft-RoCE device,
 * waits for the start, runs the command once for each of the host's ranks, and reports how the
 * commands ended.
 *
 * Its instructions are files in the folder that the kernel argument ina_dir names (the kernel
 * passes such arguments on as environment variables): `environment.HOST.N` for the host's Nth
 * rank, `command` and `directory`, with a NUL after each string, and `network.HOST`, a batch for
 * ip(8). tty1 carries the command's stdout and tty2 its stderr; on a QEMU host these are ttyS1 and
 * ttyS2. tty3 or ttyS3 carries the messages, one word to a line: guest-init sends `up`, ina-lab
 * sends `go`, and guest-init sends `exit CODE`. After that the host stays up, so that the last
 * retransmissions of other hosts find a live peer, until ina-lab kills it.
 *
 * The host's root is the machine's file system, with the caller's permissions. Nothing here needs
 * root on the machine, since mounts, devices and addresses belong to the host.
 *
 * The program is linked statically and starts as few other programs as it can. Starting one in User
 * Mode Linux takes a tenth of a second of processor time, most of it to load shared libraries.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/module.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/klog.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define BRIDGE_ADDRESS "192.0.255.254"
#define BRIDGE_PORT    18767

enum { OUT, ERR, TALK, CONSOLES };

static int consoles[CONSOLES] = {-1, -1, -1};
static int bridge = -1; /* used in virtual time */

static void say(int fd, const char *format, ...)
{
	char line[64];
	va_list words;
	int length;

	va_start(words, format);
	length = vsnprintf(line, sizeof(line), format, words);
	va_end(words);
	if (fd >= 0 && write(fd, line, (size_t)length) != length)
		perror("guest-init: write");
}

/* Prints to the kernel's log, the end of which ina-lab shows before it ends the host. */
static _Noreturn void fail(const char *format, ...)
{
	va_list words;

	printf("guest-init: ");
	va_start(words, format);
	vprintf(format, words);
	va_end(words);
	printf("\n");
	fflush(stdout);
	if (consoles[TALK] < 0)
		exit(1); /* the kernel panics, and ina-lab notices that */
	say(consoles[TALK], "failed\n");
	for (;;)
		pause();
}

static const char *argument(const char *name)
{
	const char *text = getenv(name);

	if (!text)
		fail("the kernel's command line has no %s", name);
	return text;
}

static bool is_qemu(void)
{
	return getenv("ina_qemu");
}

/* Returns the file's bytes, followed by a NUL; the caller owns them. */
static char *read_file(const char *path, size_t *length)
{
	size_t room = 4096;
	char *bytes = malloc(room);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = -1;

	*length = 0;
	while (bytes && fd >= 0 && (got = read(fd, bytes + *length, room - *length - 1)) > 0) {
		*length += (size_t)got;
		if (*length + 1 == room)
			bytes = realloc(bytes, room *= 2);
	}
	if (!bytes || got < 0)
		fail("cannot read %s: %s", path, strerror(errno));
	close(fd);
	bytes[*length] = 0;
	return bytes;
}

/* Returns a list of the NUL-terminated strings of a file; its last entry is NULL. */
static char **read_strings(const char *path)
{
	size_t length, count = 0;
	char *bytes = read_file(path, &length), **strings;

	for (size_t i = 0; i < length; i++)
		count += bytes[i] == 0;
	strings = calloc(count + 1, sizeof(*strings));
	if (!strings)
		fail("no memory");
	for (size_t i = 0; i < count; i++) {
		strings[i] = bytes;
		bytes += strlen(bytes) + 1;
	}
	return strings;
}

static void mount_one(const char *source, const char *target, const char *type, unsigned long flags,
                      const char *options)
{
	if (mount(source, target, type, flags, options))
		printf("guest-init: cannot mount %s: %s\n", target, strerror(errno));
}

/* perftest needs the processor's clock rate, which the kernel of a host does not report. */
static void state_clock(const char *folder, const char *rank, const char *mhz)
{
	char path[PATH_MAX];
	size_t length;
	char *text = read_file("/proc/cpuinfo", &length);
	FILE *file;

	while (length && text[length - 1] == '\n')
		text[--length] = 0;
	snprintf(path, sizeof(path), "%s/cpuinfo.%s", folder, rank);
	file = fopen(path, "we");
	if (file) {
		fprintf(file, "%s\ncpu MHz\t\t: %s\n\n", text, mhz);
		fclose(file);
	}
	free(text);
	mount_one(path, "/proc/cpuinfo", NULL, MS_BIND, NULL);
}

/*
 * Mounts in this process rather than by mount(8), which would start a program each time. Each host
 * has its own /run, because programs keep locks and sockets there that hosts must not share.
 */
static void mount_all(const char *folder, const char *rank)
{
	mount_one("proc", "/proc", "proc", 0, NULL);
	mount_one("dev", "/dev", "devtmpfs", 0, NULL);
	mount_one("sys", "/sys", "sysfs", 0, NULL);
	mount_one("run", "/run", "tmpfs", 0, "mode=755");
	mkdir("/dev/pts", 0755);
	mount_one("pts", "/dev/pts", "devpts", 0, "mode=620,ptmxmode=666");
	mkdir("/dev/shm", 01777);
	mount_one("shm", "/dev/shm", "tmpfs", 0, "mode=1777");
	if (!is_qemu())
		state_clock(folder, rank, argument("ina_mhz"));
}

/* Sets the consoles to pass all bytes unchanged, and not to echo messages from ina-lab. */
static void open_consoles(void)
{
	for (int i = 0; i < CONSOLES; i++) {
		char path[16];
		struct termios how;

		snprintf(path, sizeof(path), is_qemu() ? "/dev/ttyS%d" : "/dev/tty%d", i + 1);
		consoles[i] = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (consoles[i] < 0 || tcgetattr(consoles[i], &how))
			fail("cannot open %s: %s", path, strerror(errno));
		cfmakeraw(&how);
		if (tcsetattr(consoles[i], TCSANOW, &how))
			fail("cannot set up %s: %s", path, strerror(errno));
	}
}

/* Loads a kernel module, which may be compressed. If it fails, what needs it fails later. */
static void load_module(const char *path)
{
	const char *compressed = strstr(path, ".ko.");
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (syscall(SYS_finit_module, fd, "", compressed ? MODULE_INIT_COMPRESSED_FILE : 0))
		printf("guest-init: cannot load %s: %s\n", path, strerror(errno));
	close(fd);
}

/*
 * On a QEMU host this process starts in an initramfs, which has the modules in the order in which
 * they must be loaded. Then the machine's file system becomes the root.
 */
static void enter_machine(void)
{
	glob_t modules;

	if (!glob("/modules/*", 0, NULL, &modules))
		for (size_t i = 0; i < modules.gl_pathc; i++)
			load_module(modules.gl_pathv[i]);
	mkdir("/machine", 0755);
	if (mount("machine", "/machine", "9p", 0,
	          "trans=virtio,version=9p2000.L,msize=262144,cache=loose") ||
	    chdir("/machine") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot("."))
		fail("cannot enter the machine's file system: %s", strerror(errno));
}

static void run(char *const *command, const char *what)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(command[0], command);
		printf("guest-init: cannot run %s: %s\n", command[0], strerror(errno));
		fflush(stdout);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		fail("cannot %s", what);
}

static void bring_up_network(const char *folder, const char *rank)
{
	char batch[PATH_MAX];
	char *ip[] = {"ip", "-batch", batch, NULL};
	char *rxe[] = {"rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "vec0", NULL};

	snprintf(batch, sizeof(batch), "%s/network.%s", folder, rank);
	run(ip, "set up the network");
	run(rxe, "create the soft-RoCE device rxe0");
}

/*
 * In virtual time the bridge starts all ranks. A message from the console would arrive at a
 * different virtual time in each run.
 */
static void open_bridge(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(BRIDGE_PORT)};

	inet_pton(AF_INET, BRIDGE_ADDRESS, &to.sin_addr);
	bridge = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (bridge < 0 || connect(bridge, (struct sockaddr *)&to, sizeof(to)))
		fail("cannot reach the bridge: %s", strerror(errno));
}

/* Blocks until `go` arrives, as a datagram or as a line. */
static void wait_for_go(void)
{
	int fd = bridge >= 0 ? bridge : consoles[TALK];
	char word[17];
	size_t length = 0;

	do {
		ssize_t got = read(fd, word + length, sizeof(word) - 1 - length);

		if (got <= 0)
			fail("no start signal was received: %s", strerror(errno));
		length += (size_t)got;
		word[length] = 0;
	} while (fd != bridge && !strchr(word, '\n') && length < sizeof(word) - 1);
	word[strcspn(word, "\n")] = 0;
	if (strcmp(word, "go") != 0)
		fail("expected the word go, not '%s'", word);
}

static pid_t start_rank(const char *order, char **command)
{
	char **environment = read_strings(order);
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDONLY);

		if (null < 0 || dup2(null, 0) < 0 || dup2(consoles[OUT], 1) < 0 ||
		    dup2(consoles[ERR], 2) < 0)
			_exit(127);
		if (null > 2)
			close(null);
		environ = environment;
		execvp(command[0], command);
		fprintf(stderr, "guest-init: '%s': %s\n", command[0], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	if (pid < 0)
		fail("cannot start a rank: %s", strerror(errno));
	return pid;
}

/*
 * Runs all ranks, and returns the first of their exit codes that is not 0, as a shell reports it.
 * Also reaps the orphans of other processes.
 */
static int run_ranks(const char *folder, const char *rank, char **command)
{
	char pattern[PATH_MAX];
	glob_t orders;
	pid_t *pids;
	int *codes, code = 0;
	size_t left;

	snprintf(pattern, sizeof(pattern), "%s/environment.%s.*", folder, rank);
	if (glob(pattern, 0, NULL, &orders))
		fail("%s not found", pattern);
	pids = calloc(orders.gl_pathc, sizeof(*pids));
	codes = calloc(orders.gl_pathc, sizeof(*codes));
	if (!pids || !codes)
		fail("no memory");
	for (size_t i = 0; i < orders.gl_pathc; i++)
		pids[i] = start_rank(orders.gl_pathv[i], command);
	for (left = orders.gl_pathc; left > 0;) {
		int status;
		pid_t pid = wait(&status);

		for (size_t i = 0; i < orders.gl_pathc; i++)
			if (pids[i] == pid) {
				codes[i] = WIFEXITED(status) ? WEXITSTATUS(status)
				                             : 128 + WTERMSIG(status);
				left--;
			}
	}
	for (size_t i = 0; i < orders.gl_pathc && code == 0; i++)
		code = codes[i];
	return code;
}

/* Reports on the ranks' stderr whether the kernel killed processes because memory ran out. */
static void tell_of_memory(const char *rank)
{
	static const char killed[] = "Out of memory: Killed process";
	static char log[1 << 16];
	const int read_all = 3; /* SYSLOG_ACTION_READ_ALL of syslog(2) */
	int length = klogctl(read_all, log, sizeof(log) - 1);

	log[length < 0 ? 0 : length] = 0;
	if (strstr(log, killed))
		dprintf(consoles[ERR],
		        "ina-lab: host %s ran out of memory, and its kernel killed processes: give "
		        "hosts more with --memory\n",
		        rank);
}

int main(void)
{
	const char *folder = argument("ina_dir"), *rank = argument("ina_rank");
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	char path[PATH_MAX], name[64];
	char **command, **directory;
	int code;

	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	if (is_qemu())
		enter_machine();
	mount_all(folder, rank);
	open_consoles();
	snprintf(name, sizeof(name), "host%s", rank);
	if (sethostname(name, strlen(name)))
		fail("cannot set the host's name: %s", strerror(errno));
	bring_up_network(folder, rank);
	if (setrlimit(RLIMIT_MEMLOCK, &all)) /* verbs pin registered memory */
		fail("cannot lift the limit of locked memory: %s", strerror(errno));
	snprintf(path, sizeof(path), "%s/command", folder);
	command = read_strings(path);
	snprintf(path, sizeof(path), "%s/directory", folder);
	directory = read_strings(path);
	if (chdir(directory[0]))
		fail("cannot change to the folder %s: %s", directory[0], strerror(errno));
	if (getenv("ina_virtual"))
		open_bridge();
	fflush(stdout);

	say(consoles[TALK], "up\n");
	say(bridge, "up\n");
	wait_for_go();
	code = run_ranks(folder, rank, command);
	if (code == 128 + SIGKILL)
		tell_of_memory(rank);

	/* The output of the command must be on its way to the machine before its exit code. */
	sync();
	tcdrain(consoles[OUT]);
	tcdrain(consoles[ERR]);
	say(consoles[TALK], "exit %d\n", code);
	say(bridge, "exit %d\n", code);
	signal(SIGCHLD, SIG_IGN);
	for (;;)
		pause();
}

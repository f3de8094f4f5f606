/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the modules of a kernel that a host needs, and writes them and guest-init as a cpio. */
#include "initramfs.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The header of a bzImage (Documentation/arch/x86/boot.rst of Linux). */
#define HEADER_MAGIC_AT   0x202
#define HEADER_RELEASE_AT 0x20e /* 16 bits: where the text begins, less 0x200 */
#define HEADER_BYTES      0x8200
#define RELEASE_BYTES     128

#define MODULES_MAX 64
#define LINE_BYTES  (3 * PATH_MAX)

/* The modules that a host needs, besides those on which they depend. */
static const struct {
	const char *name;
	bool may_be_missing;
} needed[] = {
        {"virtio_pci", false},
        {"9pnet_virtio", false},
        {"9p", false},
        {"virtio_net", false},
        {"8021q", false},
        /* rxe asks the kernel for this algorithm by name, which would start modprobe. */
        {"crc32_generic", true},
        {"rdma_rxe", false},
        {"rdma_ucm", false},
        {"ib_umad", false},
};

struct modules {
	char folder[PATH_MAX];
	char *paths[MODULES_MAX]; /* in the folder, each after those on which it depends */
	int count;
};

static void complain(bool is_quiet, const char *format, ...)
{
	va_list words;

	if (is_quiet)
		return;
	va_start(words, format);
	fputs("ina-lab: ", stderr);
	vfprintf(stderr, format, words);
	fputs("\n", stderr);
	va_end(words);
}

/* Reads the release, such as 6.1.0-13-amd64, of a bzImage. Returns false if it is not one. */
static bool read_release(const char *kernel, char release[RELEASE_BYTES])
{
	static unsigned char header[HEADER_BYTES + RELEASE_BYTES];
	const int fd = open(kernel, O_RDONLY | O_CLOEXEC);
	const ssize_t length = fd < 0 ? -1 : read(fd, header, sizeof(header));

	if (fd >= 0)
		close(fd);
	if (length < HEADER_RELEASE_AT + 2 || memcmp(header + HEADER_MAGIC_AT, "HdrS", 4) != 0)
		return false;
	const size_t at = 0x200u + header[HEADER_RELEASE_AT] + 256u * header[HEADER_RELEASE_AT + 1];
	if (at == 0x200 || at + RELEASE_BYTES > (size_t)length)
		return false;
	snprintf(release, RELEASE_BYTES, "%.*s", RELEASE_BYTES - 1, (char *)header + at);
	release[strcspn(release, " ")] = '\0';
	return true;
}

bool lab_initramfs_is_pc_kernel(const char *kernel)
{
	char release[RELEASE_BYTES];

	return read_release(kernel, release);
}

/* True if `path` is that of the module, as in kernel/fs/9p/9p.ko.xz. */
static bool is_module(const char *path, size_t length, const char *name)
{
	const char *slash = memrchr(path, '/', length);
	const char *file = slash ? slash + 1 : path;
	const size_t name_length = strlen(name);

	return length - (size_t)(file - path) >= name_length + 3 &&
	       !strncmp(file, name, name_length) && !strncmp(file + name_length, ".ko", 3);
}

/* Finds the module's line in modules.dep or modules.builtin. Returns false if neither has one. */
static bool find_line(const struct modules *modules, const char *file, const char *name, char *line)
{
	char path[PATH_MAX + 32];
	bool found = false;

	snprintf(path, sizeof(path), "%s/%s", modules->folder, file);
	FILE *lines = fopen(path, "re");
	while (lines && !found && fgets(line, LINE_BYTES, lines)) {
		line[strcspn(line, "\n")] = '\0';
		found = is_module(line, strcspn(line, ":"), name);
	}
	if (lines)
		fclose(lines);
	return found;
}

static bool add(struct modules *modules, const char *path)
{
	for (int i = 0; i < modules->count; i++)
		if (!strcmp(modules->paths[i], path))
			return true;
	if (modules->count == MODULES_MAX || !(modules->paths[modules->count] = strdup(path)))
		return false;
	modules->count++;
	return true;
}

/*
 * Adds the modules of a line "MODULE: FIRST SECOND ...". It names all on which MODULE depends, even
 * indirectly, and each of them before those on which it depends itself.
 */
static bool add_line(struct modules *modules, char *line)
{
	char *colon = strchr(line, ':');

	if (!colon)
		return false;
	*colon = '\0';
	for (char *space; (space = strrchr(colon + 1, ' ')); *space = '\0')
		if (!add(modules, space + 1))
			return false;
	return add(modules, line);
}

static void free_modules(struct modules *modules)
{
	for (int i = 0; i < modules->count; i++)
		free(modules->paths[i]);
}

/* Lists the modules that a host with this kernel needs. The caller frees them, also on failure. */
static bool list_modules(struct modules *modules, const char *kernel, bool is_quiet)
{
	static char line[LINE_BYTES];
	char release[RELEASE_BYTES] = "", dep[PATH_MAX + 32];
	const char *slash = strrchr(kernel, '/');

	*modules = (struct modules){.count = 0};
	read_release(kernel, release);
	snprintf(modules->folder, sizeof(modules->folder), "%.*s/../lib/modules/%s",
	         slash ? (int)(slash - kernel) : 1, slash ? kernel : ".", release);
	snprintf(dep, sizeof(dep), "%s/modules.dep", modules->folder);
	if (access(dep, R_OK)) {
		complain(is_quiet, "%s: its modules are not at %s (depmod makes modules.dep): %s",
		         kernel, dep, strerror(errno));
		return false;
	}
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		if (find_line(modules, "modules.dep", needed[i].name, line)) {
			if (!add_line(modules, line)) {
				complain(is_quiet, "%s: too many modules", dep);
				return false;
			}
		} else if (!needed[i].may_be_missing &&
		           !find_line(modules, "modules.builtin", needed[i].name, line)) {
			complain(is_quiet,
			         "%s: it has no module %s (Debian's linux-image-amd64 has all, "
			         "its cloud kernels do not)",
			         kernel, needed[i].name);
			return false;
		}
	}
	return true;
}

static bool check(const char *kernel, bool is_quiet)
{
	struct modules modules;
	const bool good = list_modules(&modules, kernel, is_quiet);

	free_modules(&modules);
	return good;
}

bool lab_initramfs_check(const char *kernel)
{
	return check(kernel, false);
}

char *lab_initramfs_find_kernel(void)
{
	const char *best = NULL;
	glob_t kernels;

	if (glob("/boot/vmlinuz-*", 0, NULL, &kernels))
		return NULL;
	for (size_t i = 0; i < kernels.gl_pathc; i++)
		if ((!best || strverscmp(kernels.gl_pathv[i], best) > 0) &&
		    lab_initramfs_is_pc_kernel(kernels.gl_pathv[i]) &&
		    check(kernels.gl_pathv[i], true))
			best = kernels.gl_pathv[i];
	char *copy = best ? strdup(best) : NULL;
	globfree(&kernels);
	return copy;
}

static void pad(FILE *archive)
{
	for (; ftell(archive) % 4; fputc(0, archive))
		continue;
}

/* Writes an entry of the format "newc" of cpio(5), without its contents. */
static void write_header(FILE *archive, const char *name, unsigned mode, size_t bytes)
{
	static unsigned inode;

	fprintf(archive, "070701%08x%08x%08x%08x%08x%08x%08zx%08x%08x%08x%08x%08zx%08x%s%c",
	        ++inode, mode, 0, 0, 1, 0, bytes, 0, 0, 0, 0, strlen(name) + 1, 0, name, 0);
	pad(archive);
}

/* Writes a file with its contents. Returns false with errno set on failure. */
static bool write_file(FILE *archive, const char *name, unsigned mode, const char *from)
{
	static char bytes[1 << 16];
	FILE *file = fopen(from, "re");
	struct stat status;
	size_t got;

	if (!file || fstat(fileno(file), &status)) {
		if (file)
			fclose(file);
		return false;
	}
	write_header(archive, name, S_IFREG | mode, (size_t)status.st_size);
	while ((got = fread(bytes, 1, sizeof(bytes), file)) > 0)
		fwrite(bytes, 1, got, archive);
	pad(archive);
	const bool failed = ferror(file) || ferror(archive);
	fclose(file);
	return !failed;
}

bool lab_initramfs_write(const char *path, const char *kernel, const char *guest_init)
{
	struct modules modules;
	char from[2 * PATH_MAX], name[PATH_MAX];
	bool good = list_modules(&modules, kernel, false);

	if (good) {
		FILE *archive = fopen(path, "we");
		good = archive && write_file(archive, "init", 0755, guest_init);
		if (good)
			write_header(archive, "modules", S_IFDIR | 0755, 0);
		for (int i = 0; good && i < modules.count; i++) {
			snprintf(from, sizeof(from), "%s/%s", modules.folder, modules.paths[i]);
			snprintf(name, sizeof(name), "modules/%02d-%s", i, basename(from));
			good = write_file(archive, name, 0644, from);
		}
		if (good)
			write_header(archive, "TRAILER!!!", 0, 0);
		if (archive && fclose(archive))
			good = false;
		if (!good)
			complain(false, "cannot write %s: %s", path, strerror(errno));
	}
	free_modules(&modules);
	return good;
}

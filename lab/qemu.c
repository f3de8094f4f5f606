/* SPDX-License-Identifier: Apache-2.0 */
/* Starts QEMU for a host, and finds out whether it can use KVM. */
#include "qemu.h"

#include "initramfs.h"
#include "resources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENT_BYTES (PATH_MAX + 256)

#define TRIAL_S 4

/* The kernel's parameters for all guests. They have no secrets from each other or the caller. */
#define KERNEL_PARAMETERS "panic=-1 mitigations=off random.trust_cpu=on"

/* Without five-level page tables QEMU translates addresses faster. */
#define PROCESSOR "max,la57=off"

#define MACHINE "pc,usb=off"

/* QEMU's memory for translated code; by default it takes as much as the guest's memory. */
#define EMULATION "tcg,tb-size=" LAB_QEMU_CODE_MIB

/* Boots the kernel on KVM until it panics without a root. Returns "" or a reason why it failed. */
static const char *try_kvm(const struct lab_parts *parts, const char *kernel,
                           struct lab_reaper *reaper)
{
	char *const argv[] = {(char *)parts->qemu,
	                      "-accel",
	                      "kvm",
	                      "-machine",
	                      MACHINE,
	                      "-cpu",
	                      PROCESSOR,
	                      "-m",
	                      "256",
	                      "-nodefaults",
	                      "-no-user-config",
	                      "-display",
	                      "none",
	                      "-no-reboot",
	                      "-kernel",
	                      (char *)kernel,
	                      "-append",
	                      KERNEL_PARAMETERS,
	                      NULL};
	char *const environment[] = {"PATH=/usr/bin:/bin", NULL};

	if (access("/dev/kvm", R_OK | W_OK))
		return strerror(errno);
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int from[] = {null, null, null};
	const pid_t pid = lab_reaper_start(reaper, &(struct lab_start){.path = parts->qemu,
	                                                               .argv = argv,
	                                                               .environment = environment,
	                                                               .from = from,
	                                                               .fd_count = 3});
	close(null);
	if (pid < 0)
		return strerror(errno);
	for (int tries = 0; tries < TRIAL_S * 100 && !lab_reaper_has_ended(pid); tries++)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	const bool has_ended = lab_reaper_has_ended(pid);
	const int status = lab_reaper_reap(reaper, pid);
	if (!has_ended)
		return "a guest hangs on it";
	return WIFEXITED(status) && !WEXITSTATUS(status) ? "" : "no guest can use it";
}

bool lab_qemu_kvm_works(const struct lab_parts *parts, const char *kernel,
                        struct lab_reaper *reaper, const struct lab_options *options)
{
	const char *why = try_kvm(parts, kernel, reaper);

	if (*why && !options->quiet)
		fprintf(stderr, "ina-lab: /dev/kvm: %s; so QEMU emulates the hosts' processors\n",
		        why);
	return !*why;
}

pid_t lab_qemu_start(int rank, struct lab_reaper *reaper, const struct lab_workspace *workspace,
                     const struct lab_options *options, const struct lab_parts *parts,
                     const int from[GUEST_FD_COUNT])
{
	char memory[32], name[32], initramfs[ARGUMENT_BYTES], parameters[ARGUMENT_BYTES];
	char network[96], card[256], output[64], errors[64], talk[64];
	char temporary[ARGUMENT_BYTES], home[ARGUMENT_BYTES];
	const char *kernel = options->kernels[rank];

	snprintf(initramfs, sizeof(initramfs), "%s/initramfs.%d", workspace->path, rank);
	if (!lab_initramfs_write(initramfs, kernel, parts->guest_init)) {
		errno = 0;
		return -1;
	}
	snprintf(name, sizeof(name), "host%d", rank);
	snprintf(memory, sizeof(memory), "%d", options->memory_mib);
	snprintf(parameters, sizeof(parameters),
	         KERNEL_PARAMETERS " console=ttyS0 ina_qemu=1 ina_dir=%s ina_rank=%d",
	         workspace->path, rank);
	snprintf(network, sizeof(network), "dgram,id=link,local.type=fd,local.str=%d",
	         GUEST_FD_NETWORK);
	/* The bridge takes frames as they are on a cable: whole, with their checksums. */
	snprintf(card, sizeof(card),
	         "virtio-net-pci,netdev=link,romfile=,host_mtu=%d,csum=off,gso=off,guest_csum=off",
	         lab_workspace_device_mtu(options));
	snprintf(output, sizeof(output), "socket,id=output,fd=%d", GUEST_FD_OUTPUT);
	snprintf(errors, sizeof(errors), "socket,id=errors,fd=%d", GUEST_FD_ERRORS);
	snprintf(talk, sizeof(talk), "socket,id=talk,fd=%d", GUEST_FD_TALK);
	snprintf(temporary, sizeof(temporary), "TMPDIR=%s", workspace->memory_path);
	snprintf(home, sizeof(home), "HOME=%s", workspace->path);

	char *const argv[] = {
	        (char *)parts->qemu, "-name", name, "-accel", parts->has_kvm ? "kvm" : EMULATION,
	        "-machine", MACHINE, "-cpu", PROCESSOR, "-m", memory, "-nodefaults",
	        "-no-user-config", "-display", "none", "-no-reboot", "-kernel", (char *)kernel,
	        "-initrd", initramfs, "-append", parameters,
	        /* The machine's file system */
	        "-fsdev", "local,id=root,path=/,security_model=none,multidevs=remap", "-device",
	        "virtio-9p-pci,fsdev=root,mount_tag=machine",
	        /* The link to the bridge */
	        "-netdev", network, "-device", card,
	        /* ttyS0 to ttyS3, with an interrupt for each; on a PC two would share one. */
	        "-chardev", "stdio,id=log,signal=off", "-device", "isa-serial,chardev=log",
	        "-chardev", output, "-device", "isa-serial,chardev=output", "-chardev", errors,
	        "-device", "isa-serial,chardev=errors,irq=5", "-chardev", talk, "-device",
	        "isa-serial,chardev=talk,irq=7", NULL};
	char *const environment[] = {temporary, home, "PATH=/usr/bin:/bin", NULL};
	return lab_reaper_start(reaper, &(struct lab_start){
	                                        .path = parts->qemu,
	                                        .argv = argv,
	                                        .environment = environment,
	                                        .from = from,
	                                        .fd_count = GUEST_FD_COUNT,
	                                        .directory = workspace->path,
	                                });
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Undoes the offloads of frames, for test_offload.py. A record on stdin is a struct virtio_net_hdr,
 * the length of a frame and the longest frame that may leave (32 bits each, in this machine's byte
 * order), and the frame. A record on stdout is the number of frames that leave, or -1 for a refused
 * frame, and each of these with its length in front.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim-bridge/realtime/offload.h"

static void need(bool good)
{
	if (!good)
		abort();
}

static void put(int32_t number)
{
	need(fwrite(&number, sizeof(number), 1, stdout) == 1);
}

static void put_frame(const uint8_t *frame, unsigned length)
{
	put((int32_t)length);
	need(fwrite(frame, 1, length, stdout) == length);
}

static void cut(const struct virtio_net_hdr *work, const uint8_t *frame, uint32_t length,
                uint32_t room)
{
	struct offload_cut counted, cut;
	uint8_t *segment = malloc(room);
	int32_t count = 0;

	need(segment != NULL);
	if (offload_cut_open(&counted, work, frame, length, room)) {
		cut = counted;
		while (offload_cut_next(&counted, segment) > 0)
			count++;
		put(count);
		for (unsigned bytes; (bytes = offload_cut_next(&cut, segment)) > 0;)
			put_frame(segment, bytes);
	} else {
		put(-1);
	}
	free(segment);
}

static void complete(const struct virtio_net_hdr *work, uint8_t *frame, uint32_t length)
{
	if (offload_complete(work, frame, length)) {
		put(1);
		put_frame(frame, length);
	} else {
		put(-1);
	}
}

int main(void)
{
	struct virtio_net_hdr work;

	while (fread(&work, sizeof(work), 1, stdin) == 1) {
		uint32_t numbers[2];

		need(fread(numbers, sizeof(numbers), 1, stdin) == 1);
		uint8_t *frame = malloc(numbers[0]);

		need(frame && fread(frame, 1, numbers[0], stdin) == numbers[0]);
		if (work.gso_type != VIRTIO_NET_HDR_GSO_NONE)
			cut(&work, frame, numbers[0], numbers[1]);
		else
			complete(&work, frame, numbers[0]);
		free(frame);
	}
	return 0;
}

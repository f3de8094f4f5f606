/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ResNet-50's parameter tensors, generated from the architecture:
 * He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition" (CVPR 2016), Table 1,
 * column "50-layer": a 7x7 convolution to 64 channels, four stages of [3, 4, 6, 3] bottleneck
 * blocks (section 4.1: 1x1 to w, 3x3 to w, 1x1 to 4w channels, w = 64, 128, 256, 512), and a
 * fully connected layer to 1000 classes. Every convolution is without bias and is followed by
 * batch normalisation (section 3.4), which has a weight and a bias for each channel. The first
 * block of a stage has a projection shortcut (section 3.3, option B).
 */
#include "resnet50.h"

#include <assert.h>

struct list {
	size_t *counts;
	size_t length;
};

static void add(struct list *list, size_t count)
{
	assert(list->length < RESNET50_TENSORS_MAX);
	list->counts[list->length++] = count;
}

/* A convolution of kernel x kernel, and the batch normalisation after it. */
static void add_convolution(struct list *list, size_t in, size_t out, size_t kernel)
{
	add(list, out * in * kernel * kernel);
	add(list, out);
	add(list, out);
}

size_t resnet50_tensors(size_t counts[RESNET50_TENSORS_MAX])
{
	static const size_t blocks[4] = {3, 4, 6, 3};
	const size_t expansion = 4;
	const size_t classes = 1000;
	struct list list = {counts, 0};
	size_t in = 64;
	size_t width = 64;

	add_convolution(&list, 3, 64, 7);
	for (int stage = 0; stage < 4; stage++) {
		for (size_t block = 0; block < blocks[stage]; block++) {
			add_convolution(&list, in, width, 1);
			add_convolution(&list, width, width, 3);
			add_convolution(&list, width, width * expansion, 1);
			if (block == 0)
				add_convolution(&list, in, width * expansion, 1);
			in = width * expansion;
		}
		width *= 2;
	}
	add(&list, in * classes);
	add(&list, classes);
	return list.length;
}

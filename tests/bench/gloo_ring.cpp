// SPDX-License-Identifier: Apache-2.0
//
// Gloo's ring all-reduce over ibverbs (Debian's libgloo-dev), which tests/bench/wall.py and
// virtual.py compare with libina's:
//
//     gloo_ring FOLDER ROUNDS BYTES...
//
// runs on every host of a lab and prints a line of JSON for each size. The ranks find each other
// through FOLDER, which is empty before. Every element of the last round is checked.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_one.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

namespace
{

double now_us()
{
	return std::chrono::duration<double, std::micro>(
	               std::chrono::steady_clock::now().time_since_epoch())
	        .count();
}

// Whole numbers, so that every order of addition gives the same result.
float element(int rank, size_t i)
{
	return static_cast<float>((i * 7 + static_cast<size_t>(rank) * 3) % 1000);
}

size_t count_wrong(const std::vector<float> &sums, int ranks)
{
	size_t wrong = 0;

	for (size_t i = 0; i < sums.size(); i++) {
		float expected = 0;

		for (int rank = 0; rank < ranks; rank++)
			expected += element(rank, i);
		wrong += sums[i] != expected;
	}
	return wrong;
}

struct Measurement {
	double time_us;
	size_t wrong;
};

// Objects live until the end of the program, because the device uses their memory.
Measurement measure(const std::shared_ptr<gloo::Context> &context, size_t bytes, int rounds)
{
	static std::vector<std::unique_ptr<std::vector<float>>> memory;
	static std::vector<std::unique_ptr<gloo::Algorithm>> algorithms;
	double total_us = 0;

	memory.push_back(std::make_unique<std::vector<float>>(bytes / sizeof(float)));
	std::vector<float> &data = *memory.back();
	algorithms.push_back(std::make_unique<gloo::AllreduceRingChunked<float>>(
	        context, std::vector<float *>{data.data()}, static_cast<int>(data.size())));
	gloo::Algorithm &ring = *algorithms.back();
	algorithms.push_back(std::make_unique<gloo::BarrierAllToOne>(context));
	gloo::Algorithm &barrier = *algorithms.back();
	for (int round = -1; round < rounds; round++) {
		for (size_t i = 0; i < data.size(); i++)
			data[i] = element(context->rank, i);
		barrier.run();
		const double start_us = now_us();
		ring.run();
		total_us += round < 0 ? 0 : now_us() - start_us;
	}
	return {total_us / rounds, count_wrong(data, context->size)};
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 4) {
		std::fprintf(stderr, "gloo_ring: usage: gloo_ring FOLDER ROUNDS BYTES...\n");
		return 2;
	}
	const int rank = std::atoi(std::getenv("INA_RANK"));
	const int ranks = std::atoi(std::getenv("INA_RANKS"));
	const int rounds = std::atoi(argv[2]);
	// GID index 1 of the lab's rxe0 is RoCE v2 over IPv4.
	auto device = gloo::transport::ibverbs::CreateDevice({"rxe0", 1, 1});
	gloo::rendezvous::FileStore store(argv[1]);
	auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
	size_t wrong = 0;

	context->connectFullMesh(store, device);
	for (int i = 3; i < argc; i++) {
		const size_t bytes = std::strtoull(argv[i], nullptr, 10);
		const Measurement measured = measure(context, bytes, rounds);

		wrong += measured.wrong;
		std::printf(
		        "{\"rank\": %d, \"size_bytes\": %zu, \"time_us\": %.2f, \"wrong\": %zu}\n",
		        rank, bytes, measured.time_us, measured.wrong);
	}
	std::fflush(nullptr);
	// Gloo's threads would wait for a device that hosts close when they end.
	std::_Exit(wrong ? 1 : 0);
}

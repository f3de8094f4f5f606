// SPDX-License-Identifier: Apache-2.0
//
// The run that scripts/waveforms.py draws: two ranks join a job, send one packet each, and rank 0
// sends its packet again. ina_probe.sv prints the signals, and this program the headings between
// them.

#include "measure.hpp"

int main()
{
	bench::Random random(1);
	bench::AggregatorRtl rtl(random);
	measure::Sender sender(random, rtl, 1, measure::FORMATS[0], bench::Form(), 256, 1);
	const auto begin = [&rtl](const char *name) {
		for (unsigned i = 0; i < 4; i++)
			rtl.step();
		std::printf("# %s\n", name);
		rtl.step();
	};
	const auto late = [&rtl](const bench::Bytes &frame) {
		for (unsigned i = 0; i < 4; i++)
			rtl.step();
		rtl.in[1].push_back(frame);
		rtl.settle();
	};

	rtl.reset(); // the job was joined only to get ready: now once more, for the figure
	begin("join");
	rtl.in[0].push_back(sender.join(0));
	late(sender.join(1));

	const bench::Bytes data = sender.next_frame(0), late_data = sender.next_frame(1);
	begin("data");
	rtl.in[0].push_back(data);
	late(late_data);

	begin("resend");
	rtl.in[0].push_back(data);
	rtl.settle();
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and compares what the ranks say of themselves. */
#include "hello.h"

#include <stdio.h>

#include "hostlib/options/keys.h"

struct ina_hello ina_hello_make(const struct ina_settings *settings,
                                const struct ina_endpoint *local, const struct ina_failure *own)
{
	const struct ina_options *options = &settings->options;
	struct ina_hello hello = {
	        .ranks = (uint32_t)options->ranks,
	        .window = options->window,
	        .message_bytes = options->message_bytes,
	        .algorithm = options->algorithm,
	        .fixed_point = options->fixed_point != 0,
	        .schedule = options->schedule,
	        .congestion_control = options->congestion_control != 0,
	        .channels = (uint32_t)options->channels,
	        .status = own->status,
	        .endpoint = *local,
	};

	snprintf(hello.text, sizeof(hello.text), "%.*s", INA_CONTROL_TEXT - 1, own->text);
	return hello;
}

enum ina_status ina_hello_compare(const struct ina_hello *root, uint32_t rank,
                                  const struct ina_hello *hello, struct ina_failure *m)
{
	m->status = INA_OK;
	if (hello->ranks != root->ranks)
		return ina_fail(m, INA_ERR_MISMATCH,
		                "rank %u was started as one of %u ranks, rank 0 as one of %u", rank,
		                hello->ranks, root->ranks);
	if (rank >= hello->ranks)
		return ina_fail(m, INA_ERR_MISMATCH,
		                "rank %u connected, but the rank count is %u: ranks are 0 to %u",
		                rank, hello->ranks, hello->ranks - 1);
	if (hello->status != INA_OK) /* the options may be the reason for the failure */
		return INA_OK;
	if (hello->algorithm != root->algorithm)
		return ina_fail(m, INA_ERR_MISMATCH, "rank %u asks for algorithm %s, rank 0 for %s",
		                rank, ina_key_value_name(INA_KEY_ALGORITHM, hello->algorithm),
		                ina_key_value_name(INA_KEY_ALGORITHM, root->algorithm));
	if (hello->fixed_point != root->fixed_point)
		return ina_fail(m, INA_ERR_MISMATCH,
		                "rank %u asks for float32 in %s point, rank 0 does not", rank,
		                hello->fixed_point ? "fixed" : "floating");
	if (hello->congestion_control != root->congestion_control)
		return ina_fail(m, INA_ERR_MISMATCH,
		                "rank %u has congestion control %s, rank 0 has it %s", rank,
		                hello->congestion_control ? "on" : "off",
		                hello->congestion_control ? "off" : "on");
	if (hello->schedule != root->schedule)
		return ina_fail(m, INA_ERR_MISMATCH, "rank %u asks for schedule %s, rank 0 for %s",
		                rank, ina_key_value_name(INA_KEY_SCHEDULE, hello->schedule),
		                ina_key_value_name(INA_KEY_SCHEDULE, root->schedule));
	if (hello->channels != root->channels)
		return ina_fail(m, INA_ERR_MISMATCH, "rank %u asks for %u channels, rank 0 for %u",
		                rank, hello->channels, root->channels);
	if (hello->window != root->window)
		return ina_fail(m, INA_ERR_MISMATCH,
		                "rank %u has a window of %u messages, rank 0 of %u", rank,
		                hello->window, root->window);
	if (hello->message_bytes != root->message_bytes)
		return ina_fail(m, INA_ERR_MISMATCH, "rank %u has message_bytes %u, rank 0 %u",
		                rank, hello->message_bytes, root->message_bytes);
	return INA_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the program to end a communicator. */
#include "abort.h"

#include <stdio.h>

void ina_abort_ask(struct ina_abort *abort, const char *why)
{
	if (atomic_exchange(&abort->claimed, true))
		return;
	snprintf(abort->why, sizeof(abort->why), "%s", why ? why : "no reason was given");
	atomic_store(&abort->asked, true);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into programs of MPICH, so that MPI_Finalize() ends. MPICH 4.0 over UCX flushes each
 * connection there, which needs an answer from the other rank. But a rank that has finished its own
 * flushes waits in a barrier of the launcher, where it answers no other rank. So the slower rank
 * waits forever, without an interposer too. With this file nothing is flushed, because the programs
 * end with a barrier.
 */
void *ucp_disconnect_nb(void *endpoint);

void *ucp_disconnect_nb(void *endpoint)
{
	(void)endpoint;
	return (void *)0; /* UCS_OK: it has completed */
}

/* SPDX-License-Identifier: Apache-2.0 */
/* `ina-lab topology`: a fabric, checked and shown. */
#ifndef INA_LAB_TOPOLOGY_H
#define INA_LAB_TOPOLOGY_H

/* `argv` behind the word `topology`. Returns the exit code. */
int lab_topology(int argc, char **argv);

#endif

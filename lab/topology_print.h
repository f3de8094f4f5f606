/* SPDX-License-Identifier: Apache-2.0 */
/* `ina-lab topology`: checks a fabric and prints it. */
#ifndef INA_LAB_TOPOLOGY_PRINT_H
#define INA_LAB_TOPOLOGY_PRINT_H

/* `argv` begins at the word `topology`. Returns the exit code. */
int lab_topology(int argc, char **argv);

#endif

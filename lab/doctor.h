/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this machine is ready for a run. */
#ifndef INA_LAB_DOCTOR_H
#define INA_LAB_DOCTOR_H

/* Prints a line for each thing that a run needs. Returns 0 if all are there, or LAB_EXIT_FAILED. */
int lab_doctor(void);

#endif

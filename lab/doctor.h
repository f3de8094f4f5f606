/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether this machine is ready for a run. */
#ifndef INA_LAB_DOCTOR_H
#define INA_LAB_DOCTOR_H

/* Prints a line for each requirement of a run. Returns 0 if all are met, or LAB_EXIT_FAILED. */
int lab_doctor(void);

#endif

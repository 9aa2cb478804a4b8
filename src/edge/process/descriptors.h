/*
 * descriptors: how many files, sockets and pipes this process has open, and how many it may have.
 *
 * The one idea: the kernel counts them without a look at each one. So the question is cheap with ten thousand
 * connections as well. Kernels before Linux 6.2 do not say how many are open.
 */
#ifndef HEADGATE_EDGE_PROCESS_DESCRIPTORS_H
#define HEADGATE_EDGE_PROCESS_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

struct descriptors {
    uint64_t open; /* 0: the system does not say */
    uint64_t max;  /* 0: the system does not say, or has no limit */
};

struct descriptors descriptors_count(void);

/*
 * Opens what is closed of the standard streams, before anything else is opened: else a socket has the number of one,
 * and gets what is written there. Nothing can be read, a write to the standard output fails, and one to the standard
 * error stream is lost. False: the system opens nothing.
 */
bool descriptors_open_standard(void);

#endif

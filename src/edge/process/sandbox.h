/*
 * sandbox: what this process gives up once it has started, so that whoever takes it over gains less.
 *
 * The one idea: a daemon that serves makes threads, sockets and files of its own, and never another
 * program or user. What only an intruder would ask the kernel for ends the process; what the daemon
 * merely has no use for fails. It holds for all threads, and cannot be undone. Files are fence.h's.
 */
#ifndef HEADGATE_EDGE_PROCESS_SANDBOX_H
#define HEADGATE_EDGE_PROCESS_SANDBOX_H

#include <stdbool.h>

enum sandbox_state {
    SANDBOX_ON,
    SANDBOX_NOT_HERE, /* a sanitizer was compiled in: it looks at the process as an intruder would */
    SANDBOX_FAILED,   /* the kernel refuses, and errno says why; nothing is given up but new privileges */
};

/* Filters the system calls of all threads from now on. */
enum sandbox_state sandbox_enter(void);

#endif

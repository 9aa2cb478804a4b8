/*
 * supervisor: tells the service manager that started the process (systemd) what becomes of the process.
 *
 * The one idea: the messages of sd_notify(3). The manager says in the environment whether it wants to hear: of a
 * process that it did not start, each call does nothing. If the manager has a watchdog, it hears of each half of the
 * watchdog's time in which the loop has turned; a process whose loop is stuck is killed and started again.
 */
#ifndef HEADGATE_EDGE_PROCESS_SUPERVISOR_H
#define HEADGATE_EDGE_PROCESS_SUPERVISOR_H

#include <stdbool.h>
#include <uv.h>

struct supervisor {
    uv_timer_t watchdog;
};

/* `loop` outlives the supervisor, which must be closed before the loop ends. */
void supervisor_init(struct supervisor *supervisor, uv_loop_t *loop);
/* The process serves clients at `address` from now on. Starts the watchdog. */
void supervisor_ready(struct supervisor *supervisor, const char *address);
/* Between a call with true and one with false the process reads its config again. */
void supervisor_reloads(bool reloads);
/* The process was asked to end, and will. */
void supervisor_stopping(void);
void supervisor_close(struct supervisor *supervisor);

#endif

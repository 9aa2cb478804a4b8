#include "edge/peers/transport_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <nng/nng.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

/* A start takes some milliseconds; SIGALRM ends a child that does not come to its end. */
enum { TRIAL_MAX_S = 5 };

/* It leaves no core, and nng's last words go nowhere: a write to what is open for reading fails. */
static _Noreturn void try_in_child(void)
{
    const int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
    nng_aio *aio = NULL;
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(TRIAL_MAX_S);
    if (nowhere >= 0)
        (void)dup2(nowhere, STDERR_FILENO);
    _exit(nng_aio_alloc(&aio, NULL, NULL) == 0 ? EX_OK : EX_OSERR);
}

bool transport_trial(struct error *error)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0)
        try_in_child();
    pid_t ended = child > 0 ? waitpid(child, &status, 0) : child;
    while (child > 0 && ended < 0 && errno == EINTR)
        ended = waitpid(child, &status, 0);
    if (child < 0 && errno != EAGAIN && errno != ENOMEM)
        return true; /* something forbids child processes: nothing is known */
    if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EX_OK)
        return true;
    return error_set(
        error, EX_OSERR,
        "the system gives too few threads, or too little memory, for the sockets of peers: expected more "
        "of them (ulimit -u, ulimit -v; TasksMax of systemd; pids.max of the control group)");
}

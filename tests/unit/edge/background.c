/* Classes of threads as the kernel has them: those of nng, and those that are started before, meanwhile and after. */
#include "edge/process/background.h"

#include "edge/peers/transport.h"
#include "tests/lib/tap.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- threads of our own ---- */

static void *see_class(void *context)
{
    *(int *)context = sched_getscheduler(0);
    return NULL;
}

static int class_of_new_thread(void)
{
    pthread_t thread;
    int class = -1;
    if (pthread_create(&thread, NULL, see_class, &class) == 0)
        (void)pthread_join(thread, NULL);
    return class;
}

static void inherited(void)
{
    OK(class_of_new_thread() == SCHED_OTHER, "a thread is of the usual class,");
    OK(background_begin(), "until background begins:");
    OK(class_of_new_thread() == SCHED_BATCH, "then it does not take the processor from others,");
    background_end();
    OK(sched_getscheduler(0) == SCHED_OTHER && class_of_new_thread() == SCHED_OTHER, "until it ends");
}

/* Its own thread, since not everybody may leave that class again. */
static void *of_another_class(void *context)
{
    bool *kept = context;
    *kept = sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}) == 0 && !background_begin() &&
            class_of_new_thread() == SCHED_IDLE;
    return NULL;
}

static void given_by_the_operator(void)
{
    pthread_t thread;
    bool kept = false;
    OK(pthread_create(&thread, NULL, of_another_class, &kept) == 0 && pthread_join(thread, NULL) == 0 && kept,
       "a class that an operator gave stays, and is inherited");
}

/* ---- those of nng ---- */

/* How many threads this process has besides the one that calls, and how many of them are of the class. */
static unsigned other_threads(int class, unsigned *all)
{
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    *all = 0;
    for (struct dirent *task; tasks && (task = readdir(tasks)) != NULL;) {
        pid_t tid = (pid_t)strtol(task->d_name, NULL, 10);
        if (tid == 0 || tid == syscall(SYS_gettid))
            continue;
        ++*all;
        count += sched_getscheduler(tid) == class;
    }
    if (tasks)
        (void)closedir(tasks);
    return count;
}

static void ignore(void *context, const char *from, struct bytes bytes)
{
    (void)context, (void)from, (void)bytes;
}

static void on_closed(void *context)
{
    *(bool *)context = true;
}

static void of_nng(void)
{
    struct error error;
    bool closed = false;
    unsigned before, after;
    uv_loop_t loop;
    (void)uv_loop_init(&loop);
    (void)other_threads(SCHED_BATCH, &before);
    struct transport_options options = {.loop = &loop,
                                        .gossip_address = "127.0.0.1:0",
                                        .snapshot_address = "127.0.0.1:0",
                                        .message_max_bytes = 1000,
                                        .request_timeout_ms = 1000,
                                        .redial_after_ms = 1000,
                                        .receiver = {.message = ignore, .request = ignore, .response = ignore}};
    struct transport *transport = transport_create(&options, &error);
    unsigned background = other_threads(SCHED_BATCH, &after);
    OK(transport && after > before, "nng has threads");
    OK_U64(background, after - before, "and all of them are in the background");
    OK(sched_getscheduler(0) == SCHED_OTHER, "who has the loop is not");
    if (transport)
        transport_destroy(&transport, on_closed, &closed);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    OK(closed && uv_loop_close(&loop) == 0, "that is all");
}

int main(void)
{
    of_nng(); /* first: threads that have ended may be seen for a moment */
    inherited();
    given_by_the_operator();
    return tap_done();
}

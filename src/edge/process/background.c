#include "edge/process/background.h"

#include <assert.h>
#include <sched.h>

/* 0 means the calling thread. */
static bool set_class(int class)
{
    return sched_setscheduler(0, class, &(struct sched_param){0}) == 0;
}

bool background_begin(void)
{
    return sched_getscheduler(0) == SCHED_OTHER && set_class(SCHED_BATCH);
}

void background_end(void)
{
    bool usual = set_class(SCHED_OTHER);
    assert(usual); /* background_begin found this class */
}

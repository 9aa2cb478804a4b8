#include "edge/process/supervisor.h"

#include "edge/process/clock.h"

#include <stdint.h>
#include <systemd/sd-daemon.h>

static void on_watchdog(uv_timer_t *timer)
{
    (void)timer;
    (void)sd_notify(0, "WATCHDOG=1");
}

void supervisor_init(struct supervisor *supervisor, uv_loop_t *loop)
{
    (void)uv_timer_init(loop, &supervisor->watchdog);
}

void supervisor_ready(struct supervisor *supervisor, const char *address)
{
    uint64_t watchdog_us = 0;
    (void)sd_notifyf(0, "READY=1\nSTATUS=serves clients at %s", address);
    if (sd_watchdog_enabled(0, &watchdog_us) <= 0)
        return;
    const uint64_t every_ms = watchdog_us / 2000;
    (void)uv_timer_start(&supervisor->watchdog, on_watchdog, 0, every_ms > 0 ? every_ms : 1);
}

void supervisor_reloads(bool reloads)
{
    if (reloads)
        (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)(clock_raw_ns() / 1000));
    else
        (void)sd_notify(0, "READY=1");
}

void supervisor_stopping(void)
{
    (void)sd_notify(0, "STOPPING=1");
}

void supervisor_close(struct supervisor *supervisor)
{
    uv_close((uv_handle_t *)&supervisor->watchdog, NULL);
}

#include "http/metrics_process.h"

#include "base/metric.h"
#include "base/number.h"
#include "commands/figures.h"
#include "edge/clients/tls.h"
#include "edge/peers/transport.h"
#include "edge/process/descriptors.h"

static void put_certificate(struct metrics_page *page, const char *name, const char *ports, uint64_t ends_s)
{
    page_begin(page);
    page_name(page, name);
    page_label(page, 0, "ports", bytes_of(ports));
    page_value(page, 1, ends_s, 1);
    (void)page_end(page);
}

static void put_certificates(struct metrics_page *page, const struct commands *commands)
{
    static const char name[] = "tls_certificate_expiry_timestamp_seconds";
    const uint64_t peers_s = commands->transport != NULL ? transport_certificate_ends_s(commands->transport) : 0;
    if (commands->tls == NULL && peers_s == 0)
        return;
    page_head(page, name, "gauge",
              "when a certificate of this daemon ends, since 1970: it is refused from then on");
    if (commands->tls != NULL)
        put_certificate(page, name, "clients", tls_span(commands->tls).ends_s);
    if (peers_s > 0)
        put_certificate(page, name, "peers", peers_s);
}

/* The names are those of Prometheus' own. */
static void put_reload(struct metrics_page *page, const struct config_reads *reads)
{
    if (reads == NULL)
        return;
    page_gauge(page, "config_last_reload_successful",
               "1: the config was good when it was last read; 0: it was refused", !metric_get(&reads->failed), 1);
    page_gauge(page, "config_last_reload_success_timestamp_seconds",
               "when a config was last taken over, at the start or by a reload, since 1970",
               metric_get(&reads->success_s), 1);
}

void metrics_put_process(struct metrics_page *page, struct commands *commands, struct turn turn)
{
    const struct descriptors descriptors = descriptors_count();
    const uint64_t resident_bytes = figures_resident_bytes(commands, turn.now_ns);
    const uint64_t up_ns = number_minus(turn.now_ns, commands->started_ns);
    page_head(page, "build_info", "gauge", "1, of the version, the name and the region in its labels");
    page_begin(page);
    page_name(page, "build_info");
    page_label(page, 0, "version", bytes_of(commands->version));
    page_label(page, 1, "node", bytes_of(commands->name));
    page_label(page, 2, "region", bytes_of(commands->region));
    page_value(page, 3, 1, 1);
    (void)page_end(page);
    page_gauge(page, "time_seconds", "the wall clock of this daemon, since 1970", turn.wall_ns / 1000000, 1000);
    page_gauge(page, "uptime_seconds", "time since the start", up_ns / 1000000, 1000);
    page_gauge(page, "threads", "threads that serve clients",
               commands->worker_threads != NULL ? commands->worker_threads->count : 1, 1);
    put_reload(page, commands->config_reads);
    put_certificates(page, commands);
    if (resident_bytes > 0)
        page_gauge(page, "process_resident_memory_bytes", "memory that the system backs", resident_bytes, 1);
    if (descriptors.open > 0)
        page_gauge(page, "process_open_fds", "open descriptors", descriptors.open, 1);
    if (descriptors.max > 0)
        page_gauge(page, "process_max_fds", "descriptors that the process may have", descriptors.max, 1);
}

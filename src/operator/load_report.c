/*
 * Judges accuracy and prints the results of a load, for people or as JSON.
 */
#include "base/units.h"
#include "operator/json.h"
#include "operator/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { KEYS_SHOWN_MAX = 10, KEYS_JSON_MAX = 1000 };

static const double shown_percent[] = {50, 90, 99, 99.9};
enum { SHOWN_PERCENTS = sizeof shown_percent / sizeof shown_percent[0] };

static const char *count_text(char out[UNITS_TEXT_BYTES], uint64_t count)
{
    return units_format_count(out, UNITS_TEXT_BYTES, count);
}

static const char *time_text(char out[UNITS_TEXT_BYTES], uint64_t ns)
{
    return units_format_duration_short(out, UNITS_TEXT_BYTES, ns);
}

static uint64_t sum_admitted(const struct load *load)
{
    uint64_t sum = 0;
    for (uint32_t t = 0; t < load->options.target_count; t++)
        sum += load->target[t].admitted;
    return sum;
}

/* The time over which latency and throughput were measured. */
static double measured_seconds(const struct load *load)
{
    uint64_t end_ns = load->options.burst ? load->last_reply_ns : load->send_end_ns;
    return end_ns > load->measure_from_ns ? (double)(end_ns - load->measure_from_ns) / 1e9 : 0;
}

static double requests_per_second(const struct load *load)
{
    double seconds = measured_seconds(load);
    return seconds > 0 ? (double)load->measured / seconds : 0;
}

void load_judge(const struct load *load, struct load_judgement *judgement)
{
    const struct load_options *options = &load->options;
    memset(judgement, 0, sizeof *judgement);
    for (uint32_t i = 0; i < options->keys; i++) {
        const struct accuracy *key = &load->accuracy[i];
        double certain = accuracy_overshoot_certain(key), by_replies = accuracy_overshoot_by_replies(key);
        judgement->admitted += key->admitted;
        judgement->ideal += key->ideal;
        if (by_replies > judgement->overshoot_by_replies)
            judgement->overshoot_by_replies = by_replies;
        if (certain > judgement->overshoot || (i > 0 && certain >= judgement->overshoot &&
                                               key->admitted > load->accuracy[judgement->worst_key].admitted)) {
            judgement->overshoot = certain;
            judgement->worst_key = i;
        }
    }
    judgement->utilisation = judgement->ideal > 0 ? (double)judgement->admitted / (double)judgement->ideal : 0;
    judgement->bound = load->judged_limit.capacity + (double)load->limit.terms.overshoot +
                       (double)load->last_reply_ns * load->judged_limit.tokens_per_ns;
    judgement->within_bound = judgement->overshoot <= (double)load->limit.terms.overshoot;
}

void load_progress(struct load *load, double seconds, uint64_t requests)
{
    char rate[UNITS_TEXT_BYTES], p50[UNITS_TEXT_BYTES], p99[UNITS_TEXT_BYTES], admitted[UNITS_TEXT_BYTES];
    uint64_t errors = 0, lost = 0;
    for (uint32_t t = 0; t < load->options.target_count; t++) {
        errors += load->target[t].errors;
        lost += load->target[t].lost + load->target[t].unsent;
    }
    bool tty = isatty(STDERR_FILENO);
    fprintf(stderr, "%s%5.0f s  %10s/s  p50 %7s  p99 %7s  admitted %s", tty ? "\r" : "", seconds,
            count_text(rate, requests), time_text(p50, histogram_percentile(load->latency_tick, 50)),
            time_text(p99, histogram_percentile(load->latency_tick, 99)), count_text(admitted, sum_admitted(load)));
    if (errors + lost > 0)
        fprintf(stderr, "  errors %" PRIu64 "  lost %" PRIu64, errors, lost);
    fputs(tty ? "\033[K" : "\n", stderr);
}

/* ---- for people ---- */

static void report_speed(const struct load *load)
{
    const struct load_options *options = &load->options;
    char total[UNITS_TEXT_BYTES], rate[UNITS_TEXT_BYTES], text[UNITS_TEXT_BYTES];
    if (options->burst)
        printf("%s requests to each of %u, once, over %u connections each\n", count_text(total, options->burst),
               options->target_count, options->connections);
    else if (options->rate > 0)
        printf("%s/s to %u together for %.4g s, over %u connections each\n",
               count_text(total, (uint64_t)options->rate), options->target_count, options->seconds,
               options->connections);
    else
        printf("as many requests as possible to %u for %.4g s, over %u connections each with %u in flight\n",
               options->target_count, options->seconds, options->connections, options->pipeline);
    printf("requests     %s in %.3f s, %s/s\n", count_text(total, load->measured), measured_seconds(load),
           count_text(rate, (uint64_t)(requests_per_second(load) + 0.5)));
    printf("latency    ");
    for (int i = 0; i < SHOWN_PERCENTS; i++)
        printf("  p%g %s", shown_percent[i],
               time_text(text, histogram_percentile(load->latency, shown_percent[i])));
    printf("  max %s\n\n", time_text(text, load->latency->largest));
}

static void report_targets(const struct load *load)
{
    bool trouble = false;
    int width = (int)strlen("TARGET");
    for (uint32_t t = 0; t < load->options.target_count; t++) {
        const struct load_target *target = &load->target[t];
        trouble = trouble || target->errors + target->lost + target->unsent + target->reconnects > 0;
        width = (int)strlen(target->name) > width ? (int)strlen(target->name) : width;
    }
    printf("%-*s  %14s  %12s  %14s%s\n", width, "TARGET", "ANSWERED", "ADMITTED", "REFUSED",
           trouble ? "      ERRORS        LOST      UNSENT  RECONNECTS" : "");
    for (uint32_t t = 0; t < load->options.target_count; t++) {
        const struct load_target *target = &load->target[t];
        char answered[UNITS_TEXT_BYTES], admitted[UNITS_TEXT_BYTES], refused[UNITS_TEXT_BYTES];
        printf("%-*s  %14s  %12s  %14s", width, target->name, count_text(answered, target->answered),
               count_text(admitted, target->admitted), count_text(refused, target->refused));
        if (trouble)
            printf("  %10" PRIu64 "  %10" PRIu64 "  %10" PRIu64 "  %10" PRIu64, target->errors, target->lost,
                   target->unsent, target->reconnects);
        printf("\n");
    }
    if (load->first_error[0])
        printf("first error: %s\n", load->first_error);
}

static void report_keys(const struct load *load)
{
    const struct load_options *options = &load->options;
    char name[LOAD_KEY_BYTES + 16];
    int width = 0;
    load_key_name(load, 0, name, sizeof name);
    width = (int)strlen(name) > 3 ? (int)strlen(name) : 3;
    printf("\n%-*s  %12s  %12s  %11s  %10s\n", width, "KEY", "ADMITTED", "ONE BUCKET", "UTILISATION", "OVERSHOOT");
    for (uint32_t i = 0; i < options->keys; i++) {
        const struct accuracy *key = &load->accuracy[i];
        load_key_name(load, i, name, sizeof name);
        printf("%-*s  %12" PRIu64 "  %12" PRIu64 "  %11.4f  %10.2f\n", width, name, key->admitted, key->ideal,
               key->ideal ? (double)key->admitted / (double)key->ideal : 0, accuracy_overshoot_certain(key));
    }
}

static void report_accuracy(const struct load *load, const struct load_judgement *judgement)
{
    char rate[UNITS_TEXT_BYTES], name[LOAD_KEY_BYTES + 16];
    const struct limit_terms *limit = &load->limit.terms;
    printf("\nlimit %s: capacity %" PRIu64 ", rate %s, declared overshoot ", load->limit.name, limit->capacity,
           units_format_rate(rate, sizeof rate, limit->rate, limit->period_ns));
    if (load->options.declared_given)
        printf("%" PRIu64 "\n", limit->overshoot);
    else
        printf("unknown\n");
    printf("admitted     %" PRIu64 " tokens in all; one bucket would have admitted %" PRIu64 "\n",
           judgement->admitted, judgement->ideal);
    printf("utilisation  %.4f\n", judgement->utilisation);
    load_key_name(load, judgement->worst_key, name, sizeof name);
    printf("overshoot    %.2f tokens (%.2f by the times of the replies)%s%s\n", judgement->overshoot,
           judgement->overshoot_by_replies, load->options.keys > 1 ? ", the worst key: " : "",
           load->options.keys > 1 ? name : "");
    if (load->options.declared_given && load->options.keys == 1)
        printf("bound        %.1f = capacity + rate * elapsed + declared; %s\n", judgement->bound,
               judgement->within_bound ? "kept" : "BROKEN");
    else if (load->options.declared_given)
        printf("bound        %s by every key\n", judgement->within_bound ? "kept" : "NOT kept");
    if (load->options.keys > 1 && load->options.keys <= KEYS_SHOWN_MAX)
        report_keys(load);
}

static void report_text(const struct load *load)
{
    struct load_judgement judgement;
    report_speed(load);
    report_targets(load);
    if (!load->accuracy) {
        if (load->options.command != LOAD_PING && !load->options.no_accuracy)
            printf("\naccuracy is not judged: %s\n",
                   load->limit_known ? "too many keys" : "the limit is not known, see --capacity and --limit-rate");
        return;
    }
    load_judge(load, &judgement);
    report_accuracy(load, &judgement);
}

/* ---- for programs ---- */

static void json_targets(struct json *json, const struct load *load)
{
    json_open(json, "targets", '[');
    for (uint32_t t = 0; t < load->options.target_count; t++) {
        const struct load_target *target = &load->target[t];
        json_open(json, NULL, '{');
        json_string(json, "address", target->name);
        json_count(json, "answered", target->answered);
        json_count(json, "admitted", target->admitted);
        json_count(json, "refused", target->refused);
        json_count(json, "errors", target->errors);
        json_count(json, "lost", target->lost);
        json_count(json, "unsent", target->unsent);
        json_count(json, "reconnects", target->reconnects);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_times(struct json *json, const char *name, const struct histogram *times)
{
    json_open(json, name, '{');
    json_number(json, "mean", histogram_mean(times));
    for (int i = 0; i < SHOWN_PERCENTS; i++) {
        char percent[16];
        (void)snprintf(percent, sizeof percent, "p%g", shown_percent[i]);
        json_count(json, percent, histogram_percentile(times, shown_percent[i]));
    }
    json_count(json, "max", times->largest);
    json_close(json, '}');
}

/* Writes [[nanoseconds, count], ...], ascending. */
static void json_histogram(struct json *json, const char *name, const struct histogram *times)
{
    uint64_t value, count;
    uint32_t slot = 0;
    json_open(json, name, '[');
    while (histogram_next(times, &slot, &value, &count)) {
        json_open(json, NULL, '[');
        json_count(json, NULL, value);
        json_count(json, NULL, count);
        json_close(json, ']');
    }
    json_close(json, ']');
}

static void json_accuracy(struct json *json, const struct load *load)
{
    struct load_judgement judgement;
    char name[LOAD_KEY_BYTES + 16];
    load_judge(load, &judgement);
    json_open(json, "accuracy", '{');
    json_count(json, "admitted_tokens", judgement.admitted);
    json_count(json, "ideal_tokens", judgement.ideal);
    json_number(json, "utilisation", judgement.utilisation);
    json_number(json, "overshoot", judgement.overshoot);
    json_number(json, "overshoot_by_replies", judgement.overshoot_by_replies);
    json_number(json, "bound", judgement.bound);
    if (load->options.declared_given)
        json_bool(json, "within_bound", judgement.within_bound);
    json_open(json, "keys", '[');
    for (uint32_t i = 0; i < load->options.keys && i < KEYS_JSON_MAX; i++) {
        const struct accuracy *key = &load->accuracy[i];
        json_open(json, NULL, '{');
        load_key_name(load, i, name, sizeof name);
        json_string(json, "key", name);
        json_count(json, "admitted_tokens", key->admitted);
        json_count(json, "ideal_tokens", key->ideal);
        json_number(json, "overshoot", accuracy_overshoot_certain(key));
        json_number(json, "overshoot_by_replies", accuracy_overshoot_by_replies(key));
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void report_json(const struct load *load)
{
    struct json json;
    json_begin(&json, stdout, '{');
    json_targets(&json, load);
    json_count(&json, "requests", load->measured);
    json_number(&json, "seconds", measured_seconds(load));
    json_number(&json, "requests_per_second", requests_per_second(load));
    json_number(&json, "elapsed_seconds", (double)load->last_reply_ns / 1e9);
    json_times(&json, "latency_ns", load->latency);
    if (load->options.rate > 0)
        json_times(&json, "late_ns", load->late);
    if (load->options.histogram)
        json_histogram(&json, "latency_histogram", load->latency);
    if (load->first_error[0])
        json_string(&json, "first_error", load->first_error);
    if (load->limit_known) {
        json_open(&json, "limit", '{');
        json_string(&json, "name", load->limit.name);
        json_count(&json, "capacity", load->limit.terms.capacity);
        json_count(&json, "rate", load->limit.terms.rate);
        json_count(&json, "period_ns", load->limit.terms.period_ns);
        if (load->options.declared_given)
            json_count(&json, "overshoot", load->limit.terms.overshoot);
        json_close(&json, '}');
    }
    if (load->accuracy)
        json_accuracy(&json, load);
    json_close(&json, '}');
}

void load_report(const struct load *load)
{
    if (load->options.progress && isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    if (load->options.quiet)
        return;
    (load->options.json ? report_json : report_text)(load);
}

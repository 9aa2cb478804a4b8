/*
 * seeds: draws the world of a seed, runs it, and reports a law that broke. Many seeds run in several processes, so that
 * a crash costs one seed; every sixteenth seed runs twice, and its hashes must agree.
 */
#include "tests/sim/seeds.h"

#include "tests/sim/modes.h"
#include "tests/sim/rights.h"
#include "tests/sim/world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

enum { TWICE_EVERY = 16, KNOWN_MAX = 1024 };

/* What the jobs tell the parent, in shared memory. */
struct job {
    uint64_t seed, next; /* running now, or 0 with next = where to go on */
    uint64_t runs, steps, admissions, messages, failures;
    struct rights_figures rights;
    double simulated_seconds;
};

static struct sim *sim;

static double wall_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Disks hold spends of the limits that are drawn by then. */
static bool redraws_limits(const struct seeds_options *options)
{
    return options->grants || options->takeover || options->lonely || options->weights || options->homes ||
           options->limits || options->tiers;
}

static bool run_seed(const struct seeds_options *options, uint64_t seed)
{
    sim_clear(sim);
    plan_draw(&sim->plan, seed);
    if (options->only != NULL)
        ask_keep_only(&sim->plan, options->only);
    if (options->edits)
        edit_draw(&sim->plan);
    if (options->disks && !redraws_limits(options))
        disks_draw(&sim->plan);
    if (!options->early)
        plan_draw_late(&sim->plan);
    if (options->grants)
        rights_draw(&sim->plan, !options->mild);
    if (options->fast)
        clocks_draw(&sim->plan);
    if (options->odd)
        plan_draw_odd(&sim->plan);
    if (options->takeover)
        takeover_draw(&sim->plan);
    if (options->lonely)
        lonely_draw(&sim->plan);
    if (options->weights)
        weights_draw(&sim->plan);
    if (options->homes)
        homes_draw(&sim->plan);
    if (options->homes && options->daemons)
        homes_draw_daemons(&sim->plan);
    if (options->rule_weights)
        rule_weights_draw(&sim->plan);
    if (options->liars)
        liars_draw(&sim->plan);
    if (options->windows)
        windows_draw(&sim->plan);
    if (options->windows && options->homes)
        homes_draw_windows(&sim->plan);
    if ((options->homes || options->grants) && options->buckets)
        homes_draw_buckets(&sim->plan);
    if (options->homes && options->leases)
        homes_draw_leases(&sim->plan);
    if (options->limits)
        lists_draw(&sim->plan);
    if (options->tiers)
        tiers_draw(&sim->plan);
    if (options->disks && redraws_limits(options))
        disks_draw(&sim->plan);
    if (options->restarts)
        ask_draw_restarts(&sim->plan);
    if (options->tiers)
        ask_draw_tiers(&sim->plan);
    if (options->tiers && options->only != NULL)
        ask_keep_only(&sim->plan, options->only);
    sim->plan.ticking = options->ticking;
    sim->verbose = options->verbose || options->trace;
    sim->trace = options->trace;
    return options->newer ? newer_run(sim) : sim_run(sim);
}

static void print_failure(const struct seeds_options *options, uint64_t seed, const char *what)
{
    const struct {
        const char *word;
        bool is_set;
    } words[] = {
        {"--early", options->early},       {"--grants", options->grants},
        {"--mild", options->mild},         {"--edits", options->edits},
        {"--disks", options->disks},       {"--odd", options->odd},
        {"--newer", options->newer},       {"--fast", options->fast},
        {"--takeover", options->takeover}, {"--lonely", options->lonely},
        {"--weights", options->weights},   {"--homes", options->homes},
        {"--liars", options->liars},       {"--windows", options->windows},
        {"--limits", options->limits},     {"--rule-weights", options->rule_weights},
        {"--daemons", options->daemons},   {"--leases", options->leases},
        {"--buckets", options->buckets},   {"--ticking", options->ticking},
        {"--restarts", options->restarts}, {"--tiers", options->tiers},
    };
    printf("%sseed %" PRIu64 ": %s    (%s", options->tap ? "# " : "", seed, what, options->program);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i].is_set)
            printf(" %s", words[i].word);
    printf(" --seed %" PRIu64 " --verbose)\n", seed);
    (void)fflush(stdout);
}

static bool run_and_report(const struct seeds_options *options, uint64_t seed, struct job *job)
{
    char failure[SIM_FAILURE_BYTES];
    job->seed = seed;
    bool held = run_seed(options, seed);
    uint64_t hash = sim->hash;
    job->runs++;
    job->steps += sim->steps;
    job->admissions += sim->admissions;
    job->messages += sim->messages;
    job->simulated_seconds += (double)sim->now_ns / 1e9;
    job->rights.asks += sim->rights.all.asks;
    job->rights.granted += sim->rights.all.granted;
    job->rights.used += sim->rights.all.used;
    job->rights.returned += sim->rights.all.returned;
    memcpy(failure, sim->failure, sizeof failure);
    if (held && seed % TWICE_EVERY == 0) {
        held = run_seed(options, seed) && sim->hash == hash;
        if (!held)
            (void)snprintf(failure, sizeof failure, "hash: two runs differ, %016" PRIx64 " and %016" PRIx64, hash,
                           sim->hash);
    }
    if (!held) {
        job->failures++;
        print_failure(options, seed, failure);
    }
    return held;
}

/* One process's part of the seeds: from `next`, every `jobs`th. */
static void work(const struct seeds_options *options, struct job *job, double until)
{
    while (options->seconds > 0 ? wall_seconds() < until : job->next < options->from + options->count) {
        uint64_t seed = job->next;
        job->next += options->jobs;
        if (!run_and_report(options, seed, job) && !options->keep_going)
            exit(EXIT_FAILURE);
    }
    job->seed = 0;
    exit(EXIT_SUCCESS);
}

static pid_t fork_job(const struct seeds_options *options, struct job *job, double until)
{
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        work(options, job, until);
    if (pid < 0) {
        perror("sim: fork");
        exit(EX_OSERR);
    }
    return pid;
}

/* Waits for the jobs; one that died is started again behind the seed that killed it, if we go on. */
static bool run_jobs(const struct seeds_options *options, struct job *jobs)
{
    pid_t pids[SEEDS_JOBS_MAX];
    double until = wall_seconds() + options->seconds;
    bool held = true;
    for (unsigned j = 0; j < options->jobs; j++) {
        jobs[j].next = options->from + j;
        pids[j] = fork_job(options, &jobs[j], until);
    }
    for (unsigned j = 0; j < options->jobs;) {
        int status;
        char text[128];
        if (waitpid(pids[j], &status, 0) < 0 && errno == EINTR)
            continue;
        bool finished = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
        bool reported = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE && jobs[j].failures > 0;
        held &= finished && jobs[j].failures == 0;
        if (!finished && !reported) {
            jobs[j].failures++;
            (void)snprintf(text, sizeof text, "crash: the process ended with %s %d",
                           WIFSIGNALED(status) ? "signal" : "status",
                           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            print_failure(options, jobs[j].seed, text);
            if (options->keep_going) {
                pids[j] = fork_job(options, &jobs[j], until);
                continue;
            }
        }
        j++;
    }
    return held;
}

static void print_sum(const struct seeds_options *options, const struct job *jobs, double took)
{
    struct job sum = {0};
    for (unsigned j = 0; j < options->jobs; j++) {
        sum.runs += jobs[j].runs;
        sum.steps += jobs[j].steps;
        sum.admissions += jobs[j].admissions;
        sum.messages += jobs[j].messages;
        sum.failures += jobs[j].failures;
        sum.simulated_seconds += jobs[j].simulated_seconds;
        sum.rights.asks += jobs[j].rights.asks;
        sum.rights.granted += jobs[j].rights.granted;
        sum.rights.used += jobs[j].rights.used;
        sum.rights.returned += jobs[j].rights.returned;
    }
    printf("%s%" PRIu64 " seeds from %" PRIu64 ", %" PRIu64 " failed; %.0f s of clusters' lives, %" PRIu64
           " steps, %" PRIu64 " messages, %" PRIu64 " admissions in %.1f s\n",
           options->tap ? "# " : "", sum.runs, options->from, sum.failures, sum.simulated_seconds, sum.steps,
           sum.messages, sum.admissions, took);
    if (options->grants || options->windows || options->homes || options->rule_weights)
        printf("# rights: %" PRIu64 " asks, %" PRIu64 " tokens granted, %" PRIu64 " used, %" PRIu64 " given back\n",
               sum.rights.asks, sum.rights.granted, sum.rights.used, sum.rights.returned);
}

static bool run_range(const struct seeds_options *options)
{
    struct job *jobs =
        mmap(NULL, sizeof *jobs * SEEDS_JOBS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (jobs == MAP_FAILED) {
        perror("sim: mmap");
        exit(EX_OSERR);
    }
    double began = wall_seconds();
    bool held = run_jobs(options, jobs);
    print_sum(options, jobs, wall_seconds() - began);
    (void)munmap(jobs, sizeof *jobs * SEEDS_JOBS_MAX);
    return held;
}

static bool run_known(const struct seeds_options *options, unsigned *count)
{
    static struct known_seed known[KNOWN_MAX];
    struct job *job = mmap(NULL, sizeof *job, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool held = true;
    if (job == MAP_FAILED) {
        perror("sim: mmap");
        exit(EX_OSERR);
    }
    *count = known_read(options->known, known, KNOWN_MAX);
    for (unsigned i = 0; i < *count; i++) {
        struct seeds_options one = *options;
        one.from = known[i].seed;
        one.only = known[i].without_rules ? "-" : options->only;
        one.early |= known[i].early;
        one.mild |= known[i].mild;
        one.count = one.jobs = 1;
        one.seconds = 0;
        one.keep_going = true;
        memset(job, 0, sizeof *job);
        held &= run_jobs(&one, job);
    }
    (void)munmap(job, sizeof *job);
    return held;
}

int seeds_run_one(struct sim *world, const struct seeds_options *options)
{
    sim = world;
    bool held = run_seed(options, options->from);
    if (options->hash)
        printf("%016" PRIx64 "\n", sim->hash);
    if (!held) {
        print_failure(options, options->from, sim->failure);
        return EXIT_FAILURE;
    }
    if (!options->hash)
        printf("seed %" PRIu64 ": every law held; %.3f s, %" PRIu64 " steps, %" PRIu64 " messages, %" PRIu64
               " admitted, %" PRIu64 " refused, hash %016" PRIx64 "\n# of several limits: %" PRIu64
               " asked, %" PRIu64 " allowed, %" PRIu64 " reserved, %" PRIu64 " renewed elsewhere, %" PRIu64
               " over a restart; %" PRIu64 " tokens given back, %" PRIu64 " times late; %" PRIu64
               " looks at an ebb\n",
               options->from, (double)sim->now_ns / 1e9, sim->steps, sim->messages, sim->admissions, sim->refusals,
               sim->hash, sim->asks.asked, sim->asks.allowed, sim->asks.reservations, sim->asks.renewed,
               sim->asks.recalled, sim->asks.given_back, sim->asks.late_explains, sim->asks.ebbs_known);
    return EXIT_SUCCESS;
}

/* The hash of many seeds' hashes: one number to compare between compilers. A law that broke ends this. */
static int run_hashes(const struct seeds_options *options)
{
    uint64_t all = 0;
    for (uint64_t seed = options->from; seed < options->from + options->count; seed++) {
        if (!run_seed(options, seed)) {
            print_failure(options, seed, sim->failure);
            return EXIT_FAILURE;
        }
        all = all * 31 + sim->hash;
    }
    printf("%016" PRIx64 "\n", all);
    return EXIT_SUCCESS;
}

int seeds_run_many(struct sim *world, const struct seeds_options *options)
{
    unsigned known = 0;
    sim = world;
    if (options->hash && options->count > 0)
        return run_hashes(options);
    bool known_held = options->known == NULL || run_known(options, &known);
    bool range_held = run_range(options);
    if (options->tap)
        printf("%sok 1 - %u seeds that once failed hold every law\n%sok 2 - fresh seeds hold every law\n1..2\n",
               known_held ? "" : "not ", known, range_held ? "" : "not ");
    return known_held && range_held ? EXIT_SUCCESS : EXIT_FAILURE;
}

/*
 * sim: the program. Runs seeds, one or many, in one process or several, and says what broke.
 *
 *   sim --seed N [--verbose] [--trace] [--hash]   one seed; --verbose tells its story, --trace every step
 *   sim --seeds COUNT [--from N] [--jobs J]       many seeds
 *   sim --seconds S [--from N] [--jobs J]         as many seeds as fit
 *       --known FILE     first the seeds listed there, which once broke a law
 *       --keep-going     report every failing seed, not only the first of each job; --tap: for prove
 *       --only LETTERS   rules of these kinds only: b buckets, f fixed and s sliding windows, l logs, c leases; - none
 *       --grants         nodes ask each other for rights: see rights.c; --mild: where that is as rare as elsewhere
 *       --early          without what is drawn late: see plan_draw_late()
 *       --edits          operators change rules meanwhile, in several places
 *       --odd            one node of three or more has another config, and must not decide
 *       --fast           some clocks run fast or slow: see clocks.c
 *       --takeover       rights end by themselves, and who is gone is not waited for: see takeover.c
 *       --lonely         links are cut for long, and who is left is asked for all there is: see takeover.c
 *       --weights        operators change weights of regions: see weights.c
 *       --newer          some nodes say more than this release knows; --disks: all start anew, some from disks
 *   sim --scenarios SEEDS [--grants] | --healing SEEDS   the model's scenarios; who is refused after a healed cut
 *   sim --gone SEEDS                              what two regions admit while the third one is gone
 *   sim --clocks SEEDS                            what all admit while one clock runs fast or slow
 *   sim --contention SEEDS                        what each region gets where all ask for more than there is
 *   sim --demand SEEDS                            demand that goes where rights are not, without grants and with them
 *   sim --search TRIALS | --search-seconds S [--refill]    adversarial schedules, without refill or with it
 *   sim --woven                                   the worst ones that are known: see woven.c
 *
 * Exit status 1 if a law was broken. A failing seed is a command to paste.
 */
#include "tests/sim/sim.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

enum { JOBS_MAX = 16, TWICE_EVERY = 16, KNOWN_MAX = 1024 };

struct arguments {
    const char *program, *known, *only;
    uint64_t from, count;
    double seconds;
    unsigned jobs;
    bool one, verbose, trace, hash, tap, keep_going, edits, disks, odd, newer, fast, early, woven, grants, mild,
        takeover, lonely, weights;
    unsigned scenario_seeds, demand_seeds, healing_seeds, gone_seeds, clock_seeds, contention_seeds, pair_seeds;
    struct search_options search;
};

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

static bool run_seed(const struct arguments *arguments, uint64_t seed)
{
    sim_clear(sim);
    plan_draw(&sim->plan, seed);
    if (arguments->only != NULL)
        ask_keep_only(&sim->plan, arguments->only);
    if (arguments->edits)
        edit_draw(&sim->plan);
    if (arguments->disks && !arguments->grants)
        disks_draw(&sim->plan);
    if (!arguments->early)
        plan_draw_late(&sim->plan);
    if (arguments->grants)
        rights_draw(&sim->plan, !arguments->mild);
    if (arguments->disks && arguments->grants) /* disks hold spends of the limits that are drawn by now */
        disks_draw(&sim->plan);
    if (arguments->fast)
        clocks_draw(&sim->plan);
    if (arguments->odd)
        plan_draw_odd(&sim->plan);
    if (arguments->takeover)
        takeover_draw(&sim->plan);
    if (arguments->lonely)
        lonely_draw(&sim->plan);
    if (arguments->weights)
        weights_draw(&sim->plan);
    sim->verbose = arguments->verbose || arguments->trace;
    sim->trace = arguments->trace;
    return arguments->newer ? newer_run(sim) : sim_run(sim);
}

static void print_failure(const struct arguments *arguments, uint64_t seed, const char *what)
{
    printf("%sseed %" PRIu64 ": %s    (%s%s%s%s%s --seed %" PRIu64 " --verbose)\n", arguments->tap ? "# " : "",
           seed, what, arguments->program, arguments->early ? " --early" : "", arguments->grants ? " --grants" : "",
           arguments->mild ? " --mild" : "",
           arguments->edits      ? " --edits"
           : arguments->disks    ? " --disks"
           : arguments->odd      ? " --odd"
           : arguments->newer    ? " --newer"
           : arguments->fast     ? " --fast"
           : arguments->takeover ? " --takeover"
           : arguments->lonely   ? " --lonely"
           : arguments->weights  ? " --weights"
                                 : "",
           seed);
    (void)fflush(stdout);
}

static bool run_and_report(const struct arguments *arguments, uint64_t seed, struct job *job)
{
    char failure[SIM_FAILURE_BYTES];
    job->seed = seed;
    bool held = run_seed(arguments, seed);
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
        held = run_seed(arguments, seed) && sim->hash == hash;
        if (!held)
            (void)snprintf(failure, sizeof failure, "hash: two runs differ, %016" PRIx64 " and %016" PRIx64, hash,
                           sim->hash);
    }
    if (!held) {
        job->failures++;
        print_failure(arguments, seed, failure);
    }
    return held;
}

/* One process's part of the seeds: from `next`, every `jobs`th. */
static void work(const struct arguments *arguments, struct job *job, double until)
{
    while (arguments->seconds > 0 ? wall_seconds() < until : job->next < arguments->from + arguments->count) {
        uint64_t seed = job->next;
        job->next += arguments->jobs;
        if (!run_and_report(arguments, seed, job) && !arguments->keep_going)
            exit(EXIT_FAILURE);
    }
    job->seed = 0;
    exit(EXIT_SUCCESS);
}

static pid_t fork_job(const struct arguments *arguments, struct job *job, double until)
{
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        work(arguments, job, until);
    if (pid < 0) {
        perror("sim: fork");
        exit(EX_OSERR);
    }
    return pid;
}

/* Waits for the jobs; one that died is started again behind the seed that killed it, if we go on. */
static bool run_jobs(const struct arguments *arguments, struct job *jobs)
{
    pid_t pids[JOBS_MAX];
    double until = wall_seconds() + arguments->seconds;
    bool held = true;
    for (unsigned j = 0; j < arguments->jobs; j++) {
        jobs[j].next = arguments->from + j;
        pids[j] = fork_job(arguments, &jobs[j], until);
    }
    for (unsigned j = 0; j < arguments->jobs;) {
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
            print_failure(arguments, jobs[j].seed, text);
            if (arguments->keep_going) {
                pids[j] = fork_job(arguments, &jobs[j], until);
                continue;
            }
        }
        j++;
    }
    return held;
}

static void print_sum(const struct arguments *arguments, const struct job *jobs, double took)
{
    struct job sum = {0};
    for (unsigned j = 0; j < arguments->jobs; j++) {
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
           arguments->tap ? "# " : "", sum.runs, arguments->from, sum.failures, sum.simulated_seconds, sum.steps,
           sum.messages, sum.admissions, took);
    if (arguments->grants)
        printf("# rights: %" PRIu64 " asks, %" PRIu64 " tokens granted, %" PRIu64 " used, %" PRIu64 " given back\n",
               sum.rights.asks, sum.rights.granted, sum.rights.used, sum.rights.returned);
}

static bool run_range(const struct arguments *arguments)
{
    struct job *jobs =
        mmap(NULL, sizeof *jobs * JOBS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (jobs == MAP_FAILED) {
        perror("sim: mmap");
        exit(EX_OSERR);
    }
    double began = wall_seconds();
    bool held = run_jobs(arguments, jobs);
    print_sum(arguments, jobs, wall_seconds() - began);
    (void)munmap(jobs, sizeof *jobs * JOBS_MAX);
    return held;
}

static bool run_known(const struct arguments *arguments, unsigned *count)
{
    static struct known_seed known[KNOWN_MAX];
    struct job *job = mmap(NULL, sizeof *job, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool held = true;
    if (job == MAP_FAILED) {
        perror("sim: mmap");
        exit(EX_OSERR);
    }
    *count = known_read(arguments->known, known, KNOWN_MAX);
    for (unsigned i = 0; i < *count; i++) {
        struct arguments one = *arguments;
        one.from = known[i].seed;
        one.only = known[i].without_rules ? "-" : arguments->only;
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

static int run_one(const struct arguments *arguments)
{
    bool held = run_seed(arguments, arguments->from);
    if (arguments->hash)
        printf("%016" PRIx64 "\n", sim->hash);
    if (!held) {
        print_failure(arguments, arguments->from, sim->failure);
        return EXIT_FAILURE;
    }
    if (!arguments->hash)
        printf("seed %" PRIu64 ": every law held; %.3f s, %" PRIu64 " steps, %" PRIu64 " messages, %" PRIu64
               " admitted, %" PRIu64 " refused, hash %016" PRIx64 "\n# of several limits: %" PRIu64
               " asked, %" PRIu64 " allowed, %" PRIu64 " reserved; %" PRIu64 " tokens given back, %" PRIu64
               " times late; %" PRIu64 " looks at an ebb\n",
               arguments->from, (double)sim->now_ns / 1e9, sim->steps, sim->messages, sim->admissions,
               sim->refusals, sim->hash, sim->asks.asked, sim->asks.allowed, sim->asks.reservations,
               sim->asks.given_back, sim->asks.late_explains, sim->asks.ebbs_known);
    return EXIT_SUCCESS;
}

/* The hash of many seeds' hashes: one number to compare between compilers. */
static int run_hashes(const struct arguments *arguments)
{
    uint64_t all = 0;
    for (uint64_t seed = arguments->from; seed < arguments->from + arguments->count; seed++) {
        (void)run_seed(arguments, seed);
        all = all * 31 + sim->hash;
    }
    printf("%016" PRIx64 "\n", all);
    return EXIT_SUCCESS;
}

static int run_many(const struct arguments *arguments)
{
    unsigned known = 0;
    bool known_held = arguments->known == NULL || run_known(arguments, &known);
    bool range_held = run_range(arguments);
    if (arguments->tap)
        printf("%sok 1 - %u seeds that once failed hold every law\n%sok 2 - fresh seeds hold every law\n1..2\n",
               known_held ? "" : "not ", known, range_held ? "" : "not ");
    return known_held && range_held ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int usage(const char *program)
{
    (void)fprintf(
        stderr,
        "usage: %s --seed N [--verbose] [--trace] [--hash]\n"
        "       %s (--seeds COUNT | --seconds S) [--from N] [--jobs J] [--known FILE] [--keep-going] [--tap]\n"
        "          [--only LETTERS of bfslc, or -] [--early] [--grants [--mild]] [--edits | --disks | --odd | "
        "--newer | --fast | --takeover | --lonely | --weights]\n"
        "       %s (--scenarios | --demand | --contention | --healing | --gone | --clocks) SEEDS [--tap] "
        "[--grants]\n"
        "       %s --woven [--tap]\n"
        "       %s (--search TRIALS | --search-seconds S) [--refill] [--from N] [--tap]\n",
        program, program, program, program, program);
    return EX_USAGE;
}

static bool flag(struct arguments *arguments, const char *word)
{
    struct {
        const char *name;
        bool *set;
    } const flags[] = {
        {"--verbose", &arguments->verbose},
        {"--trace", &arguments->trace},
        {"--hash", &arguments->hash},
        {"--tap", &arguments->tap},
        {"--keep-going", &arguments->keep_going},
        {"--edits", &arguments->edits},
        {"--disks", &arguments->disks},
        {"--odd", &arguments->odd},
        {"--newer", &arguments->newer},
        {"--fast", &arguments->fast},
        {"--early", &arguments->early},
        {"--grants", &arguments->grants},
        {"--mild", &arguments->mild},
        {"--takeover", &arguments->takeover},
        {"--lonely", &arguments->lonely},
        {"--weights", &arguments->weights},
        {"--woven", &arguments->woven},
        {"--refill", &arguments->search.refill},
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp(word, flags[i].name) == 0)
            return *flags[i].set = true;
    return false;
}

static bool option(struct arguments *arguments, const char *word, const char *value)
{
    char *end;
    if (strcmp(word, "--known") == 0) {
        arguments->known = value;
        return true;
    }
    if (strcmp(word, "--only") == 0) {
        arguments->only = value;
        return true;
    }
    double number = strtod(value, &end);
    uint64_t whole = strtoull(value, NULL, 10);
    if (end == value || *end != '\0' || number < 0)
        return false;
    if (strcmp(word, "--seed") == 0)
        arguments->one = true, arguments->from = whole;
    else if (strcmp(word, "--seeds") == 0)
        arguments->count = whole;
    else if (strcmp(word, "--from") == 0)
        arguments->from = whole;
    else if (strcmp(word, "--seconds") == 0)
        arguments->seconds = number;
    else if (strcmp(word, "--scenarios") == 0)
        arguments->scenario_seeds = (unsigned)whole;
    else if (strcmp(word, "--demand") == 0)
        arguments->demand_seeds = (unsigned)whole;
    else if (strcmp(word, "--healing") == 0)
        arguments->healing_seeds = (unsigned)whole;
    else if (strcmp(word, "--gone") == 0)
        arguments->gone_seeds = (unsigned)whole;
    else if (strcmp(word, "--clocks") == 0)
        arguments->clock_seeds = (unsigned)whole;
    else if (strcmp(word, "--contention") == 0)
        arguments->contention_seeds = (unsigned)whole;
    else if (strcmp(word, "--pairs") == 0)
        arguments->pair_seeds = (unsigned)whole;
    else if (strcmp(word, "--search") == 0)
        arguments->search.trials = whole;
    else if (strcmp(word, "--search-seconds") == 0)
        arguments->search.seconds = number;
    else if (strcmp(word, "--jobs") == 0 && whole >= 1 && whole <= JOBS_MAX)
        arguments->jobs = (unsigned)whole;
    else
        return false;
    return true;
}

static int run(struct arguments *arguments)
{
    if (arguments->scenario_seeds > 0)
        return scenarios_run(sim, &(struct scenario_options){.seeds = arguments->scenario_seeds,
                                                             .grants = arguments->grants,
                                                             .tap = arguments->tap});
    if (arguments->demand_seeds > 0)
        return demand_run(sim, arguments->demand_seeds, arguments->tap);
    if (arguments->healing_seeds > 0)
        return healing_run(sim, arguments->healing_seeds, arguments->tap);
    if (arguments->gone_seeds > 0)
        return gone_run(sim, arguments->gone_seeds, arguments->tap);
    if (arguments->clock_seeds > 0)
        return clocks_run(sim, arguments->clock_seeds, arguments->tap);
    if (arguments->contention_seeds > 0)
        return contention_run(sim, arguments->contention_seeds, arguments->tap);
    if (arguments->pair_seeds > 0)
        return pairs_run(arguments->pair_seeds, arguments->tap);
    if (arguments->search.trials > 0 || arguments->search.seconds > 0) {
        arguments->search.from = arguments->from;
        arguments->search.tap = arguments->tap;
        return search_run(&arguments->search);
    }
    if (arguments->woven)
        return woven_run(arguments->tap);
    if (arguments->one)
        return run_one(arguments);
    if (arguments->hash && arguments->count > 0)
        return run_hashes(arguments);
    if (arguments->count > 0 || arguments->seconds > 0)
        return run_many(arguments);
    return usage(arguments->program);
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.program = argv[0], .from = 1, .jobs = 1};
    for (int i = 1; i < argc; i++) {
        if (flag(&arguments, argv[i]))
            continue;
        if (i + 1 == argc || !option(&arguments, argv[i], argv[i + 1]))
            return usage(argv[0]);
        i++;
    }
    /* Nodes come and go by the thousand: large memory comes zeroed from the system, page by page as it is touched. */
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    sim = calloc(1, sizeof *sim);
    if (sim == NULL) {
        perror("sim");
        return EX_OSERR;
    }
    int status = run(&arguments);
    free(sim);
    return status;
}

/*
 * sim: the program, and its arguments. seeds.c runs seeds; other modes have a file each.
 *
 *   sim --seed N [--verbose] [--trace] [--hash]   one seed; --verbose tells its story, --trace every step
 *   sim --seeds COUNT [--from N] [--jobs J]       many seeds
 *   sim --seconds S [--from N] [--jobs J]         as many seeds as fit
 *       --known FILE     first the seeds listed there, which once broke a law
 *       --keep-going     report every failing seed, not only the first of each job; --tap: for prove
 *       --only LETTERS   rules of these kinds only: b buckets, f fixed and s sliding windows, l logs, c leases; - none
 *       --grants         nodes ask each other for rights: see rights.c; --mild: where that is as rare as elsewhere,
 *                        --buckets: few buckets, of which clients hold and give back much
 *       --early          without what is drawn late: see plan_draw_late()
 *       --edits          operators change rules meanwhile, in several places
 *       --odd            one node of three or more has another config, and must not decide
 *       --fast           some clocks run fast or slow: see clocks.c
 *       --takeover       rights end by themselves, and who is gone is not waited for: see takeover.c
 *       --lonely         links are cut for long, and who is left is asked for all there is: see takeover.c
 *       --weights        operators change weights of regions: see weights.c
 *       --limits         operators change limits of the config, and reload daemons: see lists.c
 *       --liars          one node says false words about others: see liars.c
 *       --windows        windows whose limits are small, or asked for at once, and that others grant: see windows.c
 *       --tiers          limits are tiers of one rule, and requests of a key are of any of them: see tiers.c
 *       --restarts       nodes leave and come back while clients hold reservations, beside any of these: see ask_kept.c
 *       --ticking        time passes while a node works, beside any of these: see sleepless.c
 *       --newer          some nodes say more than this release knows; --disks: all start anew, some from disks
 *   sim --scenarios SEEDS [--grants] | --healing SEEDS   the model's scenarios; who is refused after a healed cut
 *   sim --gone SEEDS                              what two regions admit while the third one is gone
 *   sim --clocks SEEDS                            what all admit while one clock runs fast or slow
 *   sim --contention SEEDS                        what each region gets where all ask for more than there is
 *   sim --demand SEEDS                            demand that goes where rights are not, without grants and with them
 *   sim --by-demand SEEDS                         what nodes know of demand that sits where weights do not
 *   sim --follow SEEDS                            what weights that follow demand bring
 *   sim --search TRIALS | --search-seconds S [--refill]    adversarial schedules, without refill or with it
 *   sim --woven                                   the worst ones that are known: see woven.c
 *
 * Exit status 1 if a law was broken. A failing seed is a command to paste.
 */
#include "tests/sim/scenarios.h"
#include "tests/sim/seeds.h"
#include "tests/sim/sim.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

struct arguments {
    struct seeds_options seeds;
    bool one, woven;
    unsigned scenario_seeds, demand_seeds, healing_seeds, gone_seeds, clock_seeds, contention_seeds, pair_seeds,
        by_demand_seeds, follow_seeds;
    struct search_options search;
};

static int usage(const char *program)
{
    (void)fprintf(
        stderr,
        "usage: %s --seed N [--verbose] [--trace] [--hash]\n"
        "       %s (--seeds COUNT | --seconds S) [--from N] [--jobs J] [--known FILE] [--keep-going] [--tap]\n"
        "          [--only LETTERS of bfslc, or -] [--early] [--grants [--mild | --buckets]] [--edits | "
        "--disks | --odd | "
        "--newer | --fast | --takeover | --lonely | --weights | --homes [--daemons] [--buckets | --leases] | "
        "--rule-weights | --liars | --windows | --limits | --tiers] [--restarts] [--ticking]\n"
        "       %s (--scenarios | --demand | --by-demand | --follow | --contention | --healing | --gone | "
        "--clocks) SEEDS "
        "[--tap] [--grants]\n"
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
        {"--verbose", &arguments->seeds.verbose},
        {"--trace", &arguments->seeds.trace},
        {"--hash", &arguments->seeds.hash},
        {"--tap", &arguments->seeds.tap},
        {"--keep-going", &arguments->seeds.keep_going},
        {"--edits", &arguments->seeds.edits},
        {"--disks", &arguments->seeds.disks},
        {"--odd", &arguments->seeds.odd},
        {"--newer", &arguments->seeds.newer},
        {"--fast", &arguments->seeds.fast},
        {"--early", &arguments->seeds.early},
        {"--grants", &arguments->seeds.grants},
        {"--mild", &arguments->seeds.mild},
        {"--takeover", &arguments->seeds.takeover},
        {"--lonely", &arguments->seeds.lonely},
        {"--weights", &arguments->seeds.weights},
        {"--homes", &arguments->seeds.homes},
        {"--daemons", &arguments->seeds.daemons},
        {"--buckets", &arguments->seeds.buckets},
        {"--leases", &arguments->seeds.leases},
        {"--rule-weights", &arguments->seeds.rule_weights},
        {"--liars", &arguments->seeds.liars},
        {"--windows", &arguments->seeds.windows},
        {"--limits", &arguments->seeds.limits},
        {"--tiers", &arguments->seeds.tiers},
        {"--restarts", &arguments->seeds.restarts},
        {"--ticking", &arguments->seeds.ticking},
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
        arguments->seeds.known = value;
        return true;
    }
    if (strcmp(word, "--only") == 0) {
        arguments->seeds.only = value;
        return true;
    }
    double number = strtod(value, &end);
    uint64_t whole = strtoull(value, NULL, 10);
    if (end == value || *end != '\0' || number < 0)
        return false;
    if (strcmp(word, "--seed") == 0)
        arguments->one = true, arguments->seeds.from = whole;
    else if (strcmp(word, "--seeds") == 0)
        arguments->seeds.count = whole;
    else if (strcmp(word, "--from") == 0)
        arguments->seeds.from = whole;
    else if (strcmp(word, "--seconds") == 0)
        arguments->seeds.seconds = number;
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
    else if (strcmp(word, "--by-demand") == 0)
        arguments->by_demand_seeds = (unsigned)whole;
    else if (strcmp(word, "--follow") == 0)
        arguments->follow_seeds = (unsigned)whole;
    else if (strcmp(word, "--pairs") == 0)
        arguments->pair_seeds = (unsigned)whole;
    else if (strcmp(word, "--search") == 0)
        arguments->search.trials = whole;
    else if (strcmp(word, "--search-seconds") == 0)
        arguments->search.seconds = number;
    else if (strcmp(word, "--jobs") == 0 && whole >= 1 && whole <= SEEDS_JOBS_MAX)
        arguments->seeds.jobs = (unsigned)whole;
    else
        return false;
    return true;
}

static int run(struct sim *sim, struct arguments *arguments)
{
    if (arguments->scenario_seeds > 0)
        return scenarios_run(sim, &(struct scenario_options){.seeds = arguments->scenario_seeds,
                                                             .grants = arguments->seeds.grants,
                                                             .tap = arguments->seeds.tap});
    if (arguments->demand_seeds > 0)
        return demand_run(sim, arguments->demand_seeds, arguments->seeds.tap);
    if (arguments->healing_seeds > 0)
        return healing_run(sim, arguments->healing_seeds, arguments->seeds.tap);
    if (arguments->gone_seeds > 0)
        return gone_run(sim, arguments->gone_seeds, arguments->seeds.tap);
    if (arguments->clock_seeds > 0)
        return clocks_run(sim, arguments->clock_seeds, arguments->seeds.tap);
    if (arguments->contention_seeds > 0)
        return contention_run(sim, arguments->contention_seeds, arguments->seeds.tap);
    if (arguments->by_demand_seeds > 0)
        return by_demand_run(sim, arguments->by_demand_seeds, arguments->seeds.tap);
    if (arguments->follow_seeds > 0)
        return follow_run(sim, arguments->follow_seeds, arguments->seeds.tap);
    if (arguments->pair_seeds > 0)
        return pairs_run(arguments->pair_seeds, arguments->seeds.tap);
    if (arguments->search.trials > 0 || arguments->search.seconds > 0) {
        arguments->search.from = arguments->seeds.from;
        arguments->search.tap = arguments->seeds.tap;
        return search_run(&arguments->search);
    }
    if (arguments->woven)
        return woven_run(arguments->seeds.tap);
    if (arguments->one)
        return seeds_run_one(sim, &arguments->seeds);
    if (arguments->seeds.count > 0 || arguments->seeds.seconds > 0)
        return seeds_run_many(sim, &arguments->seeds);
    return usage(arguments->seeds.program);
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.seeds = {.program = argv[0], .from = 1, .jobs = 1}};
    for (int i = 1; i < argc; i++) {
        if (flag(&arguments, argv[i]))
            continue;
        if (i + 1 == argc || !option(&arguments, argv[i], argv[i + 1]))
            return usage(argv[0]);
        i++;
    }
    /* Nodes come and go by the thousand: large memory comes zeroed from the system, page by page as it is touched. */
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    struct sim *sim = calloc(1, sizeof *sim);
    if (sim == NULL) {
        perror("sim");
        return EX_OSERR;
    }
    int status = run(sim, &arguments);
    free(sim);
    return status;
}

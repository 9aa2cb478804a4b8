/*
 * Tries every story of the model, breadth first, so that a broken law comes with a shortest story.
 *
 *   model [--starts COUNT] [--states MAX]
 *
 * Prints TAP: the protocol keeps the laws with weights of each kind, in stories with at most COUNT starts and
 * returns (1); and each rule that is left out breaks one. Peers of the same weight are alike: of worlds that differ by
 * their names only, one is tried. Each world takes 29 bytes, of MAX at most.
 */
#include "tests/model/takeover.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum {
    STORY_MAX = 64,
    ORDERS = 6,
    PEER_BITS = 9,
    LINK_BITS = 10,
    STARTS_MAX = 4,
    INCARNATION_MAX = 3,
    HEALING_STARTS = 16
};

struct packed {
    uint64_t word[2];
};

struct search {
    struct rules rules;
    uint64_t states_max, count, table_size;
    struct packed *seen;
    uint32_t *from, *table;
    uint8_t *step;
};

static const uint8_t orders[ORDERS][PEERS] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* ---- a world as 128 bits ---- */

static void put(struct packed *packed, unsigned *at, unsigned bits, unsigned value)
{
    if (*at < 64 && *at + bits > 64)
        *at = 64;
    packed->word[*at / 64] |= (uint64_t)value << (*at % 64);
    *at += bits;
}

static unsigned get(const struct packed *packed, unsigned *at, unsigned bits)
{
    if (*at < 64 && *at + bits > 64)
        *at = 64;
    unsigned value = (unsigned)(packed->word[*at / 64] >> (*at % 64)) & ((1u << bits) - 1);
    *at += bits;
    return value;
}

/* Slot i of the packed world has peer order[i]. */
static struct packed pack(const struct world *w, const uint8_t order[PEERS])
{
    struct packed packed = {{0, 0}};
    unsigned at = 0;
    for (unsigned i = 0; i < PEERS; i++) {
        const struct peer *a = &w->peer[order[i]];
        put(&packed, &at, PEER_BITS,
            (unsigned)a->state | a->incarnation << 2 | (unsigned)a->lapsed << 4 | (unsigned)a->renews << 5 |
                (unsigned)a->has_table << 6 | (unsigned)a->forgot << 7 | (unsigned)a->has_state << 8);
        for (unsigned j = 0; j < PEERS; j++) {
            const struct link *l = &a->of[order[j]];
            if (i != j)
                put(&packed, &at, LINK_BITS,
                    l->incarnation | (unsigned)l->gone << 2 | (unsigned)l->saying << 3 | (unsigned)l->lease << 5 |
                        (unsigned)l->word << 6 | (unsigned)l->lacks << 7 | (unsigned)l->unchanged << 8 |
                        (unsigned)l->agreed << 9);
        }
    }
    return packed;
}

static struct world unpack(const struct packed *packed)
{
    struct world w = {0};
    unsigned at = 0;
    for (unsigned p = 0; p < PEERS; p++) {
        unsigned v = get(packed, &at, PEER_BITS);
        struct peer *a = &w.peer[p];
        *a = (struct peer){.state = (enum state)(v & 3),
                           .incarnation = v >> 2 & 3,
                           .lapsed = v >> 4 & 1,
                           .renews = v >> 5 & 1,
                           .has_table = v >> 6 & 1,
                           .forgot = v >> 7 & 1,
                           .has_state = v >> 8 & 1};
        for (unsigned q = 0; q < PEERS; q++) {
            if (p == q)
                continue;
            v = get(packed, &at, LINK_BITS);
            a->of[q] = (struct link){.incarnation = v & 3,
                                     .gone = v >> 2 & 1,
                                     .saying = (enum saying)(v >> 3 & 3),
                                     .lease = v >> 5 & 1,
                                     .word = v >> 6 & 1,
                                     .lacks = v >> 7 & 1,
                                     .unchanged = v >> 8 & 1,
                                     .agreed = v >> 9 & 1};
        }
    }
    return w;
}

static bool keeps_weights(const struct rules *rules, const uint8_t order[PEERS])
{
    for (unsigned i = 0; i < PEERS; i++)
        if (rules->weight[i] != rules->weight[order[i]])
            return false;
    return true;
}

/* The least of all packed worlds that differ by names; *best is its order. */
static struct packed pack_least(const struct rules *rules, const struct world *w, unsigned *best)
{
    struct packed least = pack(w, orders[0]);
    *best = 0;
    for (unsigned o = 1; o < ORDERS; o++) {
        if (!keeps_weights(rules, orders[o]))
            continue;
        struct packed packed = pack(w, orders[o]);
        if (memcmp(&packed, &least, sizeof packed) < 0) {
            least = packed;
            *best = o;
        }
    }
    return least;
}

/* ---- the search ---- */

static bool add(struct search *s, const struct world *w, uint32_t from, unsigned step)
{
    unsigned order;
    struct packed packed = pack_least(&s->rules, w, &order);
    uint64_t hash = (packed.word[0] ^ packed.word[1] * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
    uint64_t at = (hash ^ hash >> 32) % s->table_size;
    for (; s->table[at] != 0; at = (at + 1) % s->table_size)
        if (memcmp(&s->seen[s->table[at] - 1], &packed, sizeof packed) == 0)
            return false;
    s->table[at] = (uint32_t)s->count + 1;
    s->seen[s->count] = packed;
    s->from[s->count] = from;
    s->step[s->count++] = (uint8_t)step;
    return true;
}

/* Takes the steps once more: peers of the same weight change their places on the way. */
static void tell_story(const struct search *s, const char *law)
{
    unsigned steps[STORY_MAX], count = 0, order;
    char names[PEERS] = {'a', 'b', 'c'};
    for (uint64_t at = s->count - 1; at > 0 && count < STORY_MAX; at = s->from[at])
        steps[count++] = s->step[at];
    printf("# with weights %u %u %u broken: %s\n", s->rules.weight[0], s->rules.weight[1], s->rules.weight[2], law);
    struct world w = unpack(&s->seen[0]);
    while (count > 0) {
        unsigned step = steps[--count];
        char before[PEERS];
        takeover_print_step(step, names);
        (void)takeover_step(&s->rules, &w, step);
        struct packed packed = pack_least(&s->rules, &w, &order);
        memcpy(before, names, sizeof names);
        for (unsigned i = 0; i < PEERS; i++)
            names[i] = before[orders[order][i]];
        w = unpack(&packed);
    }
}

enum result { KEPT, BROKEN, TOO_MANY };

static enum result run(struct search *s, bool tells)
{
    struct world w = takeover_beginning();
    s->count = 0;
    memset(s->table, 0, s->table_size * sizeof *s->table);
    (void)add(s, &w, 0, 0);
    for (uint64_t at = 0; at < s->count; at++) {
        const struct world before = unpack(&s->seen[at]);
        for (unsigned step = 0; step < STEPS; step++) {
            w = before;
            if (!takeover_step(&s->rules, &w, step))
                continue;
            if (s->count == s->states_max)
                return TOO_MANY;
            if (!add(s, &w, (uint32_t)at, step))
                continue;
            const char *law = takeover_broken_law(&w);
            if (law && tells)
                tell_story(s, law);
            if (law)
                return BROKEN;
        }
    }
    return KEPT;
}

static bool search_init(struct search *s, uint64_t states_max)
{
    s->states_max = states_max;
    s->table_size = states_max * 2 + 1;
    s->seen = calloc(states_max, sizeof *s->seen);
    s->from = calloc(states_max, sizeof *s->from);
    s->step = calloc(states_max, sizeof *s->step);
    s->table = calloc(s->table_size, sizeof *s->table);
    return s->seen && s->from && s->step && s->table;
}

static void search_close(struct search *s)
{
    free(s->seen);
    free(s->from);
    free(s->step);
    free(s->table);
}

#define PLANT_TEXT(name, starts, text, what) {starts, text, what},
static const struct {
    unsigned starts; /* see PLANTS_LIST */
    const char *name, *what;
} plants[PLANTS] = {PLANTS_LIST(PLANT_TEXT)};
static const unsigned weights[][PEERS] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}};

/* Returns 1 if a law is broken, or if there are too many worlds to know. */
static unsigned keep_laws(struct search *s, const unsigned weight[PEERS], unsigned starts, unsigned number)
{
    s->rules = (struct rules){.plant = PLANT_NONE, .starts_max = starts, .incarnation_max = INCARNATION_MAX};
    memcpy(s->rules.weight, weight, sizeof s->rules.weight);
    enum result result = run(s, true);
    printf("%sok %u - weights %u %u %u, at most %u starts and returns: laws are kept in %" PRIu64 " worlds%s\n",
           result == KEPT ? "" : "not ", number, weight[0], weight[1], weight[2], starts, s->count,
           result == TOO_MANY ? ", and there are more" : "");
    (void)fflush(stdout);
    return result != KEPT;
}

/* Returns 1 if some world that run() has left does not heal. */
static unsigned heal_all(struct search *s, unsigned number)
{
    struct rules rules = s->rules;
    uint64_t stuck = 0, first = 0;
    rules.starts_max = rules.incarnation_max = HEALING_STARTS;
    for (uint64_t at = s->count; at-- > 0;)
        if (!takeover_heals(&rules, unpack(&s->seen[at]))) {
            stuck++;
            first = at;
        }
    if (stuck > 0) {
        s->count = first + 1;
        tell_story(s, "it does not heal after that");
    }
    printf("%sok %u - weights %u %u %u: when faults are over all act again%s\n", stuck == 0 ? "" : "not ", number,
           rules.weight[0], rules.weight[1], rules.weight[2], stuck == 0 ? "" : ", but in some worlds");
    if (stuck > 0)
        printf("# %" PRIu64 " worlds do not heal\n", stuck);
    (void)fflush(stdout);
    return stuck > 0;
}

/* Returns 1 if no law is broken. */
static unsigned break_law(struct search *s, enum plant plant, unsigned number)
{
    s->rules = (struct rules){.plant = plant,
                              .weight = {1, 1, 1},
                              .starts_max = plants[plant].starts,
                              .incarnation_max = INCARNATION_MAX};
    enum result result = run(s, true);
    printf("%sok %u - %s: %s: breaks a law, found in %" PRIu64 " worlds\n", result == BROKEN ? "" : "not ", number,
           plants[plant].name, plants[plant].what, s->count);
    (void)fflush(stdout);
    return result != BROKEN;
}

int main(int argc, char **argv)
{
    uint64_t starts = 1, states_max = UINT64_C(20000000);
    unsigned tests = 0, failed = 0;
    for (int i = 1; i < argc; i += 2) {
        bool of_starts = strcmp(argv[i], "--starts") == 0;
        if (i + 1 == argc || (!of_starts && strcmp(argv[i], "--states") != 0)) {
            (void)fprintf(stderr, "usage: %s [--starts COUNT] [--states MAX]\n", argv[0]);
            return EX_USAGE;
        }
        *(of_starts ? &starts : &states_max) = strtoull(argv[i + 1], NULL, 10);
    }
    struct search s = {.count = 0};
    if (states_max == 0 || states_max >= UINT32_MAX || starts > STARTS_MAX || !search_init(&s, states_max)) {
        (void)fprintf(stderr, "%s: there is no room for so many\n", argv[0]);
        return EX_USAGE;
    }
    for (unsigned i = 0; i < sizeof weights / sizeof weights[0]; i++) {
        failed += keep_laws(&s, weights[i], (unsigned)starts, ++tests);
        failed += heal_all(&s, ++tests);
    }
    for (unsigned plant = 1; plant < PLANTS; plant++)
        if (plants[plant].starts <= starts)
            failed += break_law(&s, (enum plant)plant, ++tests);
    printf("1..%u\n", tests);
    search_close(&s);
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

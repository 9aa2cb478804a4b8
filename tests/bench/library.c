/*
 * library: what a decision costs inside a program, next to what one would write by hand: a mutex and a hash map with
 * a bucket for each key.
 *
 * Nanoseconds a decision, keys of 20 bytes hashed and the time passed in: of 1,000 keys that the caches hold, and
 * of 10 M keys, drawn at random, one by one and in batches; and of two threads that ask side by side. All buckets
 * owe something all the time, so that nothing may be forgotten. All kinds alternate in rounds, and of each small
 * part of a round the fastest counts: whatever else the machine does slows parts down, never speeds them up. Then
 * memory: resident bytes for a key at 10 M keys, how long a table of that size takes to be there, and what more
 * keys than it was made for add to it.
 *
 * It is linked with libheadgate as programs are. Exit status 1 if a goal is missed.
 *
 *     library [--quick]      --quick: without the map of 10 M keys, which takes long to fill
 */
#include "headgate/limiter.h"

#include "base/random.h"
#include "tests/bench/far.h"
#include "tests/bench/measure.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum {
    KEY_BYTES = 20,
    SHORT_BYTES = 9, /* the last ones of a key */
    WARM_KEYS = 1000,
    KEYS = 10000000,
    MORE_KEYS = 3000000,
    WARM_REQUESTS = 1 << 16,
    REQUESTS = 1 << 20, /* so many that before one is repeated the caches have forgotten it */
    BATCH = 16,
    PARTS = 32, /* a part takes less time than a processor is lent for */
    ROUNDS = 8,
    QUICK_ROUNDS = 4,
    THREADS = 2,
};
#define CAPACITY 1000000u
#define MINUTE_NS 60000000000ull
#define START_NS 1000000000000ull
#define STEP_NS 50 /* from one request to the next, on the clock that is passed in */

static void *room_for(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        give_up("not enough memory");
    return memory;
}

static uint64_t resident_bytes(void)
{
    char line[100], *resident;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || !fgets(line, sizeof line, file) || !(resident = strchr(line, ' ')))
        give_up("/proc/self/statm cannot be read");
    (void)fclose(file);
    return strtoull(resident, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

struct key {
    char text[KEY_BYTES + 1];
};

static void write_key(struct key *key, uint64_t number)
{
    memcpy(key->text, "user-000000000000000", KEY_BYTES + 1);
    for (char *digit = key->text + KEY_BYTES - 1; number > 0; number /= 10)
        *digit-- = (char)('0' + number % 10);
}

/* ---- by hand: open addressing, linear probing, doubled at a load of 3/4; a lock around each request ---- */

struct slot {
    struct key key; /* empty: a free slot */
    double tokens;
    uint64_t last_ns;
};

struct map {
    pthread_mutex_t lock;
    struct slot *slot;
    uint64_t count, mask;
};

static uint64_t hash_of(const char *key) /* FNV-1a, and a last mix for its low bits */
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *key != 0; key++)
        hash = (hash ^ (uint8_t)*key) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

static struct slot *slot_of(const struct map *map, const char *key)
{
    uint64_t at = hash_of(key) & map->mask;
    while (map->slot[at].key.text[0] != 0 && strcmp(map->slot[at].key.text, key) != 0)
        at = (at + 1) & map->mask;
    return &map->slot[at];
}

static void map_grow(struct map *map)
{
    struct slot *old = map->slot;
    uint64_t old_slots = map->slot ? map->mask + 1 : 0;
    map->mask = map->slot ? 2 * map->mask + 1 : 1023;
    map->slot = room_for(map->mask + 1, sizeof *map->slot);
    for (uint64_t i = 0; i < old_slots; i++)
        if (old[i].key.text[0] != 0)
            *slot_of(map, old[i].key.text) = old[i];
    free(old);
}

static bool map_can_access(struct map *map, const char *key, uint64_t now_ns)
{
    (void)pthread_mutex_lock(&map->lock);
    if (4 * (map->count + 1) > 3 * (map->mask + 1) || !map->slot)
        map_grow(map);
    struct slot *slot = slot_of(map, key);
    if (slot->key.text[0] == 0) {
        (void)snprintf(slot->key.text, sizeof slot->key.text, "%s", key);
        slot->tokens = CAPACITY;
        slot->last_ns = now_ns;
        map->count++;
    }
    if (now_ns > slot->last_ns) {
        slot->tokens += (double)(now_ns - slot->last_ns) * (1.0 / (double)MINUTE_NS);
        slot->tokens = slot->tokens < CAPACITY ? slot->tokens : CAPACITY;
        slot->last_ns = now_ns;
    }
    bool allowed = slot->tokens >= 1;
    slot->tokens -= allowed;
    (void)pthread_mutex_unlock(&map->lock);
    return allowed;
}

/* ---- what is measured ---- */

struct side {
    struct headgate_limiter *limiter;
    struct map map;
    struct key *requests;
    int count;
    size_t skip; /* so many bytes of each key are left out: only with the limiter, one by one */
};

enum kind { WARM_ONE, WARM_SHORT, WARM_MANY, WARM_MAP, BIG_ONE, BIG_MANY, BIG_MAP, KINDS };
static const char *const kind_names[KINDS] = {
    "1,000 keys, one by one", "1,000 keys of 9 bytes",   "1,000 keys, 16 at a time", "1,000 keys, mutex and map",
    "10 M keys, one by one",  "10 M keys, 16 at a time", "10 M keys, mutex and map",
};

struct cost {
    uint64_t part_ns[PARTS]; /* the fastest of each part */
};

static int ask_limiter(const struct side *side, int first, int count, uint64_t *now_ns)
{
    int allowed = 0;
    for (int i = first; i < first + count; i++)
        allowed += headgate_can_access(side->limiter, side->requests[i].text + side->skip, *now_ns += STEP_NS);
    return allowed;
}

/* At most BATCH keys; `batch` is all zeros, or what it was the last time. Returns how many were allowed. */
static inline size_t ask_batch(struct headgate_limiter *limiter, struct headgate_request *batch,
                               const struct key *keys, size_t count, uint64_t now_ns)
{
    bool verdicts[BATCH];
    for (size_t k = 0; k < count; k++) {
        batch[k].value = keys[k].text;
        batch[k].value_size = KEY_BYTES;
    }
    return headgate_check_many(limiter, batch, count, now_ns, verdicts);
}

/* In batches, all of one at the same time. */
static int ask_limiter_many(const struct side *side, int first, int count, uint64_t *now_ns)
{
    struct headgate_request batch[BATCH];
    size_t allowed = 0;
    memset(batch, 0, sizeof batch);
    for (int i = first; i < first + count; i += BATCH)
        allowed += ask_batch(side->limiter, batch, side->requests + i, BATCH, *now_ns += BATCH * STEP_NS);
    return (int)allowed;
}

static int ask_map(struct side *side, int first, int count, uint64_t *now_ns)
{
    int allowed = 0;
    for (int i = first; i < first + count; i++)
        allowed += map_can_access(&side->map, side->requests[i].text, *now_ns += STEP_NS);
    return allowed;
}

static void run(struct side *side, enum kind kind, struct cost *cost, uint64_t *now_ns)
{
    int count = side->count / PARTS, allowed = 0;
    for (int part = 0; part < PARTS; part++) {
        uint64_t began_ns = clock_ns();
        if (kind == WARM_MAP || kind == BIG_MAP)
            allowed += ask_map(side, part * count, count, now_ns);
        else if (kind == WARM_MANY || kind == BIG_MANY)
            allowed += ask_limiter_many(side, part * count, count, now_ns);
        else
            allowed += ask_limiter(side, part * count, count, now_ns);
        keep_least(&cost->part_ns[part], clock_ns() - began_ns);
    }
    if (allowed != count * PARTS)
        give_up("something was refused");
}

static double per_decision(const struct cost *cost, const struct side *side)
{
    uint64_t sum_ns = 0;
    for (int i = 0; i < PARTS; i++)
        sum_ns += cost->part_ns[i];
    return (double)sum_ns / side->count;
}

/* ---- several threads at one limiter, or at one map ---- */

struct asker {
    pthread_t thread;
    pthread_barrier_t *start;
    struct side *side;
    int first, count;
    bool map;
    uint64_t now_ns, began_ns, ended_ns;
};

static void *ask(void *context)
{
    struct asker *asker = context;
    (void)pthread_barrier_wait(asker->start);
    asker->began_ns = clock_ns();
    int allowed = asker->map ? ask_map(asker->side, asker->first, asker->count, &asker->now_ns)
                             : ask_limiter(asker->side, asker->first, asker->count, &asker->now_ns);
    asker->ended_ns = clock_ns();
    if (allowed != asker->count)
        give_up("something was refused");
    return NULL;
}

/* From the first that begins to the last that is done, by all that they decide: the fastest round so far. */
static void run_threads(struct side *side, bool map, uint64_t now_ns, double *fastest_ns)
{
    struct asker askers[THREADS];
    pthread_barrier_t start;
    uint64_t began_ns = UINT64_MAX, ended_ns = 0;
    (void)pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        int count = side->count / THREADS;
        askers[i] = (struct asker){.start = &start,
                                   .side = side,
                                   .first = i * count,
                                   .count = count,
                                   .map = map,
                                   .now_ns = now_ns};
        if (pthread_create(&askers[i].thread, NULL, ask, &askers[i]) != 0)
            give_up("no thread");
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(askers[i].thread, NULL);
        began_ns = askers[i].began_ns < began_ns ? askers[i].began_ns : began_ns;
        ended_ns = askers[i].ended_ns > ended_ns ? askers[i].ended_ns : ended_ns;
    }
    (void)pthread_barrier_destroy(&start);
    double took_ns = (double)(ended_ns - began_ns) / side->count;
    if (*fastest_ns == 0 || took_ns < *fastest_ns)
        *fastest_ns = took_ns;
}

/* ---- a limiter and a map with the same keys ---- */

static struct headgate_limiter *create(uint64_t keys)
{
    static const struct headgate_limit limit = {"bench", CAPACITY, 1, MINUTE_NS};
    const struct headgate_options options = {.limits = &limit,
                                             .limit_count = 1,
                                             .table_keys = keys,
                                             .secret = "bench",
                                             .secret_size = 5};
    char error[200];
    struct headgate_limiter *limiter = headgate_limiter_create(&options, error, sizeof error);
    if (!limiter)
        give_up(error);
    return limiter;
}

static void fill_limiter(struct headgate_limiter *limiter, uint64_t first, uint64_t count)
{
    struct headgate_request batch[BATCH];
    struct key keys[BATCH];
    memset(batch, 0, sizeof batch);
    for (uint64_t i = first; i < first + count; i += BATCH) {
        const size_t some = first + count - i < BATCH ? first + count - i : BATCH;
        for (size_t k = 0; k < some; k++)
            write_key(&keys[k], i + k);
        if (ask_batch(limiter, batch, keys, some, START_NS) != some && first == 0)
            give_up("something was refused");
    }
}

static void draw_requests(struct side *side, int count, uint64_t keys)
{
    struct random random;
    random_seed(&random, keys);
    side->count = count;
    side->requests = room_for((size_t)count, sizeof *side->requests);
    for (int i = 0; i < count; i++)
        write_key(&side->requests[i], random_below(&random, keys));
}

static void fill_map(struct map *map, uint64_t keys)
{
    struct key key;
    (void)pthread_mutex_init(&map->lock, NULL);
    for (uint64_t i = 0; i < keys; i++) {
        write_key(&key, i);
        (void)map_can_access(map, key.text, START_NS);
    }
}

static void close_side(struct side *side)
{
    headgate_limiter_destroy(&side->limiter);
    free(side->map.slot);
    free(side->requests);
}

/* ---- what is printed ---- */

/* Of the first `kinds` of all; ns: of each. */
static void show(struct side *const *sides, const struct cost *cost, int kinds, double *ns)
{
    printf("ns a decision, keys of %d bytes hashed\n", KEY_BYTES);
    for (int kind = 0; kind < kinds; kind++) {
        ns[kind] = per_decision(&cost[kind], sides[kind]);
        printf("  %-38s %8.1f\n", kind_names[kind], ns[kind]);
    }
    printf("  a mutex and a map take %.2f times as long with 1,000 keys", ns[WARM_MAP] / ns[WARM_ONE]);
    if (kinds > BIG_MAP)
        printf("; with 10 M %.2f times, %.2f next to batches", ns[BIG_MAP] / ns[BIG_ONE],
               ns[BIG_MAP] / ns[BIG_MANY]);
    printf("\n");
}

/* [true]: with the map. */
static void show_threads(const double *ns)
{
    printf("  %d threads, 1,000 keys, all their decisions: %.1f ns each, with a mutex and a map %.1f ns: %.2f "
           "times as long\n",
           THREADS, ns[false], ns[true], ns[true] / ns[false]);
}

static void show_far(const struct far *far)
{
    far_print(far);
    printf("; a decision among 10 M keys needs 2.5\n");
}

/* ---- goals ---- */

static bool goal(const char *what, double is, double most, const char *unit)
{
    printf("%s: %s: %.2f %s, at most %.4g\n", is <= most ? "kept" : "BROKEN", what, is, unit, most);
    return is <= most;
}

/* line_ns: a cache line from memory, where many are asked for side by side. */
static bool judge(const double *ns, double line_ns, double start_s, uint64_t filled_bytes, uint64_t more_bytes,
                  uint64_t said_bytes)
{
    bool kept = goal("a decision, 1,000 keys", ns[WARM_ONE] / ns[WARM_MAP], 0.8, "of a mutex and a map");
    kept &= goal("a decision, 10 M keys, 16 at a time", ns[BIG_MANY] / line_ns, 4.5, "cache lines from memory");
    kept &= goal("memory, 10 M keys", (double)filled_bytes / KEYS, 64, "bytes a key");
    kept &= goal("start with a table for 10 M keys", start_s, 1, "s");
    kept &= goal("memory, all that it ever takes", (double)(filled_bytes + more_bytes) / (double)said_bytes, 1.01,
                 "of its size");
    return kept;
}

int main(int argc, char **argv)
{
    const bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    const int rounds = quick ? QUICK_ROUNDS : ROUNDS, kinds = quick ? BIG_MAP : KINDS;
    static struct side warm, brief = {.skip = KEY_BYTES - SHORT_BYTES}, big;
    static struct side shared; /* by threads, in a table of the usual size */
    struct side *const sides[KINDS] = {&warm, &brief, &warm, &warm, &big, &big, &big};
    static struct cost cost[KINDS];
    static struct far far;
    struct random random;
    double threads_ns[2] = {0, 0};
    draw_requests(&warm, WARM_REQUESTS, WARM_KEYS);
    draw_requests(&brief, WARM_REQUESTS, WARM_KEYS);
    draw_requests(&big, REQUESTS, KEYS);
    draw_requests(&shared, WARM_REQUESTS, WARM_KEYS);
    warm.limiter = create(WARM_KEYS);
    brief.limiter = create(WARM_KEYS);
    shared.limiter = create(0);
    uint64_t resident = resident_bytes(), began_ns = clock_ns();
    big.limiter = create(KEYS);
    double start_s = (double)(clock_ns() - began_ns) / 1e9;
    fill_limiter(big.limiter, 0, KEYS);
    uint64_t filled = resident_bytes() - resident;
    fill_limiter(warm.limiter, 0, WARM_KEYS);
    fill_limiter(shared.limiter, 0, WARM_KEYS);
    fill_map(&shared.map, WARM_KEYS);
    fill_map(&warm.map, WARM_KEYS);
    if (!quick)
        fill_map(&big.map, KEYS);

    uint64_t now_ns = START_NS;
    far_open(&far);
    random_seed(&random, 1);
    for (int round = 0; round < rounds; round++) {
        for (int kind = 0; kind < kinds; kind++)
            run(sides[kind], (enum kind)kind, &cost[kind], &now_ns);
        far_read(&far, &random);
        run_threads(&shared, false, now_ns, &threads_ns[false]);
        run_threads(&shared, true, now_ns, &threads_ns[true]);
        now_ns += (uint64_t)WARM_REQUESTS * STEP_NS;
    }

    uint64_t before = resident_bytes();
    fill_limiter(big.limiter, KEYS, MORE_KEYS);
    uint64_t after = resident_bytes();
    struct headgate_limiter_stats stats;
    headgate_limiter_stats(big.limiter, &stats);

    double ns[KINDS];
    show(sides, cost, kinds, ns);
    show_threads(threads_ns);
    show_far(&far);
    printf("%d keys: %.1f MB resident; %d more: %+.1f MB, %llu of them at the expense of others\n", KEYS,
           (double)filled / 1e6, MORE_KEYS, (double)(after - before) / 1e6,
           (unsigned long long)stats.evicted_harmful_keys);
    bool kept = judge(ns, far_per_line(far.many_ns), start_s, filled, after - before, stats.bytes);
    far_close(&far);
    close_side(&warm);
    close_side(&brief);
    close_side(&big);
    close_side(&shared);
    return !kept;
}

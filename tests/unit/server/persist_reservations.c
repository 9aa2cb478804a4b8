#include "persist_reservations.h"

#include "tests/lib/tap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS ((uint64_t)1000000000)
#define NOW_NS (77 * SECOND_NS)

/* ---- a node that has two reservations, and one that takes what it is given ---- */

static struct node_reservation has[2], got[2];
static unsigned has_count, got_count;
static bool has_room;

bool node_keep_reservation(struct node *node, uint32_t *place, uint64_t now_ns, struct node_reservation *next)
{
    (void)node;
    if (now_ns != NOW_NS || *place >= has_count)
        return false;
    *next = has[(*place)++];
    return true;
}

bool node_recall_reservation(struct node *node, const struct node_reservation *former, uint64_t now_ns)
{
    (void)node;
    (void)now_ns;
    assert(got_count < 2);
    got[got_count++] = *former;
    return has_room;
}

/* ---- stories ---- */

static const struct hash_key key = {{1, 2}};
static const struct persist_moment then = {NOW_NS, 1800000000 * SECOND_NS};

static void begin(void)
{
    has_room = true;
    has_count = 2;
    memset(has, 0, sizeof has);
    has[0].kept = (struct reservation_kept){.id = {"one"}, .owner = {.tenant = 3, .holder = 77}, .count = 2};
    has[0].incarnation = has[1].incarnation = 1234;
    has[0].kept.expires_ns = NOW_NS + 60 * SECOND_NS;
    has[0].kept.charge[0] = (struct charge){.id = {1, 2},
                                            .previous = {3, 4},
                                            .cost = 20,
                                            .floor_tokens = 5,
                                            .expires_ns = NOW_NS + 100 * SECOND_NS,
                                            .window_end_ns = NOW_NS + 50 * SECOND_NS,
                                            .window_ns = 3600 * SECOND_NS,
                                            .granted = 4,
                                            .limit = 9,
                                            .tenant = 3,
                                            .inherit = 1,
                                            .on_isolation = 2,
                                            .central = 3,
                                            .sliding = true,
                                            .shadow = true,
                                            .patience_ms = 700,
                                            .counts = 12345};
    has[0].kept.charge[1] =
        (struct charge){.id = {5, 6}, .cost = 1, .lease = true, .spent_ns = NOW_NS - 7 * SECOND_NS};
    has[0].key[0] = (struct counter){.terms = {LIMIT_CELL, LIMIT_PERSISTENT, 160, 0, 0, 3, 8},
                                     .id = {1, 2},
                                     .number = 30,
                                     .expires_ns = NOW_NS + 100 * SECOND_NS};
    has[0].key[1] = (struct counter){.terms = {LIMIT_LOG, 0, 4, 0, 10 * SECOND_NS, 0, 0}, .id = {5, 6}};
    has[1].kept = (struct reservation_kept){.id = {"two"}, .expires_ns = NOW_NS - 1, .count = 1};
    has[1].kept.charge[0] = (struct charge){.id = {7, 8}, .cost = 9, .spent_ns = NOW_NS - 70 * SECOND_NS};
    has[1].key[0] = (struct counter){.terms = {LIMIT_BUCKET, 0, 100, 10, SECOND_NS, 0, 0},
                                     .id = {7, 8},
                                     .number = 5 * SECOND_NS};
}

static struct bytes keep(char **bytes)
{
    size_t size;
    const bool good = persist_keep_reservations(NULL, "ann", &key, &then, bytes, &size);
    assert(good);
    return (struct bytes){*bytes, size};
}

/* -1: of no use. */
static int recall(struct bytes bytes, uint64_t now_ns, uint64_t wall_ns)
{
    struct persist_recalled recalled;
    got_count = 0;
    if (!persist_recall_reservations(NULL, "ann", &key, &(struct persist_moment){now_ns, wall_ns}, bytes, &recalled))
        return -1;
    return (int)(10 * recalled.open + recalled.ended);
}

static void test_again(void)
{
    char *bytes;
    begin();
    struct bytes kept = keep(&bytes);
    const uint64_t away_ns = 3 * SECOND_NS, now_ns = 20 * SECOND_NS;
    OK_I64(recall(kept, now_ns, then.wall_ns + away_ns), 20, "two come back");
    const struct charge *window = &got[0].kept.charge[0], *slot = &got[0].kept.charge[1];
    OK(memcmp(&got[0].kept.id, &has[0].kept.id, sizeof got[0].kept.id) == 0 && got[0].kept.count == 2 &&
           got[0].kept.owner.holder == 77 && got[0].kept.expires_ns == now_ns + 57 * SECOND_NS,
       "the first one has its id, and ends when it would have");
    struct charge same = has[0].kept.charge[0];
    same.limit = same.tenant = 0;
    same.expires_ns = now_ns + 97 * SECOND_NS;
    same.window_end_ns = now_ns + 47 * SECOND_NS;
    OK(memcmp(window, &same, sizeof same) == 0, "a charge is what it was, by another clock");
    OK(slot->lease && slot->cost == 1 && slot->expires_ns == 0 && slot->spent_ns == now_ns - 10 * SECOND_NS,
       "the other one as well, and is older");
    OK(limit_terms_equal(&got[0].key[0].terms, &has[0].key[0].terms) && got[0].key[0].number == 30 &&
           got[0].key[0].expires_ns == now_ns + 97 * SECOND_NS && key_id_equal(got[0].key[0].id, window->id),
       "and so is its key");
    OK(got[0].incarnation == 1234 && got[1].incarnation == 1234, "both know which start held them");
    OK(got[1].key[0].number == 2 * SECOND_NS, "a bucket has refilled meanwhile");
    OK(got[1].kept.expires_ns == now_ns - 1 - away_ns && got[1].kept.charge[0].spent_ns == 1,
       "a time before this clock began is its first one");
    OK(recall(kept, now_ns, then.wall_ns - 900 * SECOND_NS) == 20 &&
           got[0].kept.expires_ns == now_ns + 60 * SECOND_NS && got[1].key[0].number == 5 * SECOND_NS,
       "where the wall clock was set back, no time has passed");
    OK(recall(kept, now_ns, UINT64_MAX) == 20 && got[0].kept.expires_ns == 1 && got[1].key[0].number == 0,
       "long after, all is over");
    has_room = false;
    OK_I64(recall(kept, now_ns, then.wall_ns), 2, "without room they have ended");
    free(bytes);
}

static void test_damage(void)
{
    char *bytes;
    begin();
    struct bytes kept = keep(&bytes);
    unsigned seen = 0;
    for (size_t i = 0; i < kept.size; i++) {
        bytes[i] ^= 4;
        seen += recall(kept, NOW_NS, then.wall_ns) == -1 && got_count == 0;
        bytes[i] ^= 4;
    }
    OK_U64(seen, kept.size, "a byte that is damaged is seen, and nothing comes back");
    unsigned cut = 0;
    for (size_t size = 0; size < kept.size; size++)
        cut += recall((struct bytes){bytes, size}, NOW_NS, then.wall_ns) == -1;
    OK_U64(cut, kept.size, "what is cut off is of no use");
    struct persist_recalled recalled;
    const struct hash_key other = {{1, 3}};
    OK(!persist_recall_reservations(NULL, "ann", &other, &then, kept, &recalled) && recalled.name[0] == '\0',
       "nor what has another seed");
    got_count = 0;
    OK(!persist_recall_reservations(NULL, "bob", &key, &then, kept, &recalled) && got_count == 0,
       "nor what another daemon has written");
    OK_STRING(recalled.name, "ann", "which is named");
    free(bytes);
    has_count = 0;
    kept = keep(&bytes);
    OK(kept.size == 0 && bytes == NULL, "where no reservation is open, nothing is to be kept");
}

static void test_many(void)
{
    static struct node_reservation one;
    char *bytes;
    begin();
    one = has[0];
    has[0].kept.count = has[1].kept.count = CHARGES_MAX;
    for (size_t i = 0; i < CHARGES_MAX; i++) {
        has[0].kept.charge[i] = one.kept.charge[0];
        has[0].key[i] = one.key[0];
    }
    has[1] = has[0];
    struct bytes kept = keep(&bytes);
    OK(recall(kept, NOW_NS, then.wall_ns) == 20 && got[1].kept.count == CHARGES_MAX,
       "with all charges that there may be");
    free(bytes);
}

int main(void)
{
    test_again();
    test_damage();
    test_many();
    return tap_done();
}

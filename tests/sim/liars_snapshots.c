/*
 * One bad member gives its snapshots otherwise than it has them: other figures, parts with fewer keys or with keys that
 * nobody has asked for, more than what has been evicted, batches that the figures do not have or that nobody has made,
 * starts of others that have ended, halves of a part without end, or nothing. In most worlds it keeps to one of these
 * lies; in the others each part has another one. It lies to starts and to those that catch up, but to these not so that
 * there is more left.
 */
#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"
#include "tests/sim/modes.h"

#include <assert.h>
#include <stdlib.h>

enum { LIAR = 0, GROUPS_MAX = 256, FAR = 1000000, NEAR = 4, WORLDS = 16, MIXED = 4, TRUE_PARTS = 3 };

enum lie {
    MORE_LEFT,
    LESS_LEFT,
    LEFT_OUT,
    MADE_UP_KEYS,
    MORE_EVICTED,
    NOTHING_EVICTED,
    AHEAD,     /* it has what is made next, of everybody */
    FAR_AHEAD, /* or later */
    BEHIND,    /* it lacks what its figures have */
    BEYOND,
    RETIRED, /* others have ended */
    STATES,  /* others have left, or join */
    SPLIT,   /* the part is too large, however small */
    ELSEWHERE,
    MUTE,
    LIES
};

/* A message that is being told otherwise. */
struct told {
    struct message message;
    struct limit limit[GROUPS_MAX];
    uint32_t group_count;
    struct spend *number;
    uint32_t count, room;
};

bool liars_lie_in_snapshots(const struct sim *sim)
{
    return sim->plan.lies && sim->plan.seed / WORLDS % 2 == 0;
}

static uint64_t drawn(struct sim *sim, uint64_t below)
{
    return random_below(&sim->donor_random, below);
}

/* Who catches up has what it lacks from one donor, and more than that one says that there is: docs/threats.md. */
static bool needs_a_start(enum lie lie)
{
    return lie == MORE_LEFT || lie == LEFT_OUT || lie == MADE_UP_KEYS || lie == NOTHING_EVICTED;
}

static enum lie draw_lie(struct sim *sim, unsigned to)
{
    const uint64_t world = sim->plan.seed / WORLDS / 2;
    const enum lie drawn_lie = (enum lie)drawn(sim, LIES);
    const enum lie lie = world % MIXED == 0 ? drawn_lie : (enum lie)(world % LIES);
    return needs_a_start(lie) && !sim->node[to].was_joining ? LESS_LEFT : lie;
}

/* False: nothing that can be told anew. */
static bool read_numbers(struct told *told)
{
    struct number_reader reader;
    struct number_record record;
    struct error error;
    told->group_count = told->count = 0;
    if (!message_page(&told->message, &reader))
        return false;
    while (number_next(&reader, &record)) {
        if (record.group >= GROUPS_MAX || !limit_init(&told->limit[record.group], &record.terms, &error))
            return false;
        if (told->count == told->room) {
            told->room = told->room ? 2 * told->room : 64;
            told->number = realloc(told->number, told->room * sizeof *told->number);
            assert(told->number && "out of memory");
        }
        told->number[told->count++] = (struct spend){.id = record.id,
                                                     .tokens = record.number,
                                                     .expires_ns = record.live_ns,
                                                     .limit = (uint16_t)record.group};
        told->group_count = record.group + 1;
    }
    return true;
}

static void tell_figures(struct sim *sim, struct told *told, enum lie lie)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < told->count; i++) {
        struct spend *number = &told->number[i];
        if (lie == MORE_LEFT)
            number->tokens = drawn(sim, number->tokens + 1);
        else if (lie == LESS_LEFT)
            number->tokens += drawn(sim, 2 * number->tokens + 2);
        else if (lie == MADE_UP_KEYS)
            number->id.low ^= drawn(sim, FAR);
        if (lie != LEFT_OUT || drawn(sim, 2) == 0)
            told->number[kept++] = *number;
    }
    told->count = kept;
}

/* What the figures have of each other maker, as the donor says: about its own spends it lies to its own harm. */
static void tell_digest(struct sim *sim, struct message *message, enum lie lie)
{
    for (uint32_t r = 0; r < message->row_count; r++)
        for (uint32_t o = 0; o < message->origin_count && message->rows[r].member == message->sender; o++) {
            uint64_t *applied = &message->rows[r].applied[o];
            if (message->origins[o].member == message->sender)
                continue;
            if (lie == BEHIND)
                *applied -= drawn(sim, (*applied < NEAR ? *applied : NEAR) + 1);
            else
                *applied += 1 + drawn(sim, lie == FAR_AHEAD ? FAR : NEAR);
        }
}

static void tell_members(struct sim *sim, struct message *message, enum lie lie)
{
    for (uint32_t i = 0; i < message->member_count; i++) {
        struct member_record *record = &message->members[i];
        if (i == message->sender)
            continue;
        if (lie == RETIRED)
            record->retired_incarnation = record->incarnation + drawn(sim, 2) * drawn(sim, FAR);
        else
            record->state = drawn(sim, 2) == 0 ? PEER_LEFT : PEER_JOINING;
    }
}

static void tell(struct sim *sim, struct told *told, enum lie lie)
{
    struct message *message = &told->message;
    switch (lie) {
    case MORE_LEFT:
    case LESS_LEFT:
    case LEFT_OUT:
    case MADE_UP_KEYS:
        tell_figures(sim, told, lie);
        break;
    case MORE_EVICTED:
        message->page_owed.refill_ns += drawn(sim, UINT64_C(60000000000));
        message->page_owed.window_ns += drawn(sim, UINT64_C(60000000000));
        message->page_owed.window_used += drawn(sim, TABLE_USED_ONE);
        break;
    case NOTHING_EVICTED:
        message->page_owed = (struct table_owed){0};
        break;
    case AHEAD:
    case FAR_AHEAD:
    case BEHIND:
        tell_digest(sim, message, lie);
        break;
    case BEYOND:
        for (uint32_t o = 0; o < message->origin_count; o++)
            message->page_beyond[o] += 1 + drawn(sim, FAR);
        break;
    case RETIRED:
    case STATES:
        tell_members(sim, message, lie);
        break;
    case SPLIT:
        message->page_split = true;
        told->count = 0;
        break;
    case ELSEWHERE:
        message->page_prefix ^= message->page_bits > 0;
        break;
    case MUTE:
    case LIES:
        break;
    }
}

static struct bytes write(struct sim *sim, struct told *told, const struct hash_key *key)
{
    struct message *message = &told->message;
    const struct limit_set limits = {.count = told->group_count, .room = GROUPS_MAX, .limit = told->limit};
    const struct page_content page = {.prefix = message->page_prefix,
                                      .bits = message->page_bits,
                                      .split = message->page_split,
                                      .owed = message->page_owed,
                                      .numbers = told->number,
                                      .number_count = told->count,
                                      .beyond = message->page_beyond,
                                      .beyond_count = message->origin_count};
    struct message_writer writer;
    effects_clear(&sim->lie);
    message_begin(&writer, &sim->lie, message);
    message_begin_batches(&writer, 0);
    message_end_with_page(&writer, &page, &limits, 0);
    message_seal(&sim->lie, writer.start, key);
    return (struct bytes){(const char *)sim->lie.arena, sim->lie.arena_size};
}

struct bytes liars_reply(struct sim *sim, const struct happening *happening, struct bytes bytes)
{
    static struct told told;
    struct envelope envelope;
    struct hash_key key;
    struct bytes opened = bytes, said = bytes;
    if (!liars_lie_in_snapshots(sim) || happening->from != LIAR || drawn(sim, TRUE_PARTS) == 0)
        return bytes;
    hash_key_from_secret(&key, "secret", 6);
    if (!message_unseal(&opened, &key) || envelope_open(&envelope, opened) != ENVELOPE_OPEN)
        return bytes;
    if (envelope.kind == MESSAGE_REPLY && message_read(&told.message, &envelope) && told.message.has_page &&
        read_numbers(&told)) {
        const enum lie lie = draw_lie(sim, happening->node);
        tell(sim, &told, lie);
        sim->lied_low = true;
        sim->lied_ahead |= lie == AHEAD || lie == FAR_AHEAD;
        sim->node[happening->node].lied_to = true;
        said = lie == MUTE ? (struct bytes){0} : write(sim, &told, &key);
    }
    envelope_close(&envelope);
    return said;
}

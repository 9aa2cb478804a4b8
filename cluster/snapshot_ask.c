#include "cluster/effects.h"
#include "cluster/parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * Which parts of the donor's table are still to be asked for. A part that holds more than one answer does is split into
 * halves; ids are hashes, so once one part was small enough, all others are asked for in parts of that size. Several
 * are asked for at the same time, since they are small and the donor may be far away.
 */
enum {
    ASK_AGAIN_INTERVALS = 4,
    GIVE_UP_INTERVALS = 40,
    SNAPSHOT_GAP_INTERVALS = 2,
    BEHIND_INTERVALS = 10,      /* then what is missing will not come as batches */
    BEHIND_GHOST_INTERVALS = 4, /* the same where who made them is gone */
    PAGES_MIN = 2 * SNAPSHOT_PREFIX_BITS_MAX,
};

int snapshot_donor(const struct node *node)
{
    int best = -1;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!member_needed(member) || member->state != PEER_ACTIVE || member->silent || member->mute_in ||
            member->number == 0)
            continue;
        if (best < 0 || member->heard_direct_ns > node->member[best].heard_direct_ns)
            best = (int)i;
    }
    return best;
}

/*
 * What its parts contain is charged here, and stays so: they are kept, unless those of the next one found no place
 * then. Without them, what they contain is charged once more when it comes as batches.
 */
void snapshot_abandon(struct node *node)
{
    struct snapshot *snapshot = &node->snapshot;
    snapshot->running = false;
    snapshot->done = false;
    if (snapshot->page_count > PAGES_MAX / 2)
        snapshot->page_count = 0;
    snapshot_forget_pages(node);
}

void snapshot_start(struct node *node, uint32_t donor, bool of_store)
{
    struct snapshot *snapshot = &node->snapshot;
    snapshot->running = true;
    snapshot->done = false;
    snapshot->donor = donor;
    snapshot->of_store = of_store;
    snapshot->donor_incarnation = node->member[donor].incarnation;
    snapshot->donor_knows_stores = node->member[donor].knows_stores;
    snapshot->started_ns = node->now_ns;
    memset(snapshot->retired, 0xff, sizeof snapshot->retired);
    snapshot->asked_count = 0;
    snapshot->depth = 0;
    snapshot->todo_count = 1;
    snapshot->todo[0] = (struct part){0};
}

static void ask_for(struct node *node, struct part *part, struct effects *effects)
{
    struct message_writer writer;
    gossip_header(node, MESSAGE_REQUEST);
    message_begin(&writer, effects, &node->header);
    message_begin_batches(&writer, 0);
    message_end_with_request(&writer, part->prefix, part->bits);
    emit_message(node, &writer, EFFECT_REQUEST, node->member[node->snapshot.donor].snapshot_address);
    part->asked_ns = node->now_ns;
}

static void split(struct snapshot *snapshot, const struct part *part)
{
    assert(snapshot->todo_count + 2 <= SNAPSHOT_TODO_MAX && part->bits < SNAPSHOT_PREFIX_BITS_MAX);
    for (uint32_t child = 2; child-- > 0;)
        snapshot->todo[snapshot->todo_count++] =
            (struct part){.prefix = 2 * part->prefix + child, .bits = part->bits + 1};
}

/* The first by prefix is asked for first. */
static struct part next_part(struct snapshot *snapshot)
{
    struct part part = snapshot->todo[--snapshot->todo_count];
    while (part.bits < snapshot->depth) {
        split(snapshot, &part);
        part = snapshot->todo[--snapshot->todo_count];
    }
    return part;
}

void snapshot_ask(struct node *node, struct effects *effects)
{
    struct snapshot *snapshot = &node->snapshot;
    const struct member *donor = &node->member[snapshot->donor];
    if (snapshot->todo_count == 0 && snapshot->asked_count == 0) {
        snapshot_finish(node, effects);
        return;
    }
    if (donor->state != (snapshot->of_store ? PEER_JOINING : PEER_ACTIVE) || donor->silent ||
        donor->incarnation != snapshot->donor_incarnation ||
        node->now_ns - snapshot->started_ns > GIVE_UP_INTERVALS * node->options.interval_ns) {
        snapshot_abandon(node);
        return;
    }
    for (uint32_t i = 0; i < snapshot->asked_count; i++) {
        struct part *part = &snapshot->asked[i];
        if (part->asked_ns == 0 || node->now_ns - part->asked_ns >= ASK_AGAIN_INTERVALS * node->options.interval_ns)
            ask_for(node, part, effects);
    }
    while (snapshot->todo_count > 0 && snapshot->asked_count < SNAPSHOT_ASKED_MAX) {
        struct part *part = &snapshot->asked[snapshot->asked_count++];
        *part = next_part(snapshot);
        ask_for(node, part, effects);
    }
}

struct part *snapshot_asked(struct snapshot *snapshot, uint64_t prefix, uint32_t bits)
{
    for (uint32_t i = 0; i < snapshot->asked_count; i++)
        if (snapshot->asked[i].prefix == prefix && snapshot->asked[i].bits == bits)
            return &snapshot->asked[i];
    return NULL;
}

void snapshot_answered(struct snapshot *snapshot, struct part *part, bool is_split)
{
    struct part answered = *part;
    *part = snapshot->asked[--snapshot->asked_count];
    if (is_split)
        split(snapshot, &answered);
    else if (snapshot->depth == 0)
        snapshot->depth = answered.bits;
}

/* ---- for what does not come any more ---- */

/* The active peer that has most of an origin, if that is more than we have; -1: nobody. */
static int most_informed(const struct node *node, uint32_t slot)
{
    int best = -1;
    uint64_t most = node->origin[slot].applied;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member_needed(member) && member->state == PEER_ACTIVE && !member->silent &&
            member->known[slot] > most) {
            best = (int)i;
            most = member->known[slot];
        }
    }
    return best;
}

/* Somebody to take a snapshot from because what it has does not come to us as batches any more; -1: not needed. */
static int donor_of_what_is_missing(struct node *node)
{
    int donor = -1;
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        struct origin *origin = &node->origin[slot];
        if (!origin->uid || slot == node->my_slot)
            continue;
        int informed = most_informed(node, slot);
        bool comes = origin->next_part > 0 || inbox_gathers(node, origin->uid);
        if (informed < 0 || comes || origin->behind_since_ns == 0 || origin->behind_at != origin->applied) {
            origin->behind_since_ns = informed < 0 ? 0 : node->now_ns;
            origin->behind_at = origin->applied;
            continue;
        }
        uint64_t intervals = origin_is_ghost(node, origin) ? BEHIND_GHOST_INTERVALS : BEHIND_INTERVALS;
        if (node->now_ns - origin->behind_since_ns > intervals * node->options.interval_ns)
            donor = informed;
    }
    return donor >= 0 || !node->snapshot_wanted ? donor : snapshot_donor(node);
}

/* Our oldest batch that it has not applied is old: it has not heard of us for long. */
static bool lacks_old_ones_of_ours(const struct node *node, const struct member *donor)
{
    const struct origin *mine = &node->origin[node->my_slot];
    for (struct list *at = mine->log.next; at != &mine->log; at = at->next) {
        const struct batch *batch = LIST_OWNER(at, const struct batch, link);
        if (batch->last > donor->known[node->my_slot])
            return node->now_ns - batch->at_ns > BEHIND_INTERVALS * node->options.interval_ns;
    }
    return false;
}

/*
 * After a cut both sides hear of each other at once. What the donor has not heard of ours would be charged in full
 * here, on top of what it says; it knows better how much of that refill has paid off (see aside.h). So it is given time
 * to hear.
 */
static bool donor_is_about_to_hear(struct node *node, uint32_t donor)
{
    struct snapshot *snapshot = &node->snapshot;
    if (!lacks_old_ones_of_ours(node, &node->member[donor])) {
        snapshot->awaits_since_ns = 0;
        return false;
    }
    if (snapshot->awaits_since_ns == 0)
        snapshot->awaits_since_ns = node->now_ns;
    return node->now_ns - snapshot->awaits_since_ns <= BEHIND_INTERVALS * node->options.interval_ns;
}

void snapshot_catch_up(struct node *node, struct effects *effects)
{
    const struct snapshot *snapshot = &node->snapshot;
    if (snapshot->running) {
        snapshot_ask(node, effects);
        return;
    }
    uint64_t gap_ns = SNAPSHOT_GAP_INTERVALS * node->options.interval_ns;
    int donor = donor_of_what_is_missing(node), source = donor < 0 ? stores_source(node) : -1;
    bool waits = donor >= 0 && donor_is_about_to_hear(node, (uint32_t)donor);
    if (donor < 0)
        donor = source >= 0 ? source : stores_active_source(node);
    if (donor < 0 || waits || (snapshot->started_ns && node->now_ns - snapshot->started_ns <= gap_ns))
        return;
    snapshot_start(node, (uint32_t)donor, source >= 0);
    snapshot_ask(node, effects);
}

/* ---- what the parts contained ---- */

static uint64_t page_start(const struct page *page)
{
    return page->bits == 0 ? 0 : page->prefix << (64 - page->bits);
}

/* Where a page that starts there stands, or would. */
static uint32_t page_index(const struct snapshot *snapshot, uint64_t start)
{
    uint32_t low = 0, high = snapshot->page_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (page_start(&snapshot->page[middle]) < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t page_last(const struct page *page)
{
    return page->bits == 0 ? UINT64_MAX : page_start(page) | UINT64_MAX >> page->bits;
}

bool snapshot_has_room(struct snapshot *snapshot)
{
    if (snapshot->page_count + 1 + SNAPSHOT_PREFIX_BITS_MAX <= snapshot->page_room)
        return true;
    uint32_t room = snapshot->page_room ? 2 * snapshot->page_room : PAGES_MIN;
    struct page *grown = room <= PAGES_MAX ? realloc(snapshot->page, room * sizeof *grown) : NULL;
    if (!grown)
        return false;
    snapshot->page = grown;
    snapshot->page_room = room;
    return true;
}

static void insert_page(struct snapshot *snapshot, uint32_t index, const struct page *page)
{
    assert(snapshot->page_count < snapshot->page_room);
    memmove(&snapshot->page[index + 1], &snapshot->page[index],
            (snapshot->page_count - index) * sizeof *snapshot->page);
    snapshot->page[index] = *page;
    snapshot->page_count++;
}

/* One that has the place of `page` in it is cut into halves, until one of them is no larger. Where that stands. */
static uint32_t cut_around(struct snapshot *snapshot, const struct page *page)
{
    uint32_t index = page_index(snapshot, page_start(page));
    if (index > 0 && page_last(&snapshot->page[index - 1]) >= page_start(page))
        index--;
    while (index < snapshot->page_count && snapshot->page[index].bits < page->bits &&
           page_start(&snapshot->page[index]) <= page_start(page)) {
        struct page half = snapshot->page[index];
        half.bits++;
        half.prefix *= 2;
        snapshot->page[index] = half;
        half.prefix++;
        insert_page(snapshot, index + 1, &half);
        index += page_start(&half) <= page_start(page);
    }
    return index;
}

void snapshot_add_page(struct snapshot *snapshot, const struct page *page)
{
    uint32_t from = cut_around(snapshot, page), to = from;
    struct page added = *page;
    for (; to < snapshot->page_count && page_start(&snapshot->page[to]) <= page_last(page); to++)
        for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++) /* what is lower is lower by what either contains */
            if (snapshot->page[to].beyond[slot] > added.beyond[slot])
                added.beyond[slot] = snapshot->page[to].beyond[slot];
    memmove(&snapshot->page[from], &snapshot->page[to], (snapshot->page_count - to) * sizeof *snapshot->page);
    snapshot->page_count -= to - from;
    insert_page(snapshot, from, &added);
}

uint32_t snapshot_beyond(const struct node *node, uint64_t prefix, uint32_t bits, uint64_t *beyond)
{
    const struct snapshot *snapshot = &node->snapshot;
    const struct page asked = {.prefix = prefix, .bits = bits};
    uint32_t count = 0;
    bool some = false;
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (!origin->uid)
            continue;
        beyond[count] = 0;
        for (uint32_t p = 0; p < snapshot->page_count; p++) {
            const struct page *page = &snapshot->page[p];
            if (page->beyond[slot] > origin->applied && page->beyond[slot] > beyond[count] &&
                page_start(page) <= page_last(&asked) && page_start(&asked) <= page_last(page))
                beyond[count] = page->beyond[slot];
        }
        some |= beyond[count++] > 0;
    }
    return some ? count : 0;
}

uint64_t snapshot_contains(const struct node *node, struct key_id id, uint32_t slot, uint64_t *beyond)
{
    const struct snapshot *snapshot = &node->snapshot;
    uint32_t behind = id.high == UINT64_MAX ? snapshot->page_count : page_index(snapshot, id.high + 1);
    *beyond = 0;
    if (behind == 0)
        return 0;
    const struct page *page = &snapshot->page[behind - 1];
    bool inside = page->bits == 0 || id.high >> (64 - page->bits) == page->prefix;
    *beyond = inside ? page->beyond[slot] : 0;
    return inside ? page->applied[slot] : 0;
}

/*
 * It stands for batches that have still to come. All that it has of an origin may be applied here by now, be it from
 * batches or since another snapshot was whole; of one that was retired none comes, nor does any of an own one.
 */
static bool page_matters(const struct node *node, const struct page *page)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (origin->uid && !origin->mine && page->beyond[slot] > origin->applied)
            return true;
    }
    return false;
}

void snapshot_forget_pages(struct node *node)
{
    struct snapshot *snapshot = &node->snapshot;
    uint32_t count = 0;
    if (snapshot->running || !snapshot->page)
        return;
    for (uint32_t p = 0; p < snapshot->page_count; p++) {
        if (!page_matters(node, &snapshot->page[p]))
            continue;
        if (count < p)
            snapshot->page[count] = snapshot->page[p];
        count++;
    }
    snapshot->page_count = count;
    if (count > 0)
        return;
    free(snapshot->page);
    snapshot->page = NULL;
    snapshot->page_room = 0;
}

void snapshot_check(const struct node *node)
{
    const struct snapshot *snapshot = &node->snapshot;
    for (uint32_t p = 0; p < snapshot->page_count; p++) {
        assert(p == 0 || page_last(&snapshot->page[p - 1]) < page_start(&snapshot->page[p]));
        assert(snapshot->running || page_matters(node, &snapshot->page[p]));
    }
}

#include "limit/reservation.h"

#include "limit/end_times.h"
#include "limit/held_keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * An id is 12 secret bytes and the slot's number, so that finding one is one comparison. Free slots and free
 * charges are chained through `next`; free slots also through `previous`, since a certain one may be wanted. Zeros are
 * a free slot, and a free charge, between their neighbours: what was never used was never written, and takes no memory.
 */
enum { SECRET_BYTES = 12, TENANTS = UINT16_MAX + 1 };

#define NOTHING UINT32_MAX

struct reservation {
    struct reservation_id id;
    uint32_t charge;         /* the first of its charges */
    uint32_t next, previous; /* of a free slot: how far from the slots beside it, see after() and before() */
    struct reservation_owner owner;
    bool is_former;
    struct renewal renewal;
};

struct kept_charge {
    struct charge charge;
    uint32_t next; /* how far from the charge behind it, see after() */
};

struct reservations {
    uint32_t room, charges_room, charges_free, free_slot, free_charge, former_count;
    struct reservation *slot;
    struct kept_charge *kept;
    uint32_t tenant_most, *tenant_count; /* of each tenant: what it has */
    uint32_t holder_most;
    struct held_keys *holders; /* of each holder: its reservations, as tokens of the key that holder_key makes */
    struct end_times *ends;    /* of slots: a slot without an end is free */
    struct held_keys *keys;
};

/* A link that is 0 leads to the neighbour. The last link of a chain leads to no place: to room or beyond it. */
static uint32_t after(uint32_t at, uint32_t link)
{
    return at + 1 + link;
}

static uint32_t link_after(uint32_t at, uint32_t next)
{
    return next - at - 1;
}

static uint32_t before(uint32_t at, uint32_t link)
{
    return at - 1 + link; /* the first one's is NOTHING */
}

static uint32_t link_before(uint32_t at, uint32_t previous)
{
    return previous - at + 1;
}

struct reservations *reservations_create(uint32_t room, uint32_t charges_room)
{
    assert(room > 0 && charges_room > 0 && room < NOTHING && charges_room < NOTHING);
    struct reservations *reservations = calloc(1, sizeof *reservations);
    if (!reservations)
        return NULL;
    reservations->slot = calloc(room, sizeof *reservations->slot);
    reservations->kept = calloc(charges_room, sizeof *reservations->kept);
    reservations->ends = end_times_create(room);
    reservations->keys = held_keys_create(charges_room);
    reservations->tenant_count = calloc(TENANTS, sizeof *reservations->tenant_count);
    reservations->holders = held_keys_create(room);
    reservations->tenant_most = reservations->holder_most = room;
    if (!reservations->tenant_count || !reservations->holders || !reservations->slot || !reservations->kept ||
        !reservations->ends || !reservations->keys) {
        reservations_destroy(&reservations);
        return NULL;
    }
    reservations->room = room;
    reservations->charges_room = reservations->charges_free = charges_room;
    return reservations;
}

void reservations_destroy(struct reservations **reservations)
{
    if (!*reservations)
        return;
    free((*reservations)->slot);
    free((*reservations)->kept);
    free((*reservations)->tenant_count);
    end_times_destroy(&(*reservations)->ends);
    held_keys_destroy(&(*reservations)->keys);
    held_keys_destroy(&(*reservations)->holders);
    free(*reservations);
    *reservations = NULL;
}

void reservations_bound_tenants(struct reservations *reservations, uint32_t most)
{
    reservations->tenant_most = most;
}

void reservations_bound_holders(struct reservations *reservations, uint32_t most)
{
    reservations->holder_most = most;
}

static struct key_id holder_key(uint64_t holder)
{
    return (struct key_id){holder, holder};
}

enum reservations_room reservations_room(const struct reservations *reservations, struct reservation_owner owner)
{
    if (reservations_count(reservations) == reservations->room)
        return RESERVATIONS_FULL;
    if (reservations->tenant_count[owner.tenant] >= reservations->tenant_most)
        return RESERVATIONS_TENANT_FULL;
    if (owner.holder != 0 &&
        held_keys_tokens(reservations->holders, holder_key(owner.holder)) >= reservations->holder_most)
        return RESERVATIONS_HOLDER_FULL;
    return RESERVATIONS_ROOM;
}

static bool is_free(const struct reservations *reservations, uint32_t slot)
{
    return !end_times_has(reservations->ends, slot);
}

/* NOTHING: the reservation does not exist. */
static uint32_t slot_of(const struct reservations *reservations, struct reservation_id id)
{
    uint32_t slot;
    memcpy(&slot, id.byte + SECRET_BYTES, sizeof slot);
    if (slot >= reservations->room || is_free(reservations, slot) ||
        memcmp(&reservations->slot[slot].id, &id, sizeof id) != 0)
        return NOTHING;
    return slot;
}

static uint32_t existing(const struct reservations *reservations, struct reservation_id id)
{
    uint32_t slot = slot_of(reservations, id);
    assert(slot != NOTHING);
    return slot;
}

/* What others granted of a charge is nobody's here to give back. */
static uint64_t own_cost(const struct charge *charge)
{
    return charge->cost - charge->granted;
}

static void take_slot(struct reservations *reservations, uint32_t slot)
{
    const struct reservation *taken = &reservations->slot[slot];
    const uint32_t next = after(slot, taken->next), previous = before(slot, taken->previous);
    if (previous == NOTHING)
        reservations->free_slot = next;
    else
        reservations->slot[previous].next = link_after(previous, next);
    if (next < reservations->room)
        reservations->slot[next].previous = link_before(next, previous);
}

static void give_slot(struct reservations *reservations, uint32_t slot)
{
    struct reservation *given = &reservations->slot[slot];
    const uint32_t next = reservations->free_slot;
    given->next = link_after(slot, next);
    given->previous = link_before(slot, NOTHING);
    if (next < reservations->room)
        reservations->slot[next].previous = link_before(next, slot);
    reservations->free_slot = slot;
}

/* The slot of the id is free, and there is room for the charges. */
static void open_slot(struct reservations *reservations, struct reservation_id id, const struct charge *charges,
                      size_t count, struct reservation_owner owner, uint64_t expires_ns)
{
    uint32_t slot;
    memcpy(&slot, id.byte + SECRET_BYTES, sizeof slot);
    take_slot(reservations, slot);
    struct reservation *opened = &reservations->slot[slot];
    *opened = (struct reservation){.id = id, .charge = NOTHING, .owner = owner};
    reservations->tenant_count[owner.tenant]++;
    held_keys_add(reservations->holders, holder_key(owner.holder), 1);
    for (size_t i = count; i-- > 0;) {
        uint32_t at = reservations->free_charge;
        struct kept_charge *kept = &reservations->kept[at];
        reservations->free_charge = after(at, kept->next);
        kept->charge = charges[i];
        held_keys_add(reservations->keys, charges[i].id, own_cost(&charges[i]));
        kept->next = link_after(at, opened->charge);
        opened->charge = at;
    }
    reservations->charges_free -= (uint32_t)count;
    end_times_set(reservations->ends, slot, expires_ns);
}

bool reservations_open(struct reservations *reservations, const struct charge *charges, size_t count,
                       struct reservation_owner owner, struct key_id secret, uint64_t expires_ns,
                       struct reservation_id *id)
{
    assert(count <= CHARGES_MAX);
    uint32_t slot = reservations->free_slot;
    if (reservations_room(reservations, owner) != RESERVATIONS_ROOM || reservations->charges_free < count)
        return false;
    memcpy(id->byte, &secret, SECRET_BYTES);
    memcpy(id->byte + SECRET_BYTES, &slot, sizeof slot);
    open_slot(reservations, *id, charges, count, owner, expires_ns);
    return true;
}

bool reservations_reopen(struct reservations *reservations, const struct reservation_kept *kept)
{
    assert(kept->count <= CHARGES_MAX);
    uint32_t slot;
    memcpy(&slot, kept->id.byte + SECRET_BYTES, sizeof slot);
    if (slot >= reservations->room || !is_free(reservations, slot) || reservations->charges_free < kept->count)
        return false;
    open_slot(reservations, kept->id, kept->charge, kept->count, kept->owner, kept->expires_ns);
    reservations->slot[slot].is_former = kept->is_former;
    reservations->former_count += kept->is_former;
    return true;
}

bool reservations_keep_next(const struct reservations *reservations, uint32_t *place, struct reservation_kept *kept)
{
    if (reservations_count(reservations) == 0)
        return false;
    while (*place < reservations->room && is_free(reservations, *place))
        ++*place;
    if (*place == reservations->room)
        return false;
    const struct reservation *next = &reservations->slot[(*place)++];
    kept->id = next->id;
    kept->owner = next->owner;
    kept->expires_ns = reservations_end_ns(reservations, next->id);
    kept->is_former = next->is_former;
    kept->count = reservations_charges(reservations, next->id, kept->charge);
    return true;
}

uint32_t reservations_former_count(const struct reservations *reservations)
{
    return reservations->former_count;
}

bool reservations_is_former(const struct reservations *reservations, struct reservation_id id)
{
    return reservations->slot[existing(reservations, id)].is_former;
}

bool reservations_next_former(const struct reservations *reservations, uint32_t *place,
                              struct reservation_kept *former)
{
    if (reservations->former_count == 0)
        return false;
    while (reservations_keep_next(reservations, place, former))
        if (former->is_former)
            return true;
    return false;
}

void reservations_taken_over(struct reservations *reservations, struct reservation_id id,
                             const struct charge *charges)
{
    struct reservation *taken = &reservations->slot[existing(reservations, id)];
    assert(taken->is_former);
    reservations_renew(reservations, id, charges, reservations_end_ns(reservations, id));
    taken->is_former = false;
    reservations->former_count--;
}

bool reservations_has(const struct reservations *reservations, struct reservation_id id, uint64_t now_ns)
{
    uint32_t slot = slot_of(reservations, id);
    return slot != NOTHING && end_times_of(reservations->ends, slot) > now_ns;
}

size_t reservations_charges(const struct reservations *reservations, struct reservation_id id,
                            struct charge charges[CHARGES_MAX])
{
    size_t count = 0;
    for (uint32_t at = reservations->slot[existing(reservations, id)].charge; at != NOTHING;
         at = after(at, reservations->kept[at].next))
        charges[count++] = reservations->kept[at].charge;
    return count;
}

void reservations_renew(struct reservations *reservations, struct reservation_id id, const struct charge *charges,
                        uint64_t expires_ns)
{
    const uint32_t slot = existing(reservations, id);
    for (uint32_t at = reservations->slot[slot].charge; at != NOTHING;
         at = after(at, reservations->kept[at].next), charges++) {
        struct charge *kept = &reservations->kept[at].charge;
        held_keys_remove(reservations->keys, kept->id, own_cost(kept));
        held_keys_add(reservations->keys, charges->id, own_cost(charges));
        *kept = *charges;
    }
    end_times_set(reservations->ends, slot, expires_ns);
}

struct renewal *reservations_renewal(struct reservations *reservations, struct reservation_id id)
{
    uint32_t slot = slot_of(reservations, id);
    return slot == NOTHING ? NULL : &reservations->slot[slot].renewal;
}

void reservations_close(struct reservations *reservations, struct reservation_id id)
{
    uint32_t slot = existing(reservations, id);
    struct reservation *closed = &reservations->slot[slot];
    assert(!closed->is_former);
    for (uint32_t at = closed->charge, next; at != NOTHING; at = next) {
        const struct charge *kept = &reservations->kept[at].charge;
        held_keys_remove(reservations->keys, kept->id, own_cost(kept));
        next = after(at, reservations->kept[at].next);
        reservations->kept[at].next = link_after(at, reservations->free_charge);
        reservations->free_charge = at;
        reservations->charges_free++;
    }
    reservations->tenant_count[closed->owner.tenant]--;
    held_keys_remove(reservations->holders, holder_key(closed->owner.holder), 1);
    end_times_remove(reservations->ends, slot);
    give_slot(reservations, slot);
}

uint64_t reservations_end_ns(const struct reservations *reservations, struct reservation_id id)
{
    return end_times_of(reservations->ends, existing(reservations, id));
}

uint64_t reservations_held(const struct reservations *reservations, struct key_id key)
{
    return held_keys_tokens(reservations->keys, key);
}

uint64_t reservations_next_ns(const struct reservations *reservations)
{
    uint32_t slot;
    return end_times_first(reservations->ends, &slot) ? end_times_of(reservations->ends, slot) : UINT64_MAX;
}

bool reservations_ended(const struct reservations *reservations, uint64_t now_ns, struct reservation_id *id)
{
    uint32_t slot;
    if (!end_times_first(reservations->ends, &slot) || end_times_of(reservations->ends, slot) > now_ns)
        return false;
    *id = reservations->slot[slot].id;
    return true;
}

uint32_t reservations_count(const struct reservations *reservations)
{
    return end_times_count(reservations->ends);
}

void reservations_check(const struct reservations *reservations)
{
    const uint32_t count = reservations_count(reservations);
    uint32_t free_slots = 0, free_charges = 0, charges = 0, of_tenants = 0;
    assert(held_keys_count(reservations->holders) <= count);
    for (uint32_t tenant = 0; tenant < TENANTS; tenant++)
        of_tenants += reservations->tenant_count[tenant];
    assert(of_tenants == count);
    assert(held_keys_count(reservations->keys) <= reservations->charges_room - reservations->charges_free);
    for (uint32_t at = reservations->free_slot, previous = NOTHING; at < reservations->room; free_slots++) {
        assert(is_free(reservations, at));
        assert(before(at, reservations->slot[at].previous) == previous);
        previous = at;
        at = after(at, reservations->slot[at].next);
    }
    for (uint32_t at = reservations->free_charge; at < reservations->charges_room; free_charges++)
        at = after(at, reservations->kept[at].next);
    assert(free_slots + count == reservations->room);
    for (uint32_t number = 0; number < count; number++)
        for (uint32_t charge = reservations->slot[end_times_slot(reservations->ends, number)].charge;
             charge != NOTHING; charge = after(charge, reservations->kept[charge].next))
            charges++;
    end_times_check(reservations->ends);
    assert(free_charges == reservations->charges_free);
    assert(charges + free_charges == reservations->charges_room);
}

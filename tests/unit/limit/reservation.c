/* Reservations: ids, charges that come back whole, ends in order, the pool's limits, and a naive model. */
#include "limit/reservation.h"

#include "base/random.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

static const struct reservation_owner nobody;

static struct charge charge_of(uint64_t number)
{
    return (struct charge){.id = {number, ~number}, .cost = number, .limit = (uint16_t)number};
}

static struct reservation_id open_one(struct reservations *pool, uint64_t number, size_t count, uint64_t expires_ns)
{
    struct reservation_id id;
    struct charge charges[CHARGES_MAX];
    for (size_t i = 0; i < count; i++)
        charges[i] = charge_of(number + i);
    bool opened = reservations_open(pool, charges, count, nobody, (struct key_id){number, number}, expires_ns, &id);
    assert(opened);
    return id;
}

static void test_charges_come_back(void)
{
    struct reservations *pool = reservations_create(4, 64);
    struct charge charges[CHARGES_MAX];
    struct reservation_id id = open_one(pool, 7, CHARGES_MAX, 100);
    OK(reservations_charges(pool, id, charges) == CHARGES_MAX, "as many charges as were kept");
    bool in_order = true;
    for (uint64_t i = 0; i < CHARGES_MAX; i++)
        in_order &= charges[i].cost == 7 + i && charges[i].id.high == 7 + i;
    OK(in_order, "in the same order");
    OK(reservations_has(pool, id, 99), "it lasts until its end");
    OK(!reservations_has(pool, id, 100), "and not at its end");
    reservations_close(pool, id);
    OK(!reservations_has(pool, id, 0), "once closed it is gone");
    OK(reservations_next_ns(pool) == UINT64_MAX, "and nothing is to end");
    reservations_check(pool);
    reservations_destroy(&pool);
    OK(pool == NULL, "destroyed");
}

static void test_made_up_ids_are_nobodys(void)
{
    struct reservations *pool = reservations_create(4, 4);
    struct reservation_id id = open_one(pool, 1, 1, 100), other = id, zero = {{0}};
    other.byte[0] ^= 1;
    OK(!reservations_has(pool, other, 0), "another id");
    OK(!reservations_has(pool, zero, 0), "zeros");
    memset(&other, 0xff, sizeof other);
    OK(!reservations_has(pool, other, 0), "a slot that does not exist");
    reservations_close(pool, id);
    struct reservation_id again = open_one(pool, 2, 1, 100); /* in the same slot */
    OK(!reservations_has(pool, id, 0), "the one that had the slot before");
    OK(reservations_has(pool, again, 0), "the one that has it now");
    reservations_destroy(&pool);
}

static void test_full_pool_refuses(void)
{
    struct reservations *pool = reservations_create(2, 20);
    struct charge charges[CHARGES_MAX] = {{.cost = 1}};
    struct reservation_id id, first = open_one(pool, 1, CHARGES_MAX, 5);
    OK(!reservations_open(pool, charges, 5, nobody, (struct key_id){9, 9}, 5, &id), "no room for its charges");
    (void)open_one(pool, 2, 4, 6);
    OK(!reservations_open(pool, charges, 1, nobody, (struct key_id){9, 9}, 5, &id), "no room at all");
    reservations_close(pool, first);
    OK(reservations_open(pool, charges, 1, nobody, (struct key_id){9, 9}, 5, &id), "room again");
    OK(!reservations_open(pool, charges, 1, nobody, (struct key_id){9, 9}, 5, &id),
       "no slot, though charges would fit");
    reservations_check(pool);
    reservations_destroy(&pool);
}

static void test_ends_in_order(void)
{
    struct reservations *pool = reservations_create(100, 100);
    struct reservation_id id;
    struct charge charges[CHARGES_MAX];
    for (uint64_t i = 0; i < 100; i++)
        (void)open_one(pool, i, 1, 10 + i * 37 % 100);
    OK(!reservations_ended(pool, 9, &id), "none has ended");
    uint64_t last = 0, wrong = 0, count = 0;
    while (reservations_ended(pool, 59, &id)) {
        (void)reservations_charges(pool, id, charges);
        uint64_t ends = 10 + charges[0].cost * 37 % 100;
        wrong += ends < last || ends > 59;
        last = ends;
        count++;
        reservations_close(pool, id);
    }
    OK(count == 50 && wrong == 0, "half of them end, in order");
    OK_U64(reservations_next_ns(pool), 60, "the next one");
    reservations_destroy(&pool);
}

/* Of a key, all that its reservations hold is known at once. */
static void test_what_a_key_has_held(void)
{
    struct reservations *pool = reservations_create(4, 4);
    struct key_id alice = {7, 7}, bert = {7, 8};
    struct charge charges[2] = {{.id = alice, .cost = 5}, {.id = bert, .cost = 3}};
    struct reservation_id first, second;
    bool opened = reservations_open(pool, charges, 2, nobody, (struct key_id){1, 1}, 10, &first) &&
                  reservations_open(pool, charges, 2, nobody, (struct key_id){2, 2}, 20, &second);
    assert(opened);
    OK(reservations_held(pool, alice) == 10 && reservations_held(pool, bert) == 6, "what two hold is added up");
    charges[0].cost = 1;
    reservations_renew(pool, first, charges, 30);
    OK(reservations_held(pool, alice) == 6 && reservations_end_ns(pool, first) == 30,
       "one needs less, and for longer");
    reservations_close(pool, second);
    OK(reservations_held(pool, alice) == 1 && reservations_held(pool, bert) == 3, "one has ended");
    reservations_close(pool, first);
    OK(reservations_held(pool, alice) == 0 && reservations_held(pool, bert) == 0, "nobody holds anything");
    reservations_check(pool);
    reservations_destroy(&pool);
}

/* ---- against a plain array ---- */

enum { MODEL_ROOM = 60, OPERATIONS = 1000000 };

struct model {
    bool used[MODEL_ROOM];
    struct reservation_id id[MODEL_ROOM];
    uint64_t expires_ns[MODEL_ROOM], number[MODEL_ROOM];
};

enum { MODEL_KEYS = 8 };

/* Reservations of one key come and go, so that several hold some of it. */
static struct charge model_charge(uint64_t number)
{
    struct charge charge = charge_of(number);
    charge.id = (struct key_id){number % MODEL_KEYS, 1};
    return charge;
}

static bool model_held(const struct reservations *pool, const struct model *model, uint64_t key)
{
    uint64_t held = 0;
    for (int i = 0; i < MODEL_ROOM; i++)
        held += model->used[i] && model->number[i] % MODEL_KEYS == key ? model->number[i] : 0;
    return reservations_held(pool, (struct key_id){key, 1}) == held;
}

static uint64_t model_next_ns(const struct model *model)
{
    uint64_t next_ns = UINT64_MAX;
    for (int i = 0; i < MODEL_ROOM; i++)
        if (model->used[i] && model->expires_ns[i] < next_ns)
            next_ns = model->expires_ns[i];
    return next_ns;
}

static bool model_step(struct reservations *pool, struct model *model, struct random *random, uint64_t number)
{
    struct charge charges[CHARGES_MAX];
    unsigned i = (unsigned)random_below(random, MODEL_ROOM);
    if (!model->used[i]) {
        model->number[i] = number;
        model->expires_ns[i] = random_below(random, 1000);
        model->used[i] = true;
        charges[0] = model_charge(number);
        return reservations_open(pool, charges, 1, nobody, (struct key_id){number, number}, model->expires_ns[i],
                                 &model->id[i]);
    }
    if (reservations_charges(pool, model->id[i], charges) != 1 || charges[0].cost != model->number[i])
        return false;
    if (random_below(random, 2) == 0) {
        model->expires_ns[i] = random_below(random, 1000);
        model->number[i] = number;
        charges[0] = model_charge(number);
        reservations_renew(pool, model->id[i], charges, model->expires_ns[i]);
    } else {
        model->used[i] = false;
        reservations_close(pool, model->id[i]);
    }
    return reservations_next_ns(pool) == model_next_ns(model);
}

/* As from one process to the next, into a pool that has `room`. Returns how many found none. */
static unsigned move_all(struct reservations **pool, uint32_t room, uint32_t charges_room)
{
    struct reservations *next = reservations_create(room, charges_room);
    struct reservation_kept kept;
    uint32_t place = 0;
    unsigned lost = 0;
    while (reservations_keep_next(*pool, &place, &kept)) {
        const bool opened = reservations_reopen(next, &kept);
        lost += !opened;
        assert(!opened || !reservations_reopen(next, &kept)); /* it is there */
    }
    reservations_destroy(pool);
    *pool = next;
    reservations_check(next);
    return lost;
}

static void test_model(void)
{
    static struct model model;
    struct random random;
    struct reservations *pool = reservations_create(MODEL_ROOM, MODEL_ROOM);
    uint64_t wrong = 0;
    random_seed(&random, 20);
    for (uint64_t n = 1; n <= OPERATIONS; n++) {
        wrong += !model_step(pool, &model, &random, n) || !model_held(pool, &model, n % MODEL_KEYS);
        if (n % 1024 == 0)
            reservations_check(pool);
        if (n % 9973 == 0)
            wrong += move_all(&pool, MODEL_ROOM, MODEL_ROOM);
    }
    OK_U64(wrong, 0, "a million operations as an array would do them, in a hundred pools one after the other");
    reservations_destroy(&pool);
}

/* A pool that is smaller than the one before has no room for some, and those that it has keep their ids. */
static void test_smaller_pool(void)
{
    struct reservations *pool = reservations_create(4, 8);
    const struct reservation_id first = open_one(pool, 1, 2, 50), second = open_one(pool, 2, 2, 60),
                                third = open_one(pool, 3, 1, 70);
    struct charge charges[CHARGES_MAX];
    reservations_close(pool, second);
    OK(move_all(&pool, 2, 8) == 1 && reservations_has(pool, first, 49) && !reservations_has(pool, third, 0),
       "of two one finds a place in half the room");
    OK(reservations_charges(pool, first, charges) == 2 && charges[1].cost == 2 && reservations_next_ns(pool) == 50,
       "with all that it was");
    const struct reservation_id fourth = open_one(pool, 4, 1, 80);
    OK(reservations_has(pool, fourth, 79) && reservations_room(pool, nobody) == RESERVATIONS_FULL,
       "another one takes the place beside it");
    OK(move_all(&pool, 2, 2) == 1 && reservations_count(pool) == 1,
       "without room for its charges one is not opened");
    reservations_destroy(&pool);
}

/* Of one tenant there are no more than its part, whatever is free; others find room. */
static void test_tenants(void)
{
    const struct reservation_owner of_shop = {.tenant = 3}, of_forum = {.tenant = 4};
    struct charge shop = {.tenant = 3}, forum = {.tenant = 4};
    struct reservations *pool = reservations_create(4, 8);
    struct reservation_id id[5];
    reservations_bound_tenants(pool, 3);
    for (uint64_t i = 0; i < 3; i++)
        OK(reservations_open(pool, &shop, 1, of_shop, (struct key_id){i, i}, 10, &id[i]), "%llu of a tenant",
           (unsigned long long)i + 1);
    OK(reservations_room(pool, of_shop) == RESERVATIONS_TENANT_FULL &&
           !reservations_open(pool, &shop, 1, of_shop, (struct key_id){9, 9}, 10, &id[4]),
       "but not a fourth");
    OK(reservations_room(pool, of_forum) == RESERVATIONS_ROOM &&
           reservations_open(pool, &forum, 1, of_forum, (struct key_id){4, 4}, 10, &id[3]),
       "another one finds room");
    OK(reservations_room(pool, nobody) == RESERVATIONS_FULL, "then the pool is full for all");
    reservations_close(pool, id[1]);
    reservations_check(pool);
    OK(reservations_room(pool, of_shop) == RESERVATIONS_ROOM, "what is closed makes room");
    OK(reservations_open(pool, NULL, 0, nobody, (struct key_id){5, 5}, 10, &id[4]) &&
           reservations_room(pool, of_shop) == RESERVATIONS_FULL,
       "what holds nothing takes a place as well");
    reservations_check(pool);
    reservations_destroy(&pool);
}

/* Nor of one holder, whatever tenants its reservations are of. Holder 0 is nobody. */
static void test_holders(void)
{
    const struct reservation_owner ann = {3, 77}, ann_elsewhere = {4, 77}, bob = {3, 78};
    struct reservations *pool = reservations_create(8, 8);
    struct reservation_id id[8];
    bool opened = true;
    reservations_bound_holders(pool, 2);
    for (uint64_t i = 0; i < 4; i++)
        opened &= reservations_open(pool, NULL, 0, nobody, (struct key_id){i, i}, 10, &id[i]);
    OK(opened, "nobody has as many as there is room for");
    OK(reservations_open(pool, NULL, 0, ann, (struct key_id){4, 4}, 10, &id[4]) &&
           reservations_open(pool, NULL, 0, ann_elsewhere, (struct key_id){5, 5}, 10, &id[5]),
       "two of a holder");
    OK(reservations_room(pool, ann) == RESERVATIONS_HOLDER_FULL &&
           !reservations_open(pool, NULL, 0, ann, (struct key_id){6, 6}, 10, &id[6]),
       "but not a third");
    OK(reservations_open(pool, NULL, 0, bob, (struct key_id){7, 7}, 10, &id[6]), "another one finds room");
    reservations_check(pool);
    reservations_close(pool, id[5]);
    reservations_check(pool);
    OK(reservations_room(pool, ann) == RESERVATIONS_ROOM, "what is closed makes room");
    reservations_destroy(&pool);
}

static size_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    bool known = file && fscanf(file, "%*u %lu", &pages) == 1;
    assert(known);
    (void)fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void test_unused_room_takes_no_memory(void)
{
    enum { ROOM = 1 << 20, UNUSED_MAX_BYTES = ROOM * 32 };
    const size_t before = resident_bytes();
    struct reservations *pool = reservations_create(ROOM, ROOM);
    const struct reservation_id id = open_one(pool, 1, 2, 100);
    struct reservation_kept kept;
    uint32_t place = 0;
    OK(reservations_keep_next(pool, &place, &kept) && memcmp(&kept.id, &id, sizeof id) == 0,
       "one is in a large pool");
    reservations_close(pool, id);
    place = 0;
    OK(!reservations_keep_next(pool, &place, &kept) && place == 0, "in a pool of none nothing is looked for");
    const size_t after = resident_bytes();
    if (!OK(after < before + UNUSED_MAX_BYTES, "room for %d that was never used takes no memory", ROOM))
        printf("# %zu bytes before, %zu after\n", before, after);
    reservations_destroy(&pool);
}

int main(void)
{
    test_charges_come_back();
    test_made_up_ids_are_nobodys();
    test_full_pool_refuses();
    test_ends_in_order();
    test_what_a_key_has_held();
    test_model();
    test_smaller_pool();
    test_tenants();
    test_holders();
    test_unused_room_takes_no_memory();
    return tap_done();
}

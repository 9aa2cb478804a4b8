#include "edge/central/central_lease.h"

#include "base/number.h"

#include <string.h>

#define SPAN_NS (LEASE_SPAN_US * UINT64_C(1000))
/* A store that refuses is believed for so long at least, and at most. */
#define REFUSED_LEAST_NS (SPAN_NS / 2)
#define REFUSED_MOST_NS SPAN_NS
/* So much sooner than the store has it: clocks of machines differ by less in a span. */
#define MARGIN_NS (SPAN_NS / 100)

static bool is_same(const struct central_charge *a, const struct central_charge *b)
{
    return key_id_equal(a->id, b->id) && a->capacity == b->capacity && a->window_us == b->window_us &&
           a->from_first == b->from_first && memcmp(&a->coarse, &b->coarse, sizeof a->coarse) == 0;
}

static struct lease *place_of(struct leases *leases, const struct central_charge *charge)
{
    return &leases->lease[charge->id.high & (LEASES - 1)];
}

/* The charge's place; NULL: it has none. */
static struct lease *find(struct leases *leases, const struct central_charge *charge)
{
    struct lease *lease = place_of(leases, charge);
    return lease->taken && is_same(&lease->charge, charge) ? lease : NULL;
}

/* ---- demand ---- */

static void go_on(struct lease *lease, uint64_t now_ns)
{
    const uint64_t past_ns = now_ns - lease->span_ns;
    if (past_ns < SPAN_NS)
        return;
    const bool next = past_ns < 2 * SPAN_NS;
    lease->asked_before = next ? lease->asked : 0;
    lease->wanted_before = next ? lease->wanted : 0;
    lease->asked = 0;
    lease->wanted = 0;
    lease->span_ns = now_ns;
}

static bool is_hot(const struct lease *lease)
{
    return lease->asked + lease->asked_before >= LEASE_HOT;
}

static void take_rest(struct lease *lease, struct central_charge *rest)
{
    *rest = lease->charge;
    rest->cost = lease->tokens;
    rest->stamp = lease->seen.stamp;
    rest->extra = rest->cost; /* all of it was taken in advance */
    lease->tokens = 0;
}

/* The place for the charge's demand. NULL: another key has it, and is hot. */
static struct lease *obtain(struct leases *leases, const struct central_charge *charge, uint64_t now_ns,
                            struct central_charge *rest)
{
    struct lease *lease = place_of(leases, charge);
    if (lease->taken)
        go_on(lease, now_ns);
    if (lease->taken && is_same(&lease->charge, charge))
        return lease;
    if (lease->taken && (lease->calling || (is_hot(lease) && !key_id_equal(lease->charge.id, charge->id))))
        return NULL;
    if (lease->tokens > 0)
        take_rest(lease, rest);
    *lease = (struct lease){.charge = *charge, .taken = true, .serial = lease->serial + 1, .span_ns = now_ns};
    return lease;
}

/* ---- figures ---- */

static uint64_t less(uint64_t us, uint64_t past_ns)
{
    const uint64_t past_us = past_ns / 1000;
    return us == UINT64_MAX ? us : us > past_us ? us - past_us : 0;
}

/* As the store said, and what has become of that since. */
static void show(const struct lease *lease, bool allowed, uint64_t now_ns, struct central_figures *figures)
{
    const uint64_t past_ns = now_ns - lease->seen_ns;
    *figures = lease->seen;
    figures->allowed = allowed;
    figures->remaining_tokens = number_sum(lease->seen.remaining_tokens, lease->tokens);
    figures->reset_after_us = less(lease->seen.reset_after_us, past_ns);
    figures->retry_after_us = 0;
    if (allowed)
        return;
    const uint64_t told_us = less(lease->seen.retry_after_us, past_ns);
    const uint64_t until_us = (lease->refused_until_ns - now_ns + 999) / 1000;
    figures->retry_after_us = told_us > until_us ? told_us : until_us;
}

/* ---- requests ---- */

/*
 * What a bucket must have less while some of it is in hand is at most a quarter, and so is what a request asks: else
 * taking in advance would refuse what the limit admits.
 */
static bool may_take(const struct central_charge *charge)
{
    if (charge->cost > charge->capacity / 4)
        return false;
    if (charge->window_us > 0)
        return true;
    const struct coarse *coarse = &charge->coarse;
    const uint64_t ticks = LEASE_SPAN_US / coarse->tick_us, most = charge->capacity / 4 * coarse->units_per_token;
    return ticks > 0 && coarse->units_per_tick <= most / ticks;
}

enum lease_outcome lease_decide(struct leases *leases, struct central_charge *charge, bool again, uint64_t now_ns,
                                struct central_figures *figures, uint32_t *place, struct central_charge *rest)
{
    rest->cost = 0;
    charge->extra = 0;
    struct lease *lease = obtain(leases, charge, now_ns, rest);
    if (lease == NULL)
        return LEASE_ASK;
    lease->asked += !again;
    lease->wanted = number_sum(lease->wanted, again ? 0 : charge->cost);
    if (!is_hot(lease))
        return LEASE_ASK;
    if (lease->tokens > 0 && now_ns >= lease->until_ns)
        take_rest(lease, rest);
    if (lease->tokens >= charge->cost && lease->tokens > 0) {
        lease->tokens -= charge->cost;
        show(lease, true, now_ns, figures);
        return LEASE_ALLOWED;
    }
    if (now_ns < lease->refused_until_ns && charge->cost >= lease->refused_cost) {
        show(lease, false, now_ns, figures);
        return LEASE_REFUSED;
    }
    if (lease->calling && !again) {
        *place = (uint32_t)(lease - leases->lease) | lease->serial % LEASE_SERIALS * LEASES;
        return LEASE_WAIT;
    }
    if (lease->calling || !may_take(charge))
        return LEASE_ASK;
    if (lease->tokens > 0)
        take_rest(lease, rest); /* too few for this one: the next call brings more, under another stamp */
    const uint64_t most = lease->wanted > lease->wanted_before ? lease->wanted : lease->wanted_before;
    charge->extra = number_least(most, charge->capacity / 2);
    return LEASE_ASK;
}

void lease_put_back(struct leases *leases, const struct central_charge *charge)
{
    struct lease *lease = find(leases, charge);
    if (lease != NULL)
        lease->tokens += charge->cost;
}

enum lease_call lease_look(const struct leases *leases, uint32_t place)
{
    const struct lease *lease = &leases->lease[place & (LEASES - 1)];
    const uint32_t past = (lease->serial - place / LEASES) % LEASE_SERIALS;
    if (past == 0 && lease->calling)
        return LEASE_CALLS;
    return past == 1 && lease->failed ? LEASE_CALL_FAILED : LEASE_CALL_ANSWERED;
}

/* ---- calls ---- */

void lease_called(struct leases *leases, const struct central_charge *charge)
{
    struct lease *lease = find(leases, charge);
    if (lease != NULL)
        lease->calling = true;
}

static void end_call(struct lease *lease, const struct central_charge *charge, bool failed)
{
    if (charge->extra == 0)
        return;
    lease->calling = false;
    lease->failed = failed;
    lease->serial++;
}

bool lease_answered(struct leases *leases, const struct central_charge *charge,
                    const struct central_figures *figures, uint64_t sent_ns, uint64_t now_ns)
{
    struct lease *lease = find(leases, charge);
    if (lease == NULL)
        return false;
    end_call(lease, charge, false);
    if (charge->extra == 0 && lease->tokens > 0)
        return false; /* the stamp is that of what is in hand */
    lease->seen = *figures;
    lease->seen_ns = now_ns;
    lease->refused_until_ns = 0;
    if (!figures->allowed && figures->retry_after_us != UINT64_MAX) {
        const uint64_t retry_ns = figures->retry_after_us * 1000;
        lease->refused_cost = charge->cost;
        lease->refused_until_ns = now_ns + (retry_ns < REFUSED_LEAST_NS  ? REFUSED_LEAST_NS
                                            : retry_ns > REFUSED_MOST_NS ? REFUSED_MOST_NS
                                                                         : retry_ns);
    }
    const uint64_t span_ns =
        charge->window_us > 0 ? number_least(SPAN_NS, figures->reset_after_us * 1000) : SPAN_NS;
    lease->until_ns = sent_ns + span_ns - number_least(span_ns, MARGIN_NS);
    if (figures->extra == 0 || now_ns >= lease->until_ns || lease->tokens > 0)
        return false;
    lease->tokens = figures->extra;
    return true;
}

void lease_failed(struct leases *leases, const struct central_charge *charge)
{
    struct lease *lease = find(leases, charge);
    if (lease != NULL)
        end_call(lease, charge, true);
}

uint64_t lease_due_ns(const struct leases *leases)
{
    uint64_t due_ns = UINT64_MAX;
    for (uint32_t place = 0; place < LEASES; place++)
        if (leases->lease[place].tokens > 0)
            due_ns = number_least(due_ns, leases->lease[place].until_ns);
    return due_ns;
}

bool lease_sweep(struct leases *leases, uint32_t *place, uint64_t now_ns, struct central_charge *rest)
{
    for (; *place < LEASES; ++*place) {
        struct lease *lease = &leases->lease[*place];
        if (lease->tokens == 0 || now_ns < lease->until_ns)
            continue;
        take_rest(lease, rest);
        return true;
    }
    return false;
}

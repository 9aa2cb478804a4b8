/*
 * The doors of two other servers: redis-cell's CL.THROTTLE and throttlecrab's THROTTLE.
 *
 * The one idea: both are GCRA, which a token bucket of the same size and rate decides alike: their theoretical
 * arrival time minus now is our time until full. Every request brings its limit; one key may come with another
 * limit each time, and then its time until full stays. Tokens come one by one, after whole nanoseconds, as there.
 *
 * They say nothing of overshoot. So that one request may have the whole burst wherever it comes, as it would there,
 * every region decides by all that it has heard; what several hand out within one interval may be too much.
 */
#include "commands/call.h"
#include "wire/command_throttle.h"

enum {
    SECOND_NS = 1000000000,
    WHOLE_BURST = NODE_PEERS_MAX, /* an overshoot of so many bursts lets the smallest share see a whole one */
};

enum throttle_door { DOOR_CELL, DOOR_CRAB };

/* A request that is understood: how many tokens there are, and how long it takes to get one. */
struct throttle {
    struct charge charge;
    int64_t capacity;
    uint64_t emission_ns;
};

/* What comes of it. */
struct throttled {
    bool allowed, never;
    uint64_t remaining, full_ns, retry_ns;
};

static struct key_id key_of(const struct commands *commands, enum throttle_door door, struct bytes key)
{
    struct bytes name = bytes_of(door == DOOR_CELL ? "\377cl.throttle" : "\377throttle");
    struct key_id salt = hash_128(&commands->hash_key, name.data, name.size);
    return key_join(salt, hash_128(&commands->hash_key, key.data, key.size));
}

/* period / count, cut to nanoseconds as doubles are there; 0 if it is none, negative if one of the two is. */
static int64_t emission_of(const struct command_throttle *asked)
{
    if (asked->count == 0)
        return 0;
    double ns = (double)asked->period_s * SECOND_NS / (double)asked->count;
    return ns >= 9e18 ? INT64_MAX : ns <= -9e18 ? INT64_MIN : (int64_t)ns;
}

/* The exact terms if they can be counted; else the same rate in other units, or less to be shared. */
static int intern(struct call *call, const struct throttle *throttle, const struct command_throttle *asked,
                  struct error *error)
{
    uint64_t capacity = (uint64_t)throttle->capacity;
    uint64_t whole = capacity > LIMIT_CAPACITY_MAX / WHOLE_BURST ? LIMIT_CAPACITY_MAX : capacity * WHOLE_BURST;
    uint64_t period_ns = 0;
    bool fits = asked->period_s > 0 && asked->count > 0 &&
                !__builtin_mul_overflow((uint64_t)asked->period_s, (uint64_t)SECOND_NS, &period_ns);
    const struct limit_terms terms[] = {
        {LIMIT_BUCKET, 0, capacity, 1, throttle->emission_ns, whole},
        {LIMIT_BUCKET, 0, capacity, fits ? (uint64_t)asked->count : 1, fits ? period_ns : 1, whole},
        {LIMIT_BUCKET, 0, capacity, 1, throttle->emission_ns, capacity},
    };
    int index = node_find_limit(call->commands->node, &terms[0]);
    if (index >= 0)
        return index;
    call_alone(call, true);
    for (size_t i = 0; i < sizeof terms / sizeof terms[0] && index < 0; i++)
        if (i != 1 || fits)
            index = node_intern_guest_limit(call->commands->node, &terms[i], error);
    call_alone(call, false);
    return index;
}

/* False after an error was answered. `capacity` >= 1, `emission_ns` > 0. */
static bool prepare(struct call *call, enum throttle_door door, const struct command_throttle *asked,
                    struct throttle *throttle)
{
    struct error error;
    if ((uint64_t)throttle->capacity > LIMIT_CAPACITY_MAX) {
        answer_error(&call->answer, "ERR max_burst is %lld: expected less than %llu", (long long)asked->max_burst,
                     (unsigned long long)LIMIT_CAPACITY_MAX);
        return false;
    }
    int index = intern(call, throttle, asked, &error);
    if (index < 0) {
        answer_error(&call->answer, "ERR a burst of %lld and one token every %llu ns cannot be counted: %s",
                     (long long)throttle->capacity, (unsigned long long)throttle->emission_ns, error.text);
        return false;
    }
    throttle->charge = (struct charge){.id = key_of(call->commands, door, asked->key),
                                       .limit = (uint16_t)index,
                                       .inherit = INHERIT_TIME};
    return true;
}

/*
 * When `quantity` can be had: what is missing, from the time until full. The verdict counts the time on top until
 * other peers have acknowledged what was spent, yet it then counts as of when it was spent. A wait that is much
 * longer is none for acknowledgements: some peer is out of reach.
 */
static uint64_t retry_of(const struct throttle *throttle, const struct verdict *verdict, int64_t quantity)
{
    uint64_t spare_ns;
    if (verdict->reason != VERDICT_NO_TOKENS && verdict->reason != VERDICT_NO_SHARE)
        return verdict->retry_after_ns;
    if (__builtin_mul_overflow((uint64_t)(throttle->capacity - quantity), throttle->emission_ns, &spare_ns) ||
        spare_ns >= verdict->reset_after_ns)
        return verdict->retry_after_ns;
    uint64_t missing_ns = verdict->reset_after_ns - spare_ns;
    bool settles = verdict->retry_after_ns >= missing_ns && verdict->retry_after_ns - missing_ns < SECOND_NS;
    return settles ? missing_ns : verdict->retry_after_ns;
}

static void decide(struct call *call, struct throttle *throttle, int64_t quantity, struct throttled *result)
{
    struct node *node = call->commands->node;
    struct verdict verdict;
    bool possible = quantity <= throttle->capacity;
    if (quantity < 0) {
        throttle->charge.cost =
            quantity < -throttle->capacity ? (uint64_t)throttle->capacity : 0 - (uint64_t)quantity;
        (void)node_return(node, &throttle->charge, 1, throttle->charge.cost, call->now_ns);
    }
    throttle->charge.cost = possible && quantity > 0 ? (uint64_t)quantity : 0;
    bool allowed = node_check(node, &throttle->charge, 1, possible && quantity > 0, call->now_ns, &verdict);
    *result = (struct throttled){
        .allowed = possible && (allowed || quantity < 0),
        .never = !possible,
        .remaining = verdict.remaining_tokens,
        .full_ns = verdict.reset_after_ns,
        .retry_ns = possible && quantity >= 0 ? retry_of(throttle, &verdict, quantity) : 0,
    };
}

/* ---- redis-cell ---- */

/* Up to the next second, by milliseconds: what is finer is cut first, as there. */
static int64_t seconds_up(uint64_t ns)
{
    return (int64_t)(ns / SECOND_NS + (ns % SECOND_NS >= 1000000));
}

static void answer_cell(struct call *call, bool limited, int64_t limit, int64_t remaining, int64_t retry_s,
                        int64_t reset_s)
{
    answer_array(&call->answer, 5);
    answer_integer(&call->answer, limited);
    answer_integer(&call->answer, limit);
    answer_integer(&call->answer, remaining);
    answer_integer(&call->answer, retry_s);
    answer_integer(&call->answer, reset_s);
}

void call_cl_throttle(struct call *call)
{
    struct command_throttle asked;
    struct throttled result;
    char error[COMMAND_ERROR_BYTES];
    if (!command_parse_cl_throttle(call->words, &asked, error)) {
        answer_error(&call->answer, "ERR %s", error);
        return;
    }
    int64_t emission_ns = emission_of(&asked);
    if (emission_ns == 0 || asked.max_burst == INT64_MAX) {
        answer_error(&call->answer, "%s",
                     emission_ns == 0 ? "ERR Zero rates are not supported: expected a count and a period above 0"
                                      : "ERR max_burst is too large");
        return;
    }
    struct throttle throttle = {.capacity = asked.max_burst + 1, .emission_ns = (uint64_t)emission_ns};
    if (emission_ns < 0 || throttle.capacity <= 0) { /* there never is a token */
        bool limited = emission_ns < 0 || asked.quantity > throttle.capacity;
        answer_cell(call, limited, throttle.capacity, 0, -1, 0);
        return;
    }
    bool gives = asked.quantity < 0, prepared;
    if (gives)
        call_alone(call, true);
    prepared = prepare(call, DOOR_CELL, &asked, &throttle);
    if (prepared)
        decide(call, &throttle, asked.quantity, &result);
    if (gives)
        call_alone(call, false);
    if (!prepared)
        return;
    bool waits = !result.allowed && !result.never && result.retry_ns != UINT64_MAX;
    answer_cell(call, !result.allowed, throttle.capacity, (int64_t)result.remaining,
                waits ? seconds_up(result.retry_ns) : -1, seconds_up(result.full_ns));
}

/* ---- throttlecrab ---- */

/* Its key is forgotten, and so reset, one burst after it is full, less two tokens. */
static uint64_t crab_reset_ns(const struct throttle *throttle, uint64_t full_ns)
{
    uint64_t tail_ns;
    if (throttle->capacity == 1)
        return full_ns > throttle->emission_ns ? full_ns - throttle->emission_ns : 0;
    if (__builtin_mul_overflow((uint64_t)throttle->capacity - 2, throttle->emission_ns, &tail_ns) ||
        __builtin_add_overflow(tail_ns, full_ns, &full_ns))
        return UINT64_MAX;
    return full_ns;
}

/* More than the burst is refused with a time as if it could be had. */
static uint64_t crab_retry_ns(const struct throttle *throttle, const struct throttled *result, int64_t quantity)
{
    uint64_t beyond_ns;
    if (result->allowed)
        return 0;
    if (!result->never)
        return result->retry_ns;
    if (__builtin_mul_overflow((uint64_t)(quantity - throttle->capacity), throttle->emission_ns, &beyond_ns) ||
        __builtin_add_overflow(beyond_ns, result->full_ns, &beyond_ns))
        return UINT64_MAX;
    return beyond_ns;
}

void call_throttle(struct call *call)
{
    struct command_throttle asked;
    struct throttled result;
    char error[COMMAND_ERROR_BYTES];
    if (!command_parse_throttle(call->words, &asked, error)) {
        answer_error(&call->answer, "ERR %s", error);
        return;
    }
    int64_t emission_ns = emission_of(&asked);
    if (asked.quantity < 0) {
        answer_error(&call->answer, "ERR negative quantity: %lld", (long long)asked.quantity);
        return;
    }
    if (asked.max_burst <= 0 || asked.count <= 0 || asked.period_s <= 0 || emission_ns <= 0) {
        answer_error(&call->answer, "ERR invalid rate limit parameters: expected max_burst, count and period above "
                                    "0, and at most one token in a nanosecond");
        return;
    }
    struct throttle throttle = {.capacity = asked.max_burst, .emission_ns = (uint64_t)emission_ns};
    if (!prepare(call, DOOR_CRAB, &asked, &throttle))
        return;
    decide(call, &throttle, asked.quantity, &result);
    answer_array(&call->answer, 5);
    answer_integer(&call->answer, result.allowed);
    answer_integer(&call->answer, throttle.capacity);
    answer_integer(&call->answer, (int64_t)result.remaining);
    answer_integer(&call->answer, (int64_t)(crab_reset_ns(&throttle, result.full_ns) / SECOND_NS));
    answer_integer(&call->answer, (int64_t)(crab_retry_ns(&throttle, &result, asked.quantity) / SECOND_NS));
}

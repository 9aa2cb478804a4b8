#include "tests/lib/cluster_steps.h"

struct said_state said;

static void read_batches(const struct message *message)
{
    struct batch_record record;
    for (uint32_t i = 0; i < message->batch_count; i++) {
        bool sound = message_batch(message, i, &record);
        assert(sound && said.count < SAID_MAX);
        if (message->origins[record.origin].member == message->sender)
            said.batch[said.count++] = (struct said){record.first, record.last, record.spend_count, said.messages};
    }
}

static void read_what_is_said(unsigned host, const struct effects *effects)
{
    for (size_t e = 0; e < effects->effect_count; e++) {
        struct bytes bytes = effect_bytes(effects, &effects->effect[e]);
        if (host != ANN || effects->effect[e].kind != EFFECT_PUBLISH)
            continue;
        bool sound =
            message_unseal(&bytes, &world.host[ANN].options.hash_key) && message_open(&said.message, bytes);
        assert(sound);
        said.messages++;
        said.floor = said.message.floor;
        read_batches(&said.message);
        message_close(&said.message);
    }
}

void steps_init(uint32_t step_keys)
{
    memset(&said, 0, sizeof said);
    impostor_number = 0;
    world_init_steps(16384, step_keys);
    world.watch = read_what_is_said;
}

void steps_begin(void)
{
    world_start(ANN);
    world_run(2500);
    impostor_begin(MESSAGE_GOSSIP, 0, 0);
    impostor_say(NULL);
    skip_text();
}

void step_once(void)
{
    step(ANN, (struct event){.kind = EVENT_WAKE}, ANN);
}

bool goes_on(void)
{
    return world.host[ANN].node && world.host[ANN].wake_ns <= world.now_ns;
}

void step_until_done(void)
{
    for (unsigned steps = 0; goes_on(); steps++) {
        assert(steps < 1000);
        step_once();
    }
}

void tell_now(void)
{
    world.now_ns += 100 * MS;
    step_once();
    step_until_done();
}

void acknowledge_as(uint64_t incarnation, enum peer_state state, uint64_t applied)
{
    impostor_begin(MESSAGE_GOSSIP, 0, applied);
    impostor.members[0].incarnation = impostor.origins[0].incarnation = incarnation;
    impostor.members[0].state = state;
    impostor_say(NULL);
}

void acknowledge(uint64_t applied)
{
    acknowledge_as(1, PEER_ACTIVE, applied);
}

void ask_as(uint64_t incarnation)
{
    struct effects effects;
    struct message_writer writer;
    impostor_begin(MESSAGE_REQUEST, 0, 0);
    impostor.members[0].incarnation = impostor.origins[0].incarnation = incarnation;
    impostor.members[0].state = PEER_JOINING;
    effects_init(&effects);
    message_begin(&writer, &effects, &impostor);
    message_begin_batches(&writer, 0);
    message_end(&writer);
    impostor_deliver(&effects, &writer, EVENT_REQUEST);
}

unsigned spend_range(const char *name, unsigned first, unsigned end)
{
    char key[32];
    unsigned given = 0;
    for (unsigned i = first; i < end; i++) {
        (void)snprintf(key, sizeof key, "%s %u", name, i);
        given += world_ask(ANN, key, 0, 1).allowed;
    }
    return given;
}

uint64_t whole_tokens(int64_t units)
{
    int64_t per_token = world.limits.limit[0].units_per_token;
    return (uint64_t)((units + per_token / 2) / per_token);
}

uint64_t unsettled_of(const char *key)
{
    return whole_tokens(node_bucket(world.host[ANN].node, key_of(key, 0), 0, world.now_ns).unsettled);
}

/* What of a key's capacity is used, settled or not. */
static uint64_t used_of(const char *key)
{
    struct bucket bucket = node_bucket(world.host[ANN].node, key_of(key, 0), 0, world.now_ns);
    return whole_tokens(world.limits.limit[0].capacity_units - bucket.settled + bucket.unsettled);
}

struct sums sums_of(const char *name, unsigned count)
{
    struct sums sums = {0};
    char key[32];
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(key, sizeof key, "%s %u", name, i);
        sums.unsettled += unsettled_of(key);
        sums.used += used_of(key);
    }
    return sums;
}

uint64_t kept_or_untold(void)
{
    struct node_stats stats = world_stats(ANN);
    return stats.log_keys + stats.open_keys;
}

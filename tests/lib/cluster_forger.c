#include "tests/lib/cluster_forger.h"

static void forged_record(struct message *message, const char *name, const char *region, uint64_t incarnation,
                          enum peer_state state)
{
    uint32_t index = message->member_count++;
    message->members[index] = (struct member_record){.name = bytes_of(name),
                                                     .region = bytes_of(region),
                                                     .gossip_address = bytes_of("eve:1"),
                                                     .snapshot_address = bytes_of("eve:2"),
                                                     .incarnation = incarnation,
                                                     .state = state};
}

void forge(unsigned host, const struct forged *about, uint32_t count)
{
    static struct message message;
    static uint64_t number;
    struct effects effects;
    struct message_writer writer;
    memset(&message, 0, sizeof message);
    message.number = ++number;
    message.floor = 1;
    forged_record(&message, "eve", about[0].region, 1, PEER_ACTIVE);
    message.members[0].config = world.host[host].options.config_digest;
    for (uint32_t i = 0; i < count; i++) {
        forged_record(&message, about[i].name, about[i].region, about[i].incarnation, about[i].state);
        if (about[i].number > 0)
            message.rows[message.row_count++] = (struct digest_row){.member = i + 1, .number = about[i].number};
    }
    message.rows[message.row_count++] = (struct digest_row){.member = 0, .number = number};
    effects_init(&effects);
    message_begin(&writer, &effects, &message);
    message_begin_batches(&writer, 0);
    message_end(&writer);
    message_seal(&effects, writer.start, &world.host[host].options.hash_key);
    step(host, (struct event){.kind = EVENT_MESSAGE, .bytes = {(const char *)effects.arena, effects.arena_size}},
         host);
    effects_close(&effects);
}

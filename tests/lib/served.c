#include "tests/lib/served.h"

#include "commands/hot.h"

struct served_state served;

void served_step(struct event event)
{
    event.now_ns = served.now_ns;
    event.wall_ms = served.wall_ns / SERVED_MS;
    node_step(served.node, &event, &served.effects);
}

void served_submit(void *context, const struct event *event, struct rules_result *result)
{
    (void)context;
    served_step(*event);
    if (result != NULL)
        *result = served.effects.rules;
}

/* There is no config. */
static bool reload(void *context, struct reload_report *report, struct error *error)
{
    (void)context, (void)report;
    return error_set(error, 66, "c.yaml cannot be read");
}

void served_wait_ns(uint64_t ns)
{
    uint64_t end_ns = served.now_ns + ns, near_ns = 5000 * SERVED_MS;
    if (ns > 2 * near_ns) {
        served.wall_ns += ns - near_ns;
        served.now_ns += ns - near_ns;
    }
    while (served.effects.next_wake_ns <= end_ns) {
        uint64_t wake_ns =
            served.effects.next_wake_ns > served.now_ns ? served.effects.next_wake_ns : served.now_ns;
        served.wall_ns += wake_ns - served.now_ns;
        served.now_ns = wake_ns;
        served_step((struct event){.kind = EVENT_WAKE});
        if (served.effects.next_wake_ns <= served.now_ns)
            served.effects.next_wake_ns = served.now_ns + SERVED_MS;
    }
    served.wall_ns += end_ns - served.now_ns;
    served.now_ns = end_ns;
}

void served_wait_ms(uint64_t ms)
{
    served_wait_ns(ms * SERVED_MS);
}

void served_plan(uint64_t table_keys, uint32_t peers)
{
    struct node_options *options = &served.options;
    memset(&served, 0, sizeof served);
    served.now_ns = 1000 * SERVED_MS;
    served.wall_ns = SERVED_WALL_NS;
    bool valid = limits_add(&served.limits, "slow", 5, 1, 60000 * SERVED_MS, 0) &&
                 limits_add(&served.limits, "default", 100, 100, 1000 * SERVED_MS, 0);
    assert(valid);
    served.limits.named.by_default = 1;
    (void)snprintf(options->name, sizeof options->name, "alone");
    (void)snprintf(options->region, sizeof options->region, "here");
    (void)snprintf(options->gossip_address, sizeof options->gossip_address, "here:1");
    (void)snprintf(options->snapshot_address, sizeof options->snapshot_address, "here:2");
    (void)snprintf(options->regions[0].region, NODE_NAME_BYTES, "here");
    options->region_count = 1;
    options->regions[0].weight = SHARE_ONE;
    options->peer_count = peers;
    for (uint32_t i = 0; i < peers; i++) {
        (void)snprintf(options->peers[i].name, NODE_NAME_BYTES, "peer-%u", i);
        (void)snprintf(options->peers[i].region, NODE_NAME_BYTES, "here");
        (void)snprintf(options->peers[i].gossip_address, NODE_ADDRESS_BYTES, "peer-%u:1", i);
        (void)snprintf(options->peers[i].snapshot_address, NODE_ADDRESS_BYTES, "peer-%u:2", i);
    }
    options->interval_ns = 100 * SERVED_MS;
    options->silent_after_ns = 1000 * SERVED_MS;
    options->join_timeout_ns = 200 * SERVED_MS;
    options->leave_timeout_ns = 200 * SERVED_MS;
    options->table_keys = table_keys;
    options->log_keys_max = 10000;
    options->events_max = SERVED_EVENTS_MAX;
    options->message_max_bytes = 256 * 1024;
    options->reservations_max = 64;
    options->incarnation = 1;
    options->seed = 1;
    options->limits = &served.limits.named;
    options->config_digest = 0xc0ffee;
    hash_key_from_secret(&options->hash_key, "secret", 6);
}

void served_begin(void)
{
    struct error error;
    const struct node_options *options = &served.options;
    effects_init(&served.effects);
    served.node = node_create(options, &error);
    assert(served.node != NULL);
    served_step((struct event){.kind = EVENT_START});
    served.commands = (struct commands){.node = served.node,
                                        .limits = &served.limits.named,
                                        .hash_key = options->hash_key,
                                        .name = options->name,
                                        .region = options->region,
                                        .version = "1.2.3",
                                        .submit = served_submit,
                                        .reload = reload};
    served.commands.observer.hot = hot_create(false, 1);
    assert(served.commands.observer.hot != NULL);
    commands_init(&served.commands);
    session_open(&served.session, &served.commands, 7, "127.0.0.1:50000");
    served_wait_ms(2000);
}

void served_open_with(uint64_t table_keys, uint32_t peers)
{
    served_plan(table_keys, peers);
    served_begin();
}

void served_open(void)
{
    served_open_with(1024, 0);
}

void served_close(void)
{
    commands_close(&served.commands);
    hot_destroy(&served.commands.observer.hot);
    effects_close(&served.effects);
    node_destroy(&served.node);
}

__attribute__((format(printf, 1, 2))) static void served_tell(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(served.told + served.told_size, sizeof served.told - served.told_size, format, arguments);
    va_end(arguments);
    assert(size >= 0 && served.told_size + (size_t)size < sizeof served.told);
    served.told_size += (size_t)size;
}

/* One value; the index of what follows it. */
static uint32_t served_tell_value(uint32_t index)
{
    const struct reply_node *node = &served.nodes[index];
    const char *text = served.reply + node->offset;
    switch (node->kind) {
    case REPLY_STATUS:
        served_tell("+%.*s", (int)node->size, text);
        break;
    case REPLY_ERROR:
        served_tell("!%.*s", (int)node->size, text);
        break;
    case REPLY_INTEGER:
        served_tell("%lld", (long long)node->integer);
        break;
    case REPLY_TEXT:
        served_tell("'%.*s'", (int)node->size, text);
        break;
    case REPLY_NIL:
        served_tell("(nil)");
        break;
    case REPLY_ARRAY:
        served_tell("[");
        index++;
        for (uint32_t i = 0; i < node->count; i++) {
            served_tell("%s", i > 0 ? " " : "");
            index = served_tell_value(index); /* NOLINT(misc-no-recursion): as deep as a reply */
        }
        served_tell("]");
        return index;
    }
    return index + 1;
}

const char *served_send(struct bytes input)
{
    size_t consumed, at = 0;
    struct output output = output_over(served.reply, sizeof served.reply);
    struct turn turn = {.now_ns = served.now_ns, .wall_ns = served.wall_ns};
    struct reply_parser parser;
    enum serve_status status = commands_serve(&served.commands, &served.session, input, &output, turn, &consumed);
    while (status == SERVE_WAIT && !commands_resume(&served.commands, &served.session, &output)) {
        served_step((struct event){.kind = EVENT_WAKE});
        served.waited_steps++;
    }
    assert((status == SERVE_MORE || status == SERVE_WAIT) && consumed == input.size);
    served.told_size = 0;
    served.told[0] = '\0';
    while (at < output.size) {
        reply_parser_init(&parser, served.nodes, SERVED_NODES_MAX, sizeof served.reply);
        enum reply_progress progress = reply_parse(&parser, (struct bytes){output.data + at, output.size - at});
        assert(progress == REPLY_COMPLETE);
        for (uint32_t i = 0; i < parser.node_count; i++)
            served.nodes[i].offset += at;
        served_tell("%s", at > 0 ? " " : "");
        (void)served_tell_value(0);
        at += parser.position;
    }
    return served.told;
}

enum serve_status served_call(struct session *session, const char *text, struct output *output, size_t *consumed)
{
    const struct turn turn = {.now_ns = served.now_ns, .wall_ns = served.wall_ns};
    *output = output_over(served.reply, sizeof served.reply);
    enum serve_status status = commands_serve(&served.commands, session, bytes_of(text), output, turn, consumed);
    served.reply[output->size] = '\0';
    return status;
}

const char *served_ask(const char *line)
{
    char text[RESP_INLINE_MAX_BYTES + 2];
    int size = snprintf(text, sizeof text, "%s\n", line);
    assert(size > 0 && (size_t)size < sizeof text);
    return served_send((struct bytes){text, (size_t)size});
}

const char *ask_words(const char *first, ...)
{
    static char frame[RESP_FRAME_MAX_BYTES + 1];
    const char *words[SERVED_WORDS_MAX];
    size_t count = 0, size;
    va_list arguments;
    va_start(arguments, first);
    for (const char *word = first; word != NULL; word = va_arg(arguments, const char *)) {
        assert(count < SERVED_WORDS_MAX);
        words[count++] = word;
    }
    va_end(arguments);
    size = (size_t)snprintf(frame, sizeof frame, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++) {
        assert(size + strlen(words[i]) + 20 < sizeof frame);
        size += (size_t)snprintf(frame + size, sizeof frame - size, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
    }
    return served_send((struct bytes){frame, size});
}

bool set_rules(const char *yaml)
{
    const char *answer = ask_words("RULE", "SET", yaml, NULL);
    bool fine = strcmp(answer, "+OK") == 0;
    if (!fine)
        printf("# RULE SET: %s\n", answer);
    return fine;
}

bool served_told(const char *piece)
{
    bool found = strstr(served.told, piece) != NULL;
    if (!found)
        printf("# \"%s\" is not in: %s\n", piece, served.told);
    return found;
}

/*
 * Prepares a load: learns the limit and the addresses, builds the request with holes for the digits
 * of keys, allocates.
 */
#include "base/host_port.h"
#include "base/units.h"
#include "edge/process/clock.h"
#include "operator/command.h"
#include "operator/load.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <sys/epoll.h>

enum { ASK_TIMEOUT_MS = 3000 };

#define KEY_HOLE "{key}"

/* ---- limits ---- */

/* The text behind `label` on the line of `info` that begins with the label, or an empty view. */
static struct bytes info_field(const char *info, const char *label)
{
    const char *at = info;
    size_t size = strlen(label);
    while (at && strncmp(at, label, size) != 0) {
        at = strchr(at, '\n');
        at += at != NULL;
    }
    return at ? (struct bytes){at + size, strcspn(at + size, "\r\n")} : (struct bytes){"", 0};
}

/* The value of `name=` in "name=value,name=value". */
static struct bytes list_field(struct bytes list, const char *name)
{
    size_t size = strlen(name);
    while (list.size > 0) {
        const char *comma = memchr(list.data, ',', list.size);
        size_t part = comma ? (size_t)(comma - list.data) : list.size;
        if (part > size && memcmp(list.data, name, size) == 0 && list.data[size] == '=')
            return (struct bytes){list.data + size + 1, part - size - 1};
        list.data += part + (comma != NULL);
        list.size -= part + (comma != NULL);
    }
    return (struct bytes){"", 0};
}

/* Reads "limit_default:capacity=100,rate=100/s,overshoot=20" of INFO limits. Options override the
 * values. */
static void read_limit(struct load_options *options, const char *info, char name[LIMIT_NAME_BYTES])
{
    char label[LIMIT_NAME_BYTES + 8];
    struct bytes by_default = info_field(info, "default_limit:");
    if (options->rule)
        (void)snprintf(name, LIMIT_NAME_BYTES, "%s", options->rule);
    else
        (void)snprintf(name, LIMIT_NAME_BYTES, "%.*s", (int)by_default.size, by_default.data);
    (void)snprintf(label, sizeof label, "limit_%s:", name);
    struct bytes limit = info_field(info, label);
    options->capacity_given =
        options->capacity_given || units_parse_count(list_field(limit, "capacity"), &options->capacity);
    options->rate_given = options->rate_given || units_parse_rate(list_field(limit, "rate"), &options->limit_rate,
                                                                  &options->limit_period_ns);
    options->declared_given =
        options->declared_given || units_parse_count(list_field(limit, "overshoot"), &options->declared);
}

static int learn_limit(struct load *load, struct headgate_client *client)
{
    struct load_options *options = &load->options;
    static const char *const words[] = {"INFO", "limits"};
    const struct headgate_reply *reply;
    char name[LIMIT_NAME_BYTES] = "";
    if (options->command == LOAD_PING || options->command == LOAD_SEND)
        return EX_OK;
    enum headgate_client_status status = headgate_client_command(client, 2, words, NULL, &reply);
    if (status != HEADGATE_CLIENT_OK && status != HEADGATE_CLIENT_REFUSED)
        return command_failed("load", client, status);
    read_limit(options, status == HEADGATE_CLIENT_OK && reply->kind == HEADGATE_REPLY_TEXT ? reply->text : "",
               name);
    load->limit_known = options->capacity_given && options->rate_given;
    if (options->declared_is_part)
        options->declared = (uint64_t)((double)options->capacity * (double)options->declared / 1e6);
    struct error error;
    const struct limit_terms terms = {.capacity = options->capacity,
                                      .rate = options->limit_rate,
                                      .period_ns = options->limit_period_ns,
                                      .overshoot = options->declared_given ? options->declared : 0};
    if (load->limit_known &&
        !named_limit_init(&load->limit, bytes_of(name[0] ? name : "default"), &terms, &error)) {
        fprintf(stderr, "headgate load: %s\n", error.text);
        return EX_USAGE;
    }
    if (options->expect_bound && !(load->limit_known && options->declared_given)) {
        fprintf(stderr,
                "headgate load: %s does not tell the limit: --expect-bound needs --capacity, --limit-rate "
                "and --declared\n",
                options->target[0]);
        return EX_USAGE;
    }
    return EX_OK;
}

/* Asks each target for an answer, and notes the address at which it answered. */
static int find_targets(struct load *load)
{
    for (uint32_t t = 0; t < load->options.target_count; t++) {
        struct load_target *target = &load->target[t];
        int status = EX_OK;
        struct headgate_client *client =
            command_connect("load", load->options.target[t], ASK_TIMEOUT_MS, &load->options.access, &status);
        if (!client)
            return status;
        char port[PORT_TEXT_BYTES];
        target->name = load->options.target[t];
        bool split = host_port_split(target->name, target->host, sizeof target->host, port);
        assert(split); /* it has answered */
        target->address_size = sizeof target->address;
        if (getpeername(headgate_client_fd(client), (struct sockaddr *)(void *)&target->address,
                        &target->address_size) < 0) {
            fprintf(stderr, "headgate load: %s: %s\n", target->name, strerror(errno));
            status = EX_UNAVAILABLE;
        } else if (t == 0) {
            status = learn_limit(load, client);
        }
        headgate_client_destroy(&client);
        if (status != EX_OK)
            return status;
    }
    return EX_OK;
}

/* ---- the prepared request ---- */

static void append(struct load *load, const char *text, size_t size)
{
    char *out = load->request + load->request_size;
    int header = snprintf(out, sizeof load->request - load->request_size, "$%zu\r\n", size);
    memcpy(out + header, text, size);
    memcpy(out + header + size, "\r\n", 2);
    load->request_size += (size_t)header + size + 2;
}

static struct bytes next_word(const char **at)
{
    *at += strspn(*at, " ");
    struct bytes word = {*at, strcspn(*at, " ")};
    *at += word.size;
    return word;
}

/* Appends a word of the operator with the key in place of each {key}, and notes the holes for
 * digits. False: the word is too long. */
static bool append_filled(struct load *load, struct bytes word, const char *key)
{
    char filled[LOAD_REQUEST_BYTES];
    size_t size = 0, key_size = strlen(key), first_hole = load->hole_count;
    while (word.size > 0) {
        const char *hole = memmem(word.data, word.size, KEY_HOLE, sizeof KEY_HOLE - 1);
        size_t before = hole ? (size_t)(hole - word.data) : word.size;
        if (size + before + key_size + sizeof "$1024\r\n\r\n" > sizeof load->request - load->request_size)
            return false;
        memcpy(filled + size, word.data, before);
        size += before;
        word = (struct bytes){word.data + before, word.size - before};
        if (!hole)
            break;
        if (load->hole_count == LOAD_HOLES_MAX)
            return false;
        memcpy(filled + size, key, key_size);
        size += key_size;
        load->digits_at[load->hole_count++] = size - load->digit_count;
        word = (struct bytes){word.data + sizeof KEY_HOLE - 1, word.size - (sizeof KEY_HOLE - 1)};
    }
    append(load, filled, size);
    for (size_t i = first_hole; i < load->hole_count; i++)
        load->digits_at[i] += load->request_size - 2 - size;
    return true;
}

/* Prepares a request of the operator's own words. */
static int prepare_words(struct load *load, const char *key)
{
    const char *at = load->options.send;
    int words = 0;
    while (next_word(&at).size > 0)
        words++;
    load->request_size = (size_t)snprintf(load->request, sizeof load->request, "*%d\r\n", words);
    at = load->options.send;
    for (struct bytes word = next_word(&at); word.size > 0; word = next_word(&at)) {
        if (append_filled(load, word, key))
            continue;
        fprintf(stderr, "headgate load: --send: at most %d %s, and %d bytes with the keys filled in\n",
                LOAD_HOLES_MAX, KEY_HOLE, LOAD_REQUEST_BYTES);
        return EX_USAGE;
    }
    if (load->hole_count == 0)
        load->digit_count = 0;
    return EX_OK;
}

/* Everything fits: the options bound key and rule. */
static int prepare_request(struct load *load)
{
    const struct load_options *options = &load->options;
    static const char *const names[] = {"CAN_ACCESS", "CHECK", "PING"};
    char key[LOAD_KEY_BYTES + 16], digits[24];
    bool has_cost = options->cost != 1;
    load_key_name(load, 0, key, sizeof key);
    if (options->command == LOAD_SEND)
        return prepare_words(load, key);
    int words = options->command == LOAD_PING    ? 1
                : options->command == LOAD_CHECK ? 2 + 2 * has_cost + (options->rule ? 2 : 0)
                                                 : 2 + has_cost;
    load->request_size = (size_t)snprintf(load->request, sizeof load->request, "*%d\r\n", words);
    append(load, names[options->command], strlen(names[options->command]));
    if (options->command == LOAD_PING)
        return EX_OK;
    append(load, key, strlen(key));
    load->digits_at[load->hole_count++] = load->request_size - 2 - load->digit_count;
    (void)snprintf(digits, sizeof digits, "%" PRIu64, options->cost);
    if (has_cost && options->command == LOAD_CHECK)
        append(load, "COST", 4);
    if (has_cost)
        append(load, digits, strlen(digits));
    if (options->rule) {
        append(load, "RULE", 4);
        append(load, options->rule, strlen(options->rule));
    }
    return EX_OK;
}

void load_key_name(const struct load *load, uint32_t key, char *out, size_t room)
{
    if (load->digit_count == 0)
        (void)snprintf(out, room, "%s", load->key_prefix);
    else
        (void)snprintf(out, room, "%s%0*u", load->key_prefix, (int)load->digit_count, key);
}

/* Chooses names that no other run uses, unless options give names: the buckets of new names are
 * full. */
static void name_keys(struct load *load)
{
    const struct load_options *options = &load->options;
    if (options->key)
        (void)snprintf(load->key_prefix, sizeof load->key_prefix, "%s", options->key);
    else if (options->prefix)
        (void)snprintf(load->key_prefix, sizeof load->key_prefix, "%s", options->prefix);
    else
        (void)snprintf(load->key_prefix, sizeof load->key_prefix, "load-%016" PRIx64 "%s", options->seed,
                       options->keys > 1 ? "-" : "");
    if (!options->key && (options->keys > 1 || options->prefix))
        for (uint32_t left = options->keys; left > 0; left /= 10)
            load->digit_count++;
}

/* ---- memory ---- */

static bool allocate_connection(const struct load *load, struct load_connection *connection)
{
    size_t pipeline = load->options.pipeline;
    connection->fd = -1;
    connection->output = malloc(pipeline * load->request_size + LOAD_REQUEST_BYTES);
    connection->input = malloc(LOAD_INPUT_BYTES);
    connection->ring = malloc(pipeline * sizeof *connection->ring);
    return connection->output && connection->input && connection->ring && load_stream_init(load, connection);
}

static bool allocate(struct load *load)
{
    const struct load_options *options = &load->options;
    load->connection_count = options->connections * options->target_count;
    load->connections = calloc(load->connection_count, sizeof *load->connections);
    load->latency = malloc(sizeof *load->latency);
    load->latency_tick = malloc(sizeof *load->latency_tick);
    bool judged = load->limit_known && !options->no_accuracy && options->keys <= LOAD_JUDGED_KEYS_MAX;
    load->accuracy = judged ? calloc(options->keys, sizeof *load->accuracy) : NULL;
    load->zipf = options->zipf > 0 && options->keys > 1 ? zipf_create(options->keys, options->zipf) : NULL;
    load->late = malloc(sizeof *load->late);
    if (!load->connections || !load->latency || !load->latency_tick || !load->late || (judged && !load->accuracy) ||
        (options->zipf > 0 && options->keys > 1 && !load->zipf))
        return false;
    histogram_init(load->latency);
    histogram_init(load->latency_tick);
    histogram_init(load->late);
    for (uint32_t i = 0; judged && i < options->keys; i++)
        accuracy_init(&load->accuracy[i]);
    for (uint32_t i = 0; i < load->connection_count; i++)
        load->connections[i].fd = -1;
    for (uint32_t i = 0; i < load->connection_count; i++) {
        struct load_target *target = &load->target[i / options->connections];
        if (i % options->connections == 0)
            target->connection = &load->connections[i];
        load->connections[i].target = target;
        if (!allocate_connection(load, &load->connections[i]))
            return false;
    }
    return true;
}

int load_open(struct load *load)
{
    load->epoll = -1;
    load->origin_ns = clock_monotonic_ns();
    int status = find_targets(load);
    if (status != EX_OK)
        return status;
    name_keys(load);
    status = prepare_request(load);
    if (status != EX_OK)
        return status;
    if (!allocate(load)) {
        fprintf(stderr, "headgate load: not enough memory for %u keys and %u connections\n", load->options.keys,
                load->connection_count);
        return EX_OSERR;
    }
    load->judged_limit.capacity = (double)load->limit.terms.capacity;
    if (load->limit_known)
        load->judged_limit.tokens_per_ns = (double)load->limit.terms.rate / (double)load->limit.terms.period_ns;
    random_seed(&load->random, load->options.seed);
    reply_parser_init(&load->parser, load->node, sizeof load->node / sizeof load->node[0], LOAD_INPUT_BYTES);
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (load->epoll < 0) {
        fprintf(stderr, "headgate load: epoll: %s\n", strerror(errno));
        return EX_OSERR;
    }
    return EX_OK;
}

void load_close(struct load *load)
{
    for (uint32_t i = 0; load->connections && i < load->connection_count; i++) {
        if (load->connections[i].fd >= 0)
            (void)close(load->connections[i].fd);
        load_stream_close(&load->connections[i]);
        free(load->connections[i].output);
        free(load->connections[i].input);
        free(load->connections[i].ring);
    }
    if (load->epoll >= 0)
        (void)close(load->epoll);
    free(load->connections);
    free(load->latency);
    free(load->latency_tick);
    free(load->late);
    free(load->accuracy);
    zipf_destroy(&load->zipf);
}

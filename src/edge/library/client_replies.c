/*
 * The requests of a client, and replies as views into its input. All functions return without waiting.
 */
#include "headgate/client.h"

#include "edge/library/client.h"

#include <stdio.h>
#include <string.h>

_Static_assert((int)HEADGATE_REPLY_STATUS == REPLY_STATUS && (int)HEADGATE_REPLY_ERROR == REPLY_ERROR &&
                   (int)HEADGATE_REPLY_INTEGER == REPLY_INTEGER && (int)HEADGATE_REPLY_TEXT == REPLY_TEXT &&
                   (int)HEADGATE_REPLY_NIL == REPLY_NIL && (int)HEADGATE_REPLY_ARRAY == REPLY_ARRAY,
               "kinds are converted by a cast");

/* Bytes behind the last answer that was asked for: the next request would take them for its own answer. */
static bool has_unasked(const struct headgate_client *client)
{
    return client->pending == 0 && client->input_end - client->input_start > client->taken;
}

enum headgate_client_status headgate_client_queue(struct headgate_client *client, size_t count,
                                                  const char *const *words, const size_t *sizes)
{
    enum { HEADER_BYTES = 24 }; /* a type, 20 digits, CR LF and the terminator */
    if (count == 0 || !words)
        return client_fail(client, HEADGATE_CLIENT_USAGE, "a command has at least one word");
    if (client->fd < 0)
        return client_not_connected(client);
    if (has_unasked(client)) {
        headgate_client_close(client);
        return client_fail(client, HEADGATE_CLIENT_PROTOCOL, "%s answered more than it was asked", client->address);
    }
    size_t needed = HEADER_BYTES;
    for (size_t i = 0; i < count; i++) {
        size_t size = sizes ? sizes[i] : strlen(words[i]);
        if (size > client->output_room)
            return client_fail(client, HEADGATE_CLIENT_FULL, "a word of %zu bytes: the limit is %zu for a request",
                               size, client->output_room);
        needed += size + HEADER_BYTES + 2;
        if (needed > client->output_room)
            return client_fail(client, HEADGATE_CLIENT_FULL, "the request is larger than the limit of %zu bytes",
                               client->output_room);
    }
    if (needed > client->output_room - client->output_end) {
        memmove(client->output, client->output + client->output_start, client->output_end - client->output_start);
        client->output_end -= client->output_start;
        client->output_start = 0;
    }
    if (needed > client->output_room - client->output_end)
        return client_fail(client, HEADGATE_CLIENT_FULL, "%zu bytes are waiting to be sent",
                           client->output_end - client->output_start);
    char *out = client->output + client->output_end;
    out += snprintf(out, HEADER_BYTES, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++) {
        size_t size = sizes ? sizes[i] : strlen(words[i]);
        out += snprintf(out, HEADER_BYTES, "$%zu\r\n", size);
        memcpy(out, words[i], size);
        memcpy(out + size, "\r\n", 2);
        out += size + 2;
    }
    client->output_end = (size_t)(out - client->output);
    client->pending++;
    return HEADGATE_CLIENT_OK;
}

/* Turns the parsed nodes into replies that point into the input; the CR behind each text becomes
 * its terminator. */
static void publish_reply(struct headgate_client *client, char *start)
{
    for (uint32_t i = 0; i < client->parser.node_count; i++) {
        const struct reply_node *node = &client->nodes[i];
        struct headgate_reply *reply = &client->replies[i];
        *reply = (struct headgate_reply){.kind = (enum headgate_reply_kind)node->kind,
                                         .count = node->count,
                                         .span = node->span,
                                         .integer = node->integer};
        if (node->kind == REPLY_STATUS || node->kind == REPLY_ERROR || node->kind == REPLY_TEXT) {
            start[node->offset + node->size] = '\0';
            reply->text = start + node->offset;
            reply->size = node->size;
        }
    }
}

static enum reply_progress parse(struct headgate_client *client)
{
    const struct bytes input = {client->input + client->input_start, client->input_end - client->input_start};
    if (input.size == 0)
        return REPLY_INCOMPLETE;
    return client->pending > 0 ? reply_parse(&client->parser, input) : REPLY_INVALID;
}

enum headgate_client_status headgate_client_poll(struct headgate_client *client,
                                                 const struct headgate_reply **reply)
{
    *reply = NULL;
    client_give_back_reply(client);
    enum reply_progress progress = parse(client);
    if (progress == REPLY_INCOMPLETE && client->tls && client_tls_holds(client->tls)) {
        (void)client_receive(client); /* there was no room before; client_not_connected says what failed */
        progress = parse(client);
    }
    if (progress == REPLY_INCOMPLETE)
        return client->fd >= 0 ? HEADGATE_CLIENT_AGAIN : client_not_connected(client);
    if (progress != REPLY_COMPLETE) {
        headgate_client_close(client);
        return client_fail(client, HEADGATE_CLIENT_PROTOCOL, "what %s answers is %s", client->address,
                           progress == REPLY_INVALID ? "not RESP2: is it a daemon's port for clients?"
                                                     : "over the client's limit");
    }
    publish_reply(client, client->input + client->input_start);
    client->taken = client->parser.position;
    client->pending--;
    reply_parser_reset(&client->parser);
    *reply = client->replies;
    if (client->replies[0].kind == HEADGATE_REPLY_ERROR)
        return client_fail(client, HEADGATE_CLIENT_REFUSED, "%s", client->replies[0].text);
    return HEADGATE_CLIENT_OK;
}

size_t headgate_client_pending(const struct headgate_client *client)
{
    return client->pending;
}

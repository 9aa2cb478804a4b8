/*
 * Who asks: Authorization: Basic with a user and its secret, or Bearer USER:SECRET, or Bearer and the password of the
 * config. Each request says it, since a gateway may send requests of many clients over one connection. Wrong ones are
 * penalised as those of AUTH are.
 */
#include "http/call.h"

#include <sodium.h>
#include <strings.h>

/* The credentials of a scheme ("bearer "), or .data NULL. */
static struct bytes credentials_of(struct bytes authorization, const char *scheme)
{
    const size_t size = strlen(scheme);
    if (authorization.size <= size || strncasecmp(authorization.data, scheme, size) != 0)
        return (struct bytes){0};
    return (struct bytes){authorization.data + size, authorization.size - size};
}

/* Base64, with its padding or without; false: it is none. */
static bool decode(struct bytes text, struct output *decoded, struct bytes *out)
{
    char *data = decoded->data + decoded->size;
    size_t size;
    while (text.size > 0 && text.data[text.size - 1] == '=')
        text.size--;
    if (sodium_base642bin((unsigned char *)data, decoded->room - decoded->size, text.data, text.size, NULL, &size,
                          NULL, sodium_base64_VARIANT_ORIGINAL_NO_PADDING) != 0)
        return false;
    decoded->size += size;
    *out = (struct bytes){data, size};
    return true;
}

static bool split(struct bytes both, struct credentials *credentials)
{
    const char *colon = both.size > 0 ? memchr(both.data, ':', both.size) : NULL;
    if (colon == NULL)
        return false;
    credentials->user = (struct bytes){both.data, (size_t)(colon - both.data)};
    credentials->password = (struct bytes){colon + 1, both.size - credentials->user.size - 1};
    return true;
}

/* False: the request has no password in a form that is known here. */
static bool find_password(struct http_call *call, struct credentials *credentials)
{
    const struct bytes authorization = http_header(call->message, "authorization");
    const struct bytes basic = credentials_of(authorization, "basic ");
    const struct bytes bearer = credentials_of(authorization, "bearer ");
    struct bytes both;
    credentials->address = call->session->address;
    if (bearer.data != NULL) {
        users_read_bearer(call->http->commands->users, bearer, &credentials->user, &credentials->password);
        return true;
    }
    return basic.data != NULL && basic.size <= HTTP_CREDENTIALS_MAX_BYTES && decode(basic, &call->decoded, &both) &&
           split(both, credentials);
}

static void answer_unauthorized(struct http_call *call, const char *detail)
{
    http_problem(call, 401, "Authorization", "%s", detail);
    put_text(&call->fields, "WWW-Authenticate: Bearer realm=\"headgate\"\r\n"
                            "WWW-Authenticate: Basic realm=\"headgate\"\r\n");
}

static bool may(struct http_call *call, const struct http_route *route, const struct user *user)
{
    const bool reads = (call->message->method & (HTTP_METHOD_GET | HTTP_METHOD_HEAD)) != 0;
    call->http->commands->caller = user;
    if (user_has(user, reads ? route->reads : route->changes))
        return true;
    http_problem(call, 403, "Authorization", "the user %s has no role that may do this", user->name);
    return false;
}

bool http_admit(struct http_call *call, const struct http_route *route)
{
    struct commands *commands = call->http->commands;
    struct http_session *session = call->session;
    struct credentials credentials;
    const struct user *user;
    uint64_t barred_ns;
    if (!ask_needs_password(commands)) {
        session->known = true;
        return may(call, route, &user_default);
    }
    if (!find_password(call, &credentials)) {
        answer_unauthorized(call,
                            commands->password != NULL
                                ? "expected Authorization: Bearer and the password of the config"
                                : "expected Authorization: Bearer and a user's name and secret, with a colon");
        return false;
    }
    switch (ask_password(commands, &credentials, call->turn.now_ns, &user, &barred_ns)) {
    case PASSWORD_RIGHT:
        session->known = true;
        session->refused = 0;
        return may(call, route, user);
    case PASSWORD_WAITS:
        session->waits_check = true;
        return false;
    case PASSWORD_WRONG:
        answer_unauthorized(call, "the password is wrong");
        call->closes |= ++session->refused >= SESSION_REFUSED_MAX;
        call->delays = !call->closes;
        return false;
    case PASSWORD_BARRED:
        answer_unauthorized(call, "too many wrong passwords came from this address: none is looked at for now");
        put_text(&call->fields, "Retry-After: ");
        put_number(&call->fields, barred_ns / 1000000000 + 1);
        put_text(&call->fields, "\r\n");
        call->closes = true;
        return false;
    }
    return false;
}

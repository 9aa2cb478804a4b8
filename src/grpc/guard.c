/*
 * Who asks: authorization: Bearer NAME:SECRET, or Bearer and the password of the config. A wrong one ends the
 * connection, since one connection may carry many requests at a time, and a delay would hold all of them.
 */
#include "grpc/call.h"

#include <strings.h>

void grpc_hear_password(struct grpc_call *call, struct bytes authorization)
{
    static const char scheme[] = "bearer ";
    const size_t size = sizeof scheme - 1;
    struct grpc *grpc = call->session->grpc;
    uint64_t barred_ns;
    if (!ask_needs_password(grpc->commands) || call->admission != GRPC_NO_PASSWORD || authorization.size <= size ||
        strncasecmp(authorization.data, scheme, size) != 0)
        return;
    struct credentials credentials = {.address = call->session->address};
    users_read_bearer(grpc->commands->users, (struct bytes){authorization.data + size, authorization.size - size},
                      &credentials.user, &credentials.password);
    switch (ask_password(grpc->commands, &credentials, grpc->turn.now_ns, &call->user, &barred_ns)) {
    case PASSWORD_RIGHT:
        call->admission = GRPC_ADMITTED;
        call->user_edition = call->user->edition;
        break;
    case PASSWORD_WAITS:
        call->admission = GRPC_PASSWORD_WAITS;
        break;
    case PASSWORD_WRONG:
        call->admission = GRPC_WRONG_PASSWORD;
        break;
    case PASSWORD_BARRED:
        call->admission = GRPC_BARRED;
        break;
    }
}

bool grpc_admit(struct grpc_call *call)
{
    struct grpc_session *session = call->session;
    if (!ask_needs_password(session->grpc->commands)) {
        call->user = &user_default;
        call->user_edition = user_default.edition;
    }
    if (call->user != NULL) {
        session->known = true;
        if (user_has(call->user, call->method->roles))
            return true;
        grpc_refuse(call, GRPC_PERMISSION_DENIED, "the user %s has no role that may do this", call->user->name);
        return false;
    }
    if (call->method->open)
        return true;
    if (call->admission == GRPC_PASSWORD_WAITS) {
        grpc_refuse(call, GRPC_UNAVAILABLE, "the secret is being compared with its hash: ask again");
        return false;
    }
    session->ends |= call->admission != GRPC_NO_PASSWORD;
    grpc_refuse(call, GRPC_UNAUTHENTICATED, "%s",
                call->admission == GRPC_NO_PASSWORD
                    ? (session->grpc->commands->password != NULL
                           ? "expected authorization: Bearer and the password of the config"
                           : "expected authorization: Bearer and a user's name and secret, with a colon")
                : call->admission == GRPC_WRONG_PASSWORD
                    ? "the password is wrong"
                    : "too many wrong passwords came from this address: none is "
                      "looked at for now");
    return false;
}

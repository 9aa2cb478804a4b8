/*
 * The password: authorization: Bearer PASSWORD. A wrong one ends the connection, since one connection may carry many
 * requests at a time, and a delay would hold all of them.
 */
#include "grpc/call.h"

#include <strings.h>

void grpc_hear_password(struct grpc_call *call, struct bytes authorization)
{
    static const char scheme[] = "bearer ";
    const size_t size = sizeof scheme - 1;
    struct grpc *grpc = call->session->grpc;
    uint64_t barred_ns;
    if (grpc->commands->password == NULL || call->admission != GRPC_NO_PASSWORD || authorization.size <= size ||
        strncasecmp(authorization.data, scheme, size) != 0)
        return;
    const struct bytes password = {authorization.data + size, authorization.size - size};
    switch (ask_password(grpc->commands, call->session->address, bytes_of("default"), password, grpc->turn.now_ns,
                         &barred_ns)) {
    case PASSWORD_RIGHT:
        call->admission = GRPC_ADMITTED;
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
    if (session->grpc->commands->password == NULL || call->admission == GRPC_ADMITTED) {
        session->known = true;
        return true;
    }
    if (call->method->open)
        return true;
    session->ends |= call->admission != GRPC_NO_PASSWORD;
    grpc_refuse(call, GRPC_UNAUTHENTICATED, "%s",
                call->admission == GRPC_NO_PASSWORD
                    ? "expected authorization: Bearer and the password of the config"
                : call->admission == GRPC_WRONG_PASSWORD
                    ? "the password is wrong"
                    : "too many wrong passwords came from this address: none is "
                      "looked at for now");
    return false;
}

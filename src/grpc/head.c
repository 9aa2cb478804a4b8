/*
 * The head of a request: which method it asks for, how long its client waits, and whether its client may ask.
 */
#include "grpc/call.h"
#include "grpc/timeout.h"

#include <string.h>

enum { FIELD_OVERHEAD_BYTES = 32 }; /* of a field of a head, as HTTP/2 counts it */

static bool begins_with(struct bytes text, const char *start)
{
    const size_t size = strlen(start);
    return text.size >= size && memcmp(text.data, start, size) == 0;
}

static void hear(struct grpc_call *call, struct bytes name, struct bytes value)
{
    if (bytes_equal(name, bytes_of(":path"))) {
        call->method = grpc_method(value);
    } else if (bytes_equal(name, bytes_of(":method"))) {
        call->is_post = bytes_equal(value, bytes_of("POST"));
    } else if (bytes_equal(name, bytes_of("content-type"))) {
        call->is_grpc = bytes_equal(value, bytes_of("application/grpc")) ||
                        begins_with(value, "application/grpc+") || begins_with(value, "application/grpc;");
    } else if (bytes_equal(name, bytes_of("grpc-timeout"))) {
        call->timeout_is_wrong = !grpc_timeout_read(value, &call->timeout_ns);
    } else if (bytes_equal(name, bytes_of("grpc-encoding"))) {
        call->is_encoded = !bytes_equal(value, bytes_of("identity"));
    } else if (bytes_equal(name, bytes_of("authorization"))) {
        grpc_hear_password(call, value);
    } else if (bytes_equal(name, bytes_of("traceparent")) && value.size == GRPC_TRACE_BYTES) {
        memcpy(call->trace, value.data, value.size);
        call->trace_bytes = GRPC_TRACE_BYTES;
    }
}

void grpc_hear_field(struct grpc_call *call, struct bytes name, struct bytes value, bool is_read)
{
    if (call->head_bytes <= GRPC_HEAD_MAX_BYTES)
        call->head_bytes += (uint32_t)(name.size + value.size + FIELD_OVERHEAD_BYTES);
    if (call->head_bytes <= GRPC_HEAD_MAX_BYTES && is_read)
        hear(call, name, value);
}

bool grpc_check_head(struct grpc_call *call)
{
    if (call->head_bytes > GRPC_HEAD_MAX_BYTES)
        grpc_refuse(call, GRPC_RESOURCE_EXHAUSTED, "the head has more than %d bytes", GRPC_HEAD_MAX_BYTES);
    else if (!call->is_post)
        grpc_refuse_http(call, "405");
    else if (!call->is_grpc)
        grpc_refuse_http(call, "415");
    else if (call->method == NULL)
        grpc_refuse(call, GRPC_UNIMPLEMENTED, "there is no such method");
    else if (call->is_encoded)
        grpc_refuse(call, GRPC_UNIMPLEMENTED, "the message is compressed: expected grpc-encoding: identity");
    else if (call->timeout_is_wrong)
        grpc_refuse(call, GRPC_INVALID_ARGUMENT, "grpc-timeout is no number and unit");
    else
        return grpc_admit(call);
    return false;
}

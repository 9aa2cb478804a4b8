#include "tests/lib/grpc_asked.h"

#include "envoy/service/ratelimit/v3/rls.pb-c.h"
#include "tests/lib/grpc_client.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { ENTRIES_MAX = 8 };

typedef Envoy__Extensions__Common__Ratelimit__V3__RateLimitDescriptor Descriptor;
typedef Envoy__Extensions__Common__Ratelimit__V3__RateLimitDescriptor__Entry Entry;
typedef Envoy__Extensions__Common__Ratelimit__V3__RateLimitDescriptor__RateLimitOverride Override;
typedef Envoy__Service__Ratelimit__V3__RateLimitResponse Response;

static ProtobufCBinaryData data_of(const char *text, size_t size)
{
    return (ProtobufCBinaryData){size, (uint8_t *)(uintptr_t)text};
}

struct bytes grpc_packed(const char *domain, uint32_t hits, const struct grpc_asked *asked, size_t count)
{
    static uint8_t message[16384];
    static Entry entry[GRPC_ASKED_MAX][ENTRIES_MAX], *entries[GRPC_ASKED_MAX][ENTRIES_MAX];
    static Descriptor descriptor[GRPC_ASKED_MAX], *descriptors[GRPC_ASKED_MAX];
    static Override limit[GRPC_ASKED_MAX];
    static Google__Protobuf__UInt64Value value[GRPC_ASKED_MAX];
    Envoy__Service__Ratelimit__V3__RateLimitRequest request =
        ENVOY__SERVICE__RATELIMIT__V3__RATE_LIMIT_REQUEST__INIT;
    for (size_t i = 0; i < count; i++) {
        envoy__extensions__common__ratelimit__v3__rate_limit_descriptor__init(&descriptor[i]);
        descriptor[i].entries = entries[i];
        descriptors[i] = &descriptor[i];
        for (const char *at = asked[i].entries; *at;) {
            const size_t key = strcspn(at, "="), end = strcspn(at, " ");
            Entry *next = entries[i][descriptor[i].n_entries] = &entry[i][descriptor[i].n_entries];
            envoy__extensions__common__ratelimit__v3__rate_limit_descriptor__entry__init(next);
            next->key = data_of(at, key);
            next->value = data_of(at + key + 1, end - key - 1);
            descriptor[i].n_entries++;
            at += end + (at[end] == ' ');
        }
        google__protobuf__uint64_value__init(&value[i]);
        value[i].value = (uint64_t)asked[i].hits;
        descriptor[i].hits_addend = asked[i].hits >= 0 ? &value[i] : NULL;
        descriptor[i].is_negative_hits = asked[i].back;
        envoy__extensions__common__ratelimit__v3__rate_limit_descriptor__rate_limit_override__init(&limit[i]);
        limit[i].requests_per_unit = asked[i].limit;
        limit[i].unit = (Envoy__Type__V3__RateLimitUnit)asked[i].unit;
        descriptor[i].limit = asked[i].unit != 0 ? &limit[i] : NULL;
    }
    request.domain = data_of(domain, strlen(domain));
    request.descriptors = descriptors;
    request.n_descriptors = count;
    request.hits_addend = hits;
    const size_t size = envoy__service__ratelimit__v3__rate_limit_request__get_packed_size(&request);
    assert(size <= sizeof message);
    (void)envoy__service__ratelimit__v3__rate_limit_request__pack(&request, message);
    return (struct bytes){(const char *)message, size};
}

const char *grpc_told(int32_t stream)
{
    static char text[8192];
    static const char *const codes[] = {"?", "OK", "OVER"};
    const struct grpc_heard *heard = grpc_client_heard(stream);
    if (heard->status != 0 || heard->message_size < 5) {
        (void)snprintf(text, sizeof text, "status %d: %s", heard->status, heard->sentence);
        return text;
    }
    Response *response =
        envoy__service__ratelimit__v3__rate_limit_response__unpack(NULL, heard->message_size - 5,
                                                                   (const uint8_t *)heard->message + 5);
    assert(response != NULL);
    size_t size = (size_t)snprintf(text, sizeof text, "%s", codes[response->overall_code]);
    for (size_t i = 0; i < response->n_statuses; i++) {
        const Envoy__Service__Ratelimit__V3__RateLimitResponse__DescriptorStatus *status = response->statuses[i];
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%s", i > 0 ? ", " : ": ", codes[status->code]);
        if (status->current_limit != NULL)
            size += (size_t)snprintf(text + size, sizeof text - size, " %s %u/%d %u", status->current_limit->name,
                                     status->current_limit->requests_per_unit, (int)status->current_limit->unit,
                                     status->limit_remaining);
        if (status->duration_until_reset != NULL)
            size += (size_t)snprintf(text + size, sizeof text - size, " in %lld",
                                     (long long)status->duration_until_reset->seconds * 1000 +
                                         status->duration_until_reset->nanos / 1000000);
    }
    for (size_t i = 0; i < response->n_response_headers_to_add; i++)
        size +=
            (size_t)snprintf(text + size, sizeof text - size, "; %s: %s", response->response_headers_to_add[i]->key,
                             response->response_headers_to_add[i]->value);
    envoy__service__ratelimit__v3__rate_limit_response__free_unpacked(response, NULL);
    return text;
}

static size_t put_value(char *text, size_t room, const Google__Protobuf__Value *value);

static size_t put_fields(char *text, size_t room, const Google__Protobuf__Struct *fields)
{
    size_t size = (size_t)snprintf(text, room, "{");
    for (size_t i = 0; i < fields->n_fields; i++) {
        size += (size_t)snprintf(text + size, room - size, "%s\"%s\": ", i > 0 ? ", " : "", fields->fields[i]->key);
        size += put_value(text + size, room - size, fields->fields[i]->value);
    }
    return size + (size_t)snprintf(text + size, room - size, "}");
}

static size_t put_value(char *text, size_t room, const Google__Protobuf__Value *value)
{
    if (value->kind_case == GOOGLE__PROTOBUF__VALUE__KIND_BOOL_VALUE)
        return (size_t)snprintf(text, room, "%s", value->bool_value ? "true" : "false");
    if (value->kind_case == GOOGLE__PROTOBUF__VALUE__KIND_STRING_VALUE)
        return (size_t)snprintf(text, room, "\"%s\"", value->string_value);
    if (value->kind_case == GOOGLE__PROTOBUF__VALUE__KIND_STRUCT_VALUE)
        return put_fields(text, room, value->struct_value);
    assert(value->kind_case == GOOGLE__PROTOBUF__VALUE__KIND_LIST_VALUE);
    size_t size = (size_t)snprintf(text, room, "[");
    for (size_t i = 0; i < value->list_value->n_values; i++) {
        size += (size_t)snprintf(text + size, room - size, "%s", i > 0 ? ", " : "");
        size += put_value(text + size, room - size, value->list_value->values[i]);
    }
    return size + (size_t)snprintf(text + size, room - size, "]");
}

const char *grpc_told_metadata(int32_t stream)
{
    static char text[8192];
    const struct grpc_heard *heard = grpc_client_heard(stream);
    assert(heard->status == 0 && heard->message_size >= 5);
    Response *response =
        envoy__service__ratelimit__v3__rate_limit_response__unpack(NULL, heard->message_size - 5,
                                                                   (const uint8_t *)heard->message + 5);
    assert(response != NULL);
    text[0] = '\0';
    if (response->dynamic_metadata != NULL)
        (void)put_fields(text, sizeof text, response->dynamic_metadata);
    envoy__service__ratelimit__v3__rate_limit_response__free_unpacked(response, NULL);
    return text;
}

const char *grpc_ask_all(const char *domain, uint32_t hits, const struct grpc_asked *asked, size_t count)
{
    static char text[8192];
    const int32_t stream =
        grpc_client_ask(GRPC_RATE_LIMIT, grpc_packed(domain, hits, asked, count), NULL, NULL, true);
    grpc_client_run();
    const char *whole = grpc_told(stream);
    (void)snprintf(text, sizeof text, "%.*s", (int)strcspn(whole, ";"), whole);
    return text;
}

const char *grpc_ask(const char *domain, const char *entries)
{
    return grpc_ask_all(domain, 0, &(struct grpc_asked){.entries = entries, .hits = -1}, 1);
}

const char *grpc_ask_hits(const char *entries, int64_t hits, bool back)
{
    return grpc_ask_all("edge", 0, &(struct grpc_asked){.entries = entries, .hits = hits, .back = back}, 1);
}

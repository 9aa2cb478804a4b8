/*
 * Any bytes, in any pieces, as a client of gRPC: as they are, and behind a preface; and as a message by itself. Nothing
 * beyond them is read, what is promised to the listener holds, and all memory is given back.
 */
#include "grpc/grpc.h"

#include "grpc/arena.h"
#include "grpc/descriptor.h"
#include "grpc/timeout.h"
#include "tests/lib/served.h"

#include "envoy/service/ratelimit/v3/rls.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
extern const unsigned fuzz_mutations;
const unsigned fuzz_mutations = 3000; /* each is two conversations */

enum { OUTPUT_BYTES = 40 << 10, MEMORY = 1 << 20, PIECES_MAX = 256 };

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
static struct grpc *grpc;
static char said[OUTPUT_BYTES];

static void prepare(void)
{
    static const struct grpc_options options = {.limit_fields = HTTP_LIMIT_X,
                                                .memory_bytes = MEMORY,
                                                .request_timeout_ns = UINT64_MAX};
    if (grpc != NULL)
        return;
    served_open();
    grpc = grpc_create(&served.commands, &options);
    assert(grpc != NULL);
}

/* True: the connection goes on. The input lies in memory of its own size. */
static bool serve(struct grpc_session *session, struct bytes input, size_t *consumed)
{
    struct output output = output_over(said, sizeof said);
    char *copy = malloc(input.size);
    assert(copy != NULL || input.size == 0);
    if (input.size > 0)
        memcpy(copy, input.data, input.size);
    const enum serve_status status =
        grpc_serve(grpc, session, (struct bytes){copy, input.size}, &output,
                   (struct turn){.now_ns = served.now_ns, .wall_ns = served.wall_ns}, consumed);
    free(copy);
    assert(*consumed <= input.size && !output.overflowed);
    assert(status != SERVE_AGAIN || output.size > 0);
    return status != SERVE_CLOSE;
}

/* The bytes come `step` by `step`. */
static void tell(struct bytes input, size_t step)
{
    struct grpc_session session = {.known = false};
    size_t at = 0, consumed;
    bool open = true;
    grpc_open(grpc, &session, "10.0.0.1:1");
    for (size_t end = 0; end < input.size && open;) {
        end = end + step < input.size ? end + step : input.size;
        open = serve(&session, (struct bytes){input.data + at, end - at}, &consumed);
        at += consumed;
    }
    grpc_close(&session);
    assert(session.account.taken == 0);
}

static void read_further(struct bytes input)
{
    static _Alignas(max_align_t) char room[16384];
    static const struct hash_key key = {{1}};
    struct grpc_arena arena;
    struct grpc_descriptor descriptor;
    uint64_t ns;
    (void)grpc_timeout_read(input, &ns);
    grpc_arena_init(&arena, room, sizeof room);
    grpc_arena_begin(&arena);
    const Envoy__Service__Ratelimit__V3__RateLimitRequest *request =
        envoy__service__ratelimit__v3__rate_limit_request__unpack(&arena.allocator, input.size,
                                                                  (const uint8_t *)input.data);
    assert(arena.used <= arena.size);
    for (size_t i = 0; request != NULL && i < request->n_descriptors; i++) {
        grpc_descriptor_begin(&descriptor, PATH_MERGE_SLASHES);
        for (size_t j = 0; j < request->descriptors[i]->n_entries; j++) {
            const ProtobufCBinaryData name = request->descriptors[i]->entries[j]->key,
                                      value = request->descriptors[i]->entries[j]->value;
            if (!grpc_descriptor_add(&descriptor, (struct bytes){(const char *)name.data, name.len},
                                     (struct bytes){(const char *)value.data, value.len}, &key, &arena))
                break;
        }
        grpc_descriptor_end(&descriptor);
        assert(descriptor.query.id_count >= 1 && descriptor.query.id_count <= COMMAND_IDS_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct bytes input = {(const char *)bytes, size};
    char *behind = malloc(sizeof preface - 1 + size);
    assert(behind != NULL);
    prepare();
    memcpy(behind, preface, sizeof preface - 1);
    if (size > 0)
        memcpy(behind + sizeof preface - 1, bytes, size);
    const struct bytes conversation = {behind, sizeof preface - 1 + size};
    tell(input, size + 1);
    tell(conversation, conversation.size);
    tell(conversation, 1 + conversation.size / PIECES_MAX);
    free(behind);
    read_further(input);
    return 0;
}

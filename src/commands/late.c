/*
 * Puts off single CAN_ACCESS requests of several clients and decides them together. A client that
 * sends one CAN_ACCESS at a time brings no run of its own. The listener asks for the answers at
 * once where few clients are heard, and otherwise when the loop has heard all of them.
 */
#include "commands/call.h"
#include "commands/hot.h"

#include <assert.h>
#include <string.h>

enum { PUT_OFF_MAX = 4 }; /* requests of one client; a client with more requests has a run of its own */

_Static_assert(PUT_OFF_MAX *DECISION_BYTES <= LISTENER_LATE_BYTES, "what is put off has room to be answered");
_Static_assert((int)PUT_OFF_MAX *(int)LISTENER_LATE_MAX <= (int)LATE_REQUESTS_MAX, "all that may wait have room");

/* The words of what is put off are gone when it is decided. */
static void keep_keys(struct late *late, struct bytes frames, uint32_t count)
{
    struct bytes key;
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        frames = (struct bytes){frames.data + size, frames.size - size};
        size = shape_read_access(frames, &key);
        assert(size > 0 && key.size <= LATE_KEY_MAX_BYTES);
        late->key[late->count + i].size = (uint8_t)key.size;
        memcpy(late->key[late->count + i].text, key.data, key.size);
    }
}

bool late_put_off(struct commands *commands, struct session *session)
{
    struct late *late = &commands->late;
    struct pending *pending = &commands->pending;
    const uint32_t count = pending->request_count;
    if (!commands->puts_off || count == 0 || count > PUT_OFF_MAX || late->count + count > LATE_REQUESTS_MAX ||
        pending->run_count > 1 || pending->run[0].shape != SHAPE_ACCESS || !commands->shapes.access_is_single)
        return false;
    assert(session->late_count == 0 && late->answered == 0);
    memcpy(late->id + late->count, pending->id, count * sizeof *pending->id);
    if (hot_remembers(commands->observer.hot))
        keep_keys(late, pending->run[0].frames, count);
    session->late_count = count;
    late->count += count;
    pending_clear(pending);
    return true;
}

void commands_answer(struct commands *commands, struct session *session, struct output *output, struct turn turn)
{
    struct late *late = &commands->late;
    const struct asker asker = {.late = late};
    const uint32_t first = late->answered, count = session->late_count;
    assert(count > 0 && first + count <= late->count);
    if (first == 0)
        late->allowed = pending_decide_access(commands, late->id, late->count, &asker, turn.now_ns);
    answer_decisions(output, late->allowed >> first, count);
    commands->stats.total_commands_processed += count;
    session->late_count = 0;
    late->answered += count;
    if (late->answered == late->count)
        late->answered = late->count = 0;
}

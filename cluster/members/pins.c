/*
 * pins keeps one key for each name, in places that are never used up: there are twice as many as members. The text of
 * all pins is small, so a change gives the caller all of it.
 */
#include "cluster/members/pins.h"

#include "base/hex.h"
#include "cluster/state/node_state.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static struct pin *find(struct node *node, const char *name)
{
    for (uint32_t i = 0; i < PINS_MAX; i++)
        if (strcmp(node->proofs.pin[i].name, name) == 0)
            return &node->proofs.pin[i];
    return NULL;
}

/* A free place, or that of a name that is in the list no more. There are more places than members. */
static struct pin *pin_place(struct node *node)
{
    struct pin *place = find(node, "");
    for (uint32_t i = 0; i < PINS_MAX && !place; i++)
        if (member_find(node, bytes_of(node->proofs.pin[i].name)) < 0)
            place = &node->proofs.pin[i];
    assert(place);
    return place;
}

void pins_put(struct node *node, const char *name, const uint8_t key[NODE_KEY_BYTES])
{
    struct pin *place = find(node, name);
    if (!place)
        place = pin_place(node);
    (void)snprintf(place->name, sizeof place->name, "%s", name);
    memcpy(place->key, key, NODE_KEY_BYTES);
    node->proofs.unsaved = true;
}

void pins_drop(struct node *node, const char *name)
{
    struct pin *place = find(node, name);
    if (place)
        *place = (struct pin){0};
    node->proofs.unsaved = true;
}

void pins_step(struct node *node, struct effects *effects)
{
    struct proofs *proofs = &node->proofs;
    size_t size = 0;
    if (!proofs->unsaved)
        return;
    /* never empty, so that the caller keeps it also when the last pin is dropped */
    size = (size_t)snprintf(proofs->saved, sizeof proofs->saved, "# name key\n");
    for (uint32_t i = 0; i < PINS_MAX; i++) {
        char key[2 * NODE_KEY_BYTES + 1];
        if (proofs->pin[i].name[0] == '\0')
            continue;
        hex_write(proofs->pin[i].key, NODE_KEY_BYTES, key);
        size += (size_t)snprintf(proofs->saved + size, sizeof proofs->saved - size, "%s %s\n", proofs->pin[i].name,
                                 key);
    }
    effects->keys_text = (struct bytes){proofs->saved, size};
    effects->keys_number = ++proofs->saved_number;
    proofs->unsaved = false;
}

/* One line of what pins_step wrote. Lines of another form are passed over: a later release may write them. */
static void restore_line(struct node *node, const char *line, size_t size)
{
    const char *blank = memchr(line, ' ', size);
    uint8_t key[NODE_KEY_BYTES];
    char name[NODE_NAME_BYTES] = "";
    const size_t name_size = blank ? (size_t)(blank - line) : 0;
    if (name_size == 0 || name_size >= sizeof name || memchr(line, '\0', size) ||
        !hex_read((struct bytes){blank + 1, size - name_size - 1}, key, NODE_KEY_BYTES))
        return;
    memcpy(name, line, name_size);
    struct pin *place = find(node, name);
    if (!place)
        place = find(node, "");
    if (!place)
        return;
    memcpy(place->name, name, sizeof name);
    memcpy(place->key, key, NODE_KEY_BYTES);
}

void pins_restore(struct node *node, const struct event *event)
{
    const char *at = event->keys_text.data, *end = at + event->keys_text.size;
    memset(node->proofs.pin, 0, sizeof node->proofs.pin);
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const char *next = line_end ? line_end + 1 : end;
        restore_line(node, at, (size_t)((line_end ? line_end : end) - at));
        at = next;
    }
    node->proofs.saved_number = event->keys_number;
}

const struct pin *pins_find(struct node *node, const char *name)
{
    return find(node, name);
}

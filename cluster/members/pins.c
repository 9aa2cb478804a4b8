/*
 * pins keeps one key for each name, in places that are never used up: there are twice as many as members. The text of
 * all pins is small, so a change gives the caller all of it.
 */
#include "cluster/members/pins.h"

#include "base/hex.h"
#include "cluster/members/version.h"
#include "cluster/state/node_state.h"

#include <assert.h>
#include <inttypes.h>
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
    if (strcmp(place->name, name) != 0)
        *place = (struct pin){0};
    (void)snprintf(place->name, sizeof place->name, "%s", name);
    place->has_former = place->has_former && memcmp(place->key, key, NODE_KEY_BYTES) == 0;
    memcpy(place->key, key, NODE_KEY_BYTES);
    node->proofs.unsaved = true;
}

void pins_put_former(struct node *node, const char *name, const uint8_t former[NODE_KEY_BYTES])
{
    struct pin *place = find(node, name);
    if (!place)
        return;
    place->has_former = true;
    memcpy(place->former, former, NODE_KEY_BYTES);
    node->proofs.unsaved = true;
}

void pins_put_since(struct node *node, const char *name, uint64_t incarnation)
{
    struct pin *place = find(node, name);
    if (!place || incarnation <= place->since)
        return;
    place->since = incarnation;
    node->proofs.unsaved = true;
}

void pins_drop(struct node *node, const char *name)
{
    struct pin *place = find(node, name);
    if (place)
        *place = (struct pin){0};
    node->proofs.unsaved = true;
}

/* Of the lines about a pin the one with the key comes first, since a release before 0.5 reads no other. */
static size_t write_pin(const struct pin *pin, char *text, size_t room)
{
    char key[2 * NODE_KEY_BYTES + 1];
    hex_write(pin->key, NODE_KEY_BYTES, key);
    size_t size = (size_t)snprintf(text, room, "%s %s\n", pin->name, key);
    if (pin->has_former) {
        hex_write(pin->former, NODE_KEY_BYTES, key);
        size += (size_t)snprintf(text + size, room - size, "%s former %s\n", pin->name, key);
    }
    if (pin->since > 0)
        size += (size_t)snprintf(text + size, room - size, "%s since %" PRIu64 "\n", pin->name, pin->since);
    return size;
}

void pins_step(struct node *node, struct effects *effects)
{
    struct proofs *proofs = &node->proofs;
    size_t size = 0;
    if (!proofs->unsaved)
        return;
    /* never empty, so that the caller keeps it also when the last pin is dropped */
    size = (size_t)snprintf(proofs->saved, sizeof proofs->saved, "# name key\n");
    for (uint32_t i = 0; i < PINS_MAX; i++)
        if (proofs->pin[i].name[0] != '\0')
            size += write_pin(&proofs->pin[i], proofs->saved + size, sizeof proofs->saved - size);
    effects->keys_text = (struct bytes){proofs->saved, size};
    effects->keys_number = ++proofs->saved_number;
    proofs->unsaved = false;
}

/* What stands behind `word` and a blank. .data NULL: the text begins otherwise. */
static struct bytes behind(struct bytes text, const char *word)
{
    const size_t size = strlen(word);
    if (text.size <= size || memcmp(text.data, word, size) != 0 || text.data[size] != ' ')
        return (struct bytes){0};
    return (struct bytes){text.data + size + 1, text.size - size - 1};
}

/* What a line says about a pin, behind its name. False: nothing that is known here. */
static bool read_pin(struct pin *pin, struct bytes text)
{
    const struct bytes former = behind(text, "former"), since = behind(text, "since");
    if (former.data) {
        pin->has_former = hex_read(former, pin->former, NODE_KEY_BYTES);
        return pin->has_former;
    }
    if (since.data)
        return version_read_number(since, &pin->since) && pin->since > 0;
    return hex_read(text, pin->key, NODE_KEY_BYTES);
}

/* One line of what pins_step wrote. Lines of another form are passed over: a later release may write them. */
static void restore_line(struct node *node, struct bytes text)
{
    const bool is_text = text.size > 0 && !memchr(text.data, '\0', text.size);
    const struct bytes name = version_take(&text, ' ');
    if (!is_text || name.size == 0 || name.size >= NODE_NAME_BYTES)
        return;
    struct pin read = {0};
    memcpy(read.name, name.data, name.size);
    struct pin *place = find(node, read.name);
    const bool has_key = text.size == 2 * NODE_KEY_BYTES;
    if (place && !has_key)
        read = *place;
    if (!read_pin(&read, text) || !(place || has_key))
        return;
    if (!place)
        place = find(node, "");
    if (place)
        *place = read;
}

void pins_restore(struct node *node, const struct event *event)
{
    struct bytes text = event->keys_text;
    memset(node->proofs.pin, 0, sizeof node->proofs.pin);
    while (text.size > 0)
        restore_line(node, version_take(&text, '\n'));
    node->proofs.saved_number = event->keys_number;
}

const struct pin *pins_find(struct node *node, const char *name)
{
    return find(node, name);
}

/*
 * The keys that names of members have: put, dropped, and what a caller keeps of them over a restart.
 */
#include "cluster/members/pins.h"

#include "cluster/codec/effects.h"
#include "cluster/state/node_state.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <stdlib.h>

#define KEY_A "0101010101010101010101010101010101010101010101010101010101010101"
#define KEY_B "0202020202020202020202020202020202020202020202020202020202020202"

static struct node *node;

static void put(const char *name, uint8_t number)
{
    uint8_t key[NODE_KEY_BYTES];
    memset(key, number, sizeof key);
    pins_put(node, name, key);
}

/* The first byte of the key; 0: there is none. */
static unsigned key_of(const char *name)
{
    const struct pin *pin = pins_find(node, name);
    return pin ? pin->key[0] : 0;
}

/* What the caller is given to keep; "": nothing. */
static const char *kept(void)
{
    static char text[PINS_TEXT_MAX_BYTES + 1];
    struct effects effects = {0};
    pins_step(node, &effects);
    assert(effects.keys_text.size < sizeof text);
    if (effects.keys_text.size > 0)
        memcpy(text, effects.keys_text.data, effects.keys_text.size);
    text[effects.keys_text.size] = '\0';
    return text;
}

static void restore(const char *text)
{
    const struct event event = {.kind = EVENT_RESTORE, .keys_text = bytes_of(text), .keys_number = 7};
    pins_restore(node, &event);
}

static void test_kept(void)
{
    OK_STRING(kept(), "", "at first there is nothing to keep");
    put("ann", 1);
    put("bob", 2);
    OK_STRING(kept(), "# name key\nann " KEY_A "\nbob " KEY_B "\n", "all keys are given, in lines");
    OK_STRING(kept(), "", "and once");
    put("ann", 2);
    OK(key_of("ann") == 2 && key_of("cat") == 0, "a name has one key");
    pins_drop(node, "bob");
    OK_STRING(kept(), "# name key\nann " KEY_B "\n", "what changes is given anew");
    pins_drop(node, "ann");
    OK_STRING(kept(), "# name key\n", "also that there is none any more");
}

static void test_history(void)
{
    uint8_t former[NODE_KEY_BYTES];
    memset(former, 1, sizeof former);
    put("ann", 2);
    pins_put_former(node, "ann", former);
    pins_put_since(node, "ann", 2030);
    pins_put_since(node, "ann", 2029);
    pins_put_since(node, "bob", 1);
    const char *text = kept();
    OK_STRING(text, "# name key\nann " KEY_B "\nann former " KEY_A "\nann since 2030\n",
              "the key before and the newest incarnation have lines of their own");
    pins_drop(node, "ann");
    restore(text);
    const struct pin *pin = pins_find(node, "ann");
    OK(pin && pin->key[0] == 2 && pin->has_former && pin->former[0] == 1 && pin->since == 2030,
       "and are read again");
    restore("bob former " KEY_A "\nbob since 3\n"
            "ann " KEY_A "\nann former 01\nann since -1\nann since 99999999999999999999\n");
    pin = pins_find(node, "ann");
    OK(!pins_find(node, "bob") && pin && pin->key[0] == 1 && !pin->has_former && pin->since == 0,
       "unless they are of another form, or of a name without a key");
    restore(text);
    put("ann", 1);
    pin = pins_find(node, "ann");
    OK(pin && !pin->has_former && pin->since == 2030, "with another key the key before is forgotten");
    pins_drop(node, "ann");
    (void)kept();
}

static void test_restored(void)
{
    put("dan", 1);
    restore("# name key\nann " KEY_A "\nbob " KEY_B "\n");
    OK(key_of("ann") == 1 && key_of("bob") == 2 && key_of("dan") == 0, "what was kept replaces what is known");
    OK_U64(node->proofs.saved_number, 7, "with its number");
    restore(
        "ann " KEY_A " since 2030\n\n cat\ncat\ncat \ncat 01\ncat " KEY_A "01\n"
        "a-name-of-more-bytes-than-a-member-may-have-which-nobody-has-ever-used-and-nobody-will-ever-use-not-even-"
        "when-names-are-longer " KEY_A "\nbob " KEY_B);
    OK(key_of("bob") == 2 && key_of("ann") == 0 && key_of("cat") == 0,
       "lines of another form are passed over, and the last one needs no end");
    restore("ann " KEY_A "\nann " KEY_B "\n");
    OK_U64(key_of("ann"), 2, "of two keys of a name the last one counts");
    pins_drop(node, "ann");
    OK_U64(key_of("ann"), 0, "and nothing is left of the other");
    restore("");
}

/* More names come and go than there are places: names that are no members give way. */
static void test_places(void)
{
    char name[16];
    uint32_t kept_members = 0, placed = 0;
    for (uint32_t i = 0; i < NODE_PEERS_MAX; i++) {
        struct member *member = &node->member[i];
        member->used = true;
        (void)snprintf(member->name, sizeof member->name, "member-%u", i);
        put(member->name, 1);
    }
    node->member_end = NODE_PEERS_MAX;
    for (uint32_t i = 0; i < 3 * PINS_MAX; i++) {
        (void)snprintf(name, sizeof name, "other-%u", i);
        put(name, 2);
        placed += key_of(name) == 2;
    }
    OK_U64(placed, 3 * PINS_MAX, "each name has a place when it comes");
    for (uint32_t i = 0; i < PINS_MAX; i++) {
        pins_put_former(node, node->proofs.pin[i].name, node->proofs.pin[i].key);
        pins_put_since(node, node->proofs.pin[i].name, UINT64_MAX);
    }
    for (uint32_t i = 0; i < NODE_PEERS_MAX; i++)
        kept_members += key_of(node->member[i].name) == 1;
    OK_U64(kept_members, NODE_PEERS_MAX, "no member lost its own");
    OK(strlen(kept()) < PINS_TEXT_MAX_BYTES, "and all of them fit into the text");
}

int main(void)
{
    node = calloc(1, sizeof *node);
    assert(node != NULL);
    test_kept();
    test_history();
    test_restored();
    test_places();
    free(node);
    return tap_done();
}

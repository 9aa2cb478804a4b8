/*
 * Settles which key this daemon signs with, and keeps it beside the counters. Without a directory nothing is signed:
 * a key that ends with the process would be another one at each start.
 */
#include "persist.h"

#include "cluster/codec/life.h"
#include "edge/store/key_file.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

static void say_flaw(struct persist *persist, const char *flaw)
{
    persist->key_notice.level = NOTICE_WARNING;
    (void)snprintf(persist->key_notice.text, sizeof persist->key_notice.text,
                   "%s is of no use (%.95s): this daemon signs with another key until it ends", KEY_FILE_NAME,
                   flaw);
}

/* The file itself tells whether its seed is whole. A signature for another name is of no use, nor is a damaged one. */
static void check_handover(struct persist *persist, const struct settings *settings)
{
    struct node_handover *handover = &persist->member_key.handover;
    struct node_signing signing = {0};
    char text[LIFE_TEXT_MAX_BYTES];
    member_key_signs(&persist->member_key, &signing);
    if (!handover->is_there ||
        signing.check(handover->former,
                      handover_text(bytes_of(settings->node.name), handover->former, signing.key, text),
                      handover->proof))
        return;
    handover->is_there = false;
    persist->key_notice.level = NOTICE_WARNING;
    (void)
        snprintf(persist->key_notice.text, sizeof persist->key_notice.text,
                 "what the former key has signed in %s is not for this name, or damaged: peers that know only the "
                 "former key will not hear this daemon",
                 KEY_FILE_NAME);
}

bool persist_settle_key(struct persist *persist, struct settings *settings, struct error *error)
{
    struct node_signing *signing = &settings->node.signing;
    char flaw[STATE_FLAW_BYTES];
    const bool is_required = settings->signatures == SIGNATURES_REQUIRED;
    signing->keys = is_required                                 ? KEYS_REQUIRED
                    : settings->signatures == SIGNATURES_PINNED ? KEYS_PINNED
                                                                : KEYS_LEARNT;
    if (!persist->directory[0] && signing->keys != KEYS_LEARNT)
        return error_set(error, EX_CONFIG,
                         "signatures: %s needs a state_dir, and there is none: a key that is not "
                         "kept would be another one after each restart",
                         is_required ? "required" : "pinned");
    if (!persist->directory[0] || settings->signatures == SIGNATURES_OFF)
        return true;
    switch (key_file_read(persist->directory, &persist->member_key, flaw)) {
    case SECRET_FILE_READ:
        persist->keeps_key = true;
        check_handover(persist, settings);
        break;
    case SECRET_FILE_NONE:
        member_key_draw(&persist->member_key);
        break;
    case SECRET_FILE_WRONG:
        persist->keeps_key = true; /* somebody may still mend it */
        member_key_draw(&persist->member_key);
        say_flaw(persist, flaw);
        break;
    }
    member_key_signs(&persist->member_key, signing);
    return true;
}

void persist_keep_key(struct persist *persist, const struct settings *settings)
{
    char flaw[STATE_FLAW_BYTES];
    if (persist->keeps_key || !settings->node.signing.sign)
        return;
    persist->keeps_key = key_file_write(persist->directory, &persist->member_key, flaw);
    if (!persist->keeps_key)
        say_flaw(persist, flaw);
}

bool persist_rotate_key(struct persist *persist, struct settings *settings, struct notice *notice)
{
    struct node_signing *signing = &settings->node.signing;
    char flaw[STATE_FLAW_BYTES];
    struct member_key next;
    char text[LIFE_TEXT_MAX_BYTES];
    if (!signing->sign || !persist->directory[0])
        return false;
    member_key_draw(&next);
    member_key_follow(&next, &persist->member_key,
                      handover_text(bytes_of(settings->node.name), persist->member_key.key, next.key, text));
    const bool is_kept = key_file_write(persist->directory, &next, flaw);
    if (is_kept) {
        persist->member_key = next;
        persist->keeps_key = true;
        member_key_signs(&persist->member_key, signing);
    } else {
        notice->level = NOTICE_WARNING;
        (void)snprintf(notice->text, sizeof notice->text, "the key stays as it is: %s: %.95s", KEY_FILE_NAME, flaw);
    }
    sodium_memzero(&next, sizeof next);
    return is_kept;
}

/*
 * Settles which key this daemon signs with, and keeps it beside the counters. Without a directory nothing is signed:
 * a key that ends with the process would be another one at each start.
 */
#include "persist.h"

#include "edge/store/key_file.h"

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

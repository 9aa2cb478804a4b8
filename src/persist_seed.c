/*
 * Settles what hashes of keys come from, and keeps it beside the counters. Without a directory, or a seed that
 * strangers do not know, nothing is kept, and the config alone decides.
 */
#include "persist.h"

#include "edge/store/seed_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The config names another seed than the kept one. */
static void say_anew(struct persist *persist, const struct hash_key *named, const struct hash_key *kept)
{
    persist->seed.level = NOTICE_WARNING;
    (void)snprintf(persist->seed.text, sizeof persist->seed.text,
                   "hash_seed (fingerprint %016" PRIx64
                   ") is not the seed that keys were counted with here (%016" PRIx64
                   "): all counters begin anew, and " SEED_FILE_NAME ".former keeps that seed",
                   hash_key_fingerprint(named), hash_key_fingerprint(kept));
}

/* The config names none, and the secret is not what the kept one was made of. */
static void say_kept(struct persist *persist, const struct hash_key *kept, const struct hash_key *secret)
{
    persist->seed.level = NOTICE_WARNING;
    (void)snprintf(persist->seed.text, sizeof persist->seed.text,
                   "hashes of keys come from " SEED_FILE_NAME " (fingerprint %016" PRIx64
                   "), not from the secret (%016" PRIx64
                   "), so counters go on: put its hash_seed into the config of each daemon",
                   hash_key_fingerprint(kept), hash_key_fingerprint(secret));
}

static void say_flaw(struct persist *persist, const char *flaw)
{
    persist->seed.level = NOTICE_WARNING;
    (void)snprintf(persist->seed.text, sizeof persist->seed.text,
                   "%s is of no use (%.95s): hashes of keys come from the config", SEED_FILE_NAME, flaw);
}

void persist_settle_seed(struct persist *persist, struct settings *settings)
{
    struct hash_key kept;
    char flaw[STATE_FLAW_BYTES];
    const struct hash_key *own = &settings->node.hash_key;
    if (!persist->directory[0])
        return;
    switch (seed_file_read(persist->directory, &kept, flaw)) {
    case SECRET_FILE_NONE:
        return;
    case SECRET_FILE_WRONG:
        persist->keeps_seed = true; /* somebody may still read it */
        say_flaw(persist, flaw);
        return;
    case SECRET_FILE_READ:
        break;
    }
    persist->keeps_seed = memcmp(&kept, own, sizeof kept) == 0;
    if (persist->keeps_seed)
        return;
    if (settings_secret_is_given(&settings->hash_seed)) {
        say_anew(persist, own, &kept);
        return;
    }
    say_kept(persist, &kept, own);
    settings_use_hash_key(settings, &kept);
    persist->keeps_seed = true;
}

void persist_keep_seed(struct persist *persist, const struct settings *settings)
{
    char flaw[STATE_FLAW_BYTES];
    if (persist->keeps_seed || !(settings_secret_is_given(&settings->hash_seed) || settings_have_secret(settings)))
        return;
    persist->keeps_seed = seed_file_write(persist->directory, &settings->node.hash_key, flaw);
    if (!persist->keeps_seed)
        say_flaw(persist, flaw);
}

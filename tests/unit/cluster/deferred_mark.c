/* What waits of a key, and what is noted of it, next to a list of all spends: nothing is dropped that came later. */
#include "cluster/spend/deferred_mark.h"
#include "base/random.h"
#include "tests/lib/tap.h"

enum { LOOKS = 4000, LISTED = 64 };

/* Tokens spent before each look, the oldest first, of which some are left. */
struct model {
    uint64_t left[LISTED];
    uint32_t looks; /* of which there was one behind each but the last */
    uint64_t last_tokens;
};

static uint64_t sum(const struct model *model)
{
    uint64_t tokens = 0;
    for (uint32_t i = 0; i <= model->looks; i++)
        tokens += model->left[i];
    return tokens;
}

static void drop(struct model *model, uint64_t tokens)
{
    for (uint32_t i = 0; i <= model->looks; i++) {
        uint64_t gone = model->left[i] < tokens ? model->left[i] : tokens;
        model->left[i] -= gone;
        tokens -= gone;
    }
}

/* How often the oldest that is left was looked at. */
static uint32_t age(const struct model *model)
{
    uint32_t oldest = 0;
    while (oldest < model->looks && model->left[oldest] == 0)
        oldest++;
    return model->looks - oldest;
}

/* Those that are gone make room. */
static void look_at(struct model *model)
{
    uint32_t gone = 0;
    while (gone < model->looks && model->left[gone] == 0)
        gone++;
    model->looks -= gone;
    for (uint32_t i = 0; i <= model->looks; i++)
        model->left[i] = model->left[i + gone];
    model->left[++model->looks] = 0;
}

static uint64_t draw_tokens(struct random *random)
{
    return 1 + random_below(random, (uint32_t)1 << random_below(random, 12));
}

/* Spends, now and then something taken back, and looks, of which some forget and some find that news is late. */
static void next_to_model(uint64_t seed, unsigned late_percent)
{
    struct random random;
    struct entry entry = {.own_batch = NOTE_NONE + 33, .open_index = 12345};
    struct model model = {.looks = 0};
    bool fits = true, never_more = true, most = true, older = true;
    uint32_t longest = 0;
    random_seed(&random, seed);
    deferred_mark_begin(&entry);
    for (unsigned i = 0; i < LOOKS; i++) {
        uint64_t tokens = draw_tokens(&random);
        deferred_mark_add(&entry, (int64_t)tokens);
        model.left[model.looks] += tokens;
        if (random_below(&random, 4) == 0) {
            deferred_mark_add(&entry, -(int64_t)tokens);
            deferred_mark_add(&entry, 1);
            model.left[model.looks] -= tokens - 1;
        }
        uint64_t noted = deferred_mark_noted(&entry);
        never_more &= noted <= model.last_tokens;
        if (random_below(&random, 100) < late_percent) {
            deferred_mark_note_all(&entry);
        } else {
            drop(&model, noted);
            deferred_mark_forget_noted(&entry);
        }
        model.last_tokens = deferred_mark_tokens(&entry);
        most &= deferred_mark_noted(&entry) * 5 >= model.last_tokens * 4;
        look_at(&model);
        if (deferred_mark_looks(&entry) == LOOKS_MAX ||
            deferred_mark_tokens(&entry) > WAITING_TOKENS_MAX / 2) { /* it is told */
            deferred_mark_begin(&entry);
            model = (struct model){.looks = 0};
            continue;
        }
        deferred_mark_count_look(&entry);
        longest = age(&model) > longest ? age(&model) : longest;
        older &= age(&model) <= deferred_mark_looks(&entry) + 1; /* the first may not have been counted */
        fits &= deferred_mark_tokens(&entry) == sum(&model);
    }
    OK(fits, "all is there that is not forgotten, where of a hundred looks %u forget nothing", late_percent);
    OK(never_more && most, "never more is noted than waited, and four fifths of it at least");
    OK(older && longest > 1, "what is left is never older than it says (it was looked at %u times at most)",
       longest);
}

static void moved(void)
{
    struct entry entry = {.own_batch = 7};
    deferred_mark_begin(&entry);
    OK_U64(entry.own_batch, 7, "who begins to wait keeps the trace of a batch");
    deferred_mark_add(&entry, 100);
    deferred_mark_forget_noted(&entry);
    deferred_mark_forget_noted(&entry);
    deferred_mark_unnote(&entry);
    uint64_t left = deferred_mark_tokens(&entry);
    deferred_mark_forget_noted(&entry);
    OK(deferred_mark_noted(&entry) > 0 && deferred_mark_tokens(&entry) == left,
       "of what is not noted nothing is forgotten");
    entry.own_batch = 7;
    deferred_mark_unnote(&entry);
    OK_U64(entry.own_batch, 7, "a trace is no note");
}

int main(void)
{
    next_to_model(1, 0);
    next_to_model(2, 10);
    next_to_model(3, 60);
    moved();
    return tap_done();
}

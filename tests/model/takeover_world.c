/*
 * The world of takeover.h apart from its steps: how it begins, the laws that each step must keep, and the words in
 * which a story of steps is printed.
 */
#include "tests/model/takeover.h"

#include <stdio.h>

static const char *const step_names[PAIR_STEPS + PEER_STEPS] = {"% hears %",
                                                                "% disowns %",
                                                                "% relents to %",
                                                                "% takes % over",
                                                                "the lease of % by % ends",
                                                                "at % the word of % ends",
                                                                "% takes the table of %",
                                                                "% crashes",
                                                                "% starts",
                                                                "% begins to renew",
                                                                "% is active",
                                                                "% goes on",
                                                                "% joins again"};

void takeover_print_step(unsigned step, const char names[PEERS])
{
    unsigned rest = step / PEERS;
    char name[2] = {names[step % PEERS], names[rest % PEERS]};
    const char *text =
        step_names[rest < PEERS * PAIR_STEPS ? rest / PEERS : PAIR_STEPS + rest - PEERS * PAIR_STEPS];
    printf("#   ");
    for (unsigned count = 0; *text != '\0'; text++)
        putchar(*text == '%' ? name[count++] : *text);
    putchar('\n');
}

const char *takeover_broken_law(const struct world *w)
{
    for (unsigned p = 0; p < PEERS; p++)
        for (unsigned q = 0; q < PEERS; q++) {
            if (p == q || !takeover_acts(w, p))
                continue;
            if (w->peer[p].of[q].lacks || w->peer[p].forgot)
                return "whoever acts has what others have settled without it";
            if (takeover_acts(w, q) && w->peer[p].of[q].gone)
                return "of two that act, each waits for the other";
        }
    return NULL;
}

struct world takeover_beginning(void)
{
    struct world w = {0};
    for (unsigned p = 0; p < PEERS; p++) {
        w.peer[p] =
            (struct peer){.state = ACTIVE, .incarnation = 1, .renews = true, .has_state = true, .has_table = true};
        for (unsigned q = 0; q < PEERS; q++)
            if (q != p)
                w.peer[p].of[q] = (struct link){.incarnation = 1, .lease = true};
    }
    return w;
}

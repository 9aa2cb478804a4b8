#include "commands/learning.h"

enum {
    LEARN_EVERY = 16,    /* one of so many unknown requests is learned at first */
    LEARN_RARELY = 2048, /* and one of so many at last */
};

void learning_begin(struct learning *learning)
{
    learning->unknown = 0;
    learning->learn_every = LEARN_EVERY;
    learning->trust = LEARNING_TRUST_BEGUN;
}

bool learning_is_turn(struct learning *learning)
{
    if (learning->unknown > 0) {
        learning->unknown--;
        return false;
    }
    learning->unknown = learning->learn_every - 1;
    if (learning->useful)
        learning->learn_every = LEARN_EVERY;
    else if (learning->learn_every < LEARN_RARELY)
        learning->learn_every *= 2;
    learning->useful = false;
    return true;
}

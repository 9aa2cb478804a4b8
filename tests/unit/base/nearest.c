/*
 * Which name somebody meant.
 */
#include "base/nearest.h"

#include "tests/lib/tap.h"

#include <string.h>

static const char *meant(const char *written)
{
    static const char *const names[] = {"id", "by", "rate", "limit", "service", "log_level", "log_format", "tiers"};
    struct nearest nearest = {.written = bytes_of(written)};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        nearest_try(&nearest, names[i]);
    return nearest.name != NULL ? nearest.name : "none";
}

int main(void)
{
    char longest[NEAREST_NAME_MAX_BYTES + 2], known[NEAREST_NAME_MAX_BYTES + 1];
    OK_STRING(meant("rtae"), "rate", "two letters are swapped");
    OK_STRING(meant("rat"), "rate", "one is missing");
    OK_STRING(meant("limits"), "limit", "one is too many");
    OK_STRING(meant("tierz"), "tiers", "one is another");
    OK_STRING(meant("service_id"), "service", "a long name may have three");
    OK_STRING(meant("serv"), "none", "a short one may not");
    OK_STRING(meant("LogLevel"), "log_level", "capitals do not count");
    OK_STRING(meant("log-format"), "log_format", "the nearest is named");
    OK_STRING(meant("colour"), "none", "nothing is near");
    OK_STRING(meant("x"), "none", "a letter is no name of two with one wrong and one missing");
    OK_STRING(meant(""), "none", "nor is nothing");
    memset(known, 'a', sizeof known - 1), known[sizeof known - 1] = '\0';
    memset(longest, 'a', sizeof longest - 1), longest[sizeof longest - 1] = '\0';
    struct nearest nearest = {.written = bytes_of(longest)};
    nearest_try(&nearest, known);
    OK(nearest.name == NULL, "what is longer than all names is near to none");
    nearest = (struct nearest){.written = {longest, NEAREST_NAME_MAX_BYTES - 1}};
    nearest_try(&nearest, longest);
    OK(nearest.name == NULL, "and none that is longer is near");
    nearest_try(&nearest, known);
    OK(nearest.name == known && nearest.distance == 1, "the longest one that is looked at");
    return tap_done();
}

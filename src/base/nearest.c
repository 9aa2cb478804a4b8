#include "base/nearest.h"

#include "base/number.h"

#include <string.h>

enum { ROW = NEAREST_NAME_MAX_BYTES + 1 };

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Row by row, as dynamic programming has it. Both have at most NEAREST_NAME_MAX_BYTES. */
static size_t distance(struct bytes a, struct bytes b)
{
    size_t row[3][ROW];
    for (size_t j = 0; j <= b.size; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= a.size; i++) {
        size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            const char x = small(a.data[i - 1]), y = small(b.data[j - 1]);
            now[j] = number_least(last[j - 1] + (x != y), number_least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && x == small(b.data[j - 2]) && small(a.data[i - 2]) == y)
                now[j] = number_least(now[j], before[j - 2] + 1);
        }
    }
    return row[a.size % 3][b.size];
}

/* How many letters may differ: a short name is soon another one. */
static size_t most(size_t size)
{
    return size <= 4 ? 1 : size <= 8 ? 2 : 3;
}

void nearest_try(struct nearest *nearest, const char *name)
{
    const struct bytes known = {name, strlen(name)}, written = nearest->written;
    if (written.size == 0 || written.size > NEAREST_NAME_MAX_BYTES || known.size > NEAREST_NAME_MAX_BYTES)
        return;
    const size_t letters = distance(written, known);
    if (letters > most(written.size) || letters >= known.size ||
        (nearest->name != NULL && letters >= nearest->distance))
        return;
    nearest->name = name;
    nearest->distance = letters;
}

/*
 * A main for a fuzz target where there is no libFuzzer: runs a corpus, then random mutations of it.
 *
 *     fuzz_x [corpus-directory [mutations [seed]]]
 *
 * Without a directory it is tests/fuzz/corpus/x, seen from the top of the sources.
 * The same seed makes the same inputs. Prints TAP; a crash or a failed assert ends it, and the last line
 * says at which mutation: run that seed again under a debugger.
 */
#include "base/random.h"
#include "tests/lib/tap.h"

#include <dirent.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A target that is slow says how many mutations are enough. */
extern const unsigned fuzz_mutations __attribute__((weak));

enum { FILES_MAX = 256, INPUT_MAX = 64 * 1024, MUTATIONS = 20000 };

struct sample {
    uint8_t *bytes;
    size_t size;
};

static struct sample samples[FILES_MAX];
static size_t sample_count;

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool load(const char *directory)
{
    struct dirent **names;
    int count = scandir(directory, &names, NULL, by_name);
    for (int i = 0; i < count; i++) {
        char path[4096];
        int written = snprintf(path, sizeof path, "%s/%s", directory, names[i]->d_name);
        bool is_sample = names[i]->d_name[0] != '.' && written > 0 && (size_t)written < sizeof path;
        FILE *file = is_sample && sample_count < FILES_MAX ? fopen(path, "rb") : NULL;
        free(names[i]);
        if (file == NULL)
            continue;
        struct sample *sample = &samples[sample_count++];
        sample->bytes = malloc(INPUT_MAX);
        sample->size = sample->bytes != NULL ? fread(sample->bytes, 1, INPUT_MAX, file) : 0;
        (void)fclose(file);
    }
    if (count >= 0)
        free(names);
    return sample_count > 0;
}

/* One small change of `input`, which holds `size` bytes of room for INPUT_MAX; returns the new size. */
static size_t change(struct random *random, uint8_t *input, size_t size)
{
    static const char tokens[] = "\r\n*$-0123456789\"'\\ x=\0\x7f\x80\x90\xc0\xff";
    size_t at = size > 0 ? (size_t)random_below(random, size) : 0;
    size_t length = 1 + (size_t)random_below(random, 16);
    switch (random_below(random, 6)) {
    case 0: /* another byte */
        if (size > 0)
            input[at] = (uint8_t)random_u64(random);
        return size;
    case 1: /* one that means something */
        if (size > 0)
            input[at] = (uint8_t)tokens[random_below(random, sizeof tokens - 1)];
        return size;
    case 2: /* a piece less */
        length = length > size - at ? size - at : length;
        memmove(input + at, input + at + length, size - at - length);
        return size - length;
    case 3: /* one that means something more */
        if (size == INPUT_MAX)
            return size;
        memmove(input + at + 1, input + at, size - at);
        input[at] = (uint8_t)tokens[random_below(random, sizeof tokens - 1)];
        return size + 1;
    case 4: /* cut off */
        return at;
    default: { /* a piece of another sample behind it */
        const struct sample *other = &samples[random_below(random, sample_count)];
        size_t from = other->size > 0 ? (size_t)random_below(random, other->size) : 0;
        size_t more = other->size - from < INPUT_MAX - size ? other->size - from : INPUT_MAX - size;
        memcpy(input + size, other->bytes + from, more);
        return size + more;
    }
    }
}

static void run_exact(const uint8_t *bytes, size_t size)
{
    uint8_t *exact = malloc(size > 0 ? size : 1);
    if (exact == NULL)
        return;
    memcpy(exact, bytes, size);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

int main(int argc, char **argv)
{
    static uint8_t input[INPUT_MAX];
    unsigned long long mutations = &fuzz_mutations ? fuzz_mutations : MUTATIONS;
    mutations = argc > 2 ? strtoull(argv[2], NULL, 10) : mutations;
    unsigned long long seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    struct random random;
    char directory[4096];
    const char *name = strstr(argv[0], "fuzz_");
    (void)snprintf(directory, sizeof directory, "tests/fuzz/corpus/%s", name != NULL ? name + 5 : "");
    if (!load(argc > 1 ? argv[1] : directory)) {
        (void)fprintf(stderr, "usage: %s [corpus-directory [mutations [seed]]]: no samples in %s\n", argv[0],
                      argc > 1 ? argv[1] : directory);
        return 64;
    }
    for (size_t i = 0; i < sample_count; i++)
        run_exact(samples[i].bytes, samples[i].size);
    OK(true, "%zu samples", sample_count);
    random_seed(&random, seed);
    for (unsigned long long i = 0; i < mutations; i++) {
        const struct sample *sample = &samples[random_below(&random, sample_count)];
        size_t size = sample->size;
        memcpy(input, sample->bytes, size);
        for (uint64_t changes = 1 + random_below(&random, 8); changes > 0; changes--)
            size = change(&random, input, size);
        run_exact(input, size);
    }
    OK(true, "%llu mutations from seed %llu", mutations, seed);
    for (size_t i = 0; i < sample_count; i++)
        free(samples[i].bytes);
    return tap_done();
}

#include "tests/lib/served_worlds.h"

size_t served_words(char *out, size_t room, const char *line)
{
    size_t size, words = 1;
    for (const char *at = line; *at; at++)
        words += *at == ' ';
    size = (size_t)snprintf(out, room, "*%zu\r\n", words);
    for (const char *at = line;; at += strcspn(at, " ") + 1) {
        size_t length = strcspn(at, " ");
        size += (size_t)snprintf(out + size, room - size, "$%zu\r\n%.*s\r\n", length, (int)length, at);
        assert(size < room);
        if (at[length] == '\0')
            break;
    }
    for (size_t i = 0; i < size; i++)
        out[i] = out[i] == '~' ? ' ' : out[i];
    return size;
}

void served_serve(struct bytes input, struct served_answers *answers)
{
    const struct turn turn = {.now_ns = served.now_ns, .wall_ns = served.wall_ns};
    for (size_t at = 0; at < input.size;) {
        struct output output = output_over(served.reply, sizeof served.reply);
        size_t consumed;
        enum serve_status status =
            commands_serve(&served.commands, &served.session, (struct bytes){input.data + at, input.size - at},
                           &output, turn, &consumed);
        assert((status == SERVE_MORE || status == SERVE_AGAIN) && consumed > 0 && !output.overflowed);
        assert(answers->size + output.size <= sizeof answers->text);
        memcpy(answers->text + answers->size, output.data, output.size);
        answers->size += output.size;
        at += consumed;
    }
}

bool served_equal(const struct served_answers *one, const char *one_name, const struct served_answers *other,
                  const char *other_name, uint64_t seed)
{
    size_t same = 0, least = one->size < other->size ? one->size : other->size;
    while (same < least && one->text[same] == other->text[same])
        same++;
    if (same == one->size && same == other->size)
        return true;
    size_t from = same < 200 ? 0 : same - 200;
    printf("# seed %llu, byte %zu: %s\n%.*s\n# %s\n%.*s\n", (unsigned long long)seed, same, one_name,
           (int)(one->size - from < 400 ? one->size - from : 400), one->text + from, other_name,
           (int)(other->size - from < 400 ? other->size - from : 400), other->text + from);
    return false;
}

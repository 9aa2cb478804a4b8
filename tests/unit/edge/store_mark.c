/* Transactions that were committed and are not there any more: whatever happened to the log, that is told. */
#include "tests/lib/store.h"

#include "base/random.h"
#include "edge/store/store_mark.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

enum { CHANGES = 12, PAGE = 4096, FRAME = 24 + PAGE, LOG_HEAD = 32 };

/* A process that puts one version after the other, each durable by itself, and then is killed. */
static void killed(void)
{
    (void)fflush(stdout);
    pid_t pid = fork();
    assert(pid >= 0);
    if (pid == 0) {
        struct store *store = open_one();
        (void)look(store, NULL);
        for (uint64_t i = 0; i < CHANGES; i++) {
            char id[16];
            (void)snprintf(id, sizeof id, "rule-%u", (unsigned)i);
            const struct rule_record version = version_of("service", id, i + 1, "a rule's text");
            store_put_versions(store, &version, 1);
            if (!wait_until_written(store))
                _exit(1);
        }
        (void)raise(SIGKILL);
    }
    int status = 0;
    pid_t ended = waitpid(pid, &status, 0);
    assert(ended == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void flip(const char *name, uint64_t offset, uint8_t bits)
{
    uint8_t byte = 0;
    int file = open(path_of(name), O_RDWR);
    bool done = file >= 0 && pread(file, &byte, 1, (off_t)offset) == 1;
    byte ^= bits;
    done = done && pwrite(file, &byte, 1, (off_t)offset) == 1;
    (void)close(file);
    assert(done);
}

/* What the next start has, and says. */
struct outcome {
    size_t versions;
    uint64_t lost;
    unsigned lost_rules, named; /* `named`: of the lost ones, so many by their names, as they were */
    bool set_aside, said;
};

/* How many rules it names, "and 3 more" included, from number `first` on in their order; 0: others than these. */
static unsigned count_named(const char *names, unsigned first)
{
    unsigned named = 0, more = 0;
    for (char name[32]; first + named < CHANGES; named++) {
        int size = snprintf(name, sizeof name, "%sservice/rule-%u", named > 0 ? ", " : "", first + named);
        if (strncmp(names, name, (size_t)size) != 0)
            break;
        names += size;
    }
    (void)sscanf(names, " and %u more", &more);
    return named > 0 ? named + more : 0;
}

static struct outcome start_again(void)
{
    struct outcome outcome = {0};
    struct store *store = open_one();
    struct notice notice;
    while (store_notice(store, &notice)) {
        const char *lost = strstr(notice.text, "transactions are lost, of rules: ");
        outcome.said |= lost != NULL;
        const char *names = strstr(notice.text, "are among what is lost: ");
        if (names)
            outcome.named = count_named(names + strlen("are among what is lost: "), CHANGES - outcome.lost_rules);
        if (lost)
            (void)sscanf(strstr(lost, ": "), ": %u", &outcome.lost_rules);
    }
    outcome.versions = look(store, NULL)->versions;
    outcome.lost = stats_of(store).transactions_lost;
    outcome.set_aside = stats_of(store).files_set_aside == 1;
    (void)store_close(&store);
    return outcome;
}

static void whole_log(void)
{
    remove_all();
    killed();
    struct outcome outcome = start_again();
    OK(outcome.versions == CHANGES && !outcome.said && outcome.lost == 0 && !outcome.set_aside,
       "kill -9: nothing is lost, and nothing is said");
    OK(count_files("*") == 1, "an orderly end leaves one file");
    outcome = start_again();
    OK(outcome.versions == CHANGES && !outcome.said, "which has all of it");
}

static void damaged_log(void)
{
    struct random random;
    unsigned rounds = 40 / SLOW, silent = 0, wrong = 0, evidence = 0, unnamed = 0;
    size_t kept = 0;
    random_seed(&random, 5);
    for (unsigned round = 0; round < rounds; round++) {
        remove_all();
        killed();
        flip("headgate.db-wal", random_below(&random, size_of(path_of("headgate.db-wal"))),
             (uint8_t)(1u << random_below(&random, 8)));
        struct outcome outcome = start_again();
        silent += outcome.versions < CHANGES && (!outcome.said || !outcome.set_aside || outcome.lost == 0);
        wrong += outcome.versions + outcome.lost_rules != CHANGES;
        unnamed += outcome.named != outcome.lost_rules;
        evidence += outcome.set_aside && count_files("headgate.db.corrupt-*Z-wal") == 1;
        kept += outcome.versions;
    }
    OK(silent == 0, "a bit of the log is flipped, %u times: nothing is lost without a word", rounds);
    OK(wrong == 0, "what is said and what is left make all that there was");
    OK(unnamed == 0, "the rules that are lost are named");
    OK(kept > rounds, "what stands before is taken over: %zu of %u", kept, rounds * CHANGES);
    OK(evidence > 0, "the log is set aside as it was");
}

static void cut_log(void)
{
    unsigned silent = 0, rounds = 0;
    remove_all();
    killed();
    uint64_t frames = (size_of(path_of("headgate.db-wal")) - LOG_HEAD) / FRAME;
    for (uint64_t left = 0; left < frames; left += 3, rounds++) {
        remove_all();
        killed();
        int failed = truncate(path_of("headgate.db-wal"), (off_t)(left == 0 ? 0 : LOG_HEAD + left * FRAME));
        assert(failed == 0);
        struct outcome outcome = start_again();
        silent += outcome.versions < CHANGES && (!outcome.said || outcome.versions + outcome.lost_rules != CHANGES);
    }
    OK(rounds > 0 && silent == 0, "a log is cut off between its pages, %u times: that is told as well", rounds);
    remove_all();
    killed();
    (void)unlink(path_of("headgate.db-wal"));
    struct outcome outcome = start_again();
    OK(outcome.said && outcome.versions + outcome.lost_rules == CHANGES, "and so is a log that is gone");
}

static void damaged_mark(void)
{
    remove_all();
    killed();
    flip("headgate.db-mark", 9, 0x40);
    struct outcome outcome = start_again();
    OK(outcome.versions == CHANGES && !outcome.said, "a mark that is damaged says nothing");
    const struct store_count none = store_mark_read(path_of("no-mark")), count = {7, 3};
    int mark = store_mark_open(path_of("mark"));
    store_mark_write(mark, &count);
    (void)close(mark);
    struct store_count read = store_mark_read(path_of("mark"));
    OK(none.transactions == 0 && read.transactions == 7 && read.rules == 3, "a mark is read as it was written");
}

int main(void)
{
    store_scene_begin();
    whole_log();
    damaged_log();
    cut_log();
    damaged_mark();
    return end();
}

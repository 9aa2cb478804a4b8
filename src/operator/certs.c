/*
 * headgate certs: makes an authority of one's own, and the certificates of daemons and clients that it signs.
 */
#include "base/units.h"
#include "edge/process/certificate.h"
#include "operator/command.h"
#include "operator/json.h"
#include "operator/options.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

enum { DIR, DAYS, JSON, HELP, OPTION_COUNT };

enum {
    PATH_BYTES = 512,
    DAYS_DEFAULT = 365,
    DAYS_MAX = 3650,
    CA_DAYS = 3650,
    BEFORE_S = 3600, /* clocks of others may be late by so much */
    DAY_S = 24 * 3600,
    NAME_WORDS = 1,
};

static const struct option_spec options[OPTION_COUNT] = {
    [DIR] = {"dir", "path", "where the files are; default: the current directory. It is made if it is not there"},
    [DAYS] = {"days", "n", "for how long the certificate is good; default: 365. The authority's is for 3650"},
    [JSON] = {"json", NULL, "for programs: which files were made"},
    [HELP] = {"help", NULL, "this text"},
};

struct certs {
    const char *dir;
    uint64_t days;
    const char *name;
    const char *hosts[CERTIFICATE_HOSTS_MAX + 1]; /* NULL behind the last */
    uint32_t host_count;
    struct json *json; /* NULL: lines */
    char ca[PATH_BYTES], ca_key[PATH_BYTES], certificate[PATH_BYTES], key[PATH_BYTES];
};

static void help(void)
{
    fputs(
        "Usage: headgate certs [options] name [host ...]\n\n"
        "Makes NAME.pem and NAME.key, the certificate and the key of a daemon or of a client. What signs them is "
        "ca.pem\nwith ca.key, which are made if they are not there. The certificate is good for the name and for "
        "the hosts, or\nfor localhost, 127.0.0.1 and ::1 if there is none. Files that are there stay as they are. "
        "Keep ca.key where no\ndaemon runs: whoever has it can be any of them.\n\n",
        stdout);
    option_help(stdout, options, OPTION_COUNT);
    fputs(
        "\nExit status: 0, or 64 wrong usage, 65 no certificate in ca.pem, 66 a file cannot be read, 73 a file is "
        "there\nalready or cannot be made, 74 it cannot be written.\n",
        stdout);
}

static int fail(const char *sentence, int status)
{
    fprintf(stderr, "headgate certs: %s\n", sentence);
    return status;
}

static bool add_host(struct certs *certs, const char *host)
{
    if (certs->host_count == CERTIFICATE_HOSTS_MAX)
        return false;
    certs->hosts[certs->host_count++] = host;
    return true;
}

/* A name becomes the names of files. */
static bool is_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return name[0] != '\0' && name[0] != '.' && name[0] != '-' && strlen(name) <= CERTIFICATE_NAME_MAX &&
           strspn(name, allowed) == strlen(name) && strcmp(name, "ca") != 0;
}

static bool set_paths(struct certs *certs)
{
    char *const paths[] = {certs->ca, certs->ca_key, certs->certificate, certs->key};
    const char *const names[] = {"ca", "ca", certs->name, certs->name}, *const ends[] = {"pem", "key", "pem",
                                                                                         "key"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const int size = snprintf(paths[i], PATH_BYTES, "%s/%s.%s", certs->dir, names[i], ends[i]);
        if (size < 0 || size >= PATH_BYTES)
            return false;
    }
    return true;
}

static int make(const struct certs *certs, const struct certificate_options *what)
{
    struct error error;
    if (!certificate_make(what, &error))
        return fail(error.text, error.exit_status);
    if (certs->json) {
        json_string(certs->json, NULL, what->to.certificate);
        json_string(certs->json, NULL, what->to.key);
    } else {
        printf("%s\n%s\n", what->to.certificate, what->to.key);
    }
    return EX_OK;
}

static int make_ca(const struct certs *certs)
{
    const struct certificate_options authority = {.name = "headgate CA",
                                                  .begins_s = -BEFORE_S,
                                                  .ends_s = (int64_t)CA_DAYS * DAY_S,
                                                  .to = {certs->ca, certs->ca_key}};
    return access(certs->ca, F_OK) == 0 ? EX_OK : make(certs, &authority);
}

static int wrong_days(const char *value)
{
    fprintf(stderr, "headgate certs: --days is \"%s\": expected a number from 1 to %d\n", value, DAYS_MAX);
    return EX_USAGE;
}

static int make_all(struct certs *certs)
{
    if (!is_name(certs->name))
        return fail("the name becomes the name of files: expected at most 64 letters, digits, dots, dashes or "
                    "underscores, and not ca",
                    EX_USAGE);
    for (uint32_t i = 0; i < certs->host_count; i++) {
        if (certificate_is_host(certs->hosts[i]))
            continue;
        fprintf(stderr,
                "headgate certs: \"%s\" is not a host to name: expected a name or an address, without a port\n",
                certs->hosts[i]);
        return EX_USAGE;
    }
    if (!set_paths(certs))
        return fail("--dir is too long: expected a shorter path", EX_USAGE);
    if (certs->host_count == NAME_WORDS) {
        (void)add_host(certs, "localhost");
        (void)add_host(certs, "127.0.0.1");
        (void)add_host(certs, "::1");
    }
    (void)mkdir(certs->dir, S_IRWXU);
    const int status = make_ca(certs);
    const struct certificate_options node = {.name = certs->name,
                                             .hosts = certs->hosts,
                                             .begins_s = -BEFORE_S,
                                             .ends_s = (int64_t)certs->days * DAY_S,
                                             .to = {certs->certificate, certs->key},
                                             .signer = {certs->ca, certs->ca_key}};
    return status == EX_OK ? make(certs, &node) : status;
}

static int make_for_programs(struct certs *certs)
{
    struct json json;
    if (!json_draft(&json, '{'))
        return fail("not enough memory", EX_OSERR);
    certs->json = &json;
    json_open(&json, "made", '[');
    const int status = make_all(certs);
    json_close(&json, ']');
    json_close(&json, '}');
    certs->json = NULL;
    json_end_draft(&json, status == EX_OK);
    return status;
}

int command_certs(int argc, char **argv)
{
    struct certs certs = {.dir = ".", .days = DAYS_DEFAULT};
    struct option_reader reader = option_reader_of("headgate certs", options, OPTION_COUNT, argc, argv);
    struct arguments given;
    if (!arguments_read(&reader, &given))
        return EX_USAGE;
    if (given.value[HELP]) {
        help();
        return EX_OK;
    }
    if (given.value[DIR])
        certs.dir = given.value[DIR];
    if (given.value[DAYS] &&
        (!units_parse_count(bytes_of(given.value[DAYS]), &certs.days) || certs.days < 1 || certs.days > DAYS_MAX))
        return wrong_days(given.value[DAYS]);
    for (uint32_t i = 0; i < given.word_count; i++)
        if (!add_host(&certs, given.word[i]))
            return fail("too many hosts: expected at most 15", EX_USAGE);
    if (certs.host_count < NAME_WORDS)
        return fail("a word is missing: expected name [host ...]", EX_USAGE);
    certs.name = certs.hosts[0];
    return given.value[JSON] ? make_for_programs(&certs) : make_all(&certs);
}

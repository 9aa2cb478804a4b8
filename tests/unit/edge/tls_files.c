/* Files of TLS: certificates are made, read, read again and refused, and a daemon says when they end. */
#include "edge/clients/tls.h"

#include "edge/process/certificate.h"
#include "tests/lib/tap.h"
#include "tests/lib/tls_files.h"

#include <sys/stat.h>

static struct tls *tls;

static void append(const char *to, const char *from)
{
    FILE *in = fopen(tls_files_path(from), "re"), *out = fopen(tls_files_path(to), "ae");
    for (int byte; in && out && (byte = getc(in)) != EOF;)
        (void)putc(byte, out);
    if (in)
        (void)fclose(in);
    if (out)
        (void)fclose(out);
}

/* What a file has besides the first certificate. */
static void test_others(void)
{
    struct tls_fault fault;
    OK(tls_files_make("brief", true, "", 3600) && tls_files_make("leaf", false, "brief", 86400) &&
           !tls_files_make("heir", false, "brief", 86401),
       "what an authority signs ends on its last day at most");
    append("trusted.pem", "ca.pem");
    struct tls_files files = tls_files_of("leaf.pem", "leaf.key", "trusted.pem");
    tls = tls_create(&files, &fault);
    const struct tls_span alone = tls_span(tls);
    append("leaf.pem", "brief.pem");
    OK(tls_reload(tls, &files, &fault) && tls_renewals(tls).certificate == 1,
       "an authority came to the certificate");
    OK(alone.ends_s - tls_span(tls).ends_s >= 86400 / 2 && tls_span(tls).begins_s == alone.begins_s,
       "the first end of both counts");
    OK_U64(tls_renewals(tls).client_ca, 0, "clients are still of the same authority");
    append("trusted.pem", "other.pem");
    OK(tls_reload(tls, &files, &fault) && tls_renewals(tls).client_ca == 1, "now of one more");
    OK(tls_reload(tls, &files, &fault) && tls_renewals(tls).client_ca == 1 && tls_renewals(tls).certificate == 1,
       "nothing new is nothing new");
    tls_destroy(&tls);
}

static void test_files(void)
{
    struct tls_fault fault;
    OK(tls_files_make("ca", true, "", 86400) && tls_files_make("other", true, "", 86400),
       "an authority signs itself");
    OK(tls_files_make("node", false, "ca", 86400) && tls_files_make("late", false, "ca", -60) &&
           tls_files_make("stranger", false, "other", 86400),
       "and others");
    struct stat status;
    OK(stat(tls_files_path("node.key"), &status) == 0 && (status.st_mode & 0777) == 0600,
       "others cannot read a key");
    struct tls_files good = tls_files_of("node.pem", "node.key", "ca.pem");
    tls = tls_create(&good, &fault);
    OK(tls != NULL && tls_span(tls).ends_s > 1700000000, "the files are read, and say when they end");
    struct tls_files none = tls_files_of("none.pem", "node.key", "");
    OK(!tls_reload(tls, &none, &fault) && strcmp(fault.member, "certificate") == 0,
       "a certificate that is not there");
    OK(strstr(fault.expected, "a file of certificates in PEM") != NULL, "is said: %s", fault.expected);
    struct tls_files crossed = tls_files_of("node.pem", "ca.key", "");
    OK(!tls_reload(tls, &crossed, &fault) && strcmp(fault.member, "key") == 0 &&
           strstr(fault.expected, "the key of the certificate ") != NULL,
       "a key of another certificate: %s", fault.expected);
    struct tls_files no_key = tls_files_of("node.pem", "node.pem", "");
    OK(!tls_reload(tls, &no_key, &fault) && strcmp(fault.member, "key") == 0, "no key: %s", fault.expected);
    struct tls_files no_ca = tls_files_of("node.pem", "node.key", "node.key");
    OK(!tls_reload(tls, &no_ca, &fault) && strcmp(fault.member, "client_ca") == 0, "no authority: %s",
       fault.expected);
    (void)chmod(tls_files_path("node.key"), 0604);
    OK(!tls_reload(tls, &good, &fault) && strstr(fault.expected, "(it has 604)") != NULL,
       "a key that others can read: %s", fault.expected);
    (void)chmod(tls_files_path("node.key"), 0600);
    OK(tls_reload(tls, &good, &fault) && tls_renewals(tls).certificate == 0,
       "after all of that it is read again, as before");
    struct tls_files authority = tls_files_of("ca.pem", "ca.key", "");
    OK(tls_reload(tls, &authority, &fault) && tls_renewals(tls).certificate == 1,
       "another certificate is told from the former");
    tls_destroy(&tls);
    OK(tls == NULL, "and ends");

    struct error error;
    const struct certificate_options twice = {.name = "ca",
                                              .ends_s = 1,
                                              .to = {tls_files_path("ca.pem"), tls_files_path("fresh.key")}};
    OK(!certificate_make(&twice, &error) && stat(tls_files_path("fresh.key"), &status) != 0,
       "no file is written over, and none is left behind: %s", error.text);
    const char *const bad[] = {"a b", NULL};
    const struct certificate_options wrong = {.name = "x",
                                              .hosts = bad,
                                              .ends_s = 1,
                                              .to = {tls_files_path("x.pem"), tls_files_path("x.key")},
                                              .signer = {tls_files_path("ca.pem"), tls_files_path("ca.key")}};
    OK(!certificate_make(&wrong, &error) && strstr(error.text, "'a b' is not a host") != NULL, "%s", error.text);
}

int main(void)
{
    if (!tls_files_open())
        return 1;
    test_files();
    test_others();
    OK(tls_files_remove(), "no other file was made");
    return tap_done();
}

#include "edge/process/certificate.h"

#include "edge/process/tls_files.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

enum { SERIAL_BITS = 127, VERSION_3 = 2, HOST_TEXT_BYTES = 280, DAY_S = 24 * 3600 };

/* What one call makes, and who signs it. */
struct maker {
    const struct certificate_options *options;
    EVP_PKEY *key, *signer_key;
    X509 *certificate, *signer;
    struct error *error;
};

static bool fail(const struct maker *maker)
{
    const char *said = ERR_reason_error_string(ERR_peek_last_error());
    (void)error_set(maker->error, EX_SOFTWARE, "%s: OpenSSL cannot make it (%s)", maker->options->to.certificate,
                    said != NULL ? said : "no reason is given");
    ERR_clear_error();
    return false;
}

/* ---- files ---- */

/* What `read` makes of the file; NULL: the error says why. */
static void *read_pem(const struct maker *maker, const char *path, const char *what, void *(*read)(FILE *file))
{
    FILE *file = fopen(path, "re");
    void *found = file != NULL ? read(file) : NULL;
    if (file == NULL)
        (void)error_set(maker->error, EX_NOINPUT, "%s cannot be read: %s", path, strerror(errno));
    else if (found == NULL)
        (void)error_set(maker->error, EX_DATAERR, "%s has no %s: expected one in PEM", path, what);
    if (file != NULL)
        (void)fclose(file);
    ERR_clear_error();
    return found;
}

static void *read_key(FILE *file)
{
    return PEM_read_PrivateKey(file, NULL, tls_no_password, NULL);
}

static void *read_certificate(FILE *file)
{
    return PEM_read_X509(file, NULL, tls_no_password, NULL);
}

/* NULL: the file is there already, or cannot be made. */
static FILE *create(const struct maker *maker, const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file != NULL)
        return file;
    (void)error_set(maker->error, EX_CANTCREAT, "%s cannot be made: %s", path, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return NULL;
}

static bool write_key(FILE *file, const struct maker *maker)
{
    return PEM_write_PrivateKey(file, maker->key, NULL, NULL, 0, NULL, NULL) == 1;
}

static bool write_certificate(FILE *file, const struct maker *maker)
{
    return PEM_write_X509(file, maker->certificate) == 1;
}

/* Writes a file whole, or leaves none. */
static bool write_file(const struct maker *maker, const char *path, bool (*write)(FILE *, const struct maker *))
{
    FILE *file = create(maker, path);
    if (file == NULL)
        return false;
    bool good = write(file, maker) && fflush(file) == 0 && fsync(fileno(file)) == 0;
    good = fclose(file) == 0 && good;
    if (good)
        return true;
    (void)unlink(path);
    return error_set(maker->error, EX_IOERR, "%s cannot be written: %s", path, strerror(errno));
}

/* ---- the certificate ---- */

static bool set_serial(X509 *certificate)
{
    BIGNUM *number = BN_new();
    const bool good = number != NULL && BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
                      BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
    BN_free(number);
    return good;
}

static bool set_name(X509 *certificate, const char *text)
{
    X509_NAME *name = X509_get_subject_name(certificate); /* of the certificate: it is not freed */
    return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)text, -1, -1, 0) == 1;
}

static bool add_extension(const struct maker *maker, int id, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, maker->signer, maker->certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, id, value);
    const bool good = extension != NULL && X509_add_ext(maker->certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return good;
}

static bool is_address(const char *host)
{
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(host);
    const bool is = address != NULL;
    ASN1_OCTET_STRING_free(address);
    ERR_clear_error();
    return is;
}

bool certificate_is_host(const char *host)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    const char *name = strncmp(host, "*.", 2) == 0 ? host + 2 : host;
    const size_t size = strlen(name);
    return strlen(host) < HOST_TEXT_BYTES / 2 && (is_address(host) || (size > 0 && strspn(name, allowed) == size));
}

/* False: `error` is set. */
static bool add_hosts(const struct maker *maker)
{
    char all[CERTIFICATE_HOSTS_MAX * HOST_TEXT_BYTES] = "";
    size_t size = 0;
    unsigned count = 0;
    for (const char *const *host = maker->options->hosts; *host != NULL; host++) {
        const char *kind = is_address(*host) ? "IP" : "DNS";
        if (!certificate_is_host(*host) || count++ == CERTIFICATE_HOSTS_MAX)
            return error_set(maker->error, EX_USAGE,
                             "'%.60s' is not a host to name: expected at most %d names or addresses, without ports",
                             *host, CERTIFICATE_HOSTS_MAX);
        size += (size_t)snprintf(all + size, sizeof all - size, "%s%s:%s", size > 0 ? "," : "", kind, *host);
    }
    return add_extension(maker, NID_subject_alt_name, all) || fail(maker);
}

/* What an authority may do, or a daemon and its clients. */
static bool add_purpose(const struct maker *maker)
{
    if (maker->options->hosts == NULL)
        return (add_extension(maker, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                add_extension(maker, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                add_extension(maker, NID_subject_key_identifier, "hash")) ||
               fail(maker);
    return ((add_extension(maker, NID_basic_constraints, "critical,CA:FALSE") &&
             add_extension(maker, NID_key_usage, "critical,digitalSignature") &&
             add_extension(maker, NID_ext_key_usage, "serverAuth,clientAuth") &&
             add_extension(maker, NID_subject_key_identifier, "hash") &&
             add_extension(maker, NID_authority_key_identifier, "keyid")) ||
            fail(maker)) &&
           add_hosts(maker);
}

static bool fill_in(struct maker *maker)
{
    const struct certificate_options *options = maker->options;
    X509 *certificate = maker->certificate;
    if (maker->signer == NULL)
        maker->signer = certificate;
    const bool good = X509_set_version(certificate, VERSION_3) == 1 && set_serial(certificate) &&
                      set_name(certificate, options->name) &&
                      X509_set_issuer_name(certificate, X509_get_subject_name(maker->signer)) == 1 &&
                      X509_gmtime_adj(X509_getm_notBefore(certificate), options->begins_s) != NULL &&
                      X509_gmtime_adj(X509_getm_notAfter(certificate), options->ends_s) != NULL &&
                      X509_set_pubkey(certificate, maker->key) == 1;
    if (!good)
        return fail(maker);
    if (!add_purpose(maker))
        return false;
    EVP_PKEY *signer_key = maker->signer_key != NULL ? maker->signer_key : maker->key;
    return X509_sign(certificate, signer_key, EVP_sha256()) > 0 || fail(maker);
}

static bool read_signer(struct maker *maker)
{
    const struct certificate_files *files = &maker->options->signer;
    if (files->key == NULL)
        return true;
    maker->signer_key = read_pem(maker, files->key, "private key", read_key);
    if (maker->signer_key == NULL)
        return false;
    maker->signer = read_pem(maker, files->certificate, "certificate", read_certificate);
    if (maker->signer == NULL)
        return false;
    if (X509_check_private_key(maker->signer, maker->signer_key) == 1)
        return true;
    ERR_clear_error();
    return error_set(maker->error, EX_DATAERR, "%s is not the key of %s", files->key, files->certificate);
}

/* What outlives its authority is refused by all from then on. */
static bool signer_lasts(struct maker *maker)
{
    int days, seconds;
    if (maker->signer == NULL)
        return true;
    if (ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(maker->signer)) != 1)
        return fail(maker);
    if (maker->options->ends_s <= ((int64_t)days + 1) * DAY_S)
        return true;
    return error_set(
        maker->error, EX_DATAERR,
        "%s ends in %d days: expected a certificate that ends before its authority, or another authority",
        maker->options->signer.certificate, days);
}

static bool make(struct maker *maker)
{
    const struct certificate_options *options = maker->options;
    const size_t size = strlen(options->name);
    if (size == 0 || size > CERTIFICATE_NAME_MAX)
        return error_set(maker->error, EX_USAGE, "'%.80s' is not a name: expected 1 to %d bytes", options->name,
                         CERTIFICATE_NAME_MAX);
    if (!read_signer(maker) || !signer_lasts(maker))
        return false;
    maker->key = EVP_EC_gen("P-256");
    maker->certificate = X509_new();
    if (maker->key == NULL || maker->certificate == NULL)
        return fail(maker);
    if (!fill_in(maker) || !write_file(maker, options->to.key, write_key))
        return false;
    if (write_file(maker, options->to.certificate, write_certificate))
        return true;
    (void)unlink(options->to.key);
    return false;
}

bool certificate_make(const struct certificate_options *options, struct error *error)
{
    struct maker maker = {.options = options, .error = error};
    const bool good = make(&maker);
    if (maker.signer != maker.certificate)
        X509_free(maker.signer);
    X509_free(maker.certificate);
    EVP_PKEY_free(maker.signer_key);
    EVP_PKEY_free(maker.key);
    return good;
}

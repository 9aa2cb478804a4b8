/*
 * Paths in one spelling: what is the same, what is not, and what cannot be brought to one.
 */
#include "wire/path.h"

#include "tests/lib/tap.h"

#include <stdio.h>
#include <string.h>

static const char *spelled(const char *text, enum path_spelling spelling)
{
    static char out[PATH_ROOM_BYTES + 1];
    char room[PATH_ROOM_BYTES];
    const struct bytes path = path_spell(bytes_of(text), spelling, room);
    const size_t size = path.size < PATH_ROOM_BYTES ? path.size : PATH_ROOM_BYTES;
    memcpy(out, path.size > 0 ? path.data : "", size);
    out[size] = '\0';
    return out;
}

static bool is_view(const char *text, enum path_spelling spelling)
{
    char room[PATH_ROOM_BYTES];
    return path_spell(bytes_of(text), spelling, room).data != room;
}

/* By default, with slashes kept, and with case ignored; NULL: as by default. */
static const struct {
    const char *written, *merged, *kept, *folded;
} paths[] = {
    {"/v1/checkout", "/v1/checkout", NULL, NULL},
    {"/", "/", NULL, NULL},
    {"/v1/checkout?basket=/../1", "/v1/checkout", NULL, NULL},
    {"/v1/checkout#there?no", "/v1/checkout", NULL, NULL},
    {"/?", "/", NULL, NULL},
    /* a byte and its encoding */
    {"/v1/check%6fut", "/v1/checkout", NULL, NULL},
    {"/%76%31%2Fx", "/v1%2Fx", NULL, NULL},
    {"/v1%2fx", "/v1%2Fx", NULL, NULL},
    {"/%7euser/%40me/a%2cb", "/~user/@me/a,b", NULL, NULL},
    {"/caf%c3%a9", "/caf%C3%A9", NULL, NULL},
    {"/caf\xc3\xa9", "/caf%C3%A9", NULL, NULL},
    {"/a%20b c|d\"%7c", "/a%20b%20c%7Cd%22%7C", NULL, NULL},
    {"/a%3Fb%23c%3b", "/a%3Fb%23c;", NULL, NULL},
    /* what is no encoding, or of no letter */
    {"/a%00b%0a", "/a%00b%0A", NULL, NULL},
    {"/a%", "/a%25", NULL, NULL},
    {"/a%6", "/a%256", NULL, NULL},
    {"/a%4g%g4", "/a%254g%25g4", NULL, NULL},
    {"/a%zz/../b", "/b", NULL, NULL},
    {"/a%25zz", "/a%25zz", NULL, NULL},
    {"/%%34%31", "/%2541", NULL, NULL},
    {"/%2541", "/%2541", NULL, NULL},
    /* dot segments */
    {"/v1/./checkout", "/v1/checkout", NULL, NULL},
    {"/v1/x/../checkout", "/v1/checkout", NULL, NULL},
    {"/v1/x/%2e%2E/checkout/%2e", "/v1/checkout/", NULL, NULL},
    {"/v1/x/.%2e/", "/v1/", NULL, NULL},
    {"/a/b/c/./../../g", "/a/g", NULL, NULL},
    {"/../../v1", "/v1", NULL, NULL},
    {"/..", "/", NULL, NULL},
    {"/.", "/", NULL, NULL},
    {"/a/..", "/", NULL, NULL},
    {"/.well-known/..x/...", "/.well-known/..x/...", NULL, NULL},
    /* slashes */
    {"//v1///checkout", "/v1/checkout", "//v1///checkout", NULL},
    {"/v1/checkout//", "/v1/checkout/", "/v1/checkout//", NULL},
    {"//", "/", "//", NULL},
    {"/a//../b", "/b", "/a/b", NULL},
    {"/a/.//b", "/a/b", "/a//b", NULL},
    {"//..//a", "/a", "//a", NULL},
    /* what applications tell apart */
    {"/v1/checkout/", "/v1/checkout/", NULL, NULL},
    {"/v1/checkout;a=b", "/v1/checkout;a=b", NULL, NULL},
    {"/v1/..;/a", "/v1/..;/a", NULL, NULL},
    {"/a\\..\\b", "/a%5C..%5Cb", NULL, "/a%5C..%5Cb"},
    {"/V1/CheckOut/%4F%c3%89", "/V1/CheckOut/O%C3%89", NULL, "/v1/checkout/o%C3%89"},
    {"/V1", "/V1", NULL, "/v1"},
    /* other targets, and names */
    {"http://shop.example:80/v1//checkout?a", "/v1/checkout", "/v1//checkout", NULL},
    {"HTTPS://u@[::1]", "/", NULL, NULL},
    {"http://shop?a=/b", "/", NULL, NULL},
    {"Orders.%6f//x?y#z", "Orders.%6f//x", NULL, NULL},
    {"orders?to=http://shop/x", "orders", NULL, NULL},
    {"*", "*", NULL, NULL},
    {"shop:443", "shop:443", NULL, NULL},
    {"", "", NULL, NULL},
};

static void check(const char *written, enum path_spelling spelling, const char *expected)
{
    char once[PATH_ROOM_BYTES + 1];
    OK_STRING(spelled(written, spelling), expected, "'%s' by spelling %d", written, (int)spelling);
    (void)snprintf(once, sizeof once, "%s", expected);
    OK_STRING(spelled(once, spelling), expected, "and again it is the same");
    OK(is_view(once, spelling), "and not copied");
}

static void test_paths(void)
{
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        check(paths[i].written, PATH_MERGE_SLASHES, paths[i].merged);
        check(paths[i].written, PATH_KEEP_SLASHES, paths[i].kept != NULL ? paths[i].kept : paths[i].merged);
        check(paths[i].written, PATH_IGNORE_CASE, paths[i].folded != NULL ? paths[i].folded : paths[i].merged);
    }
    check("/V1//x/%6f#a?b", PATH_AS_WRITTEN, "/V1//x/%6f#a");
    check("http://shop/a?b", PATH_AS_WRITTEN, "http://shop/a");
    const struct bytes zero = {"/a\0/../b", 8};
    char room[PATH_ROOM_BYTES];
    OK(bytes_equal(path_spell(zero, PATH_MERGE_SLASHES, room), bytes_of("/b")), "a byte of zero is one as any");
}

/* What is left out is counted: ".." takes away what there was no room for first. */
static void test_long(void)
{
    char text[2000], expected[PATH_ROOM_BYTES + 1];
    (void)snprintf(text, sizeof text, "/%0600d/../v1/checkout", 0);
    OK_STRING(spelled(text, PATH_MERGE_SLASHES), "/v1/checkout", "a segment beyond the room, and back");
    (void)snprintf(text, sizeof text, "/a/%0400d/b/c/../../../v1", 0);
    OK_STRING(spelled(text, PATH_MERGE_SLASHES), "/a/v1", "several");
    (void)snprintf(text, sizeof text, "/a/%0251d/b/../v1/..", 0);
    (void)snprintf(expected, sizeof expected, "/a/%0251d/", 0);
    OK_STRING(spelled(text, PATH_MERGE_SLASHES), expected, "to the last byte of the room");
    (void)snprintf(text, sizeof text, "/a/%0252d/b/../../v1", 0);
    (void)snprintf(expected, sizeof expected, "/a/%0252d", 0);
    OK_STRING(spelled(text, PATH_MERGE_SLASHES), "/a/v1", "which a segment fills, and gives back");
    memset(text, 0, sizeof text);
    for (size_t i = 0; i < 600; i++)
        memcpy(text + 3 * i, "/./", 3);
    memcpy(text + 1800, "%76%31", 6);
    OK_STRING(spelled(text, PATH_MERGE_SLASHES), "/v1", "a long way to a short path");
    memset(text, 0, sizeof text);
    text[0] = '/';
    memset(text + 1, '\xff', 100);
    OK(strlen(spelled(text, PATH_MERGE_SLASHES)) == PATH_ROOM_BYTES,
       "an encoding is cut at the last byte of the room");
    memset(text + 1, 'a', 1000);
    char room[PATH_ROOM_BYTES];
    OK(path_spell(bytes_of(text), PATH_MERGE_SLASHES, room).data == text, "a long plain path is not copied");
    memcpy(text + 1, "%C3", 3);
    const struct bytes cut = path_spell(bytes_of(text), PATH_MERGE_SLASHES, room);
    OK(cut.data == text && cut.size == PATH_ROOM_BYTES, "nor the begin of one in its spelling");
}

int main(void)
{
    test_paths();
    test_long();
    return tap_done();
}

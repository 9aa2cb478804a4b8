#include "edge/central/central_script.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * KEYS: of the charges. ARGV: the time in us ('': the store's), the way (p, t, r), a span in us, and for each charge
 * its kind (b, w, f), cost, floor, capacity, three numbers, a stamp, and what is taken in advance. The numbers are of a
 * bucket: units for a token, units for a tick, us of a tick; of a window: its length. All are whole, and below 2^53.
 *
 * A key holds of a bucket 'b used tick units begun': the units that are used at a tick, units for a token, and since
 * when the bucket was not full; of a window 'w used start length', or 'f used start length' if it began with its first
 * request. A key that is absent, or has other words, is full.
 * What a bucket had given before it was full again is never given back: refill has done so. Of what it gave since, as
 * much is lost as has refilled meanwhile: had the bucket kept those tokens, it might have been full for so long. What
 * was taken in advance (a return says so) loses nothing for the first span, for which the bucket had room.
 *
 * In advance half of what is left is taken at most, for a span. A bucket first loses what would be beyond its capacity
 * less the refill of a span. So from then on it is not full while tokens are in hand, and those and what it has are
 * never more than its capacity together: however late within the span they are used, the limit holds.
 */
const char central_script[] =
    "local now = tonumber(ARGV[1])\n"
    "if not now then local t = redis.call('TIME') now = t[1] * 1000000 + t[2] end\n"
    "local way, span = ARGV[2], tonumber(ARGV[3])\n"
    "local function up(a, b)\n" /* a / b, rounded up */
    "  local k = math.floor(a / b)\n"
    "  if k * b < a then return k + 1 end\n"
    "  if (k - 1) * b >= a then return k - 1 end\n"
    "  return k\n"
    "end\n"
    "local function bucket(key, c)\n"
    "  local q, p, tick = c[4], c[5], c[6]\n"
    "  local used, last, begun = 0, math.floor(now / tick), now\n"
    "  local u, l, s, g = string.match(redis.call('GET', key) or '', '^b (%d+) (%d+) (%d+) (%d+)$')\n"
    "  if u then\n"
    "    u, l, s = tonumber(u), tonumber(l), tonumber(s)\n"
    "    if s ~= q then local whole = math.floor(u / s) u = whole * q + math.ceil((u - whole * s) * q / s) end\n"
    "    used = math.min(u, c[3] * q)\n"
    "    local gone = math.max(0, last - l)\n"
    "    last = math.max(last, l)\n"
    "    if gone > math.floor(used / p) then used = 0 else used = math.max(0, used - gone * p) end\n"
    "    if used > 0 then begun = tonumber(g) end\n"
    "  end\n"
    "  if c[8] > 0 and way == 't' then used = math.max(used, p * math.floor(span / tick)) end\n"
    "  local level = c[3] * q - used\n"
    "  local fits = c[1] + c[2] <= c[3]\n"
    "  local lacks = fits and (c[1] + c[2]) * q - level or 0\n"
    "  return {key = key, cost = c[1], wish = c[8], stamp = now, ok = fits and lacks <= 0, old = begun,\n"
    "    retry = not fits and -1 or lacks > 0 and up(lacks, p) * tick or 0,\n"
    "    add = function(n) used = math.max(0, used + n * q) end,\n"
    "    back = way == 'r' and function()\n"
    "      local past = math.max(0, last - math.floor(c[7] / tick) - (c[8] > 0 and math.floor(span / tick) or 0))\n"
    "      used = math.max(0, used - math.max(0, c[1] * q - past * p))\n"
    "    end,\n"
    "    left = function() return math.max(0, math.floor((c[3] * q - used) / q) - c[2]) end,\n"
    "    reset = function() return up(used, p) * tick end,\n"
    "    text = function() return string.format('b %.0f %.0f %.0f %.0f', used, last, q, begun) end}\n"
    "end\n"
    "local function window(key, c, kind)\n"
    "  local length = c[4]\n"
    "  local first = kind == 'f'\n"
    "  local used, start = 0, first and now or now - now % length\n"
    "  local k, u, s, w = string.match(redis.call('GET', key) or '', '^([wf]) (%d+) (%d+) (%d+)$')\n"
    "  if k and tonumber(w) == length then\n"
    "    s = tonumber(s)\n"
    "    local any = first or k == 'f'\n" /* it may have begun at any time */
    "    if any and now < s + length or not any and s >= start then\n"
    "      used = tonumber(u)\n"
    "      if first or k == 'w' then start = s end\n"
    "    end\n"
    "  end\n"
    "  local fits = c[1] + c[2] <= c[3]\n"
    "  local ok = used + c[1] + c[2] <= c[3]\n"
    "  local rest = start + length - now\n"
    "  return {key = key, cost = c[1], wish = c[8], stamp = start, ok = ok, old = start,\n"
    "    retry = not fits and -1 or not ok and rest or 0,\n"
    "    add = function(n) used = math.max(0, used + n) end,\n"
    "    back = way == 'r' and function() used = math.max(0, used - c[1]) end,\n"
    "    left = function() return math.max(0, c[3] - used - c[2]) end,\n"
    "    reset = function() return used > 0 and rest or 0 end,\n"
    "    text = function() return string.format('%s %.0f %.0f %.0f', kind, used, start, length) end}\n"
    "end\n"
    "local all, state = true, {}\n"
    "for i = 1, #KEYS do\n"
    "  local c, at = {}, 3 + (i - 1) * 9\n"
    "  for k = 1, 8 do c[k] = tonumber(ARGV[at + 1 + k]) end\n"
    "  state[i] = (ARGV[at + 1] == 'b' and bucket or window)(KEYS[i], c, ARGV[at + 1])\n"
    "  if way == 'r' then state[i].ok = state[i].old <= c[7] and (ARGV[at + 1] == 'b' or state[i].old == c[7]) "
    "end\n"
    "  all = all and state[i].ok\n"
    "end\n"
    "local out = {all and 1 or 0}\n"
    "for i = 1, #KEYS do\n"
    "  local s = state[i]\n"
    "  local extra = 0\n"
    "  if way == 't' and all then\n"
    "    s.add(s.cost)\n"
    "    extra = math.min(s.wish, math.floor(s.left() / 2))\n"
    "    s.add(extra)\n"
    "  elseif way == 'r' and s.ok then s.back() end\n"
    "  local reset = s.reset()\n"
    "  if s.cost + extra > 0 and (way == 't' and all or way == 'r' and s.ok) then\n"
    "    if reset > 0 then redis.call('SET', s.key, s.text(), 'PX', math.ceil(reset / 1000) + 1)\n"
    "    else redis.call('DEL', s.key) end\n"
    "  end\n"
    "  local o = #out\n"
    "  out[o + 1] = s.ok and 1 or 0\n"
    "  out[o + 2] = s.left()\n"
    "  out[o + 3] = s.retry\n"
    "  out[o + 4] = reset\n"
    "  out[o + 5] = s.stamp\n"
    "  out[o + 6] = extra\n"
    "end\n"
    "return out\n";

#define NUMBER_MAX ((int64_t)1 << 53)

/* A word that lies elsewhere. */
static void add_word(struct central_words *words, const char *text, size_t size)
{
    assert(words->count < CENTRAL_WORDS_MAX);
    words->word[words->count] = text;
    words->size[words->count++] = size;
}

__attribute__((format(printf, 2, 3))) static void print_word(struct central_words *words, const char *format, ...)
{
    va_list arguments;
    char *at = words->room + words->used;
    const size_t room = sizeof words->room - words->used;
    va_start(arguments, format);
    const int size = vsnprintf(at, room, format, arguments);
    va_end(arguments);
    assert(size >= 0 && (size_t)size < room);
    words->used += (size_t)size + 1;
    add_word(words, at, (size_t)size);
}

static void print_number(struct central_words *words, uint64_t number)
{
    print_word(words, "%" PRIu64, number);
}

static void print_charge(struct central_words *words, const struct central_charge *charge)
{
    const bool is_window = charge->window_us > 0;
    add_word(words, !is_window ? "b" : charge->from_first ? "f" : "w", 1);
    print_number(words, charge->cost);
    print_number(words, charge->floor_tokens);
    print_number(words, charge->capacity);
    print_number(words, is_window ? charge->window_us : charge->coarse.units_per_token);
    print_number(words, is_window ? 0 : charge->coarse.units_per_tick);
    print_number(words, is_window ? 0 : charge->coarse.tick_us);
    print_number(words, charge->stamp);
    print_number(words, charge->extra);
}

void central_script_call(struct central_words *words, const char *sha, const char *prefix, enum central_way way,
                         const struct central_charge *charges, uint32_t count, uint64_t span_us, uint64_t now_us)
{
    static const char *const ways[] = {[CENTRAL_PEEK] = "p", [CENTRAL_TAKE] = "t", [CENTRAL_RETURN] = "r"};
    assert(count >= 1 && count <= CHARGES_MAX && strlen(prefix) < CENTRAL_PREFIX_BYTES);
    words->count = 0;
    words->used = 0;
    add_word(words, sha ? "EVALSHA" : "EVAL", sha ? 7 : 4);
    add_word(words, sha ? sha : central_script, strlen(sha ? sha : central_script));
    print_number(words, count);
    for (uint32_t i = 0; i < count; i++)
        print_word(words, "%s%016" PRIx64 "%016" PRIx64, prefix, charges[i].id.high, charges[i].id.low);
    if (now_us > 0)
        print_number(words, now_us);
    else
        add_word(words, "", 0);
    add_word(words, ways[way], 1);
    print_number(words, span_us);
    for (uint32_t i = 0; i < count; i++)
        print_charge(words, &charges[i]);
}

bool central_script_read(struct central_answer *answer, const int64_t *numbers, size_t number_count, uint32_t count)
{
    if (number_count != 1 + (size_t)count * CENTRAL_FIGURES)
        return false;
    answer->allowed = numbers[0] == 1;
    answer->count = count;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t *of = numbers + 1 + (size_t)i * CENTRAL_FIGURES;
        for (size_t k = 0; k < CENTRAL_FIGURES; k++)
            if (of[k] > NUMBER_MAX)
                return false; /* no script of ours can say that */
        if (of[1] < 0 || of[2] < -1 || of[3] < 0 || of[4] < 0 || of[5] < 0)
            return false;
        answer->figures[i] = (struct central_figures){.allowed = of[0] == 1,
                                                      .remaining_tokens = (uint64_t)of[1],
                                                      .retry_after_us = of[2] < 0 ? UINT64_MAX : (uint64_t)of[2],
                                                      .reset_after_us = (uint64_t)of[3],
                                                      .stamp = (uint64_t)of[4],
                                                      .extra = (uint64_t)of[5]};
    }
    return true;
}

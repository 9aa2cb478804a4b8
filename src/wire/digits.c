#include "wire/digits.h"

#include <string.h>

char *digits_write_long(char *at, uint64_t number)
{
    static const char pairs[] =
        "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243"
        "4445464748495051525354555657585960616263646566676869707172737475767778798081828384858687"
        "888990919293949596979899";
    char *behind = at + 1;
    for (uint64_t more = number; more >= 10; more /= 100)
        behind += more >= 100 ? 2 : 1;
    char *digit = behind;
    for (; number >= 10; number /= 100) {
        digit -= 2;
        memcpy(digit, pairs + 2 * (number % 100), 2);
    }
    if (digit > at)
        *at = (char)('0' + number);
    return behind;
}

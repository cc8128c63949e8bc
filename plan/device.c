/* Reads what people write for a vendor or a class. What a device does with it is in check.c. */
#include "plan/device.h"

#include <string.h>

#define UUID_CHARACTERS 36

/* The value of a hexadecimal digit; -1 for any other character. */
static int digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    const char lower = c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool read_uuid(const char *text, uint8_t id[16]) {
    uint32_t count = 0;
    for (size_t i = 0; i < UUID_CHARACTERS; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : digit(text[i]) < 0)
            return false;
        if (!dash) {
            id[count / 2] = (uint8_t)(id[count / 2] << 4 | digit(text[i]));
            count++;
        }
    }
    return true;
}

bool firn_device_id_read(const char *text, size_t length, uint8_t id[16]) {
    memset(id, 0, 16);
    if (length == UUID_CHARACTERS)
        return read_uuid(text, id);
    bool good = length <= 16;
    for (size_t i = 0; good && i < length; i++) {
        good = text[i] > ' ' && text[i] <= '~';
        id[i] = (uint8_t)text[i];
    }
    return good;
}

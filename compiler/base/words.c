/* Text of shapes, words and hashes for printing (compiler/base/words.h). */
#include "compiler/base/words.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NAMES_SHOWN 20u

const char *firnc_shape_text(const firn_shape *shape) {
    const char *text = firnc_format("%s[", firn_type_name(shape->type));
    for (uint8_t i = 0; i < shape->rank; i++)
        text = firnc_format("%s%s%u", text, i == 0 ? "" : ",", (unsigned)shape->dims[i]);
    return firnc_format("%s%s]", text, shape->rank == 0 ? "?" : "");
}

const char *firnc_next_word(const char **words) {
    *words += strspn(*words, " ");
    size_t length = strcspn(*words, " ");
    const char *word = firnc_format("%.*s", (int)length, *words);
    *words += length;
    return word;
}

const char *firnc_grouped(uint64_t number) {
    const char *digits = firnc_format("%llu", (unsigned long long)number);
    const size_t length = strlen(digits);
    char *result = firnc_allocate(2 * length + 1), *out = result;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    return result;
}

const char *firnc_hex(const uint8_t *bytes, uint32_t count) {
    char *text = firnc_allocate(2 * (uint64_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        snprintf(text + 2 * (size_t)i, 3, "%02x", (unsigned)bytes[i]);
    return text;
}

void firnc_names_add(firnc_names *names, const char *name) {
    if (names->count++ < NAMES_SHOWN) {
        const char *text = firnc_format("%s%s", names->count == 1 ? "" : ", ", name);
        firnc_text_add(&names->text, text, strlen(text));
    }
}

const char *firnc_names_text(const firnc_names *names) {
    const uint32_t more = names->count > NAMES_SHOWN ? names->count - NAMES_SHOWN : 0;
    return more > 0 ? firnc_format("%s and %u more", names->text.text, (unsigned)more) : names->text.text;
}

const char *firnc_names_brief(const firnc_names *names) {
    enum { BRIEF = 3 };
    const char *end = names->text.text;
    if (names->count <= BRIEF + 1)
        return firnc_format("%u (%s)", (unsigned)names->count, names->count > 0 ? names->text.text : "");
    for (uint32_t i = 0; i < BRIEF; i++)
        end = strchr(end + (i > 0), ',');
    return firnc_format("%u (%.*s and %u more)", (unsigned)names->count, (int)(end - names->text.text),
                        names->text.text, (unsigned)(names->count - BRIEF));
}

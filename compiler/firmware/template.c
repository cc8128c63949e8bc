/* Fills in templates (template.h). What the marks mean may not be known here. */
#include "compiler/firmware/template.h"

#include <string.h>

#include "compiler/base/text.h"

/* The mark whose name is the `length` bytes; NULL if there is none. */
static const firnc_mark_text *find(const firnc_mark_text *marks, uint32_t count, const char *name, size_t length) {
    for (uint32_t i = 0; i < count; i++)
        if (strlen(marks[i].name) == length && memcmp(marks[i].name, name, length) == 0)
            return &marks[i];
    return NULL;
}

/* Adds a line with its marks filled in. An @ that begins no mark stays. */
static void add_line(firnc_growing_text *to, const char *line, size_t length, const firnc_mark_text *marks,
                     uint32_t count) {
    const char *end = line + length;
    while (line < end) {
        const char *at = memchr(line, '@', (size_t)(end - line));
        const char *close = at != NULL ? memchr(at + 1, '@', (size_t)(end - at - 1)) : NULL;
        if (close == NULL)
            at = end;
        firnc_text_add(to, line, (uint64_t)(at - line));
        if (close == NULL)
            return;
        const firnc_mark_text *mark = find(marks, count, at + 1, (size_t)(close - at - 1));
        if (mark != NULL && mark->text != NULL)
            firnc_text_add(to, mark->text, strlen(mark->text));
        else if (mark == NULL)
            firnc_text_add(to, at, 1);
        line = mark != NULL ? close + 1 : at + 1;
    }
}

const char *firnc_template_fill(const char *text, const firnc_mark_text *marks, uint32_t count) {
    firnc_growing_text filled = {0};
    uint32_t depth = 0, hidden = 0; /* the depth from which on lines are left out; 0: none are */
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        if (strncmp(text, "@if ", 4) == 0) {
            const firnc_mark_text *mark = find(marks, count, text + 4, length - 4);
            depth++;
            if (hidden == 0 && (mark == NULL || mark->text == NULL))
                hidden = depth;
        } else if (strncmp(text, "@end\n", 5) == 0) {
            hidden = hidden == depth ? 0 : hidden;
            depth--;
        } else if (hidden == 0) {
            add_line(&filled, text, length + (text[length] == '\n'), marks, count);
        }
        text += length + (text[length] == '\n');
    }
    return filled.text != NULL ? filled.text : "";
}

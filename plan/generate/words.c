/* Writes words.h and words.c: the names of the schema's enumerators, for messages and reports. */
#include "plan/generate/output.h"

static void put_signature(const struct enumeration *enumeration) {
    put("const char *firn_fb_%s_word(%s value)", enumeration->snake, scalar_of(enumeration->base)->c_type);
}

void write_words(void) {
    begin_file("words.h",
               "The name of each enumerator as the schema writes it, and \"?\" for a value that the enumeration does "
               "not have.");
    put("#ifndef FIRN_PLAN_GENERATED_WORDS_H\n#define FIRN_PLAN_GENERATED_WORDS_H\n\n#include <stdint.h>\n\n");
    for (size_t i = 0; i < enumeration_count; i++) {
        put_signature(&enumerations[i]);
        put(";\n");
    }
    put("\n#endif\n");
    end_file();

    begin_file("words.c", "The names of the schema's enumerators.");
    put("#include \"plan/generated/words.h\"\n");
    for (size_t i = 0; i < enumeration_count; i++) {
        put("\n");
        put_signature(&enumerations[i]);
        put(" {\n    static const char *const words[] = {");
        for (size_t j = 0; j < enumerations[i].value_count; j++)
            put("%s\"%s\"", j == 0 ? "" : ", ", enumerations[i].values[j]);
        put("};\n    return value < sizeof words / sizeof words[0] ? words[value] : \"?\";\n}\n");
    }
    end_file();
}

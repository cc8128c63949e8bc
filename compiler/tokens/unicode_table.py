"""Writes compiler/tokens/unicode_table.c from the Unicode database of this Python (the module unicodedata):

    python3 compiler/tokens/unicode_table.py >compiler/tokens/unicode_table.c

Another version of Python may have another version of Unicode, which the file states. tests/end_to_end/tokens.sh compares the
file with what this script writes where the versions are equal."""

import sys
import unicodedata

LAST = 0x10FFFF
LETTER, NUMBER, SPACE, WORD = 1, 2, 4, 8
# What the property Other_Alphabetic has beside marks; unicodedata lacks the property.
OTHER_ALPHABETIC = [(0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189)]
JOIN_CONTROL = (0x200C, 0x200D)


def properties(code):
    """The bits of a code point: \\p{L}, \\p{N}, \\s (White_Space) and \\w of the reference's regular expressions."""
    category = unicodedata.category(chr(code))
    bits = 0
    if category[0] == "L":
        bits |= LETTER
    if category[0] == "N":
        bits |= NUMBER
    if category[0] == "Z" or 9 <= code <= 13 or code == 0x85:
        bits |= SPACE
    if category[0] in "LM" or category in ("Nl", "Nd", "Pc") or code in JOIN_CONTROL:
        bits |= WORD
    if any(first <= code <= last for first, last in OTHER_ALPHABETIC):
        bits |= WORD
    return bits


def ranges(function):
    """Rows (first, last, value) of the code points whose value is not 0."""
    rows = []
    for code in range(LAST + 1):
        value = function(code)
        if value and rows and rows[-1][1] == code - 1 and rows[-1][2] == value:
            rows[-1] = (rows[-1][0], code, value)
        elif value:
            rows.append((code, code, value))
    return rows


def decompositions():
    """Rows (code, first, second) of the canonical decompositions of one step; second is 0 for a single character. Hangul
    has none here, because its decompositions are computed."""
    rows = []
    for code in range(LAST + 1):
        text = unicodedata.decomposition(chr(code))
        if text and not text.startswith("<"):
            parts = [int(part, 16) for part in text.split()]
            rows.append((code, parts[0], parts[1] if len(parts) == 2 else 0))
    return rows


def compositions(rows):
    """Rows (first, second, composed) in ascending order, of the decompositions that NFC composes again."""
    kept = [(first, second, code) for code, first, second in rows if unicodedata.normalize("NFC", chr(code)) == chr(code)]
    return sorted(kept)


def table(type_name, name, rows, text):
    print(f"\n/* {text} */\nconst {type_name} {name}[] = {{")
    line = ""
    for row in rows:
        item = "{" + ",".join(f"{value:#x}" for value in row) + "},"
        if len(line) + len(item) > 120:
            print(line)
            line = ""
        line += item
    print(line + "\n};")
    print(f"const uint32_t {name}_count = {len(rows)};")


def main():
    print("/* Made by compiler/tokens/unicode_table.py; do not edit. */")
    print('#include "compiler/tokens/unicode.h"\n')
    print("/* clang-format off */")
    print(f'const char firnc_unicode_version[] = "{unicodedata.unidata_version}";')
    steps = decompositions()
    table("firnc_unicode_range", "firnc_unicode_properties", ranges(properties),
          "Code points with properties: the first, the last, the bits of firnc_unicode_property.")
    table("firnc_unicode_range", "firnc_unicode_orders", ranges(lambda code: unicodedata.combining(chr(code))),
          "Code points with a canonical combining class: the first, the last, the class.")
    table("firnc_unicode_triple", "firnc_unicode_decompositions", steps,
          "Canonical decompositions: the code point, its first and second part; 0 for no second part.")
    table("firnc_unicode_triple", "firnc_unicode_compositions", compositions(steps),
          "Canonical compositions: the first and second part, the code point; ascending.")
    print("/* clang-format on */")


sys.exit(main())

#!/bin/sh
# References exist: comments refer to sections of plan/*.md, to its rules and to files, and documents link to files. The
# C code in the README compiles.
set -eu
failures=0

missing() {
    echo "$*" >&2
    failures=$((failures + 1))
}

sources=$(git ls-files '*.[ch]' '*.def' 2>/dev/null) && [ -n "$sources" ] ||
    sources=$(find plan compiler runtime schedules tests -name '*.[ch]' -o -name '*.def')

# NUMERICS.md, "Heading" and "Heading"; a comment may contain a line break between the two.
for document in NUMERICS FORMAT; do
    cat $sources | tr '\n' ' ' | grep -o "$document\.md, \"[^\"]*\"\(\( and\|,\)[ *]*\"[^\"]*\"\)*" | grep -o '"[^"]*"' | tr -d '"' |
        sort -u >"${TMPDIR:-/tmp}/firn-references.$$"
    [ -s "${TMPDIR:-/tmp}/firn-references.$$" ] || missing "$document.md: nothing refers to it; is this test looking?"
    while read -r heading; do
        grep -q "^##* $heading\$" plan/$document.md || missing "$document.md has no section \"$heading\""
    done <"${TMPDIR:-/tmp}/firn-references.$$"
    rm -f "${TMPDIR:-/tmp}/firn-references.$$"
done

for rule in $(cat $sources | grep -o '[Rr]ule [0-9][0-9]* of FORMAT\.md' | grep -o '[0-9]*' | sort -u); do
    grep -q "^$rule\. " plan/FORMAT.md || missing "FORMAT.md has no rule $rule"
done

for file in $(cat $sources | grep -o '\(plan\|compiler\|runtime\|schedules\|tests\)/[a-z0-9_/-]*\.\(c\|h\|def\|fbs\)\>' | sort -u); do
    [ -e "$file" ] || missing "$file is named and is not there"
done

# [text](path#section); web addresses contain a colon and are skipped.
for document in README.md plan/*.md compiler/*.md runtime/*.md schedules/*.md plan/generated/*.md; do
    for link in $(grep -o '](\([^):#]*\)[^):]*)' "$document" | sed 's/^](//; s/[#)].*//' | sort -u); do
        [ -e "$(dirname "$document")/$link" ] || missing "$document links to $link, which is not there"
    done
done

sed -n '/^```c$/,/^```$/{/^```/!p}' README.md | ${CC:-cc} -std=c11 -Wall -Wextra -Werror -I. -fsyntax-only -x c - ||
    missing "README.md has C that does not compile"

[ $failures -eq 0 ]

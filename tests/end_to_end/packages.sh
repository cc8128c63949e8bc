#!/bin/sh
# `make all` on a machine without a required package prints one line that names the package and the command that
# installs it, before anything that needs it is compiled or fetched. The machine is simulated by a compiler that finds
# every header of this one except those of the package.
set -eu

. tests/end_to_end/expectations

# without HEADER...: makes a compiler that searches its own folder, then a copy of /usr/include without the given
# headers.
without() {
    rm -rf "$folder/include"
    mkdir "$folder/include"
    ln -s /usr/include/* "$folder/include"
    for name; do rm "$folder/include/$name"; done
    cat >"$folder/compiler" <<END
#!/bin/sh
for word; do [ "\$word" != -c ] || echo "\$*" >>"$folder/compiled"; done
exec gcc -nostdinc -isystem $(gcc -print-file-name=include) -isystem "$folder/include" \
    -isystem /usr/include/$(gcc -print-multiarch) "\$@"
END
    chmod +x "$folder/compiler"
}

# build: starts from an empty folder; compiles only a file that needs headers of packages
build() {
    rm -rf "$folder/build" "$folder/compiled"
    ${MAKE:-make} -s BUILD="$folder/build" CC="$folder/compiler" "$folder/build/objects/compiler/base/nearest.o"
}

# refused NAME PATTERN: prints one line of ours in addition to make's, and compiles nothing
refused() {
    status=0
    build >"$folder/out" 2>"$folder/err" || status=$?
    [ "$status" -ne 0 ] || fail "$1: built"
    grep -v '^make' "$folder/err" >"$folder/lines" || true
    [ "$(wc -l <"$folder/lines")" -eq 1 ] && grep -q "$2.*.packages/install build" "$folder/lines" || fail "$1: not '$2'"
    [ ! -e "$folder/compiled" ] || fail "$1: something was compiled before"
}

without
expect "everything there" 0 "" build
[ -e "$folder/compiled" ] || fail "nothing was compiled"
without yaml.h
refused "no libyaml" "missing packages: libyaml-dev;"
without yaml.h zlib.h cjson mbedtls
refused "four packages" "missing packages: libmbedtls-dev libyaml-dev libcjson-dev zlib1g-dev;"
rm "$folder/compiler"
refused "no compiler" "compiler: there is no such compiler"

# The source of mbedTLS is packed with xz, whose presence is checked before anything is fetched.
mkdir "$folder/bin"
ln -s /usr/bin/* "$folder/bin"
rm "$folder/bin/xz"
expect "no xz" 1 "xz is missing: .*.packages/install source" env -C "$folder" PATH="$folder/bin" \
    "$PWD/.packages/fetch-source" mbedtls source

# The command installs each package that the message can name.
for package in $(sed -n '/<<END/,/^END/s/^[a-z0-9-]*$/&/p' .packages/check | grep -v '^END$'); do
    grep -q "^build: .*$package" .packages/list || fail "$package is not in the group build"
done

[ "$failures" -eq 0 ]

#!/bin/sh
# `make all` on a machine without a required package prints one line that names the package and the command that
# installs it, before anything that needs it is compiled or fetched. The machine is simulated by a compiler that finds
# every header of this one except those of the package. Likewise a wheel that pip does not find, with a python3 that says
# what pip says.
#
# Needs: python
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
without yaml.h zlib.h cjson
refused "three packages" "missing packages: libyaml-dev libcjson-dev zlib1g-dev;"
rm "$folder/compiler"
refused "no compiler" "compiler: there is no such compiler"

# The source of mbedTLS is packed with bzip2, whose presence is checked before anything is fetched.
mkdir "$folder/bin"
ln -s /usr/bin/* "$folder/bin"
rm "$folder/bin/bzip2"
fetch() {
    env -C "$folder" "$@" "$PWD/.packages/fetch-source" small 1.0 "$known" source
}
known=0
expect "no bzip2" 1 "bzip2 is missing: .*.packages/install source" fetch PATH="$folder/bin"

# The source is fetched from the mirror of this machine, whatever release it names, and accepted only with the version
# and the SHA-256 that are known. The mirror is a folder with the source package "small".
offers() {
    rm -rf "$folder/mirror" "$folder/small"
    pool="$folder/mirror/pool"
    index="$folder/mirror/dists/trixie/main/source"
    mkdir -p "$pool" "$index" "$folder/small" "$folder/apt/sources.list.d"
    echo content >"$folder/small/file"
    tar -c -j -C "$folder" -f "$pool/small_$1.orig.tar.bz2" small
    echo packaging | bzip2 >"$pool/small_$1-1.debian.tar.bz2"
    cat >"$pool/small_$1-1.dsc" <<END
Format: 3.0 (quilt)
Source: small
Version: $1-1
Maintainer: nobody <nobody@example.org>
Checksums-Sha256:
$(cd "$pool" && for file in *.orig.tar.bz2 *.debian.tar.bz2; do
        echo " $(sha256sum <"$file" | cut -d' ' -f1) $(stat -c %s "$file") $file"
    done)
END
    {
        sed -n '/^Source/s/Source/Package/p; /^Version/,$p' "$pool/small_$1-1.dsc"
        echo " $(sha256sum <"$pool/small_$1-1.dsc" | cut -d' ' -f1) $(stat -c %s "$pool/small_$1-1.dsc") small_$1-1.dsc"
        echo "Directory: pool"
    } >"$index/Sources"
    cat >"$folder/mirror/dists/trixie/Release" <<END
Suite: stable
Codename: trixie
Components: main
SHA256:
 $(sha256sum <"$index/Sources" | cut -d' ' -f1) $(stat -c %s "$index/Sources") main/source/Sources
END
    printf 'Types: deb\nURIs: file:%s\nSuites: bookworm\nComponents: main\nSigned-By: /nowhere.gpg\n' \
        "$folder/mirror" >"$folder/apt/sources.list.d/debian.sources"
    printf 'Types: deb\nURIs: file:/other\nSuites: nodistro\nComponents: main\n' \
        >"$folder/apt/sources.list.d/other.sources"
    known=$(sha256sum <"$pool/small_$1.orig.tar.bz2" | cut -d' ' -f1)
}
offers 1.1
expect "another version" 1 "the mirror has small 1.1-1 and not 1.0,.*MBEDTLS_SOURCE=FOLDER" fetch FIRN_APT_FOLDER="$folder/apt"
offers 1.0
right=$known
known=$(echo other | sha256sum | cut -d' ' -f1)
expect "another SHA-256" 1 "the SHA-256 of small 1.0 is not the known one" fetch FIRN_APT_FOLDER="$folder/apt"
[ ! -e "$folder/source/ready" ] && [ ! -e "$folder/source/file" ] || fail "a source with another SHA-256 was unpacked"
known=$right
expect "the known source" 0 "" fetch FIRN_APT_FOLDER="$folder/apt"
[ -e "$folder/source/ready" ] && [ "$(cat "$folder/source/file")" = content ] || fail "the source was not unpacked"

# A machine without a source of Debian asks Debian's own server, whose place the folder takes.
rm -r "$folder/source" "$folder/apt/sources.list.d/debian.sources"
expect "no source of Debian" 0 "" fetch FIRN_APT_FOLDER="$folder/apt" FIRN_DEBIAN="file:$folder/mirror"
[ -e "$folder/source/ready" ] && [ "$(cat "$folder/source/file")" = content ] || fail "the source was not unpacked"

# The libraries for another architecture come from this machine's mirror; on Ubuntu, whose mirrors have only x86, from its
# server for other architectures. The mirror is a folder with the package "little".
pool="$folder/ports/pool"
index="$folder/ports/dists/noble/universe/binary-arm64"
mkdir -p "$pool" "$index" "$folder/little/DEBIAN" "$folder/little/usr/lib"
printf 'Package: little\nVersion: 1\nArchitecture: arm64\nMaintainer: nobody <nobody@example.org>\nDescription: none\n' \
    >"$folder/little/DEBIAN/control"
echo library >"$folder/little/usr/lib/library"
dpkg-deb --build "$folder/little" "$pool/little_1_arm64.deb" >"$folder/out"
{
    cat "$folder/little/DEBIAN/control"
    echo "Filename: pool/little_1_arm64.deb"
    echo "Size: $(stat -c %s "$pool/little_1_arm64.deb")"
    echo "SHA256: $(sha256sum <"$pool/little_1_arm64.deb" | cut -d' ' -f1)"
} >"$index/Packages"
for suite in noble noble-updates noble-security; do
    lists=$folder/ports/dists/$suite
    mkdir -p "$lists/main/binary-arm64" "$lists/universe/binary-arm64"
    touch "$lists/main/binary-arm64/Packages" "$lists/universe/binary-arm64/Packages"
    {
        printf 'Suite: %s\nCodename: noble\nArchitectures: arm64\nComponents: main universe\nSHA256:\n' $suite
        for component in main universe; do
            list=$lists/$component/binary-arm64/Packages
            echo " $(sha256sum <"$list" | cut -d' ' -f1) $(stat -c %s "$list") $component/binary-arm64/Packages"
        done
    } >"$lists/Release"
done
mkdir "$folder/packages"
cp .packages/fetch-libraries "$folder/packages"
echo "some-libraries: little" >"$folder/packages/list"
printf 'ID=ubuntu\nVERSION_CODENAME=noble\n' >"$folder/os-release"
expect "libraries on Ubuntu" 0 "" env -C "$folder" FIRN_OS_RELEASE="$folder/os-release" \
    FIRN_UBUNTU_PORTS="[trusted=yes] file:$folder/ports" packages/fetch-libraries arm64 some-libraries libraries
[ -e "$folder/libraries/ready" ] && [ "$(cat "$folder/libraries/usr/lib/library")" = library ] ||
    fail "the libraries were not unpacked"

# The command installs each package that the message can name.
for package in $(sed -n '/<<END/,/^END/s/^[a-z0-9-]*$/&/p' .packages/check | grep -v '^END$'); do
    grep -q "^build: .*$package" .packages/list || fail "$package is not in the group build"
done

# make check knows each need of a script, and what it needs is a group of packages or a goal.
for script in tests/end_to_end/*.sh tests/unit/test_*.c; do
    for word in $(sed -n 's/^# Needs: //p; s|^ \* Needs: \([a-z ]*\).*|\1|p' "$script"); do
        case $word in
        test_*) [ -e "tests/unit/$word.c" ] || fail "$script needs $word, and there is no such test" ;;
        *) grep -q "^    $word) " tests/check || fail "$script needs $word, which tests/check does not know" ;;
        esac
    done
done
# tests/mutants knows the same words.
sed -n '/^need() {/,/^}/s/^    \([a-z_][a-z_0-9]*\)) .*/\1/p' tests/check | sort >"$folder/words"
PYTHONPATH=tests/mutants python3 -B -c 'import selection
print("\n".join({*selection.NEEDS, *(word for words in selection.OTHER_COMPILERS.values() for word in words)}))' |
    sort >"$folder/got"
[ "$(wc -l <"$folder/words")" -gt 10 ] && cmp -s "$folder/words" "$folder/got" ||
    fail "tests/mutants/selection.py has other words than tests/check: $(comm -3 "$folder/words" "$folder/got" | tr '\n\t' '  ')"
for group in $(sed -n 's/.*packages="$packages \([a-z0-9 ]*\)".*/\1/p' tests/check); do
    grep -q "^$group: " .packages/list || fail "tests/check installs $group, which is no group of .packages/list"
done
expect "check without a name" 2 "T is missing; name tests" env BUILD="$BUILD" SANITIZED=none MAKE=false JOBS=1 tests/check
expect "check of no test" 2 "there is no test shapes .*; there are: test_shapes" env BUILD="$BUILD" SANITIZED=none MAKE=false \
    JOBS=1 tests/check shapes

# wheel NAME PATTERN TEXT: pip fails with TEXT
wheel() {
    mkdir -p "$folder/bin"
    rm -f "$folder/bin/python3" # a link to the machine's own
    printf '#!/bin/sh\n[ "$1" = --version ] && echo Python 3.99.0 && exit\necho "%s"\nexit 1\n' "$3" >"$folder/bin/python3"
    chmod +x "$folder/bin/python3"
    expect "$1" 1 "wheel 1.0 cannot be fetched by Python 3.99.0: $2" env PATH="$folder/bin:$PATH" .packages/fetch-wheel wheel 1.0 \
        "$folder/wheel" 0
    [ ! -e "$folder/wheel" ] && [ ! -e "$folder/wheel.download" ] || fail "$1: something was left"
}
requirement="ERROR: Could not find a version that satisfies the requirement wheel==1.0"
wheel "no index" "pip found no version of it: no index can be reached" "$requirement (from versions: none)"
wheel "another Python" "for this Python there are only 0.1, 0.9 (" "$requirement (from versions: 0.1, 0.9)"
wheel "no pip" "No module named pip (" "No module named pip"

[ "$failures" -eq 0 ]

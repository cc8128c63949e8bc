#!/bin/sh
# The result of `make install` is complete: programs that use either library are built from the installed tree alone, in
# another folder, through pkg-config and through CMake, and they run; every public header compiles alone; no installed
# file contains the build path; `make uninstall` removes only what was installed.
#
# Needs: tools
set -eu

. tests/end_to_end/expectations

root=$PWD
PREFIX=/opt/firn
destination=$folder/destination
installed=$destination$PREFIX
install() {
    ${MAKE:-make} -s BUILD="$BUILD" "$1" PREFIX="$PREFIX" DESTDIR="$destination"
}

# Files of other packages stay, and so do their folders.
mkdir -p "$installed/lib/pkgconfig"
echo "of others" >"$installed/lib/pkgconfig/other.pc"
expect "install" 0 "" install install
expect "install again" 0 "" install install

cp runtime/examples/train.c runtime/examples/predict.c compiler/examples/network.c "$folder"
cd "$folder"
if grep -rqF -e "$root" -e "$destination" "$installed"; then fail "a file names the place where it was built"; fi

# --- headers -------------------------------------------------------------------------------------------------------

for header in $(cd "$installed/include/firn" && find . -name '*.h'); do
    printf '#include "%s"\nint declared_here;\n' "${header#./}" >header.c # ISO C wants a declaration
    expect "$header alone" 0 "" gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$installed/include/firn" -c header.c
done

# --- pkg-config ----------------------------------------------------------------------------------------------------

export PKG_CONFIG_PATH="$installed/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$destination"
strict="-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror"
build() {
    # The flags are split into words on purpose.
    gcc $strict "$2" -o "$1" $(pkg-config --cflags --libs "$3")
}
expect "train.c by pkg-config" 0 "" build train train.c firn-host
expect "predict.c by pkg-config" 0 "" build predict predict.c firn-host
expect "network.c by pkg-config" 0 "" build network network.c firnc
version=$("$installed/bin/firn" --version)

# --- the version: that of plan/release.h everywhere -------------------------------------------------------------

number=$(cd "$root" && runtime/package/version)
{
    echo "firn --version: ${version#firn }"
    echo "firnc --version: $("$installed/bin/firnc" --version | sed 's/^firnc //')"
    for package in firn firn-host firnc; do
        echo "$package.pc: $(pkg-config --modversion $package)"
    done
    for program in firn firnc; do
        echo "$program.1: $(sed -n "s/^\.TH .*\"Firn \([^\"]*\)\".*/\1/p" "$installed/share/man/man1/$program.1")"
    done
    echo "CMake: $(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' "$(find "$installed" -name firnConfigVersion.cmake)")"
    echo "FIRN_VERSION: $(printf '#include "runtime/firn.h"\nFIRN_VERSION' | gcc -E -P -I"$installed/include/firn" - | tail -n 1 |
        tr -d '" ')"
    echo "FIRNC_VERSION: $(printf '#include "compiler/firnc.h"\nFIRNC_VERSION' | gcc -E -P -I"$installed/include/firn" - |
        tail -n 1 | tr -d '" ')"
} >versions
[ "$(wc -l <versions)" -eq 10 ] || fail "$(wc -l <versions) versions, not 10"
sed 's/.*: //' versions | grep -vqx "$number" && fail "plan/release.h states $number: $(grep -v ": $number\$" versions)"

# --- CMake ---------------------------------------------------------------------------------------------------------

cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.10)
project(examples C)
find_package(firn ${version#firn } REQUIRED)
add_executable(train train.c)
target_link_libraries(train firn::host)
add_executable(network network.c)
target_link_libraries(network firn::firnc)
END
expect "cmake" 0 "" cmake -S . -B by_cmake -DCMAKE_PREFIX_PATH="$installed" -DCMAKE_BUILD_TYPE=Release
expect "cmake --build" 0 "" cmake --build by_cmake
sed "s/find_package.*/find_package(firn 9.9 REQUIRED)/" CMakeLists.txt >later
mkdir other
mv later other/CMakeLists.txt
cp train.c network.c other
cmake -S other -B other/built -DCMAKE_PREFIX_PATH="$installed" >out 2>err && fail "CMake takes this for version 9.9"

# --- the built programs run ----------------------------------------------------------------------------------------

"$installed/bin/firnc" keygen test >out
"$installed/bin/firnc" compile "$root/compiler/recipes/small_gpt2.yaml" --mode train --key test.key.pem -o plan \
    --set trainer.init.loop.num_steps=5 >out
for program in ./train by_cmake/train; do
    rm -f checkpoint
    expect "$program" 0 "" $program plan test.pub.pem checkpoint
    [ "$(grep -c '^step [1-5]: loss [0-9.]*$' out)" -eq 5 ] || fail "$program does not train five steps"
    "$installed/bin/firn" digest checkpoint >"$(dirname $program)/digest"
done
cmp -s digest by_cmake/digest || fail "the two builds train to different bits"
printf x | dd of=plan bs=1 seek=300 conv=notrunc 2>err
expect "a plan that was changed" 1 "train: " ./train plan test.pub.pem checkpoint
for program in ./network by_cmake/network; do
    rm -f two.plan
    expect "$program" 0 "" $program test.key.pem two.plan
    "$installed/bin/firnc" verify two.plan --pub test.pub.pem >out || fail "$program: the plan is refused"
done

# --- manual pages, completion, uninstall ---------------------------------------------------------------------------

for program in firnc firn; do
    "$installed/bin/$program" help --man | cmp -s - "$installed/share/man/man1/$program.1" || fail "$program.1"
    for command in $("$installed/bin/$program" help | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
        "$installed/bin/$program" help --man "$command" | cmp -s - "$installed/share/man/man1/$program-$command.1" ||
            fail "$program-$command.1"
    done
    bash -n "$installed/share/bash-completion/completions/$program" || fail "the completion of $program"
    for place in bash:bash-completion/completions/$program zsh:zsh/site-functions/_$program fish:fish/vendor_completions.d/$program.fish; do
        "$installed/bin/$program" help --completion "${place%%:*}" | cmp -s - "$installed/share/${place#*:}" || fail "$place"
    done
done
cd "$root"
mkdir -p "$folder/others$PREFIX/bin"
echo "of others" >"$folder/others$PREFIX/bin/firn"
expect "a program of others" 2 "is there already" sh -c "'${MAKE:-make}' -s BUILD='$BUILD' install PREFIX='$PREFIX' \
    DESTDIR='$folder/others' 2>&1 | grep install: >&2; exit 2"
[ "$(find "$folder/others" -type f)" = "$folder/others$PREFIX/bin/firn" ] || fail "an install that fails leaves files"
expect "uninstall" 0 "" install uninstall
[ "$(find "$destination" -type f)" = "$installed/lib/pkgconfig/other.pc" ] || fail "uninstall left files, or took others"
[ "$(find "$destination" -type d | wc -l)" -eq 5 ] || fail "uninstall left folders, or took others"
expect "uninstall again" 2 "there is no such list" sh -c "'${MAKE:-make}' -s uninstall DESTDIR='$destination' 2>&1 |
    grep uninstall: >&2; exit 2"
for wrong in '/o&p' '/o|p' /a/../b; do
    expect "PREFIX=$wrong" 2 "give an absolute path of letters" sh -c "'${MAKE:-make}' -s BUILD='$BUILD' install \
        PREFIX='$wrong' DESTDIR='$destination' 2>&1 | grep install: >&2; exit 2"
done
for wrong in 'a b' '/a b' opt; do
    expect "PREFIX=$wrong" 2 "give an absolute path without spaces" "${MAKE:-make}" install PREFIX="$wrong"
done

[ "$failures" -eq 0 ]

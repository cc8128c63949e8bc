#!/bin/sh
# A plan that is signed apart from its compilation is the one that firnc compile would have signed; a plan whose report
# was cut off verifies and runs; what the command line puts into the header is in the header.
set -eu

. tests/end_to_end/expectations

RECIPE=compiler/recipes/small_gpt2.yaml
DATA=/usr/share/common-licenses/GPL-3
"$FIRNC" keygen "$folder/test" >"$folder/out"
"$FIRNC" keygen "$folder/other" >"$folder/out"
KEY=$folder/test.key.pem
PUB=$folder/test.pub.pem

# --- the header ---

fields="--image-id 7 --plan-version 3 --security-counter 5 --vendor acme --class 00112233-4455-6677-8899-aabbccddeeff"
# shellcheck disable=SC2086 # several options
expect "compile" 0 "" "$FIRNC" compile $RECIPE --mode train --key "$KEY" -o "$folder/plan" $fields
expect "inspect" 0 "" "$FIRNC" inspect "$folder/plan" --all
grep -q '^plan version  *3, image id 7, security counter 5$' "$folder/out" || fail "numbers of the header"
grep -q '^vendor, class  *61636d65000000000000000000000000, 00112233445566778899aabbccddeeff$' "$folder/out" ||
    fail "vendor and class"
image=0
for mode in train eval; do
    expect "compile for $mode" 0 "" "$FIRNC" compile $RECIPE --mode $mode --key "$KEY" -o "$folder/usual"
    expect "inspect" 0 "" "$FIRNC" inspect "$folder/usual" --all
    grep -q ", image id $image, " "$folder/out" || fail "the usual image id for $mode"
    image=$((image + 1))
done
expect "the largest image id" 0 "" "$FIRNC" compile $RECIPE --mode eval --key "$KEY" -o "$folder/usual" \
    --image-id 4294967295
for wrong in 4294967296 -1 1.5 x ''; do
    expect "image id $wrong" 2 "image-id" "$FIRNC" compile $RECIPE --mode train --key "$KEY" -o "$folder/none" \
        --image-id "$wrong"
done
[ ! -e "$folder/none" ] || fail "a plan was written in spite of a wrong image id"

# --- signing apart ---

# shellcheck disable=SC2086
expect "compile --unsigned" 0 "" "$FIRNC" compile $RECIPE --mode train --unsigned --pub "$PUB" -o "$folder/unsigned" $fields
digest=$("$FIRNC" sign "$folder/unsigned" --digest)
grep -qx "plan hash $digest" "$folder/out" || fail "compile --unsigned does not say what is to be signed"
expect "sign" 0 "" "$FIRNC" sign "$folder/unsigned" --key "$KEY" -o "$folder/signature"
attach() {
    "$FIRNC" attach "$1" --signature "$2" --pub "$PUB" -o "$folder/attached"
}
grep -qx "$folder/signature: 64 bytes" "$folder/out" || fail "sign does not say what it wrote"
expect "attach" 0 "" attach "$folder/unsigned" "$folder/signature"
grep -qx "plan hash $digest" "$folder/out" || fail "attach does not say the hash of the plan"
cmp "$folder/attached" "$folder/plan" || fail "signed apart, the plan is another"
# Only the algorithm and the signature differ.
cmp -l "$folder/unsigned" "$folder/plan" | awk '$1 != 21 && ($1 <= 512 || $1 > 576) { exit 1 }' ||
    fail "signing changed more than the algorithm and the signature"
expect "sign with another key" 3 "^firnc: $folder/other.key.pem: is not the key .* (WRONG_KEY); give the secret half" \
    "$FIRNC" sign "$folder/unsigned" --key "$folder/other.key.pem" -o "$folder/wrong"
expect "sign a signed plan" 3 "is signed already" "$FIRNC" sign "$folder/plan" --key "$KEY" -o "$folder/wrong"
expect "compile another" 0 "" "$FIRNC" compile $RECIPE --mode train --unsigned --pub "$PUB" -o "$folder/another"
expect "sign another" 0 "" "$FIRNC" sign "$folder/another" --key "$KEY" -o "$folder/wrong"
rm "$folder/attached"
expect "attach the signature of another plan" 3 \
    "^firnc: $folder/wrong: is not a signature of $folder/unsigned (SIGNATURE)" attach "$folder/unsigned" "$folder/wrong"
[ ! -e "$folder/attached" ] || fail "a plan with the signature of another was written"
base64 "$folder/signature" >"$folder/text"
expect "attach base64" 1 "^firnc: $folder/text: not a signature of P-256: it is text; decode it" attach "$folder/unsigned" "$folder/text"
# Something is in the place of the signature already.
cp "$folder/unsigned" "$folder/filled"
printf x | dd of="$folder/filled" bs=1 seek=540 conv=notrunc 2>"$folder/log"
expect "sign a plan with something there" 3 "(HEADER)" "$FIRNC" sign "$folder/filled" --key "$KEY" -o "$folder/wrong"

# --- without the report ---

field() {
    od -A n -t u8 -j "$1" -N 8 "$folder/plan" | tr -d ' '
}
report=$(($(field 224) + $(field 232)))
for kind in plan unsigned; do
    head -c $report "$folder/$kind" >"$folder/short_$kind"
done
for plan in plan short_plan; do
    expect "verify $plan" 0 "" "$FIRNC" verify "$folder/$plan" --pub "$PUB"
    expect "train $plan" 0 "" "$FIRN" train "$folder/$plan" --pub "$PUB" --data $DATA --steps 2 --quiet
    cp "$folder/out" "$folder/$plan.out"
done
cmp "$folder/plan.out" "$folder/short_plan.out" || fail "without its report, the plan gives other bits"
expect "inspect without the report" 0 "" "$FIRNC" inspect "$folder/short_plan" --all
head -n 1 "$folder/out" | grep -q ' bytes as signed; its report was cut off$' || fail "inspect does not miss the report"
expect "attach without the report" 0 "" attach "$folder/short_unsigned" "$folder/signature"
cmp "$folder/attached" "$folder/short_plan" || fail "signed without its report, the plan is another"
end=$(field 208)
for at in $report $((report + 5)) $(((report + end) / 2)) $((end - 1)); do
    cp "$folder/plan" "$folder/changed"
    printf '~' | dd of="$folder/changed" bs=1 seek=$at conv=notrunc 2>"$folder/log"
    expect "verify another report" 3 "(REPORT)" "$FIRNC" verify "$folder/changed" --pub "$PUB"
    expect "inspect another report" 3 "(REPORT)" "$FIRNC" inspect "$folder/changed"
    expect "train with another report" 3 "(REPORT)" "$FIRN" train "$folder/changed" --pub "$PUB" --data $DATA --steps 1
done

# --- keys of other kinds: what was found, what is wanted, and what to do ---

cat >"$folder/p384.pub" <<'END'
-----BEGIN PUBLIC KEY-----
MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEXDeKKbXe+cJlkIpJnzYUP28hg3DjIe9M
6zdjEMk4f8Sp6DEIz/suHh9MVqSFwPnEzB8aVMYVcyZbmhYdYhPNOUCy6NBdBZeM
yWe4Z/970z6fgypcjTyvB9kYXB2VVd/A
-----END PUBLIC KEY-----
END
cat >"$folder/ed25519.pub" <<'END'
-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAFMaW2u+nCKTsZAPmtPB3kRvselbDA9F0awoCOZFbr+M=
-----END PUBLIC KEY-----
END
cat >"$folder/compressed.pub" <<'END'
-----BEGIN PUBLIC KEY-----
MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgAC7D5IhZM/Y3oR7LhFhOO5VH6x7MXx
diV/tcXmn+BnYoY=
-----END PUBLIC KEY-----
END
cat >"$folder/certificate" <<'END'
-----BEGIN CERTIFICATE-----
MIIBbDCCAROgAwIBAgIULXqGvw0wnyCDadL7QvFNKUc3USUwCgYIKoZIzj0EAwIw
DDEKMAgGA1UEAwwBeDAeFw0yNjExMjcwNjM0NThaFw0yNjEyMjcwNjM0NThaMAwx
CjAIBgNVBAMMAXgwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATsPkiFkz9jehHs
uEWE47lUfrHsxfF2JX+1xeaf4Gdihgeh5moY1rcJnl1+EDwPPit/SZWr+oFnvAuf
rqYDWYCGo1MwUTAdBgNVHQ4EFgQUzM9g8KaljpalR6F/V2Fc5l1LpnIwHwYDVR0j
BBgwFoAUzM9g8KaljpalR6F/V2Fc5l1LpnIwDwYDVR0TAQH/BAUwAwEB/zAKBggq
hkjOPQQDAgNHADBEAiAzOsTEbubrzut56AorHK4gDsQogcF9ZzsDPZ3fLpmHuwIg
CwQY1Q+EHl14vImurXeVQmDL+E2+wmoYd5RSTW/O+u0=
-----END CERTIFICATE-----
END
cat >"$folder/openssh.pub" <<'END'
ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBP2P/RKg2f/ov9CSjTTbxcAJoqnWoHG1LVqc0GQhdEj/DFbOgdSdvyw/HY6P/eZrSX9oZeBzcom7qBavOVWn+gs=
END
cat >"$folder/ed25519.key" <<'END'
-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEILSm7IR5ES6ZDphk3hvSHZOPv+iUmZlpRIJrWMN2VBz0
-----END PRIVATE KEY-----
END
cat >"$folder/password.key" <<'END'
-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-256-CBC,498968649B7C7FBEC469A83DA3643F87

Au8YEIKwnbDahqeO/KT2eZiCvezZmQf4eTGjw1BiyJV/7Fa8uqSHb7Z86B/8Dkwp
xVvk/6duVqUZ80rGGjmm/D0Dd0654Yxt/xCWgaCWmFsTEmArh6mUGQw1Szc1SNtU
aKCLOSyCApKziPx17A+TvLFnt6J4FOFvtacMHEvrHKU=
-----END EC PRIVATE KEY-----
END
cat >"$folder/rsa.pub" <<'END'
-----BEGIN RSA PUBLIC KEY-----
MEgCQQDlRhPu/snEB9zcBQ13MTWDDLzwigNyDt3+3afQ8A6i/xz2tIUem11CLcNj
Sf6i9dcrHE7HLRgFHfrWNKrHMYoBAgMBAAE=
-----END RSA PUBLIC KEY-----
END
cat >"$folder/sec1.key" <<'END'
-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIF1II7Ub9txXwxRPML/br6p98pgincbT8o9l1oH7eJ0XoAoGCCqGSM49
AwEHoUQDQgAE7D5IhZM/Y3oR7LhFhOO5VH6x7MXxdiV/tcXmn+BnYoYHoeZqGNa3
CZ5dfhA8Dz4rf0mVq/qBZ7wLn66mA1mAhg==
-----END EC PRIVATE KEY-----
END
cat "$PUB" "$PUB" >"$folder/several.pub"
{ echo "# the key of the device" && cat "$PUB"; } >"$folder/comment.pub"
head -n 2 "$PUB" >"$folder/cut.pub"
: >"$folder/empty.pub"
# of_kind NAME PUBLIC PRIVATE: what --pub says of both programs, and what --key says; '-': the key is good there
of_kind() {
    tail="holds $2"
    expect "$1 as --pub" 1 "^firnc: $folder/$1: $tail.*, and the public key of a P-256 pair in PEM is wanted; " \
        "$FIRNC" verify "$folder/plan" --pub "$folder/$1"
    sed 's/^firnc: //' "$folder/err" >"$folder/words"
    status=0
    "$FIRN" train "$folder/plan" --pub "$folder/$1" --data "$DATA" >"$folder/out" 2>"$folder/err" || status=$?
    [ "$status" -ne 0 ] || fail "$1: firn takes it"
    sed 's/^firn: //' "$folder/err" | cmp - "$folder/words" || fail "$1: firn says something else"
    grep -q "holds $2" "$folder/words" || fail "$1: other words"
    [ "$3" = - ] ||
        expect "$1 as --key" 1 "^firnc: $folder/$1: holds $3.*, and the secret key of a P-256 pair in PEM, without a password" \
            "$FIRNC" compile $RECIPE --mode train --key "$folder/$1" -o "$folder/none"
}
of_kind p384.pub 'a public key of the curve P-384' 'a public key of the curve P-384'
of_kind ed25519.pub 'a public key of Ed25519' 'a public key of Ed25519'
of_kind compressed.pub 'a public key of the curve P-256 as a compressed point' 'a public key of the curve P-256'
grep -q -- '-conv_form uncompressed' "$folder/words" || fail 'compressed.pub: no remedy'
of_kind certificate 'a certificate of the curve P-256' 'a certificate of the curve P-256'
grep -q -- 'openssl x509' "$folder/words" || fail 'certificate: no remedy'
of_kind openssh.pub 'a public key of the curve P-256 in a line of OpenSSH' 'a public key in a line of OpenSSH'
grep -q -- 'ssh-keygen' "$folder/words" || fail 'openssh.pub: no remedy'
of_kind ed25519.key 'a private key of Ed25519' 'a private key of Ed25519'
of_kind password.key 'a private key with a password' 'a private key with a password'
grep -q -- '-pubout' "$folder/words" || fail 'password.key: no remedy'
of_kind rsa.pub 'a public key of RSA' 'a public key of RSA'
of_kind sec1.key 'a private key of the curve P-256' '-'
grep -q -- '-pubout' "$folder/words" || fail 'sec1.key: no remedy'
of_kind several.pub 'several keys' 'a public key of the curve P-256'
of_kind comment.pub 'a public key of the curve P-256 with other text around it' 'a public key of the curve P-256'
of_kind cut.pub 'the beginning of a key in PEM without its end' 'the beginning of a key'
of_kind empty.pub nothing nothing
cp "$RECIPE" "$folder/recipe.key"
of_kind recipe.key 'no key' 'no key'
sed 's/$/\r/' "$PUB" >"$folder/lines.pub"
expect "line ends of Windows" 0 "" "$FIRNC" verify "$folder/plan" --pub "$folder/lines.pub"

[ "$failures" -eq 0 ]

#!/bin/sh
# firnc key: what key a file holds, of each form that Firn takes, and one line about each that it does not; whether a key
# signed a plan; a warning about secrets that others can read; no byte of a secret on any stream; and no command writes over a
# key.
set -eu

. tests/end_to_end/expectations

RECIPE=compiler/recipes/small_mlp.yaml
key() {
    "$FIRNC" key "$@"
}
# shows NAME PATTERN WORD...: the command succeeds and prints such a line on stdout.
shows() {
    pattern=$2
    name=$1
    shift 2
    expect "$name" 0 "" key "$@"
    cat "$folder/out" "$folder/err" >>"$folder/everything"
    grep -q -- "$pattern" "$folder/out" || fail "$name: no '$pattern'"
}
# refused NAME PATTERN WORD...
refused() {
    name=$1
    pattern=$2
    shift 2
    expect "$name" 1 "$pattern" key "$@"
    cat "$folder/out" "$folder/err" >>"$folder/everything"
    [ ! -s "$folder/out" ] || fail "$name: something on stdout"
}

"$FIRNC" keygen "$folder/mine" >"$folder/out"
"$FIRNC" keygen "$folder/other" >"$folder/out"
"$FIRNC" compile $RECIPE --mode train --key "$folder/mine.key.pem" -o "$folder/signed" >"$folder/out"
"$FIRNC" compile $RECIPE --mode train --unsigned --pub "$folder/mine.pub.pem" -o "$folder/unsigned" >"$folder/out"
hash=$("$FIRNC" inspect "$folder/signed" --json | sed -n 's/.*"key_hash":[[:space:]]*"\([0-9a-f]*\)".*/\1/p')

# --- what Firn takes: the hash is that which plans and messages name ---

shows "a secret key" "^$folder/mine.key.pem: a secret key that signs plans (--key), ECDSA P-256, in PEM$" "$folder/mine.key.pem"
grep -q "^key hash $hash$" "$folder/out" || fail "the hash of a secret key is not that of its public half"
[ ! -s "$folder/err" ] || fail "a key as keygen makes it is warned of"
shows "a public key" "^$folder/mine.pub.pem: a public key that verifies plans (--pub), ECDSA P-256, in PEM$" "$folder/mine.pub.pem"
grep -q "^key hash $hash$" "$folder/out" || fail "the hash of a public key"
chmod 644 "$folder/mine.pub.pem"
shows "a public key that all read" "^key hash $hash$" "$folder/mine.pub.pem"
[ ! -s "$folder/err" ] || fail "a public key is warned of"
# `firn` names the same hash where the key is another.
expect "another key" 3 "WRONG_KEY" "$FIRNC" verify "$folder/signed" --pub "$folder/other.pub.pem"

(umask 077 && printf '0123456789abcdef0123456789abcde\n' >"$folder/device")
shows "a device key" "^$folder/device: 32 bytes, taken as the secret key of a device: .*--device-key" "$folder/device"
! grep -q '[0-9a-f]\{64\}' "$folder/out" || fail "a hash of a device key"

# --- others can read it ---

for mode in 640 604 644; do
    cp "$folder/mine.key.pem" "$folder/open.key.pem"
    chmod $mode "$folder/open.key.pem"
    shows "mode $mode" "a secret key" "$folder/open.key.pem"
    who=everybody
    [ $mode != 640 ] || who='its group'
    grep -q "^firnc: $folder/open.key.pem: warning: holds a secret that $who can read (mode 0$mode); .*chmod 600" "$folder/err" ||
        fail "mode $mode: no warning"
done
chmod 644 "$folder/device"
shows "a device key that all read" "32 bytes" "$folder/device"
grep -q "warning: holds a secret that everybody can read" "$folder/err" || fail "no warning about a device key"

# --- which plans it signed ---

for half in key pub; do
    shows "the signer, $half" "^$folder/signed: signed by this key$" "$folder/mine.$half.pem" --plan "$folder/signed"
    expect "another signer, $half" 3 "^firnc: $folder/signed: is signed by another key than $folder/other.$half.pem: the plan names the key $hash; give that one$" \
        key "$folder/other.$half.pem" --plan "$folder/signed"
    expect "no signer yet, $half" 3 "^firnc: $folder/unsigned: is for this key and not signed yet; sign it by firnc sign and firnc attach$" \
        key "$folder/mine.$half.pem" --plan "$folder/unsigned"
done
expect "for another key" 3 "is to be signed by another key" key "$folder/other.pub.pem" --plan "$folder/unsigned"
expect "the second is not" 3 "$folder/unsigned: is for this key" key "$folder/mine.pub.pem" --plan "$folder/signed" --plan "$folder/unsigned"
expect "the first is not" 3 "$folder/unsigned: is for this key" key "$folder/mine.pub.pem" --plan "$folder/unsigned" --plan "$folder/signed"
grep -q "^$folder/signed: signed by this key$" "$folder/out" || fail "the second plan is not looked at"
# A plan that names the key and has another's signature is not signed by it.
cp "$folder/signed" "$folder/forged"
printf 'forged' | dd of="$folder/forged" bs=1 seek=520 conv=notrunc 2>"$folder/out"
expect "a forged signature" 3 "$folder/forged: refused: .*(SIGNATURE)" key "$folder/mine.pub.pem" --plan "$folder/forged"
expect "no plan" 3 "$RECIPE: refused: .*(MAGIC)" key "$folder/mine.pub.pem" --plan $RECIPE
expect "no such plan" 1 "none: cannot be opened" key "$folder/mine.pub.pem" --plan "$folder/none"
expect "a device key and a plan" 2 "^firnc key: --plan: a device key signs no plan; " key "$folder/device" --plan "$folder/signed"

# --- what is no key of Firn ---

: >"$folder/empty"
refused "an empty file" "empty: holds nothing, which Firn takes as no key: .*; make a pair with firnc keygen" "$folder/empty"
refused "a plan" "signed: holds a plan, which Firn takes as no key: " "$folder/signed"
refused "a text" "$RECIPE: holds no key: Firn takes P-256, .*; make a pair with firnc keygen" $RECIPE
printf '0\020no key in DER, as it seems' >"$folder/other.der"
refused "bytes that begin like DER" "other.der: holds no key that is known: Firn takes P-256, " "$folder/other.der"
refused "a folder" "is a folder; give a file" "$folder"
refused "no file" "none: cannot be opened" "$folder/none"
head -c 100 "$folder/mine.key.pem" >"$folder/cut"
refused "half a key" "cut: holds .*, which Firn takes as no key: " "$folder/cut"
head -c 20000 /dev/zero | tr '\0' a >"$folder/long"
refused "a long text" "long: cannot be read: File too large" "$folder/long"
sed 's/^M/N/' "$folder/mine.key.pem" >"$folder/damaged"
refused "a damaged secret" "damaged: holds a private key of the curve P-256 that is damaged" "$folder/damaged"
if command -v openssl >/dev/null; then
    openssl pkey -in "$folder/mine.key.pem" -out "$folder/pkcs8" 2>/dev/null
    shows "a secret in PKCS 8" "a secret key .*, in PEM$" "$folder/pkcs8"
    openssl pkey -in "$folder/mine.key.pem" -outform DER -out "$folder/der" 2>/dev/null
    shows "a secret in DER" "a secret key .*, in DER$" "$folder/der"
    grep -q "^key hash $hash$" "$folder/out" || fail "the hash of a key in DER"
    openssl pkey -in "$folder/mine.key.pem" -pubout -outform DER -out "$folder/pub.der" 2>/dev/null
    refused "a public key in DER" "holds a public key in DER .*; openssl pkey -pubin -inform DER " "$folder/pub.der"
    openssl ecparam -name secp384r1 -genkey -noout -out "$folder/p384" 2>/dev/null
    refused "another curve" "holds a private key of the curve P-384, " "$folder/p384"
    openssl pkey -in "$folder/mine.key.pem" -aes128 -passout pass:secret -out "$folder/locked" 2>/dev/null
    refused "a password" "holds a private key with a password, .*; openssl pkey -in FILE -out NAME.key.pem takes the password off" "$folder/locked"
else
    echo "no openssl: keys in other forms are not tried"
fi
# Given in place of each other, they are refused by name.
expect "a secret key for --pub" 1 "mine.key.pem: holds a private key of the curve P-256, and the public key .*; give the NAME.pub.pem" \
    "$FIRNC" verify "$folder/signed" --pub "$folder/mine.key.pem"
expect "a public key for --key" 1 "mine.pub.pem: holds a public key of the curve P-256, and the secret key .*NAME.key.pem" \
    "$FIRNC" compile $RECIPE --mode train --key "$folder/mine.pub.pem" -o "$folder/never"
[ ! -e "$folder/never" ] || fail "a plan was written"

# --- nothing of a secret ---

grep -hv '^-----' "$folder/mine.key.pem" "$folder/device" >"$folder/secrets"
[ -s "$folder/everything" ] || fail "nothing was looked at"
! grep -qFf "$folder/secrets" "$folder/everything" || fail "a line of a secret was printed"

# --- no key is replaced ---

expect "a pair to keep" 0 "" "$FIRNC" keygen "$folder/kept"
expect "a training plan" 0 "" "$FIRNC" compile $RECIPE --mode train --key "$folder/kept.key.pem" -o "$folder/kept.plan"
printf '1,2\n' >"$folder/rows"
for half in key pub; do
    file=$folder/kept.$half.pem
    cp "$file" "$folder/as.it.was"
    # kept WORD...: a command whose output has the name of the key
    kept() {
        expect "$1 $2 over a key" 1 "kept.$half.pem: holds a key, which is never replaced; give another name, or move it away" "$@" "$file"
        cmp -s "$file" "$folder/as.it.was" || fail "$1 $2 has replaced a key"
    }
    expect "another pair" 0 "" "$FIRNC" keygen "$folder/mine.$half"
    kept "$FIRNC" compile $RECIPE --mode train --key "$folder/mine.$half.key.pem" -o
    kept "$FIRNC" export "$folder/kept.plan" --c -o
    kept "$FIRNC" schedule "$folder/kept.plan" --plot
    kept "$FIRN" plot "$folder/rows" -o
    kept "$FIRN" report "$folder/rows" -o
done
[ $failures -eq 0 ] || exit 1
echo "keys of each form; which plans they signed; no secret is printed; no key is replaced"

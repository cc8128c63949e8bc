#!/bin/sh
# Tables of comma-separated values give the run that the same numbers give as arrays. What other readers guess is refused in
# one line that names row and column.
#
# Needs: python
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/test" >"$folder/out"
PUB=$folder/test.pub.pem
# compile NAME MODE MODEL LOADER
compile() {
    "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode "$2" --key "$folder/test.key.pem" -o "$folder/$1.plan" \
        --set trainer.init.precision.enabled=false --set "trainer.init.model={name: mlp, input_size: 2, hidden_sizes: [], $3}" \
        --set "trainer.fit.train_dataloader={batch_size: 4, shuffle: false, $4}" --set trainer.validate.metric=loss >"$folder/out"
}
classes='output_size: 3'
compile classes train "$classes" 'feature_type: float32, label_type: int32'
compile bytes train "$classes" 'feature_type: uint8, label_type: uint8'
compile prices train 'output_size: 1, loss: mean_squared_error' 'feature_type: float32, label_type: float32'

python3 - "$folder" <<'end'
import gzip
import sys
import numpy as np
folder = sys.argv[1] + '/'
generator = np.random.default_rng(5)
x = generator.integers(0, 200, (12, 2))
y = np.arange(12) % 3
price = generator.normal(size=12).astype('float32')
np.save(folder + 'x.npy', x.astype('float32'))
np.save(folder + 'y.npy', y.astype('int32'))
np.save(folder + 'price.npy', price)
def write(name, text):
    open(folder + name, 'w', newline='').write(text)
    return text
rows = [f'{a},{b},{c}' for (a, b), c in zip(x, y)]
table = write('table.csv', 'age,height,class\n' + '\n'.join(rows) + '\n')
write('bare.csv', '\n'.join(rows) + '\n')
write('no_end.csv', table[:-1])
write('ends.csv', table + '\n\r\n\n')
write('bom.csv', '\ufeff' + table)
write('bom_bare.csv', '\ufeff' + '\n'.join(rows))
write('crlf.csv', table.replace('\n', '\r\n'))
write('spaces.csv', table.replace(',', ' ,\t'))
write('quotes.csv', '"age","height","class"\n' + '\n'.join(','.join(f'"{n}"' for n in row.split(',')) for row in rows))
write('quoted_spaces.csv', '" age ","height","class"\n' + '\n'.join(','.join(f' " {n}\t" ' for n in row.split(',')) for row in rows))
write('order.csv', 'class,height,age\n' + '\n'.join(','.join(reversed(row.split(','))) for row in rows))
write('others.csv', 'name,age,"a, ""b""\nand c",height,class\n' + '\n'.join(
    f'"Doe, J.\n""{i}""",{row.split(",")[0]},NA,{row.split(",")[1]},{row.split(",")[2]}' for i, row in enumerate(rows)))
write('exponents.csv', '\n'.join(f'{a}e0,{b / 10:.18e},+{c}.0' .replace(f'{b / 10:.18e}', f'{b}.000e+00') for (a, b), c in zip(x, y)))
write('years.csv', '2019,height,class\n' + '\n'.join(rows))
write('pandas.csv', '0,1,2\n' + '\n'.join(rows))
write('half.csv', 'age,height,class\n' + '\n'.join(rows[:6]) + '\n')
write('rest.csv', 'age,height,class\n' + '\n'.join(rows[6:]) + '\n')
write('other_rest.csv', 'height,age,class\n' + '\n'.join(rows[6:]) + '\n')
write('labels.csv', 'class\n' + '\n'.join(map(str, y)))
write('features.csv', 'age,height\n' + '\n'.join(row.rsplit(',', 1)[0] for row in rows))
write('prices.csv', 'age,height,price\n' + '\n'.join(f'{a},{b},{float(c)!r}' for (a, b), c in zip(x, price)))
open(folder + 'table.csv.gz', 'wb').write(gzip.compress(table.encode()))
write('table.txt', table)
# The shortest decimal that lies just above the middle of two float32: rounded by way of float64 it would be the lower one.
middle = '1.00000005960464477539062500000000000000000001'
write('middle.csv', 'a,b,price\n' + f'{middle},{middle},0\n' * 12)
np.save(folder + 'middle.npy', np.full((12, 2), np.float32(1) + np.float32(2) ** -23, 'float32'))
np.save(folder + 'zeros.npy', np.zeros(12, 'float32'))
# What is refused, each with one row that is wrong.
def bad(name, header='age,height,class', first='1,2,0', second='3,4,1'):
    write(name + '.csv', '\n'.join(filter(None, (header, first, second))) + '\n')
bad('missing', second='3,,1')
bad('na', second='3,NA,1')
bad('nan', second='nan,4,1')
bad('none', first='1,2,None')
bad('infinite', second='3,-Infinity,1')
bad('text', second='3,tall,1')
bad('hex', second='0x10,4,1')
bad('comma', second='"3,5",4,1')
bad('thousands', second='"1,000.5",4,1')
bad('semicolons', 'age;height;class', '1,5;2;0', '3;4;1')
bad('semicolons_bare', '', '1,5;2;0', '3;4;1')
bad('tabs', 'age\theight\tclass', '1\t2\t0', '3\t4\t1')
bad('short', second='3,4')
bad('long', second='3,4,1,5')
bad('trailing', 'age,height,class,', '1,2,0,', '3,4,1,')
bad('trailing_rows', first='1,2,0,', second='3,4,1,')
bad('blank', first='1,2,0\n')
bad('twins', 'age,age,class', second='3,4,1\n5,6,2\n7,8,0')
write('four.csv', 'a,b,c,d\n' + '1,2,0,1\n' * 8)
bad('open', second='"3,4,1')
bad('open_far', header='age,"height\nin cm",class', second='3,"4,1\n\n\n')
bad('quoted_na', second='3," NA ",1')
bad('quoted_text', second='3," four ",1')
bad('behind', second='"3"x,4,1')
bad('inside', second='3",4,1')
bad('zero', second='3,4\0,1')
bad('cr', first='1,2,0\r3,4,1', second='')
bad('half_class', second='3,4,1.5')
bad('far_class', second='3,4,3000000000')
bad('exact_class', second='3,4,1.00000000000000000000000000001')
bad('huge_class', second='3,4,1e400')
bad('huge', second='3,1e39,1')
bad('header_alone', first='', second='')
open(folder + 'nothing.csv', 'w').close()
open(folder + 'wide.csv', 'wb').write(table.encode('utf-16'))
open(folder + 'array.csv', 'wb').write(open(folder + 'x.npy', 'rb').read())
end

train() {
    plan=$1
    shift
    "$FIRN" train "$folder/$plan.plan" --pub "$PUB" --steps 3 --quiet "$@"
}
# table NAME [OPTION...]: with the target in the column `class`
table() {
    name=$1
    shift
    train classes --data "$folder/$name" --target-column class "$@"
}
expect "arrays" 0 "" train classes --data "$folder/x.npy" --labels "$folder/y.npy"
cp "$folder/out" "$folder/arrays"
for case in "table.csv class" "table.csv 3" "bare.csv 3" "no_end.csv class" "ends.csv class" "bom.csv class --columns age,height" \
    "bom_bare.csv 3" "crlf.csv class" "spaces.csv class" "quotes.csv class" "quoted_spaces.csv class" "order.csv class --columns age,height" \
    "order.csv 1 --columns 3,2" "others.csv class --columns age,height" "others.csv 5 --columns 2,4" "exponents.csv 3" \
    "years.csv class --header yes" "pandas.csv 3 --header yes" "pandas.csv 2 --header yes --columns 0,1" "bare.csv 3 --header no" \
    "table.csv.gz class" "table.txt class"; do
    # $case is split into words intentionally.
    set -- $case
    name=$1
    target=$2
    shift 2
    expect "$case" 0 "" train classes --data "$folder/$name" --target-column "$target" "$@"
    same "$case is another run" "$folder/out" "$folder/arrays"
done
expect "bytes" 0 "" train bytes --data "$folder/table.csv" --target-column class
expect "two tables" 0 "" table half.csv --data "$folder/rest.csv"
same "two tables are another run" "$folder/out" "$folder/arrays"
mkdir "$folder/tables"
cp "$folder/half.csv" "$folder/tables/p9.csv"
cp "$folder/rest.csv" "$folder/tables/p10.csv"
expect "a folder of tables" 0 "" table tables
same "a folder of tables is another run" "$folder/out" "$folder/arrays"
expect "tables by bytes" 0 "" table rest.csv --data "$folder/half.csv" --checkpoint "$folder/by_bytes"
cp "$folder/by_bytes" "$folder/by_folder"
expect "tables by bytes, resumed" 0 "" table rest.csv --data "$folder/half.csv" --checkpoint "$folder/by_bytes" --resume
cp "$folder/out" "$folder/by_bytes.digest"
expect "a folder of tables by bytes" 0 "" table tables --checkpoint "$folder/by_folder" --resume
same "labels of a folder of tables stay in another order" "$folder/out" "$folder/by_bytes.digest"
expect "tables with other columns" 1 "other_rest.csv: has other columns than [^ ]*/half.csv" table half.csv --data "$folder/other_rest.csv"
expect "a table of labels" 0 "" train classes --data "$folder/features.csv" --labels "$folder/labels.csv"
same "a table of labels is another run" "$folder/out" "$folder/arrays"
expect "a table and an array" 0 "" train classes --data "$folder/table.csv" --columns age,height --labels "$folder/y.npy"
same "a table and an array are another run" "$folder/out" "$folder/arrays"
expect "prices" 0 "" train prices --data "$folder/x.npy" --labels "$folder/price.npy"
cp "$folder/out" "$folder/prices"
expect "a table of prices" 0 "" train prices --data "$folder/prices.csv" --target-column price --log "$folder/prices.jsonl"
same "a table of prices is another run" "$folder/out" "$folder/prices"
expect "numbers that are rounded" 0 "" train prices --data "$folder/middle.npy" --labels "$folder/zeros.npy"
cp "$folder/out" "$folder/middle"
expect "numbers that are rounded once" 0 "" train prices --data "$folder/middle.csv" --target-column price
same "decimal numbers are not rounded once" "$folder/out" "$folder/middle"

# A table has many columns, each of which is read where it belongs.
awk 'BEGIN {
    for (row = 0; row < 4; row++)
        for (column = 0; column < 1000; column++)
            printf "%s%s", row == 0 ? "c" column : (row - 1) * 1000 + column, column < 999 ? "," : "\n"
}' >"$folder/thousand.csv"
expect "1000 columns" 0 "" "$FIRN" data "$folder/thousand.csv" --columns c999,c0 --target-column c500 --convert "$folder/thousand.npy"
python3 -c "import sys, numpy as np; assert (np.load(sys.argv[1]) == [[999, 0], [1999, 1000], [2999, 2000]]).all()" "$folder/thousand.npy" ||
    fail "columns of a wide table"
# Another choice of columns is other data.
expect "saved" 0 "" table table.csv --checkpoint "$folder/ckpt" --columns age,height
expect "resumed with the columns swapped" 3 "CHECKPOINT_OTHER_DATA" table table.csv --checkpoint "$folder/ckpt" --resume --columns height,age
expect "resumed" 0 "" table order.csv --checkpoint "$folder/ckpt" --resume --columns age,height

# Studies pass the options on.
expect "a study of a table" 0 "" "$FIRNC" compare compiler/recipes/small_mlp.yaml --firn "$FIRN" --trial-steps 1 -o "$folder/study" \
    --set 'trainer.init.model={name: mlp, input_size: 2, hidden_sizes: [], output_size: 3}' \
    --set 'trainer.fit.train_dataloader={batch_size: 4, feature_type: float32, label_type: int32}' \
    --data "$folder/order.csv" --target-column class --columns age,height --header yes

# refused NAME PATTERN: of the table in NAME.csv
refused() {
    expect "$1" 1 "^firn: [^ ]*/$1.csv: $2" table "$1.csv"
}
refused missing "row 3 (line 3), column 2 (height): the value is missing (DATA_TYPE); "
refused na "row 3 (line 3), column 2 (height): the value is missing"
refused nan "row 3 (line 3), column 1 (age): the value is missing"
refused none "row 2 (line 2), column 3 (class): the value is missing"
refused infinite "row 3 (line 3), column 2 (height): the value is infinite"
refused text "row 3 (line 3), column 2 (height): 'tall' is no number (DATA_TYPE); write numbers, choose other columns"
refused hex "row 3 (line 3), column 1 (age): '0x10' is no number"
refused comma "row 3 (line 3), column 1 (age): '3,5' is no number (DATA_TYPE); write a point for the decimal comma"
refused thousands "row 3 (line 3), column 1 (age): '1,000.5' is no number (DATA_TYPE); .*nothing between thousands"
refused semicolons "separates its cells by semicolons, and firn reads commas"
refused semicolons_bare "separates its cells by semicolons, and firn reads commas"
refused tabs "separates its cells by tabs, and firn reads commas"
refused short "row 3 (line 3) has 2 cells, and row 1 has 3"
refused long "row 3 (line 3) has 3 and more cells, and row 1 has 3"
refused trailing "row 2 (line 2), column 4 (): the value is missing"
refused trailing_rows "row 2 (line 2) has 3 and more cells, and row 1 has 3"
refused blank "row 3 (line 3) has 1 cell, and row 1 has 3"
refused twins "has two columns of the name age; choose columns by their numbers, as in --columns 1,2 --target-column 3"
refused open "row 3 (line 3) has a quote that is not closed"
refused open_far "row 3 (line 4) has a quote that is not closed"
refused quoted_na "row 3 (line 3), column 2 (height): the value is missing"
refused quoted_text "row 3 (line 3), column 2 (height): ' four ' is no number"
refused behind "row 3 (line 3) has text behind the quote that ends a cell"
refused inside "row 3 (line 3) has a quote inside a cell that does not begin with one; write it again as comma-separated values$"
refused zero "\(row 3 (line 3) has a byte of 0\|is not an array\)"
refused cr "row 2 (line 2) has a line that ends in CR alone; write it with LF or CR LF$"
refused half_class "row 3 (line 3), column 3 (class): the plan reads int32, and 1.5 is no whole number (DATA_TYPE)"
refused far_class "row 3 (line 3), column 3 (class): the plan reads int32, and 3000000000 is beyond it"
refused exact_class "row 3 (line 3), column 3 (class): the plan reads int32, and 1.0*1 is no whole number"
refused huge_class "row 3 (line 3), column 3 (class): the plan reads int32, and 1e400 is beyond it"
refused huge "row 3 (line 3), column 2 (height): the number is beyond float32"
refused header_alone "has a header and no records"
refused nothing "is empty"
refused wide "is not an array, but UTF-16 text; .*: write it as UTF-8"
refused years "row 1 has numbers and texts, .*--header yes or --header no"
refused pandas "row 1 counts from 0, .*--header yes or --header no"
refused array "is no table of comma-separated values, whose columns --target-column names"
expect "twins by number" 0 "" train classes --data "$folder/twins.csv" --columns 1,2 --target-column 3
# Only a name by which a column is read must be that of one column.
printf 'a,c,x,x,e\n1,0,3,4,6\n2,1,5,6,7\n3,2,7,8,8\n4,0,1,2,3\n' >"$folder/pair.csv"
for chosen in "a,e c" "1,5 c" "a,e 2" "3,a c" "3,4 c" "4,3 2"; do
    expect "twins beside --columns ${chosen% *}" 0 "" train classes --data "$folder/pair.csv" --columns "${chosen% *}" --target-column "${chosen#* }"
done
for chosen in "a,x c" "1,x 2" "a,e x" "1,5 x" "x,4 c"; do
    expect "twins in --columns ${chosen% *}" 1 "pair.csv: has two columns of the name x; choose" train classes --data "$folder/pair.csv" \
        --columns "${chosen% *}" --target-column "${chosen#* }"
done
for chosen in c 2 x 3; do
    expect "twins by default, $chosen" 1 "pair.csv: has two columns of the name x; choose" train classes --data "$folder/pair.csv" --target-column $chosen
done
expect "twins by default" 1 "pair.csv: has two columns of the name x; choose" "$FIRN" data "$folder/pair.csv"
expect "a column that is not there" 1 "table.csv: has no column klass, which --target-column names; it has 3 columns: age, height, class\$" \
    train classes --data "$folder/table.csv" --target-column klass
expect "a column beyond the last" 1 "bare.csv: has no column 4, which --columns names; it has 3 columns and no names" \
    train classes --data "$folder/bare.csv" --target-column 3 --columns 1,4
expect "a column twice" 1 "table.csv: column 1 is named twice by --columns and --target-column" train classes --data "$folder/table.csv" --target-column class --columns age,1
expect "no target" 1 "features.csv: the plan also reads 1 int32 of each record (DATA_TYPE); name their column by --target-column" \
    train classes --data "$folder/features.csv"
expect "too many features" 1 "others.csv: .*column 1 (name): 'Doe, J.\\\\x0a\"0\"' is no number" table others.csv
expect "too few features" 1 "table.csv: has 1 column for features, and the plan reads 2 float32 of each record (DATA_TYPE); choose them by --columns" \
    table table.csv --columns age
expect "two targets" 1 "four.csv: has 2 columns for targets, and the plan reads 1 int32 of each record (DATA_TYPE); name as many by --target-column" \
    train classes --data "$folder/four.csv" --target-column c,d
expect "labels twice" 2 "gets labels twice, by --labels and --target-column" table table.csv --labels "$folder/y.npy"
expect "a header of another kind" 2 "--header: maybe is neither; write yes or no" table table.csv --header maybe

[ $failures -eq 0 ]

# Draws the loss and the learning rate of a `firn train --log` file as an SVG chart. Reads only the keys "step",
# "loss" and "learning_rate" of the step lines. Usage: awk -f curves.awk run.jsonl > curves.svg

function number(key,    at, rest) {
    at = index($0, "\"" key "\":")
    if (at == 0) return "none"
    rest = substr($0, at + length(key) + 3)
    sub(/^[ "]*/, "", rest)
    sub(/[,}"].*/, "", rest)
    return rest + 0
}

function polyline(values, top, color,    i, points) {
    for (i = 1; i <= count; i++)
        points = points sprintf("%.1f,%.1f ", left + (steps[i] - steps[1]) / span * width, bottom - values[i] / top * height)
    printf "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"%s\"/>\n", color, points
}

function label(x, y, anchor, color, text) {
    printf "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", x, y, anchor, color, text
}

/"step":/ && /"loss":/ {
    if (number("loss") == "none" || number("learning_rate") == "none") next
    count++
    steps[count] = number("step")
    loss[count] = number("loss")
    rate[count] = number("learning_rate")
    if (loss[count] > most_loss) most_loss = loss[count]
    if (rate[count] > most_rate) most_rate = rate[count]
}

END {
    if (count < 2) {
        print "curves.awk: fewer than two steps in the log" > "/dev/stderr"
        exit 1
    }
    left = 60; width = 640; bottom = 340; height = 300
    span = steps[count] - steps[1]
    if (most_rate == 0) most_rate = 1
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"780\" height=\"390\" font-family=\"sans-serif\" font-size=\"12\">"
    print "<rect width=\"780\" height=\"390\" fill=\"white\"/>"
    for (i = 0; i <= 4; i++) {
        y = bottom - i * height / 4
        printf "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#ddd\"/>\n", left, left + width, y, y
        label(left - 6, y + 4, "end", "#0b5fa5", sprintf("%.2f", most_loss * i / 4))
        label(left + width + 6, y + 4, "start", "#c2571a", sprintf("%.1e", most_rate * i / 4))
    }
    for (i = 0; i <= 4; i++)
        label(left + i * width / 4, bottom + 18, "middle", "#444", sprintf("%d", steps[1] + i * span / 4))
    label(left, 24, "start", "#0b5fa5", "training loss (nats per byte)")
    label(left + width, 24, "end", "#c2571a", "learning rate")
    label(left + width / 2, bottom + 38, "middle", "#444", "global step")
    polyline(rate, most_rate, "#c2571a")
    polyline(loss, most_loss, "#0b5fa5")
    print "</svg>"
}

"use strict";
// The page of firn report. What is shown comes from the JSON in this file. Every text of it becomes a text node, and none
// is read as HTML.
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const runs = data.runs, plan = data.plan, profile = data.profile, page = document.getElementById("page");
// Without a log the page is about a plan that has not run yet.
const noRun = {name: plan ? plan.path : "", head: {}, metrics: [], skipped: [[], []], steps: 0};
const first = runs.find(run => run.steps > 0 && !run.device) || runs.find(run => run.steps > 0) || runs[0] || noRun;
const charts = [];

// --- elements and words ---

// Makes an element: properties, then children, which are elements, texts, or lists of them.
function make(tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties || {}))
        if (name in element && name !== "list") element[name] = value;
        else element.setAttribute(name, value);
    element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== ""));
    return element;
}

// The same for SVG, whose properties are attributes.
function draw(tag, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
}

const whole = number => Math.round(number).toLocaleString("en-US");
// A number with so many digits; one with more of them before its point is whole.
function precise(number, digits) {
    const text = number.toPrecision(digits);
    return text.includes("e") && Math.abs(number) >= 1 ? whole(number) : text;
}
function real(number, digits = 4) {
    if (number === null || number === undefined || Number.isNaN(number)) return "not a finite number";
    if (Number.isInteger(number) && Math.abs(number) < 1e6) return whole(number);
    const size = Math.abs(number);
    return size !== 0 && (size < 1e-3 || size >= 1e6) ? number.toExponential(Math.max(1, digits - 2)) : precise(number, digits);
}
// A number of an axis, without zeros at its end.
function short(number) {
    const size = Math.abs(number);
    return size !== 0 && (size < 1e-4 || size >= 1e6) ? number.toExponential(1) : Number(number.toPrecision(4)).toLocaleString("en-US", {maximumSignificantDigits: 4});
}
function counted(number) {
    const units = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
    for (const [size, word] of units) if (number >= size) return precise(number / size, 3) + " " + word;
    return whole(number);
}
function bytes(number) {
    const units = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
    for (const [size, word] of units) if (number >= size) return precise(number / size, 3) + " " + word;
    return whole(number) + " B";
}
function duration(seconds) {
    if (seconds < 60) return real(seconds, 3) + " s";
    const minutes = Math.round(seconds / 60);
    return minutes < 60 ? minutes + " min" : Math.floor(minutes / 60) + " h " + minutes % 60 + " min";
}
const plural = (number, word) => whole(number) + " " + word + (number === 1 ? "" : "s");
const last = list => list[list.length - 1];
const said = (run, name) => run.head[name] === undefined || run.head[name] === "" ? null : run.head[name];

// The plan that a run is judged by; null: the page has none, or that of another run.
const planOf = run => run.otherPlan ? null : plan;
// What the loss of a run is and is measured in. known: its log or its plan says so.
function lossOf(run) {
    const own = planOf(run), name = own ? own.lossName : said(run, "loss_name");
    return {name: name || "loss", unit: (own ? own.unit : said(run, "loss_unit")) || "", known: Boolean(name)};
}
// Whether the losses of two runs can be drawn over one another and subtracted.
function alike(a, b) {
    const one = lossOf(a), other = lossOf(b);
    return !one.known || !other.known || one.name === other.name && one.unit === other.unit;
}

function section(id, title, ...children) {
    const block = make("section", {id}, make("h2", {}, title), children);
    page.append(block);
    return block;
}

function table(head, rows, numbersFrom = 1) {
    const cell = (tag, value, i) => make(tag, {className: i >= numbersFrom ? "number" : ""}, value);
    return make("div", {className: "scroll"}, make("table", {},
        make("thead", {}, make("tr", {}, head.map((value, i) => cell("th", value, i)))),
        make("tbody", {}, rows.map(row => make("tr", {}, row.map((value, i) => cell("td", value, i)))))));
}

function facts(rows) {
    return make("table", {className: "facts"}, make("tbody", {}, rows.filter(row => row && row[1] !== null &&
        row[1] !== undefined && row[1] !== "").map(([name, value, mono]) => make("tr", {}, make("th", {scope: "row"}, name),
        make("td", {className: mono ? "mono" : ""}, value)))));
}

// --- charts ---

const dashes = [[], [7, 3], [2, 3], [9, 3, 2, 3], [12, 4], [4, 2], [1, 4], [6, 2, 1, 2, 1, 2]];
const shapes = ["circle", "rect", "triangle", "rectRot", "star", "cross", "crossRot", "dash"];
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = i => css("--c" + i % 8);
const points = series => series ? series[0].map((x, i) => ({x, y: series[1][i]})).filter(point => point.y !== null) : [];

// One line, or dots, of a chart: {label, data, run (its colour and dashes), faint, dots, stepped}.
function dataset(curve) {
    const own = colour(curve.run), hidden = curve.faint ? "55" : "";
    return {
        label: curve.label, data: curve.data, curve, borderColor: own + hidden, backgroundColor: curve.dots ? css("--panel") : own,
        borderWidth: curve.faint ? 1 : 2, borderDash: curve.faint || curve.dots ? [] : dashes[curve.run % 8],
        pointRadius: curve.dots ? 4 : 0, pointHoverRadius: 5, pointBorderWidth: 2, pointHitRadius: 6,
        pointStyle: shapes[curve.run % 8], showLine: !curve.loose, stepped: curve.stepped || false,
        tension: 0, order: curve.faint ? 1 : 0,
    };
}

function paint(chart) {
    chart.data.datasets = chart.data.datasets.map(set => Object.assign(dataset(set.curve), {hidden: set.hidden}));
    for (const scale of Object.values(chart.options.scales)) {
        scale.grid.color = scale.grid.borderColor = css("--line");
        scale.ticks.color = scale.title.color = css("--quiet");
    }
    chart.update("none");
}

// Shows the point of a chart that is nearest to a step, of each curve, and says it.
function point(chart, step) {
    const active = [], words = [];
    chart.data.datasets.forEach((set, i) => {
        if (set.curve.faint || !set.data.length || !chart.isDatasetVisible(i)) return;
        let best = 0;
        set.data.forEach((value, j) => { if (Math.abs(value.x - step) < Math.abs(set.data[best].x - step)) best = j; });
        active.push({datasetIndex: i, index: best});
        words.push(set.label + " at step " + whole(set.data[best].x) + ": " + real(set.data[best].y));
    });
    chart.setActiveElements(active);
    if (active.length) {
        const {x, y} = chart.getDatasetMeta(active[0].datasetIndex).data[active[0].index].getProps(["x", "y"]);
        chart.tooltip.setActiveElements(active, {x, y});
    }
    chart.update("none");
    document.getElementById("said").textContent = words.join("; ");
}

function keys(canvas, chart) {
    let at = null;
    canvas.addEventListener("keydown", event => {
        const set = chart.data.datasets.find((one, i) => !one.curve.faint && one.data.length && chart.isDatasetVisible(i));
        if (!set) return;
        const far = Math.max(1, Math.round(set.data.length / 20)), end = set.data.length - 1;
        const moves = {ArrowLeft: -1, ArrowRight: 1, PageUp: far, PageDown: -far, Home: -Infinity, End: Infinity};
        if (event.key === "Escape") {
            at = null;
            chart.setActiveElements([]);
            chart.tooltip.setActiveElements([], {x: 0, y: 0});
            chart.update("none");
            return;
        }
        if (!(event.key in moves)) return;
        event.preventDefault();
        at = Math.min(end, Math.max(0, (at === null ? end : at) + moves[event.key]));
        point(chart, set.data[at].x);
    });
}

function axis(title, type) {
    return {type, title: {display: true, text: title, color: css("--quiet")}, grid: {color: css("--line")},
        ticks: {color: css("--quiet"), maxRotation: 0, callback(value) { return short(value); }}};
}

// A sample of a curve, as the chart draws it.
function sample(curve) {
    const picture = draw("svg", {width: 34, height: 12, viewBox: "0 0 34 12", "aria-hidden": true}), own = "var(--c" + curve.run % 8 + ")";
    if (!curve.loose) picture.append(draw("path", {d: "M0 6H34", stroke: own, "stroke-width": 2, "stroke-dasharray": curve.dots ? "none" : dashes[curve.run % 8].join(" ") || "none"}));
    const mark = {fill: "var(--panel)", stroke: own, "stroke-width": 2};
    const forms = [["circle", {cx: 17, cy: 6, r: 4}], ["rect", {x: 13, y: 2, width: 8, height: 8}], ["path", {d: "M17 1L22 10H12Z"}], ["path", {d: "M17 1L22 6L17 11L12 6Z"}]];
    const [tag, place] = forms[curve.run % 8] || ["path", {d: "M12 6H22M17 1V11"}];
    if (curve.dots) picture.append(draw(tag, Object.assign(mark, place)));
    return picture;
}

// The names of the curves, which are buttons that hide and show them.
function legend(chart, curves) {
    return make("div", {className: "legend"}, curves.map((curve, i) => {
        if (curve.faint || curves.filter(one => !one.faint).length < 2) return null;
        const button = make("button", {type: "button", "aria-pressed": "true"}, sample(curve), curve.label);
        button.addEventListener("click", () => {
            const visible = !chart.isDatasetVisible(i);
            chart.setDatasetVisibility(i, visible);
            button.setAttribute("aria-pressed", visible);
            chart.update("none");
        });
        return button;
    }));
}

// Adds a figure with a chart of curves. logarithmic: it may be switched so.
function figure(title, curves, {small = false, x = "step", y = "", logarithmic = false, zero = false} = {}) {
    curves = curves.filter(curve => curve.data.length);
    if (!curves.length) return null;
    const canvas = make("canvas", {tabIndex: 0, role: "img"});
    const summary = curves.filter(curve => !curve.faint).map(curve => curve.label + ": from " + real(curve.data[0].y) + " to " +
        real(last(curve.data).y)).join("; ");
    canvas.setAttribute("aria-label", title + ". " + summary + ". Arrow keys move through the values.");
    const tools = make("span", {});
    const element = make("figure", {className: small ? "small" : ""}, make("figcaption", {}, make("h3", {}, title), tools),
        make("div", {className: "plot"}, canvas));
    const options = {
        animation: false, responsive: true, maintainAspectRatio: false, parsing: false, normalized: true,
        interaction: {mode: "nearest", axis: "x", intersect: false},
        scales: {x: axis(x, "linear"), y: Object.assign(axis(y, "linear"), {beginAtZero: zero})},
        plugins: {
            legend: {display: false},
            tooltip: {filter: item => !item.dataset.curve.faint, callbacks: {
                title: items => items.length ? x + " " + whole(items[0].parsed.x) : "",
                label: item => item.dataset.label + ": " + real(item.parsed.y, 6)}},
        },
    };
    const chart = new Chart(canvas, {type: "line", data: {datasets: curves.map(dataset)}, options});
    charts.push(chart);
    keys(canvas, chart);
    element.append(legend(chart, curves));
    if (logarithmic && curves.every(curve => curve.data.every(value => value.y > 0))) {
        const box = make("input", {type: "checkbox"});
        box.addEventListener("change", () => {
            chart.options.scales.y.type = box.checked ? "logarithmic" : "linear";
            chart.update("none");
        });
        tools.append(make("label", {}, box, " logarithmic"));
    }
    if (curves.some(curve => curve.faint)) {
        const box = make("input", {type: "checkbox", checked: true});
        box.addEventListener("change", () => {
            chart.data.datasets.forEach((set, i) => { if (set.curve.faint) chart.setDatasetVisibility(i, box.checked); });
            chart.update("none");
        });
        tools.append(make("label", {}, box, " each step"));
    }
    return element;
}

// The same curve of every run.
function ofRuns(name, more = {}) {
    return runs.map((run, i) => Object.assign({label: runs.length > 1 ? run.name : more.label || name, data: points(run[name]), run: i},
        more.label && runs.length > 1 ? Object.assign({}, more, {label: run.name}) : more));
}

// --- the first screen ---

const final = run => run.smooth && run.smooth[1].length ? last(run.smooth[1]) : null;
const skippedOf = run => run.skipped[1].reduce((sum, count) => sum + count, 0);

// The best and the last value of a metric.
function best(metric) {
    const list = points(metric.values);
    if (!list.length) return null;
    const better = (a, b) => metric.higher ? a.y > b.y : a.y < b.y;
    return {best: list.reduce((a, b) => better(b, a) ? b : a), last: last(list), count: list.length};
}

// The mean of values, and its standard error.
function spread(values) {
    const mean = values.reduce((sum, y) => sum + y, 0) / values.length;
    const variance = values.reduce((sum, y) => sum + (y - mean) ** 2, 0) / Math.max(1, values.length - 1);
    return {mean, error: Math.sqrt(variance / values.length)};
}

// The run whose log has the steps before those of a log that begins later: by its hash, if the plan has that, else by its steps.
function older(run) {
    const origin = (planOf(run) || {}).origin;
    return runs.find(one => one !== run && isRow(one) && alike(one, run) && (origin ? said(one, "run_hash") === origin.run
        : one.first < run.first && one.last >= run.first - 1)) || null;
}

// What a log says of a run that continues another one: the loss over both, or that the steps before are missing.
function continued(run) {
    const origin = (planOf(run) || {}).origin, before = older(run), {name} = lossOf(run);
    if (!(run.first > 1) && !origin) return [];
    const lines = ["all of this is of steps " + whole(run.first) + " to " + whole(run.last) + (origin ? ", which continue another run from its step " +
        whole(origin.step) : ", and the log has none before them")];
    if (before) lines.push("with " + before.name + ": " + name + " " + real(before.smooth[1][0]) + " at the beginning, " + real(final(run)) + " at the end (smoothed)");
    else lines.push("give the log of the run before it, too (firn report NEW OLD): then it says how far both came");
    return lines;
}

function learned(run) {
    const lines = [], own = planOf(run), {name: lossName, unit} = lossOf(run), withUnit = unit ? " " + unit : "";
    if (!run.loss) return {verdict: run === noRun ? "It has not run yet." : "It has no step to judge.", tone: "", lines:
        own && own.guess ? ["guessing every class alike has " + lossName + " " + real(own.guess) + withUnit] : []};
    const begin = run.smooth[1][0], end = final(run), values = run.mean[1].filter(value => value !== null);
    lines.push(lossName + ": " + real(begin) + " at the beginning, " + real(end) + withUnit + " at the end (smoothed)");
    if (own && own.guess) lines.push("guessing every class alike has " + real(own.guess));
    // The first tenth of the run against the last one, beside the noise of both.
    const tenth = Math.max(2, Math.round(values.length / 10)), early = spread(values.slice(0, tenth)), late = spread(values.slice(-tenth));
    const fall = early.mean - late.mean, noise = 2 * Math.hypot(early.error, late.error);
    let tone = "good", verdict = "Yes: the loss fell by " + real(100 * Math.max(fall / Math.abs(early.mean), (begin - end) / Math.abs(begin)), 2) + " %.";
    if (values.length < 4) {
        tone = "doubt";
        verdict = "There are too few steps to tell.";
    } else if (fall < -noise) {
        tone = "bad";
        verdict = "No: the loss rose.";
    } else if (!(fall > noise && fall >= 0.01 * Math.abs(early.mean))) {
        tone = "doubt";
        verdict = "Not so far: its change is within the noise of the steps.";
    } else if (own && own.guess && end > own.guess) {
        tone = "doubt";
        verdict = "The loss fell, and is above that of guessing.";
    }
    for (const metric of run.metrics) {
        const found = best(metric);
        if (!found) continue;
        lines.push("held out: " + metric.name.replace(/_/g, " ") + " " + real(found.last.y, 5) + (found.best.y === found.last.y
            ? ", the best of " + plural(found.count, "evaluation") : "; the best was " + real(found.best.y, 5) + " after step " +
            whole(found.best.x)));
        if (found.best.y !== found.last.y && tone === "good") {
            tone = "doubt";
            verdict += " Validation was better before.";
        }
    }
    lines.push(...continued(run));
    if (!run.metrics.length) lines.push("no validation in the log (firn train --eval)");
    return {verdict, tone, lines};
}

function healthy(run) {
    const lines = [], skipped = skippedOf(run), wanted = planOf(run) ? plan.steps : Number(said(run, "steps") || 0);
    if (!run.steps) return {verdict: "There is no step to judge.", tone: "", lines: wanted ? ["the plan has " + whole(wanted) + " steps"] : []};
    let worst = 0;
    const note = (grade, text) => { worst = Math.max(worst, grade); lines.push((grade === 2 ? "fault: " : grade === 1 ? "look: " : "") + text); };
    if (run.error) note(2, "the last step ended with " + run.error);
    if (run.notFinite) note(2, plural(run.notFinite, "loss") .replace("losss", "losses") + " not finite");
    if (skipped) note(skipped > run.steps / 20 ? 1 : 0, plural(skipped, "step") + " skipped, " + real(100 * skipped / run.steps, 2) + " %");
    else note(0, "no step was skipped");
    if (wanted && run.last < wanted) note(1, "ends at step " + whole(run.last) + " of " + whole(wanted));
    else if (wanted) note(0, "ran all " + whole(wanted) + " steps");
    if (run.norm) {
        const values = run.norm[1].filter(value => value !== null), sorted = [...values].sort((a, b) => a - b);
        const most = last(sorted), middle = sorted[Math.floor(sorted.length / 2)];
        const at = run.norm[0][run.norm[1].indexOf(most)];
        note(most > 50 * middle ? 1 : 0, "gradient norm at most " + real(most, 3) + " (step " + whole(at) + "), median " + real(middle, 3));
    }
    if (run.scale && new Set(run.scale[1]).size > 1)
        note(0, "loss scale from " + real(Math.min(...run.scale[1])) + " to " + real(Math.max(...run.scale[1])));
    if (run.damaged) note(1, plural(run.damaged, "line") + " of the log damaged and left out");
    return {verdict: ["Yes.", "Look at this:", "No."][worst], tone: ["good", "doubt", "bad"][worst], lines};
}

function what(run) {
    const own = planOf(run), model = own ? own.model : said(run, "model"), parameters = own ? own.parameters : said(run, "parameters");
    const lines = [], {unit} = lossOf(run);
    if (parameters) lines.push(whole(Number(parameters)) + " parameters" + (own ? ", " + (own.half ? "mixed precision with " + own.half
        : "float32") : ""));
    const perStep = own ? own.samples * own.microBatches : Number(said(run, "samples_per_step") || 0);
    if (perStep) lines.push(plural(perStep, "sample") + " in a step" + (own && own.window > 1 ? ", of " + (own.window - 1) +
        (unit === "nats per byte" ? " bytes" : " tokens") : ""));
    if (own) lines.push(bytes(own.memory.regions.reduce((sum, region) => sum + region[1], 0)) + " of memory");
    const target = own ? own.target : said(run, "target");
    if (target) lines.push("target " + target + (said(run, "kernels") ? ", kernels " + said(run, "kernels") : ""));
    if (run.elapsed) lines.push("took " + duration(run.elapsed) + " in all calls");
    const hash = own ? own.planHash : said(run, "plan_hash");
    if (hash) lines.push(make("span", {}, "plan ", make("code", {}, hash.slice(0, 16) + "\u2026"),
        own && own.key ? ", signature verified" : ""));
    return {verdict: (model || run.name) + (run.device ? ", rows of a device" : ""), tone: "", lines};
}

function card(question, {verdict, tone, lines}) {
    return make("div", {className: "card"}, make("h2", {}, question), make("p", {className: "verdict " + tone}, verdict),
        make("ul", {}, lines.map(line => make("li", {}, line))));
}

function showHead() {
    const own = planOf(first), model = own ? own.model : said(first, "model"), name = model || first.name;
    document.title = name + " - Firn report";
    page.append(make("header", {className: "top"}, make("h1", {}, name + (runs.length > 1 ? ": " + runs.length + " runs" : "")),
        make("span", {className: "quiet"}, runs.map(run => run.name).join(", "))));
    page.append(make("div", {className: "cards"}, card("Did it learn?", learned(first)), card("Is it healthy?", healthy(first)),
        card("What is it?", what(first))));
    const others = runs.filter(run => run.otherPlan).map(run => run.name);
    if (others.length) page.append(make("p", {className: "bad"}, "The plan " + plan.path + " is not that of " + others.join(", ") +
        ", by its run hash. The answers do not use it for " + (others.length > 1 ? "them" : "it") + "; schedules, ops, memory and precision below are those of the plan."));
    if (runs.length > 1) page.append(make("p", {className: "quiet"}, "The answers are those of " + first.name + "; the table of runs has the others."));
}

// --- curves ---

const isRow = run => run.loss && run.loss[1].length;

// The losses of the runs whose loss is that of one of them.
function lossFigure(of) {
    const curves = [], {name: lossName, unit} = lossOf(of);
    runs.forEach((run, i) => {
        if (!isRow(run) || !alike(run, of)) return;
        const name = runs.length > 1 ? run.name : "training";
        curves.push({label: name + ", each step", data: points(run.loss), run: i, faint: true});
        curves.push({label: name + (runs.length > 1 ? "" : ", smoothed"), data: points(run.smooth), run: i});
        for (const metric of run.metrics) {
            const perplexity = metric.name.startsWith("perplexity") && lossName === "cross-entropy";
            if (metric.name !== "loss" && !perplexity) continue;
            curves.push({label: (runs.length > 1 ? name + ", " : "") + "held out" + (perplexity ? " (logarithm of perplexity)" : ""),
                data: points(metric.values).map(({x, y}) => ({x, y: perplexity ? Math.log(y) : y})), run: runs.length > 1 ? i : i + 1, dots: true});
        }
        if (skippedOf(run)) curves.push({label: (runs.length > 1 ? name + ", " : "") + "skipped steps", run: runs.length > 1 ? i : 5, dots: true, loose: true,
            data: run.skipped[0].map(x => ({x, y: Math.min(...run.loss[1].filter(y => y !== null))}))});
    });
    return figure(lossName[0].toUpperCase() + lossName.slice(1) + (unit ? ", " + unit : ""), curves, {y: unit || lossName, logarithmic: true});
}

function showLoss() {
    const kinds = [first];
    for (const run of runs) if (isRow(run) && !kinds.some(kind => alike(kind, run))) kinds.push(run);
    const shown = kinds.map(lossFigure).filter(one => one);
    if (shown.length) section("loss", "Loss", shown, make("p", {className: "quiet"}, first.every > 1 ? "Of each " + whole(first.every) +
        " steps the least and the greatest loss are drawn, so that no extreme is lost. " : "", "The smoothed line is the mean over 2 % of the run."));
}

function showOthers() {
    const figures = [];
    for (const name of new Set(runs.flatMap(run => run.metrics.map(metric => metric.name)))) {
        const curves = runs.map((run, i) => ({label: runs.length > 1 ? run.name : name.replace(/_/g, " "), run: i, dots: true,
            data: points((run.metrics.find(metric => metric.name === name) || {}).values)}));
        figures.push(figure("Validation: " + name.replace(/_/g, " "), curves, {small: true}));
    }
    figures.push(figure("Gradient norm, before clipping", ofRuns("norm", {label: "gradient norm"}), {small: true, logarithmic: true}));
    const schedules = plan ? plan.schedules : [];
    const planned = decays => schedules.filter(one => one.name.startsWith("weight_decay") === decays).map((one, i) =>
        ({label: "plan: " + one.name.replace(/_/g, " "), data: points(one.values).map(({x, y}) => ({x: x + 1, y})), run: i + 1}));
    figures.push(figure("Learning rate over the whole run", [...ofRuns("rate", {label: "as logged"}), ...planned(false)], {small: true, zero: true}));
    let decays = planned(true);
    if (!decays.length && plan && plan.steps)
        decays = plan.groups.filter(group => group.weight_decay !== undefined).map((group, i) => ({label: group.name, run: i,
            data: [{x: 1, y: group.weight_decay}, {x: plan.steps, y: group.weight_decay}]}));
    figures.push(figure("Weight decay over the whole run", decays, {small: true, zero: true}));
    if (runs.some(run => run.scale && new Set(run.scale[1]).size > 1))
        figures.push(figure("Loss scale", ofRuns("scale", {label: "loss scale", stepped: true}), {small: true, logarithmic: true}));
    figures.push(figure("Seconds of a step", ofRuns("seconds", {label: "seconds"}), {small: true, zero: true, logarithmic: true}));
    const shown = figures.filter(one => one);
    if (shown.length) section("course", "Course of the run", make("div", {className: "grid"}, shown),
        schedules.length ? make("p", {className: "quiet"}, "The schedules are computed from the plan. They follow optimizer steps: a skipped step repeats the rate of the one before.") : null);
}

// --- several runs ---

// Half the width of a 95 % interval of a mean of n values, in standard errors.
const student = n => [0, 0, 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093][n] || 2.086;

// The sums of a run's losses in buckets of `width` steps, of which the first begins at step 1. width: that of the run's
// own buckets, or a larger power of two.
function widened(run, width) {
    const buckets = new Map();
    run.mean[0].forEach((step, i) => {
        const at = Math.floor((step - 1) / width), before = buckets.get(at) || {sum: 0, count: 0}, count = run.mean[2][i];
        if (run.mean[1][i] !== null) buckets.set(at, {step, sum: before.sum + count * run.mean[1][i], count: before.count + count});
    });
    return buckets;
}

// The differences of a run to another one at the same steps. A bucket in which one of them lacks steps has none.
function differences(run, to = first) {
    if (!to.mean || !run.mean) return [];
    const width = Math.max(to.every, run.every), of = widened(to, width), list = [];
    for (const [at, {step, sum, count}] of widened(run, width)) {
        const other = of.get(at);
        if (other && other.step === step && other.count === count) list.push({x: step, y: (sum - other.sum) / count});
    }
    return list;
}

// The mean of the last quarter with its interval, from the means of up to 20 stretches of it: neighbouring steps are alike.
function interval(list) {
    const part = list.slice(Math.floor(list.length * 3 / 4)), count = Math.min(20, Math.floor(part.length / 2));
    if (count < 2) return null;
    const means = Array.from({length: count}, (_, i) => {
        const piece = part.slice(Math.floor(i * part.length / count), Math.floor((i + 1) * part.length / count));
        return piece.reduce((sum, {y}) => sum + y, 0) / piece.length;
    });
    const mean = means.reduce((sum, y) => sum + y, 0) / count;
    const variance = means.reduce((sum, y) => sum + (y - mean) ** 2, 0) / (count - 1);
    return {mean, half: student(count) * Math.sqrt(variance / count)};
}

function smoothed(list) {
    const reach = Math.floor(list.length / 100), sums = [0];
    for (const {y} of list) sums.push(last(sums) + y);
    return list.map(({x}, i) => {
        const from = Math.max(0, i - reach), to = Math.min(list.length, i + reach + 1);
        return {x, y: (sums[to] - sums[from]) / (to - from)};
    });
}

// The runs of a study with several seeds, by variant and seed, if all are such (firnc compare --seeds names them so), and two
// variants have two seeds in common. The reference is float32, or else the first variant.
function seededRuns() {
    const variants = new Map();
    for (const run of runs) {
        const found = run.name.match(/^(.+)-seed(\d+)(?:\.jsonl)?$/);
        if (!found || !alike(run, first)) return null;
        if (!variants.has(found[1])) variants.set(found[1], new Map());
        variants.get(found[1]).set(found[2], run);
    }
    const names = [...variants.keys()], reference = names.find(name => /(^|\/)float32$/.test(name)) || names[0];
    const pairs = new Map(names.filter(name => name !== reference).map(name =>
        [name, [...variants.get(name)].filter(([seed]) => variants.get(reference).has(seed)).map(([seed, run]) => [run, variants.get(reference).get(seed)])]));
    return [...pairs.values()].some(list => list.length > 1) ? {reference, pairs} : null;
}

// The mean of the last 20 losses of a run, or of the buckets that hold them; null: its last step has no loss.
function lastLoss(run) {
    let sum = 0, count = 0;
    if (!run.mean || last(run.mean[0]) + run.every <= run.last) return null;
    for (let i = run.mean[0].length - 1; i >= 0 && count < 20; i--) {
        if (run.mean[1][i] === null) return null;
        sum += run.mean[2][i] * run.mean[1][i];
        count += run.mean[2][i];
    }
    return count ? sum / count : null;
}

// Student's interval of the mean of a few numbers; null: fewer than two.
function intervalOf(list) {
    if (list.length < 2) return null;
    const mean = list.reduce((sum, y) => sum + y, 0) / list.length;
    return {mean, half: student(list.length) * Math.sqrt(list.reduce((sum, y) => sum + (y - mean) ** 2, 0) / (list.length - 1) / list.length)};
}

// The mean over pairs of runs of their differences at the same steps.
function meanDifferences(pairs) {
    const at = new Map();
    for (const [run, other] of pairs)
        for (const {x, y} of differences(run, other)) at.set(x, [...(at.get(x) || []), y]);
    return [...at].filter(([, list]) => list.length === pairs.length).map(([x, list]) => ({x, y: list.reduce((sum, y) => sum + y, 0) / list.length}));
}

function showSeeds({reference, pairs}) {
    const curves = [], rows = [], {unit} = lossOf(first);
    [...pairs].forEach(([name, list], i) => {
        const ends = list.filter(([run, other]) => run.last === other.last).map(([run, other]) => [lastLoss(run), lastLoss(other)]).filter(ends => !ends.includes(null));
        const found = intervalOf(ends.map(([end, other]) => end - other)), data = smoothed(meanDifferences(list));
        if (data.length) curves.push({label: name, data, run: i + 1});
        rows.push([name, whole(ends.length), found ? real(found.mean, 3) : "-", found ? "\u00b1 " + real(found.half, 2) : "-",
            !found ? "too few pairs" : Math.abs(found.mean) <= found.half ? "not told apart" : found.mean < 0 ? "lower loss than " + reference : "higher loss than " + reference]);
    });
    return [figure("Difference of the loss to " + reference + ", mean over pairs of one seed", curves, {y: unit}),
        table(["variant", "pairs", "mean difference, last losses", "95 % interval", "verdict"], rows),
        make("p", {className: "quiet"}, "Runs of one seed begin with the same parameters and read the same batches. The interval is Student's, of the differences between the means of the last 20 losses.")];
}

function showRuns() {
    const mixed = runs.some(run => !alike(run, first));
    const lasting = runs.map(run => {
        const metric = run.metrics[0], found = metric ? best(metric) : null;
        return [run.name, run.steps ? whole(run.last) : "-", final(run) !== null ? real(final(run), 5) + (mixed ? " " + lossOf(run).unit : "") : "-",
            found ? metric.name.replace(/_/g, " ") + " " + real(found.best.y, 5) + " after " + whole(found.best.x) : "-",
            whole(skippedOf(run)), whole(run.damaged), run.elapsed ? duration(run.elapsed) : "-"];
    });
    if (runs.length < 2) return;
    const overview = table(["run", "last step", "loss, smoothed", "best validation", "skipped", "damaged lines", "time"], lasting), seeds = seededRuns();
    if (seeds) {
        section("runs", "Runs", overview, showSeeds(seeds));
        return;
    }
    const curves = [], rows = [], {unit} = lossOf(first);
    runs.forEach((run, i) => {
        if (run === first) return;
        const list = alike(run, first) ? differences(run) : [], found = interval(list), loss = lossOf(run);
        if (!found) rows.push([run.name, "-", "-", !alike(run, first) ? "not compared: its loss is " + [loss.name, loss.unit].filter(word => word).join(" in ")
            : "not compared: " + (list.length ? "only " + plural(list.length, "pair") + " of losses with " + first.name : "no steps in common with " + first.name)]);
        if (list.length) curves.push({label: run.name, data: smoothed(list), run: i});
        if (found) rows.push([run.name, real(found.mean, 3), "\u00b1 " + real(found.half, 2), Math.abs(found.mean) <= found.half
            ? "none that this shows" : found.mean < 0 ? "lower loss than " + first.name : "higher loss than " + first.name]);
    });
    const digests = runs.filter(run => run.digest);
    section("runs", "Runs", overview,
        figure("Difference of the loss to " + first.name + ", paired by step", curves, {y: unit}),
        rows.length ? table(["run", "mean difference, last quarter", "95 % interval", "verdict"], rows) : null,
        rows.length ? make("p", {className: "quiet"}, "The interval is that of the mean over the last quarter of these two runs, from the means of up to 20 stretches of it. It says nothing of other seeds.") : null,
        digests.length ? make("h3", {}, digests.length > 1 ? new Set(digests.map(run => run.digest)).size === 1 ? "Digests: all are equal" : "Digests: they differ" : "Digest") : null,
        digests.length ? table(["rows of", "digest of the state"], digests.map(run => [run.name, make("code", {}, run.digest)]), 2) : null);
}

// --- memory ---

const roles = ["activation", "gradient", "scratch", "input", "result", "constant", "counter", "optimizer_state"];
const roleColour = role => "var(--c" + Math.max(0, roles.indexOf(role)) % 8 + ")";

function opNames() {
    let layer = "";
    return plan.ops.list.map(op => {
        layer = op[2] === 0 ? layer : op[2];
        return {phase: plan.ops.phases[op[0]], op: op[1], layer, extents: op[3], macs: op[4], bytes: op[5], level: op[6], forward: op[7], sums: op[8]};
    });
}

function showMemory(ops) {
    const memory = plan.memory, width = Math.max(1, memory.ops), peak = memory.peak;
    const bases = [];
    let height = 0;
    memory.regions.forEach(([kind, size], i) => {
        if (!kind.endsWith("arena")) return;
        bases[i] = height;
        height += size;
    });
    const block = section("memory", "Memory", table(["region", "bytes", ""], memory.regions.map(([kind, size]) =>
        [kind.replace(/_/g, " "), whole(size), bytes(size)])));
    if (!height) return;
    const map = draw("svg", {viewBox: "0 0 " + width + " " + height, preserveAspectRatio: "none", class: "map", role: "img",
        "aria-label": "Tensors of the arena: ops from left to right, addresses from top to bottom. The slider below shows each op."});
    const shown = [];
    const told = make("output", {className: "quiet", htmlFor: "op"}, "Point at a tensor, or move the slider.");
    for (const [region, offset, size, from, to, role, name, shape] of memory.tensors) {
        if (bases[region] === undefined) continue;
        const until = Math.min(to, width - 1);
        const text = (name || "(no name)") + ": " + shape + ", " + role.replace(/_/g, " ") + ", " + bytes(size) + " at " + whole(offset) +
            ", live in ops " + whole(from) + " to " + whole(until);
        const rect = draw("rect", {x: from, y: bases[region] + offset, width: until - from + 1, height: size, fill: roleColour(role), "fill-opacity": 0.55});
        rect.append(draw("title", {}, text));
        rect.addEventListener("pointerenter", () => { told.textContent = text; });
        map.append(rect);
        shown.push({rect, from, until, size, text, name, role});
    }
    let begin = 0;
    for (const [, count] of plan.ops.phases) {
        begin += count;
        if (begin < width) map.append(draw("line", {x1: begin, x2: begin, y1: 0, y2: height, class: "phase"}));
    }
    map.append(draw("line", {x1: peak + 0.5, x2: peak + 0.5, y1: 0, y2: height, class: "peak"}));
    const cursor = draw("line", {y1: 0, y2: height, class: "cursor"});
    map.append(cursor);
    const list = make("div", {});
    const slider = make("input", {type: "range", id: "op", min: 0, max: width - 1, value: peak, "aria-label": "op"});
    const show = () => {
        const at = Number(slider.value), live = shown.filter(({from, until}) => from <= at && at <= until).sort((a, b) => b.size - a.size);
        for (const {rect, from, until} of shown) rect.classList.toggle("live", from <= at && at <= until);
        cursor.setAttribute("x1", at + 0.5);
        cursor.setAttribute("x2", at + 0.5);
        const op = ops[at], words = "op " + whole(at) + (op ? ": " + op.op + (op.layer ? " of " + op.layer : "") + ", phase " + op.phase[0].replace(/_/g, " ") : "") +
            (at === peak ? " (the peak)" : "");
        slider.setAttribute("aria-valuetext", words);
        list.replaceChildren(make("p", {}, words + "; " + plural(live.length, "tensor") + " live, the largest:"),
            table(["tensor", "role", "bytes"], live.slice(0, 8).map(({name, role, size}) => [name || "(no name)", role.replace(/_/g, " "), whole(size)]), 2));
    };
    slider.addEventListener("input", show);
    const used = [...new Set(shown.map(({role}) => role))];
    block.append(make("figure", {}, make("figcaption", {}, make("h3", {}, "Arena: time (ops) to the right, address downwards"),
        make("span", {className: "quiet"}, "peak (dashed): " + bytes(memory.peakBytes) + " live in op " + whole(peak) + " of " + bytes(height))),
        make("div", {className: "key"}, used.map(role => make("span", {}, make("i", {style: "background:" + roleColour(role)}), role.replace(/_/g, " ")))),
        map, slider, told, list));
    if (memory.left) block.append(make("p", {className: "quiet"}, whole(memory.left) + " smaller tensors, of " + bytes(memory.leftBytes) + " together, are not drawn."));
    show();
}

// --- ops ---

function sumUp(node) {
    for (const child of node.children.values()) {
        sumUp(child);
        for (const name of ["macs", "bytes", "seconds", "parameters", "count"]) node[name] += child[name];
    }
    node.shape = JSON.stringify([node.own, [...node.children.values()].map(child => [child.name.replace(/^\d+$/, "#"), child.shape])]);
}

function newNode(name) {
    return {name, children: new Map(), leaves: [], own: [], macs: 0, bytes: 0, seconds: 0, parameters: 0, count: 0};
}

// Finds or makes the node of a layer, whose name has dots.
function nodeOf(root, layer) {
    let node = root;
    for (const part of layer ? layer.split(".") : ["(no layer)"]) {
        if (!node.children.has(part)) node.children.set(part, newNode(part));
        node = node.children.get(part);
    }
    return node;
}

// A child that is alone takes the place of its parent, and numbered children that are alike become one.
function fold(node) {
    const children = [];
    for (let child of node.children.values()) {
        while (child.children.size === 1 && !child.leaves.length) {
            const only = [...child.children.values()][0];
            child = Object.assign({}, only, {name: child.name + "." + only.name, parameters: child.parameters});
        }
        const before = last(children);
        if (before && /^\d+$/.test(child.name) && /^\d+$/.test(before.from) && before.shape === child.shape) {
            before.alike++;
            before.to = child.name;
            for (const name of ["macs", "bytes", "seconds", "parameters", "count"]) before[name] += child[name];
        } else {
            children.push(Object.assign({}, child, {alike: 1, from: child.name, to: child.name}));
        }
    }
    return children;
}

function row(cells, total, seconds) {
    const share = total > 0 ? seconds / total : 0;
    const time = make("span", {className: "share"}, total > 0 ? [make("b", {style: "width:" + (100 * share).toFixed(1) + "%"}), real(100 * share, 3) + " %"] : "-");
    return make("div", {className: "row"}, cells.map(text => make("span", {title: text}, text)), time);
}

function treeOf(node, total, depth) {
    const indent = {style: "padding-left:" + depth * 14 + "px"};
    return fold(node).map(child => {
        const name = child.alike > 1 ? child.from + " to " + child.to + ": " + child.alike + " alike" : child.name;
        const head = row([name, plural(child.count, "op"), child.parameters ? whole(child.parameters) : "", child.macs ? counted(child.macs) : "", bytes(child.bytes)], total, child.seconds);
        head.firstChild.setAttribute("style", indent.style);
        const inside = make("div", {});
        const details = make("details", {}, make("summary", {}, head), inside);
        details.addEventListener("toggle", () => {
            if (!details.open || inside.childElementCount) return;
            inside.append(...treeOf(child, total, depth + 1), ...child.leaves.map(op => {
                const leaf = row([op.op + " (" + op.phase[0].replace(/_/g, " ") + ")", op.extents, "", op.macs ? counted(op.macs) : "", bytes(op.bytes)], total, op.seconds);
                leaf.firstChild.setAttribute("style", "padding-left:" + (depth + 1) * 14 + "px");
                return make("div", {className: "leaf"}, leaf);
            }));
        });
        return details;
    });
}

function showOps(ops) {
    const root = newNode("");
    ops.forEach((op, i) => {
        op.seconds = profile ? profile.ops[i] : 0;
        const node = nodeOf(root, op.layer), times = op.phase[2];
        node.leaves.push(op);
        node.own.push(op.op + op.extents);
        node.macs += op.macs * times;
        node.bytes += op.bytes * times;
        node.seconds += op.seconds;
        node.count++;
    });
    for (const [name, count] of plan.ops.parameters) {
        const parts = name.split(".");
        parts.pop();
        let node = root;
        for (const part of parts) {
            if (!node.children.has(part)) break;
            node = node.children.get(part);
        }
        node.parameters += count;
    }
    sumUp(root);
    const total = profile ? profile.seconds : 0;
    const head = make("div", {className: "row headrow"}, ["layer, op", "ops or extents", "parameters", "MACs", "bytes", "time"].map(text => make("span", {}, text)));
    const all = row(["all, in a step", plural(root.count, "op"), whole(root.parameters), counted(root.macs), bytes(root.bytes)], 0, 0);
    const tree = make("div", {className: "tree"}, head, all, treeOf(root, total, 0));
    const rest = profile ? profile.seconds - profile.ops.reduce((sum, one) => sum + one, 0) - profile.data_seconds : 0;
    section("ops", "Ops", make("p", {className: "quiet"}, "Layers as the recipe names them; numbered layers that are alike are one row. MACs are the multiply-adds of products, bytes those of all operands, of all micro-batches of a step."),
        make("div", {className: "scroll"}, tree), profile ? make("p", {className: "quiet"}, "Times of " + plural(profile.steps, "step") + " with kernels " + profile.kernels + " and " +
            plural(profile.threads, "thread") + ": " + real(1000 * profile.seconds / profile.steps, 3) + " ms a step, of which reading samples " +
            real(100 * profile.data_seconds / profile.seconds, 3) + " % and all else outside of ops " + real(100 * Math.max(0, rest) / profile.seconds, 3) + " %.")
            : make("p", {className: "quiet"}, "Without times: firn train --profile FILE measures them, and --profile FILE of this command shows them."),
        plan.ops.left ? make("p", {className: "quiet"}, whole(plan.ops.left) + " further ops are not listed.") : null);
}

// --- levels ---

function becameClass(sums) {
    if (sums.some(sum => sum.startsWith("chunked") || / (float16|bfloat16|cbfloat16)$/.test(sum) && !/^(f32|even|pairs)/.test(sum))) return "level-half";
    return sums.some(sum => /^(even_odd_blocks|pairs)/.test(sum)) ? "level-engine" : "level-single";
}

function showLevels(ops) {
    const layers = new Map();
    const add = (layer, direction, level, sums) => {
        if (!level || !sums.length) return;
        const one = layers.get(layer) || layers.set(layer, {forward: new Map(), backward: new Map()}).get(layer);
        const text = "POL " + level[0] + " \u2192 " + [...new Set(sums)].join(", ") + "|" + level[1];
        one[direction].set(text, becameClass(sums));
    };
    for (const op of ops) {
        const both = op.forward !== null && op.forward !== undefined;
        const backward = op.op.includes("_backward");
        if (both) {
            add(op.layer, "forward", op.forward, op.sums.slice(0, 1));
            add(op.layer, "backward", op.level, op.sums.slice(1));
        } else add(op.layer, backward ? "backward" : "forward", op.level, op.sums);
    }
    if (!layers.size) return;
    const rows = [];
    for (const [layer, levels] of layers) {
        const key = layer.replace(/(^|\.)\d+(?=\.|$)/g, "$1*") + JSON.stringify([[...levels.forward], [...levels.backward]]);
        const before = rows.find(one => one.key === key);
        if (before) before.count++;
        else rows.push({key, layer, levels, count: 1});
    }
    const cell = list => {
        const kinds = [...list.values()];
        const worst = ["level-half", "level-engine", "level-single"].find(kind => kinds.includes(kind)) || "";
        return make("td", {className: worst}, [...list.keys()].map(text => {
            const [sum, who] = text.split("|");
            return make("div", {}, sum + " ", make("span", {className: "quiet"}, "(" + who + ")"));
        }));
    };
    section("levels", "Precision: what was asked, and what it became", make("p", {className: "quiet"}, "Each cell has the level that was asked for, the order and type of the sums that the compiler made of it, and in brackets who decided."),
        make("div", {className: "key"}, [["level-single", "sums in float32"], ["level-engine", "sums of a matrix engine"], ["level-half", "something in the half type"]].map(([kind, text]) =>
            make("span", {}, make("i", {className: kind, style: "border:1px solid var(--line)"}), text))),
        make("div", {className: "scroll"}, make("table", {className: "levels"}, make("thead", {}, make("tr", {}, ["layer", "forward", "backward"].map(text => make("th", {}, text)))),
            make("tbody", {}, rows.map(({layer, levels, count}) => make("tr", {}, make("th", {scope: "row"}, count > 1 ? layer.replace(/(^|\.)\d+(?=\.|$)/g, "$1*") + " (" + count + ")" : layer),
                cell(levels.forward), cell(levels.backward)))))));
}

// --- confusion ---

function showConfusion() {
    const {classes, counts} = data.confusion, n = classes.length;
    const sumRow = i => counts.slice(i * n, (i + 1) * n).reduce((sum, count) => sum + count, 0);
    const sumColumn = j => classes.reduce((sum, _, i) => sum + counts[i * n + j], 0);
    const all = counts.reduce((sum, count) => sum + count, 0), right = classes.reduce((sum, _, i) => sum + counts[i * n + i], 0);
    const share = (a, b) => b ? real(100 * a / b, 3) + " %" : "-";
    const cells = i => classes.map((name, j) => {
        const count = counts[i * n + j], part = sumRow(i) ? count / sumRow(i) : 0;
        return make("td", {className: i === j ? "right" : "", title: classes[i] + " taken for " + name + ": " + count,
            style: "background:color-mix(in srgb, var(" + (i === j ? "--c2" : "--c1") + ") " + (70 * part).toFixed(0) + "%, transparent)"}, whole(count));
    });
    section("confusion", "Confusion", make("p", {}, whole(right) + " of " + whole(all) + " are right, " + share(right, all) + ". A row for each label, a column for each prediction; the diagonal is right. Rows without a prediction, whose outputs are not finite, are in no column and in no recall here; firn eval --per-class counts them."),
        make("div", {className: "scroll"}, make("table", {className: "matrix"}, make("thead", {}, make("tr", {}, make("th", {}, "label"), classes.map(name => make("th", {scope: "col", title: name}, name)), make("th", {}, "recall"))),
            make("tbody", {}, classes.map((name, i) => make("tr", {}, make("th", {scope: "row", title: name}, name), cells(i), make("td", {}, share(counts[i * n + i], sumRow(i))))),
                make("tr", {}, make("th", {scope: "row"}, "precision"), classes.map((_, j) => make("td", {}, share(counts[j * n + j], sumColumn(j)))), make("td", {}))))));
}

// --- who and how ---

const quoted = text => /^[\w./:@%+=-]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'";

function showIdentity() {
    const blocks = [];
    if (plan) blocks.push(facts([["plan", plan.path, true], ["plan hash", plan.planHash, true], ["run hash", plan.runHash, true], ["model hash", plan.modelHash, true],
        ["signed by", make("span", {}, make("code", {}, plan.keyHash), plan.key ? ", verified with " + plan.key : "")],
        ["compiler", plan.compiler], ["format", plan.format + ", plan version " + plan.version + ", image id " + plan.image + ", security counter " + plan.counter],
        ["POL lowering", plan.lowering], ["seed", plan.seed], ["order of samples", plan.order + (plan.heldOut ? ", " + plan.heldOut + " per mille held out" : "")]]));
    for (const run of runs) {
        const rows = [["log", run.path, true]];
        for (const [name, value] of Object.entries(run.head)) if (name !== "window" || value !== "0") rows.push([name === "firn" ? "firn" : name.replace(/_/g, " "), value, /hash|sha/.test(name)]);
        if (run.digest) rows.push(["digest", run.digest, true]);
        blocks.push(make("details", {open: !plan && run === first}, make("summary", {}, "log " + run.name), facts(rows)));
    }
    const lines = [];
    if (plan) {
        const key = plan.key || "KEY.pub.pem";
        lines.push("firnc verify " + quoted(plan.path) + " --pub " + quoted(key));
        if (plan.mode === "train") lines.push("firn train " + quoted(plan.path) + " --pub " + quoted(key) + " --data DATA --checkpoint again.ckpt --log again.jsonl");
        lines.push(["firn report again.jsonl", ...runs.filter(run => !run.device).map(run => quoted(run.path))].join(" ") + " --plan " + quoted(plan.path) + " --pub " + quoted(key) + " -o again.html");
    }
    const hash = first.otherPlan ? null : said(first, "data_sha256");
    section("identity", "What ran, and how to run it again", blocks, lines.length ? make("pre", {}, lines.join("\n")) : null,
        hash ? make("p", {}, "The data are those whose list of files has SHA-256 ", make("code", {}, hash), ". The log of another run with the same plan and data has the same losses, bit for bit, on any machine.") : null,
        make("p", {className: "quiet"}, "Made by firn report " + data.firn + ", with Chart.js " + Chart.version + "."));
}

function showLinks() {
    const links = [...page.querySelectorAll("section")].map(block => make("a", {href: "#" + block.id}, block.querySelector("h2").textContent.split(":")[0]));
    page.querySelector("header").after(make("nav", {"aria-label": "Parts"}, links));
}

Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
showHead();
showLoss();
showOthers();
showRuns();
if (plan) {
    const ops = opNames();
    showOps(ops);
    showMemory(ops);
    showLevels(ops);
}
if (data.confusion) showConfusion();
showIdentity();
showLinks();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach(paint));
window.firnReport = {charts, point, real, bytes, counted, duration, best, learned, healthy, what, differences, interval};
})();

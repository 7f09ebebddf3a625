// The two pictures of a run: contribution grid and space-time diagram. Many shapes of one kind are
// one path, so that a picture of thousands of messages has few nodes and can be redrawn at once.

const GUTTER = 34, TOP = 20, SMALLEST_PIP = 2.2;
const round = (value) => Math.round(value * 10) / 10;
const clamp = (value, least, most) => Math.max(least, Math.min(most, value));
const box = (x, y, w, h) => `M${round(x)},${round(y)}h${round(w)}v${round(h)}h${-round(w)}z`;
const line = (x1, y1, x2, y2) => `M${round(x1)},${round(y1)}L${round(x2)},${round(y2)}`;
const cross = (x, y, w, h) => line(x, y, x + w, y + h) + line(x, y + h, x + w, y);
const circle = (x, y, r) =>
  `M${round(x - r)},${round(y)}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0z`;
const leftHalf = (x, y, r) => `M${round(x)},${round(y - r)}a${r},${r} 0 0 0 0,${2 * r}z`;

/** Return the paths of one pip, by class. Hollow: absent; filled: there; double ring: twice. */
const PIPS = {
  [ABSENT]: (x, y, r) => ({ absent: circle(x, y, r) }),
  [HALF]: (x, y, r) => ({ outline: circle(x, y, r), half: leftHalf(x, y, r) }),
  [PRESENT]: (x, y, r) => ({ outline: circle(x, y, r), present: circle(x, y, r) }),
  [TWICE]: (x, y, r) => ({ twice: circle(x, y, r) + circle(x, y, round(r / 2.2)) }),
};

function add(parent, name, attributes = {}, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  return parent.appendChild(node);
}

/** Collects the shapes of each class; `draw` makes one path of each, in the order given. */
class Layers {
  constructor(svg, ...names) {
    this.nodes = new Map(names.map((name) => [name, add(svg, "path", { class: name })]));
    this.shapes = new Map(names.map((name) => [name, []]));
  }
  add(shapes) {
    for (const [name, shape] of Object.entries(shapes)) this.shapes.get(name).push(shape);
  }
  draw() {
    for (const [name, node] of this.nodes) {
      node.setAttribute("d", this.shapes.get(name).join(""));
      this.shapes.set(name, []);
    }
  }
}

function resize(run, svg, width, height) {
  svg.replaceChildren();
  svg.classList.toggle("small", run.cell.height < 16);
  svg.setAttribute("width", Math.ceil(width));
  svg.setAttribute("height", Math.ceil(height));
}

/** Write labels in a row or column, leaving out as many as there is no room for. */
function label(svg, texts, room, where) {
  const every = Math.ceil(1 / Math.max(room, 0.01));
  for (let k = 0; k < texts.length; k += every) add(svg, "text", where(k), texts[k]);
}

const rowLabels = (svg, run, height) => label(
  svg, Array.from({ length: run.ranks }, (_, rank) => `r${rank}`), height / 11,
  (rank) => ({ x: GUTTER - 6, y: round(TOP + (rank + 0.5) * height + 4), "text-anchor": "end" }));

// ------------------------------------------------------------------ contribution grid

/** Choose the size of cells and pips: as large as there is room, pips only where they show. */
function measure(run, room, zoom) {
  const slots = Math.max(1, ...run.slots.map((list) => list.length));
  const across = Math.ceil(Math.sqrt(slots));
  const least = zoom ? (across <= 6 ? across * 7 + 6 : 24) : 4;
  const width = clamp((room - GUTTER - 8) / Math.max(1, run.columns.length), least, 56);
  const height = run.columns.length > 0 ? clamp(width, 11, 48) : 28;
  const radius = round(Math.min(7, 0.39 * (Math.min(width, height) - 6) / across));
  run.cell = { width, height, across, radius, pips: radius >= SMALLEST_PIP };
}

const corner = (run, at) => [
  GUTTER + (at % run.columns.length) * run.cell.width,
  TOP + Math.floor(at / run.columns.length) * run.cell.height,
];

/** Draw what of the grid stays the same at every step. */
function layGrid(run) {
  const svg = run.svg.grid, { width, height } = run.cell;
  resize(run, svg, GUTTER + width * run.columns.length + 8, TOP + height * run.ranks + 3);
  const word = run.adds ? "from " : "";
  const names = run.columns.map((name) => name.slice(name.startsWith(word) ? word.length : 0));
  const longest = Math.max(1, ...names.map((name) => name.length));
  add(svg, "text", { x: 0, y: 13 }, word);
  label(svg, names, width / (longest * 7 + 2), (column) => ({
    x: round(GUTTER + (column + 0.5) * width), y: 13, "text-anchor": "middle" }));
  rowLabels(svg, run, height);
  add(svg, "path", { class: "lines", d: run.cells.map((_, at) =>
    box(...corner(run, at), width, height)).join("") });
  run.layers = new Layers(svg, "complete", "bar", "absent", "present", "half", "outline",
    "twice", "changed", "from", "pick");
  const counted = !run.cell.pips && width >= 17;
  run.counts = !counted ? [] : run.cells.map((_, at) => {
    const [x, y] = corner(run, at);
    return add(svg, "text", { x: round(x + width / 2), y: round(y + height / 2 + 3) });
  });
}

function drawPips(run, at, x, y) {
  const { width, height, across, radius } = run.cell;
  const slots = run.slots[at % run.columns.length], marks = run.cells[at].marks;
  const down = Math.ceil(slots.length / across), wide = Math.min(across, slots.length);
  const pitch = (Math.min(width, height) - 6) / across;
  slots.forEach((pip, k) => run.layers.add(PIPS[marks[pip]](
    x + width / 2 + (k % across - (wide - 1) / 2) * pitch,
    y + height / 2 + (Math.floor(k / across) - (down - 1) / 2) * pitch, radius)));
}

/** Draw a bar as long as the part of the contributions that is there; strike out what is twice. */
function drawBar(run, at, x, y) {
  const { width, height } = run.cell, { marks, complete } = run.cells[at];
  const there = marks.reduce((sum, mark) => sum + Math.min(mark, 2) / 2, 0);
  const part = there / run.slots[at % run.columns.length].length;
  const bar = box(x + 0.5, y + 1.5, (width - 1) * part, height - 3);
  if (part > 0 && !complete) run.layers.add({ bar });
  const twice = marks.includes(TWICE);
  if (twice) run.layers.add({ twice: line(x + 1, y + 1.5, x + width - 1, y + height - 1.5) });
  const count = run.counts[at];
  if (!count) return;
  count.textContent = there === 0 ? "" : `${Math.ceil(there)}${twice ? "!" : ""}`;
  count.setAttribute("class", twice ? "count over" : "count");
}

function drawGrid(run, marked) {
  const { width, height, pips } = run.cell, inset = Math.min(2, width / 6);
  const frame = (at, by) => {
    const [x, y] = corner(run, at);
    return box(x + by, y + by, width - 2 * by, height - 2 * by);
  };
  run.cells.forEach((_, at) => {
    const [x, y] = corner(run, at);
    if (run.cells[at].complete) run.layers.add({ complete: frame(at, inset) });
    if (pips) drawPips(run, at, x, y);
    else drawBar(run, at, x, y);
    const struck = cross(x + 3, y + 3, width - 6, height - 6);
    if (run.cells[at].foreign) run.layers.add({ twice: struck });
  });
  for (const at of changedCells(run)) run.layers.add({ changed: frame(at, 0) });
  for (const at of marked.from) run.layers.add({ from: frame(at, -1) });
  for (const at of marked.cells) run.layers.add({ pick: frame(at, -1) });
  run.layers.draw();
}

function cellAt(run, x, y) {
  const column = Math.floor((x - GUTTER) / run.cell.width);
  const rank = Math.floor((y - TOP) / run.cell.height);
  const inside = column >= 0 && column < run.columns.length && rank >= 0 && rank < run.ranks;
  return inside ? rank * run.columns.length + column : null;
}

// ------------------------------------------------------------------ space-time diagram

/** Return the ticks of an axis, at most `most`, at multiples of 1, 2 or 5 times a power of 10. */
function ticks(span, most) {
  if (!(span > 0)) return [0];
  const power = 10 ** Math.floor(Math.log10(span / most));
  const step = [1, 2, 5, 10].map((k) => k * power).find((size) => span / size <= most) ?? span;
  return Array.from({ length: Math.floor(span / step + 1e-9) + 1 }, (_, k) => k * step);
}

/** Draw the whole diagram; a step only changes the classes of frames and moves the band. */
function layTime(run, room, zoom) {
  const svg = run.svg.time, { height } = run.cell;
  const width = Math.max(room, zoom ? GUTTER + 64 * run.frames.length : 0);
  const endless = run.events.some((event) => event.end === null);
  const right = width - 8, forever = endless ? (right - GUTTER) * 0.25 : 0;
  const scale = run.span > 0 ? (right - GUTTER - forever) / run.span : 0;
  run.x = (time) => time === null ? right : GUTTER + (time - run.from) * scale;
  run.y = (rank) => TOP + (rank + 0.5) * height;
  resize(run, svg, width, TOP + height * run.ranks + 3);
  run.band = add(svg, "path", { class: "band" });
  rowLabels(svg, run, height);
  const [unit, size] = unitOf(run.span, SECONDS);
  for (const tick of ticks(run.span, width / 90)) {
    const x = round(GUTTER + tick * scale), text = Number((tick / size).toPrecision(6));
    const anchor = tick === 0 ? "start" : x > right - 30 ? "end" : "middle";
    add(svg, "text", { x, y: 13, "text-anchor": anchor }, `${text} ${unit}`);
  }
  if (endless) add(svg, "text", { x: right, y: 13, "text-anchor": "end" }, "forever");
  add(svg, "path", { class: "lines", d: Array.from({ length: run.ranks }, (_, rank) =>
    line(GUTTER, run.y(rank), right, run.y(rank))).join("") });
  run.groups = run.frames.map(() => [add(svg, "g")]);
  for (const groups of run.groups) groups.push(add(svg, "g")); // all messages over all bars
  run.frames.forEach((frame, k) => drawFrame(run, frame, ...run.groups[k]));
  run.marks = new Layers(svg, "diary", "pick");
}

/** Draw a frame: its calls as bars, hatched while they wait, boxes for combine; its messages. */
function drawFrame(run, frame, below, above) {
  const bars = new Layers(below, "call", "wait", "combine");
  const arrows = new Layers(above, "message", "head", "unfinished");
  const thick = Math.min(10, run.cell.height * 0.4);
  const bar = (event, until) => box(run.x(event.start), run.y(event.rank) - thick / 2,
    Math.max(1.5, run.x(until) - run.x(event.start)), thick);
  for (const event of frame.events.map((index) => run.events[index])) {
    const { kind, start, end, message } = event;
    bars.add({ [kind === "combine" ? "combine" : "call"]: bar(event, end) });
    if (kind === "combine") continue;
    const matched = end === null ? null : message?.start ?? start;
    if (matched === null || matched > start) bars.add({ wait: bar(event, matched) });
  }
  for (const message of frame.messages) {
    const ends = endsOf(run, message);
    arrows.add(message.unfinished ? { unfinished: line(...ends) }
      : { message: line(...ends), head: arrowHead(run.cell.height, ...ends) });
  }
  bars.draw();
  arrows.draw();
}

/** Return where a message's arrow starts and ends: x, y, x, y. */
function endsOf(run, message) {
  const from = run.events[message.send].rank, to = receiverOf(run, message);
  return [run.x(message.start), run.y(from), run.x(message.end), run.y(to)];
}

function arrowHead(rowHeight, x1, y1, x2, y2) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const size = Math.min(8, 1 + rowHeight * 0.35, 3 + length / 12);
  const [dx, dy] = [(x2 - x1) / length * size, (y2 - y1) / length * size];
  const [x, y, wide, high] = [x2 - dx, y2 - dy, dy * 0.4, dx * 0.4];
  return `${line(x + wide, y - high, x2, y2)}L${round(x - wide)},${round(y + high)}z`;
}

function drawTime(run, marked) {
  run.groups.forEach((groups, k) => {
    const name = k >= run.step ? "later" : k === run.step - 1 ? "current" : "past";
    if (groups[0].getAttribute("class") === name) return;
    for (const group of groups) group.setAttribute("class", name);
  });
  const [from, until] = run.clock[run.step - 1] ?? [0, 0];
  run.band.setAttribute("d", run.step === 0 ? "" : box(run.x(from), TOP - 4,
    Math.max(2, run.x(until) - run.x(from)), run.cell.height * run.ranks + 6));
  for (const name of ["diary", "messages"]) {
    for (const index of marked[name]) {
      const ends = endsOf(run, run.messages[index]);
      const head = run.messages[index].unfinished ? "" : arrowHead(run.cell.height, ...ends);
      run.marks.add({ [name === "diary" ? "diary" : "pick"]: line(...ends) + head });
    }
  }
  run.marks.draw();
}

/** Return the message nearest to a point, those of the current step first; null if none is near. */
function messageAt(run, x, y) {
  let best = null, least = 7;
  run.messages.forEach((message, index) => {
    const [x1, y1, x2, y2] = endsOf(run, message);
    const squared = (x2 - x1) ** 2 + (y2 - y1) ** 2 || 1;
    const along = clamp(((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / squared, 0, 1);
    const far = Math.hypot(x - x1 - along * (x2 - x1), y - y1 - along * (y2 - y1));
    const distance = far - (message.frame === run.step - 1 && far < 7 ? 3 : 0);
    if (distance < least) [best, least] = [index, distance];
  });
  return best;
}

// The page: controls, keys, the address, and what is picked.

const $ = (id) => document.getElementById(id);
const runs = JSON.parse($("data").textContent).map(prepare);
const last = Math.max(...runs.map((run) => run.frames.length));
const tones = matchMedia("(prefers-color-scheme: dark)");
let step = 0, zoom = false, timer = null, address = null;
let hovered = null, pinned = null; // each null or {run, kind: message | cell | rank, at}

// ------------------------------------------------------------------ what is picked

/** Return all that a pick highlights in a run, and the words for it. */
function markedBy(pick, run) {
  const marked = { messages: [], diary: [], cells: [], from: [], text: "" };
  if (pick?.run !== run) return marked;
  const width = run.columns.length, { kind, at } = pick;
  if (kind === "message") {
    const message = run.messages[at], to = receiverOf(run, message);
    const { rank, holds } = run.events[message.send];
    marked.messages = [at];
    for (const [column] of holds) {
      marked.from.push(rank * width + column);
      marked.cells.push(to * width + column);
    }
    marked.text = messageInWords(run, message);
  } else if (kind === "cell") {
    const column = at % width, arrival = lastChange(run, at, ["receive"]);
    marked.cells = [at];
    marked.diary = indices(run.messages, ({ send }) =>
      run.events[send].holds.some(([c]) => c === column));
    marked.messages = indices(run.messages, (message) => arrival && message === arrival.message);
    marked.text = `${cellInWords(run, at)} Marked: ` +
      `${plural(marked.diary.length, "message")} with ${run.columns[column]}.`;
  } else {
    marked.messages = indices(run.messages, (message) => message.frame === run.step - 1 &&
      (run.events[message.send].rank === at || receiverOf(run, message) === at));
    marked.cells = changedCells(run).filter((cell) => Math.floor(cell / width) === at);
    marked.text = `r${at}: ${doing(run, at).text}`;
  }
  return marked;
}

const indices = (list, test) => list.flatMap((item, index) => (test(item) ? [index] : []));

function show(run) {
  const marked = markedBy(hovered ?? pinned, run);
  drawGrid(run, marked);
  drawTime(run, marked);
  const info = run.part(".info");
  info.textContent = marked.text || stepInWords(run);
  info.classList.toggle("pinned", pinned?.run === run);
}

/** Highlight what the pointer or the focus is on; null: nothing. */
function hover(pick) {
  if (JSON.stringify([pick?.kind, pick?.at]) === JSON.stringify([hovered?.kind, hovered?.at]) &&
      pick?.run === hovered?.run) return;
  hovered = pick;
  runs.forEach(show);
}

/** Keep a pick highlighted until the same, or nothing, is clicked. */
function pin(pick) {
  const same = pick && pinned && pick.run === pinned.run && pick.kind === pinned.kind &&
    pick.at === pinned.at;
  pinned = same ? null : pick;
  if (same) hovered = null;
  runs.forEach(show);
}

function watchPointer(run, svg, kind, find) {
  const pickAt = (event) => {
    const { left, top } = svg.getBoundingClientRect();
    const at = find(run, event.clientX - left, event.clientY - top);
    return at === null ? null : { run, kind, at };
  };
  svg.addEventListener("pointermove", (event) => hover(pickAt(event)));
  svg.addEventListener("pointerleave", () => hover(null));
  svg.addEventListener("click", (event) => pin(pickAt(event)));
  svg.addEventListener("blur", () => hover(null));
}

/** Let keys go through the items of a focused picture. */
function watchKeys(run, svg, kind, items) {
  svg.addEventListener("keydown", (event) => {
    const at = hovered?.run === run && hovered.kind === kind ? hovered.at : null;
    const move = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.key === "Enter" && at !== null) pin(hovered);
    else if (event.shiftKey && kind === "cell" && event.key.startsWith("Arrow")) {
      const width = run.columns.length;
      const by = { ArrowUp: -width, ArrowDown: width, ArrowLeft: -1, ArrowRight: 1 }[event.key];
      hover({ run, kind, at: clamp((at ?? 0) + (at === null ? 0 : by), 0, run.cells.length - 1) });
    } else if (move && !event.shiftKey && items(run).length > 0) {
      const list = items(run), here = list.indexOf(at);
      const next = here < 0 ? (move > 0 ? 0 : list.length - 1) : here + move;
      hover({ run, kind, at: list[(next + list.length) % list.length] });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

// ------------------------------------------------------------------ steps

function go(target) {
  step = clamp(Math.round(target), 0, last);
  for (const run of runs) {
    take(run, step);
    run.part(".grid figcaption").textContent = captionOfGrid(run);
    run.svg.grid.setAttribute("aria-label", gridInWords(run));
    run.svg.time.setAttribute("aria-label", timeInWords(run));
    listCalls(run);
    show(run);
    follow(run);
    const stuck = run.part(".stuck");
    stuck.hidden = !(run.stuck && run.step === run.frames.length);
    if (!stuck.hidden) stuck.textContent = stuckInWords(run);
  }
  const titles = [...new Set(runs.map((run) => titleOf(run, run.step)))];
  $("slider").value = step;
  $("slider").setAttribute("aria-valuetext", `${step} of ${last}: ${titles.join(", ")}`);
  $("position").textContent = `step ${step} of ${last}: ${titles.join(" | ")}`;
  if (timer === null) {
    $("live").textContent = `Step ${step} of ${last}. ${runs.map(stepInWords).join(" ")}`;
  }
  $("first").disabled = $("back").disabled = step === 0;
  $("last").disabled = $("forward").disabled = step === last;
  remember();
}

/** Put the step into the address soon, without a new entry in the history. */
function remember() {
  clearTimeout(address); // browsers limit how often it may change
  address = setTimeout(() => {
    try {
      history.replaceState(null, "", `#step=${step}`);
    } catch { /* a page inside another may have no address of its own */ }
  }, 100);
}

/** Return the step that the address asks for, 0 if it asks for none that makes sense. */
function fromAddress() {
  const found = new URLSearchParams(location.hash.slice(1)).get("step") ?? "";
  return /^\d+$/.test(found) ? Number(found) : 0;
}

/** Scroll a zoomed diagram so that the current step is in sight. */
function follow(run) {
  const view = run.svg.time.parentElement, [from] = run.clock[run.step - 1] ?? [null];
  if (zoom) view.scrollLeft = from === null ? 0 : run.x(from) - view.clientWidth / 3;
}

function listCalls(run) {
  for (const [rank, row] of run.rows.entries()) {
    const { text, event, style } = doing(run, rank);
    row.text.textContent = text;
    row.text.className = `text ${style}`;
    row.code.textContent = event ? `${place(event)}  ${event.code?.trim() ?? ""}` : "";
  }
}

function play(on) {
  clearTimeout(timer);
  timer = null;
  if (on && step === last) go(0);
  const next = () => {
    timer = setTimeout(() => {
      go(step + 1);
      if (step < last) next();
      else play(false);
    }, 1000 / Number($("speed").value));
  };
  if (on && last > 0) next();
  else go(step);
  const icon = timer === null ? "M4,3L13,8L4,13z" : "M4,3v10M11,3v10";
  $("play").querySelector("path").setAttribute("d", icon);
  $("play").setAttribute("aria-label", timer === null ? "Play" : "Pause");
}

// ------------------------------------------------------------------ building the page

function build(run) {
  const section = $("run").content.cloneNode(true).firstElementChild;
  run.part = (selector) => section.querySelector(selector);
  run.svg = { grid: run.part(".grid svg"), time: run.part(".time svg") };
  section.setAttribute("aria-label", nameOf(run));
  run.part(".title").textContent = nameOf(run);
  run.part(".badge").textContent = run.simulated ? "SIMULATED (virtual time)" : "MEASURED";
  run.part(".about").textContent = aboutInWords(run);
  run.part(".caption").textContent = run.caption ?? "";
  run.part(".grid").hidden = run.columns.length === 0;
  run.rows = Array.from({ length: run.ranks }, (_, rank) => {
    const row = document.createElement("li"), name = document.createElement("button");
    const [text, code] = [document.createElement("span"), document.createElement("code")];
    name.textContent = `r${rank}`;
    code.className = "code";
    row.append(name, text, code);
    const pick = { run, kind: "rank", at: rank };
    for (const type of ["pointerenter", "focusin"]) row.addEventListener(type, () => hover(pick));
    for (const type of ["pointerleave", "focusout"]) row.addEventListener(type, () => hover(null));
    name.addEventListener("click", () => pin(pick));
    run.part(".calls").append(row);
    return { text, code };
  });
  watchPointer(run, run.svg.grid, "cell", cellAt);
  watchPointer(run, run.svg.time, "message", messageAt);
  watchKeys(run, run.svg.grid, "cell", changedCells);
  watchKeys(run, run.svg.time, "message", (run) =>
    indices(run.messages, ({ frame }) => frame === run.step - 1));
  $("runs").append(section);
}

/** Lay out all pictures anew, for the room that there is. */
function lay() {
  for (const run of runs) {
    const width = run.part(".views").clientWidth;
    measure(run, width < 640 ? width : width / 2 - 8, zoom); // as in page.css
    layGrid(run);
    layTime(run, run.svg.time.parentElement.clientWidth, zoom);
    show(run);
    follow(run);
  }
}

function buildKey() {
  const entry = (text, draw) => {
    const item = document.createElement("span");
    const svg = add(item, "svg", { width: 22, height: 14, "aria-hidden": "true" });
    for (const [name, d] of Object.entries(draw)) add(svg, "path", { class: name, d });
    item.append(text);
    $("key").append(item);
  };
  entry("contribution not there", PIPS[ABSENT](11, 7, 5));
  entry("there", PIPS[PRESENT](11, 7, 5));
  entry("in part of the block", PIPS[HALF](11, 7, 5));
  entry("twice or more", PIPS[TWICE](11, 7, 5));
  entry("does not belong here", { twice: cross(6, 2, 10, 10) });
  entry("changed in this step", { changed: box(2, 1, 18, 12) });
  entry("complete", { complete: box(2, 2, 18, 10) });
  entry("message", { message: line(1, 12, 20, 3), head: arrowHead(20, 1, 12, 20, 3) });
  entry("never finished", { unfinished: line(1, 12, 21, 2) });
  entry("in a call", { call: box(2, 3, 18, 8) });
  entry("waiting", { call: box(2, 3, 18, 8), wait: box(2, 3, 18, 8) });
  entry("combining", { combine: box(6, 3, 9, 8) });
}

const actions = {
  first: () => go(0), back: () => go(step - 1), forward: () => go(step + 1), last: () => go(last),
  play: () => play(timer === null),
  zoom: () => {
    zoom = !zoom;
    $("zoom").setAttribute("aria-pressed", zoom);
    lay();
  },
  theme: () => {
    const { dataset } = document.documentElement;
    const dark = (dataset.theme ?? (tones.matches ? "dark" : "light")) === "dark";
    dataset.theme = dark ? "light" : "dark";
  },
  help: () => $("keys").showModal(),
};
const keys = { ArrowLeft: "back", ArrowRight: "forward", Home: "first", End: "last", " ": "play",
  z: "zoom", d: "theme", "?": "help" };

function pressed(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || $("keys").open) return;
  if (event.key === "Escape") pin(null);
  const on = event.target.tagName; // what has keys of its own keeps them
  if (!(event.key in keys) || on === "SELECT" || (on === "BUTTON" && event.key === " ") ||
      (on === "INPUT" && event.key.length > 1)) return;
  event.preventDefault();
  actions[keys[event.key]]();
}

function start() {
  $("runs").classList.toggle("two", runs.length === 2);
  const comparable = runs.every((run) => run.simulated === runs[0].simulated);
  const longest = Math.max(...runs.map((run) => run.until - run.from));
  for (const run of runs) run.span = comparable ? longest : run.until - run.from;
  runs.forEach(build);
  buildKey();
  $("controls").hidden = false;
  $("slider").max = last;
  $("slider").addEventListener("input", () => go(Number($("slider").value)));
  for (const [id, action] of Object.entries(actions)) $(id).addEventListener("click", action);
  document.addEventListener("keydown", pressed);
  window.addEventListener("hashchange", () => go(fromAddress()));
  lay();
  go(fromAddress());
  const widths = new Map();
  const observer = new ResizeObserver((entries) => {
    const changed = entries.filter(({ target }) => widths.get(target) !== target.clientWidth);
    for (const { target } of changed) widths.set(target, target.clientWidth);
    if (changed.length > 0) lay();
  });
  for (const run of runs) {
    widths.set(run.part(".views"), run.part(".views").clientWidth);
    observer.observe(run.part(".views"));
  }
}

start();

// What is shown, in words.

const BYTES = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]];
const SECONDS = [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]];

/** Return the largest unit, and its size, of which `value` is at least one. */
const unitOf = (value, units) => units.find(([, size]) => value >= size) ?? units.at(-1);

function scaled(value, units) {
  const [unit, size] = value === 0 ? units.find(([, size]) => size === 1) : unitOf(value, units);
  return `${Number((value / size).toPrecision(3))} ${unit}`;
}

const bytes = (count) => scaled(count, BYTES);
const seconds = (time) => scaled(time, SECONDS);
const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const place = ({ file, line }) => `${file.split(/[\\/]/).slice(-2).join("/")}:${line}`;
const titleOf = (run, step) => (step === 0 ? "start" : run.frames[step - 1].title);

const percent = (share) =>
  share > 1 - CLOSE ? "" : `${Number((share * 100).toPrecision(2))} % of `;

/** Return the words for contributions to a column: r0 + r1; for moved blocks, r0→r1. */
function contributors(run, column, pips) {
  const name = (pip) => pip < 0 ? "what does not belong here" :
    run.adds ? `r${column}→r${pip}` : run.pips[pip];
  const shown = pips.slice(0, 16).map(name).join(" + ");
  return pips.length > 16 ? `${shown} + … (${pips.length} in all)` : shown || "nothing";
}

function contents(run, { holds }) {
  const parts = holds.slice(0, 6).map(([column, pips, , share]) => percent(share) +
    (run.adds ? "" : `${run.columns[column]} = `) + contributors(run, column, pips));
  return parts.join("; ") + (holds.length > 6 ? `; … (${holds.length} in all)` : "");
}

function blocks(run, { holds, nbytes }) {
  if (holds.length === 0) return bytes(nbytes);
  const names = [...new Set(holds.map(([column, [pip]]) =>
    run.adds ? contributors(run, column, [pip]) : run.columns[column]))];
  if (names.length > 4) names.splice(3, names.length - 4, "…");
  return names.join(", ");
}

function messageInWords(run, message) {
  const { start, end } = message, event = run.events[message.send];
  const target = receiverOf(run, message);
  const when = end === null ? "never received" : `${seconds(start)} to ${seconds(end)}`;
  const code = event.code ? `: ${event.code.trim()}` : "";
  return `Message r${event.rank} → r${target}, ${bytes(event.nbytes)}, tag ${event.tag}, ` +
    `${when}. ${contents(run, event)}\n${event.call} at ${place(event)}${code}`;
}

function cellInWords(run, at) {
  const width = run.columns.length, rank = Math.floor(at / width), column = at % width;
  const { parts, marks } = run.cells[at], last = lastChange(run, at);
  const held = parts.map(({ pips, share }) => percent(share) + contributors(run, column, pips));
  const here = marks.filter(Boolean).length;
  const count = run.adds ? "" : ` (${here} of ${run.slots[column].length})`;
  const twice = marks.includes(TWICE) ? " Counted more than once!" : "";
  const complete = run.cells[at].complete ? " Complete." : "";
  const from = last?.kind === "receive" ? ` from r${last.peer}` : "";
  return `r${rank}, ${run.columns[column]} after ${titleOf(run, run.step)}: ` +
    `${held.join("; ") || "nothing"}${count}.${twice}${complete}` + (last
      ? `\nLast changed in ${titleOf(run, last.frame + 1)}, ${last.call}${from} at ${place(last)}.`
      : "");
}

/** Return the last event so far, of these kinds, that changed a cell. */
function lastChange(run, at, kinds = ["receive", "combine"]) {
  const width = run.columns.length, column = at % width;
  return run.ofRank[Math.floor(at / width)].findLast(({ frame, kind, end, holds }) =>
    frame < run.step && kinds.includes(kind) && end !== null && holds.some(([c]) => c === column));
}

function eventInWords(run, event) {
  if (event.kind === "combine") return `combines ${blocks(run, event)} (${event.call})`;
  const peer = event.peer < 0 ? "any rank" : `r${event.peer}`;
  const waited = event.message ? event.message.start - event.start : 0;
  const late = waited > CLOSE * (run.until - run.from) && event.end !== null
    ? `, waited ${seconds(waited)} for it` : "";
  const verb = event.end === null ? { send: "waits to send", receive: "waits to receive" }
    : { send: "sends", receive: "receives" };
  return event.kind === "send" ? `${verb.send} ${blocks(run, event)} to ${peer}${late}`
    : `${verb.receive} ${event.end === null ? "" : `${blocks(run, event)} `}from ${peer}${late}`;
}

/** Return what a rank is doing in the current step: text, the event with its line, and a class. */
function doing(run, rank) {
  const frame = run.step - 1, atEnd = run.step === run.frames.length;
  const mine = run.ofRank[rank].filter((event) => event.frame === frame);
  const forever = atEnd ? run.stuck?.waiting[rank] : undefined;
  if (forever) {
    return { text: `waits forever: ${forever}`, style: "forever",
             event: run.ofRank[rank].findLast((event) => event.end === null) };
  }
  if (mine.length > 0) {
    const text = mine.map((event) => eventInWords(run, event)).join("; ");
    return { text: `${mine[0].call}: ${text}`, style: "", event: mine[0] };
  }
  const next = run.ofRank[rank].find((event) => event.frame > frame);
  if (!next) return { text: run.ofRank[rank].length || atEnd ? "returned" : "idle", style: "idle" };
  const now = frame < 0 ? -Infinity : run.clock[frame][1] ?? Infinity;
  const text = next.start < now ? `in ${next.call}, waits for r${next.peer}` : `next: ${next.call}`;
  return { text, style: "idle", event: next };
}

function stepInWords(run) {
  if (run.step === 0) return "Start: nothing has been sent.";
  const { events } = run.frames[run.step - 1];
  const arrived = events.map((index) => run.events[index])
    .filter(({ kind, end }) => kind === "receive" && end !== null).length;
  const cells = changedCells(run), changed = cells.length;
  const names = cells.slice(0, 4).map((at) =>
    `${run.columns[at % run.columns.length]} on r${Math.floor(at / run.columns.length)}`);
  const which = changed > 0 ? `: ${names.join(", ")}${changed > 4 ? " and more" : ""}` : "";
  return `${titleOf(run, run.step)}: ${plural(arrived, "message")} received, ` +
    `${plural(changed, "block")} changed${which}.${wrongInWords(run)}`;
}

/** Say, once a run is over, how many blocks are not as they must be; nothing where all are. */
function wrongInWords(run) {
  if (run.step < run.frames.length || run.stuck) return "";
  const filled = run.cells.map((cell, at) => run.slots[at % run.columns.length].length > 0 &&
    run.needs[at] !== undefined && !cell.complete);
  const count = filled.filter(Boolean).length;
  return count > 0 ? ` WRONG: ${plural(count, "block")} in the result.` : "";
}

// ------------------------------------------------------------------ the run as a whole

const nameOf = (run) => `${run.collective} / ${run.algorithm}`;

function aboutInWords(run) {
  const rooted = ["bcast", "reduce", "scatter", "gather"].includes(run.collective);
  const options = Object.entries(run.options ?? {}).map(([name, value]) => `${name}=${value}`);
  const size = `${run.elements} ${run.dtype} (${bytes(run.nbytes)})`;
  return [plural(run.ranks, "rank"), ...(run.columns.length ? [size] : []),
    ...(rooted ? [`root r${run.root}`] : []), ...options, plural(run.messages.length, "message"),
    seconds(run.until - run.from), run.where].join(" · ");
}

const captionOfGrid = (run) => (run.adds ? "Blocks that each rank holds, a pip for each goal: "
  : "Who has contributed to which block: ") + titleOf(run, run.step);

function gridInWords(run) {
  const complete = run.cells.filter((cell) => cell.complete).length;
  return `Contribution grid after ${titleOf(run, run.step)}: ` +
    `${plural(run.ranks, "rank")} by ${plural(run.columns.length, "block")}, ` +
    `${changedCells(run).length} changed, ${complete} complete.`;
}

const timeInWords = (run) => "Space-time diagram: a line per rank, time to the right, " +
  `${plural(run.messages.length, "message")} as arrows; ${titleOf(run, run.step)} is highlighted.`;

/** Say why a run never ended: the circle of ranks where there is one. */
function stuckInWords({ stuck: { cycle, text } }) {
  if (cycle.length === 0) return text;
  const waits = cycle.map((rank, k) => `r${rank} waits for r${cycle[(k + 1) % cycle.length]}`);
  return `${text.split("\n")[0]}, in a circle: ${waits.join(", ")}.`;
}

// What each block consists of, step by step. A run is a list of frames; all that the page shows
// follows from the runs, the step (how many frames have happened) and what is picked.

const ABSENT = 0, HALF = 1, PRESENT = 2, TWICE = 3;
const CLOSE = 1e-9; // shares of a block closer than this are the same

/**
 * Return what a cell consists of after `hold`, [column, pips, at, share], has come: what was there
 * and is not covered by it stays. Where blocks are only moved (`adds`), it joins what is there.
 * The same rule as `Recording.states()`.
 */
function put(parts, hold, adds) {
  const [, pips, at, share] = hold;
  if (adds) {
    const same = (part) =>
      part.pips.join() === pips.join() && part.at === at && part.share === share;
    return parts.some(same) ? parts : [...parts, { pips, at, share }];
  }
  const stop = at + share, after = [{ pips, at, share }];
  for (const old of parts) {
    const end = old.at + old.share, before = Math.min(end, at), behind = Math.max(old.at, stop);
    if (before - old.at > CLOSE) after.push({ ...old, share: before - old.at });
    if (end - behind > CLOSE) after.push({ ...old, at: behind, share: end - behind });
  }
  return joined(after.sort((a, b) => a.at - b.at));
}

/** Return the parts of a cell with equal neighbours made one. */
function joined(parts) {
  const after = [];
  for (const part of parts) {
    const last = after.at(-1);
    const touches = last && Math.abs(last.at + last.share - part.at) < CLOSE;
    if (touches && last.pips.join() === part.pips.join()) {
      after[after.length - 1] = { ...last, share: part.at + part.share - last.at };
    } else after.push(part);
  }
  return after;
}

/**
 * Return cell number `at`: its parts, how each contribution is in it, whether anything foreign is,
 * and whether it is complete: what its rank needs of the block is there once, and nothing else.
 */
function cellOf(run, parts, at) {
  const marks = new Uint8Array(run.ranks), covered = new Float64Array(run.ranks);
  const foreign = parts.some(({ pips }) => pips.includes(-1));
  for (const { pips, share } of parts) {
    pips.forEach((pip, k) => {
      if (pip < 0) return;
      if (pips[k - 1] === pip) marks[pip] = TWICE;
      else covered[pip] += share;
    });
  }
  covered.forEach((share, pip) => {
    if (share > 0 && marks[pip] !== TWICE) marks[pip] = share > 1 - 1e-6 ? PRESENT : HALF;
  });
  const needs = run.needs[at];
  const fits = (mark, pip) => mark === (needs.has(pip) ? PRESENT : ABSENT) ||
    (run.adds && !needs.has(pip)); // what is passed on does no harm
  const complete = needs !== undefined && !foreign && marks.every(fits);
  return { parts, marks, foreign, complete };
}

/** Return what every frame changes: a map from cell to [before, after, whether an event did it]. */
function changesOf(run) {
  const cells = [...run.cells], width = run.columns.length;
  const changes = run.frames.map(({ events }) => {
    const changed = new Map(), before = new Map();
    for (const { rank, kind, end, holds } of events.map((index) => run.events[index])) {
      if (kind === "send" || end === null) continue;
      for (const hold of holds) {
        const at = rank * width + hold[0];
        if (!before.has(at)) before.set(at, cells[at]);
        changed.set(at, put(changed.get(at) ?? cells[at].parts, hold, run.adds));
      }
    }
    for (const [at, parts] of changed) {
      cells[at] = cellOf(run, parts, at);
      changed.set(at, [before.get(at), cells[at], true]);
    }
    return changed;
  });
  finish(run, changes.at(-1), cells);
  return changes;
}

/** Let the last frame end with the result alone, without what was only passed on. */
function finish(run, changed, cells) {
  if (!changed) return;
  for (const [rank, holds] of (run.end ?? []).entries()) {
    const result = new Map(run.wanted[rank].map(([column]) => [column, []]));
    for (const [column, pips, at, share] of holds) {
      result.set(column, [...(result.get(column) ?? []), { pips, at, share }]);
    }
    for (const [column, parts] of result) {
      const at = rank * run.columns.length + column;
      if (JSON.stringify(parts) === JSON.stringify(cells[at].parts)) continue;
      const before = changed.get(at)?.[0] ?? cells[at];
      changed.set(at, [before, cellOf(run, parts, at), changed.has(at)]);
    }
  }
}

const receiverOf = (run, { send, receive }) =>
  receive === null ? run.events[send].peer : run.events[receive].rank;

/** Return the cells that events of the current step change. */
const changedCells = (run) =>
  [...run.changes[run.step - 1] ?? []].flatMap(([at, [, , byEvent]]) => (byEvent ? [at] : []));

/** Return when the events of each frame start and end: [start, end], null for never. */
function clockOf(run) {
  return run.frames.map(({ events }) => {
    const mine = events.map((index) => run.events[index]);
    const ends = mine.map(({ end }) => end);
    return [Math.min(...mine.map(({ start }) => start)),
            ends.includes(null) ? null : Math.max(...ends)];
  });
}

/** Return, for each column, the contributions that its cells have room for: those ever in it. */
function slotsOf(run) {
  const found = run.columns.map(() => new Set());
  const holds = [...run.start.flat(), ...run.events.flatMap((event) => event.holds)];
  for (const [column, pips] of holds) {
    for (const pip of pips) if (pip >= 0) found[column].add(pip);
  }
  return found.map((pips) => [...pips].sort((a, b) => a - b));
}

/** Add to the document of a run what showing it needs. */
function prepare(run) {
  run.adds = run.collective.endsWith("alltoall");
  for (const frame of run.frames) frame.messages = [];
  run.frameOf = new Map(run.frames.flatMap(({ events }, k) => events.map((index) => [index, k])));
  const last = Math.max(0, run.frames.length - 1);
  run.messageOf = new Map();
  for (const [index, message] of run.messages.entries()) {
    for (const end of [message.send, message.receive]) run.messageOf.set(end, index);
    message.frame = run.frameOf.get(message.receive ?? message.send) ?? last;
    message.unfinished = message.end === null;
    run.frames[message.frame]?.messages.push(message);
  }
  run.ofRank = Array.from({ length: run.ranks }, () => []);
  for (const [index, event] of run.events.entries()) {
    event.holds ??= [];
    event.frame = run.frameOf.get(index) ?? last;
    event.message = run.messages[run.messageOf.get(index)];
    run.ofRank[event.rank].push(event);
  }
  for (const mine of run.ofRank) mine.sort((a, b) => a.frame - b.frame);

  const width = run.columns.length;
  run.needs = Array(run.ranks * width);
  for (const [rank, cells] of run.wanted.entries()) {
    for (const [column, pips] of cells) run.needs[rank * width + column] = new Set(pips);
  }
  run.cells = Array.from({ length: run.ranks * width }, (_, at) => cellOf(run, [], at));
  for (const [rank, holds] of run.start.entries()) {
    for (const hold of holds) {
      const at = rank * width + hold[0];
      run.cells[at] = cellOf(run, put(run.cells[at].parts, hold, run.adds), at);
    }
  }
  run.changes = changesOf(run);
  run.slots = slotsOf(run);
  const times = run.events.flatMap(({ start, end }) => [start, end]).filter((t) => t !== null);
  [run.from, run.until] = times.length > 0
    ? [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))] : [0, 0];
  run.clock = clockOf(run);
  run.step = 0;
  return run;
}

/** Take a run to a step, forwards or backwards. */
function take(run, step) {
  const target = Math.min(step, run.frames.length);
  for (; run.step < target; run.step += 1) {
    for (const [at, [, after]] of run.changes[run.step]) run.cells[at] = after;
  }
  for (; run.step > target; run.step -= 1) {
    for (const [at, [before]] of run.changes[run.step - 1]) run.cells[at] = before;
  }
}

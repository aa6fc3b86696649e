// Messages to the server: one change at a time, in order; what takes longer afterwards.

const link = { busy: false, queue: [], latencies: [], errors: 0 };

async function ask(what, message = {}) {
  const answer = await fetch("/api/" + what, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-Token": SETTINGS.token,
      "X-Session": SETTINGS.session,
    },
    body: JSON.stringify(message),
  });
  const body = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(body.error), { status: answer.status });
  return body;
}

// Queue a change. While one is under way, only the last place of a dragged point and the
// last value of a slider count.
function change(message) {
  const last = link.queue.at(-1);
  const same = last && last.message.op === message.op && last.message.id === message.id;
  if (same && ["move", "set"].includes(message.op)) Object.assign(last.message, message);
  else link.queue.push({ message, begun: performance.now() });
  pump();
}

async function pump() {
  if (link.busy) return;
  link.busy = true;
  while (link.queue.length) {
    const { message, begun } = link.queue.shift();
    try {
      receive(await ask("do", message), begun);
    } catch (error) {
      link.errors += 1;
      link.queue = [];
      complain(error.message);
      await ask("look").then((picture) => receive(picture), () => {});
    }
  }
  link.busy = false;
  later();
}

// Take in a new picture and measure when it has reached the screen.
function receive(picture, begun) {
  state.version = picture.version;
  state.values = picture.values ? unpacked(picture.values) : null;
  state.shape = picture.shape;
  state.support = new Set(picture.support);
  state.seconds = picture.seconds;
  state.facts = picture;
  if (picture.points) {
    state.points = new Map(picture.points.map(({ id, ...point }) => [id, point]));
    state.next = Math.max(-1, ...state.points.keys()) + 1;
    state.regression = picture.regression;
    state.settings = picture.settings;
    state.ramp = null;
    showSettings();
  }
  curve.clear();
  showFacts();
  redraw(begun);
}

let frame = 0;
const waiting = [];

function redraw(begun) {
  if (begun !== undefined) waiting.push(begun);
  if (frame) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    drawAll();
    const measured = waiting.splice(0);
    // the next task comes after this frame was painted
    setTimeout(() => {
      const now = performance.now();
      for (const start of measured) link.latencies.push(now - start);
    });
  });
}

// ---- what takes longer: full retrain, ramp loss, leave-one-out -----------------------

let timer = 0;

function later() {
  clearTimeout(timer);
  timer = setTimeout(checks, 150);
}

async function checks() {
  const version = state.version;
  const current = () => version === state.version && !link.busy;
  try {
    if (state.points.size) {
      const found = await ask("retrain", { version });
      if (!current() || found.outdated) return;
      showBadge(found);
    }
    if (state.showRamp && !state.regression && bothClasses()) {
      const found = await ask("ramp", { version });
      if (!current() || found.outdated) return;
      state.ramp = { version, values: unpacked(found.values), shape: found.shape, suspects: new Set(found.suspects) };
      showRamp(found);
      redraw();
    }
    if (state.regression || !bothClasses()) return;
    const now = Number(element("price").value);
    for (const power of [now, ...POWERS.filter((one) => one !== now)]) {
      if (!current()) return;
      const found = await ask("leave-one-out", { version, C: 10 ** power });
      if (!current() || found.outdated) return;
      curve.errors.set(power, found.error);
      drawCurve();
    }
  } catch (error) {
    complain(error.message);
  }
}

// Mouse, touch and keys on the plane.

const REACH = 0.045; // how near a click has to be, in units of the plane
const BRUSH = 0.11;
const rounded = (value) => Math.round(Math.max(-1, Math.min(1, value)) * 1e4) / 1e4;

function placeOf(event) {
  const box = element("first").getBoundingClientRect();
  return {
    x: rounded(((event.clientX - box.left) / box.width) * 2 - 1),
    y: rounded(1 - ((event.clientY - box.top) / box.height) * 2),
  };
}

function nearest(place, reach) {
  let found = null, least = reach * reach;
  for (const [id, point] of state.points) {
    const apart = (point.x - place.x) ** 2 + (point.y - place.y) ** 2;
    if (apart <= least) [found, least] = [id, apart];
  }
  return found;
}

function addPoint(place) {
  if (state.points.size >= SETTINGS.maxPoints) return complain(`at most ${SETTINGS.maxPoints} points`);
  const label = state.regression ? 1 : state.label, id = state.next++;
  state.points.set(id, { ...place, label });
  change({ op: "add", points: [{ id, ...place, label }] });
  redraw();
}

function movePoint(id, place) {
  state.points.set(id, { ...state.points.get(id), ...place });
  change({ op: "move", id, ...place });
  redraw();
}

function forgetPoint(id) {
  if (id === null || !state.points.delete(id)) return;
  state.support.delete(id);
  change({ op: "forget", ids: [id] });
  redraw();
}

function flipPoints(ids) {
  if (!ids.length || state.regression) return;
  for (const id of ids) state.points.get(id).label *= -1;
  change({ op: "flip", ids });
  redraw();
}

function brushAt(place, done) {
  const met = [];
  for (const [id, point] of state.points) {
    const inside = (point.x - place.x) ** 2 + (point.y - place.y) ** 2 <= BRUSH * BRUSH;
    if (inside && !done.has(id)) met.push(id);
  }
  met.forEach((id) => done.add(id));
  flipPoints(met);
}

function listenToPointer(canvas) {
  let drag = null; // what the button that is down does: {id} or {flipped}
  let press = 0; // of a finger: a long one forgets
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    state.cursor = null;
    const place = placeOf(event), id = nearest(place, REACH);
    canvas.setPointerCapture(event.pointerId);
    if (state.tool === "flip" && !state.regression) {
      drag = { flipped: new Set() };
      brushAt(place, drag.flipped);
    } else if (state.tool === "forget") forgetPoint(id);
    else if (id === null) addPoint(place);
    else {
      drag = { id };
      state.held = id;
      if (event.pointerType === "touch") {
        press = setTimeout(() => { drag = state.held = null; forgetPoint(id); }, 650);
      }
      redraw();
    }
  });
  canvas.addEventListener("pointermove", (event) => {
    const place = placeOf(event);
    const brushes = state.tool === "flip" && !state.regression;
    state.brush = brushes && event.pointerType !== "touch" ? place : null;
    if (drag && drag.flipped) brushAt(place, drag.flipped);
    else if (drag && state.points.has(drag.id)) {
      clearTimeout(press);
      movePoint(drag.id, place);
    } else if (brushes) redraw();
    canvas.style.cursor = drag ? "grabbing" : !brushes && nearest(place, REACH) !== null ? "grab" : "";
  });
  const end = () => {
    clearTimeout(press);
    drag = state.held = null;
    redraw();
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => { state.brush = null; redraw(); });
  canvas.addEventListener("contextmenu", (event) => {
    event.preventDefault();
    forgetPoint(nearest(placeOf(event), REACH));
  });
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

function listenToKeys(canvas) {
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const cursor = state.cursor ?? { x: 0, y: 0 };
    const near = () => nearest(cursor, 0.12);
    const arrow = ARROWS[event.key], key = event.key.toLowerCase();
    if (arrow) {
      const step = event.shiftKey ? 0.1 : 0.025;
      state.cursor = { x: rounded(cursor.x + arrow[0] * step), y: rounded(cursor.y + arrow[1] * step) };
      if (state.held !== null) movePoint(state.held, state.cursor);
    } else if (key === "enter" || key === " ") {
      if (state.held !== null) state.held = null;
      else addPoint({ ...cursor });
    } else if (key === "delete" || key === "backspace") forgetPoint(near());
    else if (key === "f") flipPoints(near() === null ? [] : [near()]);
    else if (key === "m") {
      state.held = state.held === null ? near() : null;
      if (state.held !== null) state.cursor = { x: state.points.get(state.held).x, y: state.points.get(state.held).y };
    } else if (key === "1" || key === "2") chooseTool("add", key === "1" ? -1 : 1);
    else if (key === "escape") state.cursor = state.held = null;
    else return;
    if (!state.cursor && key !== "escape") state.cursor = cursor;
    event.preventDefault();
    redraw();
  });
  canvas.addEventListener("blur", () => { state.cursor = state.held = null; redraw(); });
}

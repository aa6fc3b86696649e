// The settings beside the plane, and what is said about the model.

const element = (id) => document.getElementById(id);
const POWERS = [-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3]; // of 10: C of the curve
const short = (value) => (value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(2))));

function complain(text) {
  const toast = element("toast");
  toast.textContent = text;
  toast.classList.add("shown");
  clearTimeout(complain.timer);
  complain.timer = setTimeout(() => toast.classList.remove("shown"), 4000);
}

function duration(seconds) {
  return seconds < 1 ? `${short(seconds * 1e3)} ms` : `${short(seconds)} s`;
}

function bothClasses() {
  return new Set([...state.points.values()].map((point) => point.label)).size === 2;
}

function showBadge(found) {
  // the next power of ten above the largest difference of all values on the screen
  const power = Math.max(-12, Math.ceil(Math.log10(Math.max(found.difference, 1e-300))));
  element("badge").classList.add("equal");
  element("badge").dataset.difference = found.difference;
  const way = found.refitted ? " (a refit)" : "";
  element("badge").lastChild.textContent = found.action === "fit"
    ? `trained from scratch in ${duration(found.update)} · now change something: updates are exact`
    : `equals a full retrain to 1e${power} · update${way} ${duration(found.update)} · retrain ${duration(found.seconds)}`;
}

function showFacts() {
  const facts = state.facts;
  element("badge").classList.remove("equal");
  element("badge").lastChild.textContent = state.points.size
    ? `${facts.action} in ${duration(facts.seconds)} · comparing with a full retrain …`
    : "no points: click to add one";
  element("fact-count").textContent = facts.count;
  element("fact-support").textContent = facts.support.length;
  const share = state.regression ? facts.inside : facts.right;
  element("fact-fit-name").textContent = state.regression ? "in the band" : "correct";
  element("fact-fit").textContent = share === undefined ? "–" : (100 * share).toFixed(1) + " %";
  const gap = facts.gap;
  element("fact-gap").textContent = gap === null || gap === undefined ? "–" : gap === 0 ? "0" : `≤ ${gap.toExponential(0)}`;
  const costly = state.settings.cost !== 1;
  element("first-name").textContent = state.regression ? "QuantileSVR" : costly ? "CostSensitiveSVC" : "SVC";
  element("first-note").textContent = state.regression ? "median and band" : "every change is exact";
}

function showRamp(found) {
  const suspects = found.suspects.length;
  element("second-note").textContent =
    `${suspects} ${suspects === 1 ? "suspect" : "suspects"} ringed · fitted in ${duration(found.seconds)}`;
}

function drawCurve() {
  if (!state.regression) curve.draw(Number(element("price").value), -2, 3);
}

// Bring all controls to the settings of the session.
function showSettings() {
  const { C, gamma, cost, band } = state.settings;
  element("price").value = Math.log10(C);
  element("width").value = Math.log10(gamma);
  element("band").value = band;
  for (const id of ["costs", "ramps", "tools", "curve", "curve-note", "class-keys"]) element(id).hidden = state.regression;
  element("bands").hidden = !state.regression;
  element("second-figure").hidden = state.regression || !state.showRamp;
  element("tab-classify").setAttribute("aria-selected", !state.regression);
  element("tab-regress").setAttribute("aria-selected", state.regression);
  if (state.regression && state.tool === "flip") chooseTool("add", 1);
  listPresets();
  turnDial(cost);
  showValues();
}

function showValues() {
  const { C, gamma, band } = state.settings;
  element("price-value").textContent = short(C);
  element("width-value").textContent = short(gamma);
  element("band-value").textContent = `${Math.round(100 * band)} %`;
}

function listPresets() {
  const select = element("preset"), now = select.value;
  const offered = SETTINGS.presets.filter((preset) => preset.regression === state.regression);
  select.replaceChildren(...offered.map(({ name, title }) => new Option(title, name)));
  select.value = offered.some(({ name }) => name === state.preset) ? state.preset : (now, offered[0].name);
}

function chooseTool(tool, label) {
  state.tool = tool;
  if (label) state.label = label;
  for (const button of document.querySelectorAll("[data-tool]")) {
    const chosen = button.dataset.tool === tool && (tool !== "add" || Number(button.dataset.label) === state.label);
    button.setAttribute("aria-checked", chosen);
  }
}

function begin(preset) {
  state.preset = preset;
  change({ op: "reset", preset });
}

function setting(name, value) {
  state.settings = { ...state.settings, [name]: value };
  showValues();
  change({ op: "set", [name]: value });
}

// ---- the dial: a slider of log10 cost from -1 to 1 over 270 degrees ---------------------

const arcTo = (from, to, radius) => {
  const at = (angle) => [radius * Math.sin(angle), -radius * Math.cos(angle)].map((v) => v.toFixed(2)).join(" ");
  const [low, high] = [Math.min(from, to), Math.max(from, to)];
  return `M ${at(low)} A ${radius} ${radius} 0 ${high - low > Math.PI ? 1 : 0} 1 ${at(high)}`;
};
const SWEEP = 0.75 * Math.PI;

function turnDial(cost) {
  const dial = element("dial"), angle = Math.log10(cost) * SWEEP;
  dial.querySelector(".track").setAttribute("d", arcTo(-SWEEP, SWEEP, 40));
  dial.querySelector(".arc").setAttribute("d", arcTo(0, angle || 1e-3, 40));
  dial.querySelector("line").setAttribute("transform", `rotate(${(angle * 180) / Math.PI})`);
  dial.querySelector("text").textContent = "×" + short(cost);
  dial.setAttribute("aria-valuenow", cost);
}

function setCost(power) {
  const snapped = Math.abs(power) < 0.04 ? 0 : Math.max(-1, Math.min(1, power));
  const cost = Number((10 ** snapped).toPrecision(3));
  if (cost === state.settings.cost) return;
  turnDial(cost);
  setting("cost", cost);
}

function listenToDial(dial) {
  const turn = (event) => {
    const box = dial.getBoundingClientRect();
    const across = event.clientX - (box.left + box.width / 2);
    const up = box.top + box.height / 2 - event.clientY;
    setCost(Math.max(-SWEEP, Math.min(SWEEP, Math.atan2(across, up))) / SWEEP);
  };
  dial.addEventListener("pointerdown", (event) => { dial.setPointerCapture(event.pointerId); turn(event); });
  dial.addEventListener("pointermove", (event) => { if (event.buttons) turn(event); });
  dial.addEventListener("keydown", (event) => {
    const step = { ArrowUp: 0.05, ArrowRight: 0.05, ArrowDown: -0.05, ArrowLeft: -0.05 }[event.key];
    if (!step) return;
    event.preventDefault();
    setCost(Math.round((Math.log10(state.settings.cost) + step) * 20) / 20);
  });
}

// Put it together.

const state = {
  points: new Map(), support: new Set(), values: null, shape: null, ramp: null,
  settings: { C: 1, gamma: 4, cost: 1, band: 0.8 }, facts: {}, regression: false,
  tool: "add", label: 1, next: 0, held: null, cursor: null, brush: null,
  showRamp: false, preset: "moons", version: -1,
};
const curve = new Curve(element("curve"));
const first = new Plot(element("first")), second = new Plot(element("second"));

function drawAll() {
  const { points, support, values, shape, regression, held, cursor, brush } = state;
  const suspects = state.showRamp && state.ramp ? state.ramp.suspects : null;
  first.draw({
    points, support, suspects, values, shape, regression, held, cursor,
    brush, brushRadius: BRUSH,
  });
  if (state.showRamp && !regression) {
    const { values, shape } = state.ramp ?? {};
    second.draw({ points, support: new Set(), suspects, values, shape, held });
  }
  drawCurve();
}

function savePicture() {
  const shown = [element("first"), ...(state.showRamp && !state.regression ? [element("second")] : [])];
  const whole = document.createElement("canvas"), gap = 16;
  whole.width = shown.reduce((sum, one) => sum + one.width + gap, -gap);
  whole.height = shown[0].height;
  const context = whole.getContext("2d");
  context.fillStyle = COLOURS.card;
  context.fillRect(0, 0, whole.width, whole.height);
  let left = 0;
  for (const one of shown) {
    context.drawImage(one, left, 0);
    left += one.width + gap;
  }
  whole.toBlob((blob) => {
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(blob);
    anchor.download = "widemargin.png";
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
  });
}

async function showPython() {
  try {
    const { code } = await ask("python");
    const box = document.querySelector("#code textarea");
    box.value = code;
    element("copied").textContent = "";
    element("code").showModal();
    box.select();
    box.scrollTop = 0;
    await navigator.clipboard.writeText(code);
    element("copied").textContent = "copied";
  } catch (error) {
    if (error.status) complain(error.message); // else the text is there to be copied by hand
  }
}

readColours();
listenToPointer(element("first"));
listenToKeys(element("first"));
listenToDial(element("dial"));
for (const button of document.querySelectorAll("[data-tool]")) {
  button.addEventListener("click", () => chooseTool(button.dataset.tool, Number(button.dataset.label)));
}
element("preset").addEventListener("change", (event) => begin(event.target.value));
element("tab-classify").addEventListener("click", () => begin("moons"));
element("tab-regress").addEventListener("click", () => begin("wave"));
element("price").addEventListener("input", (event) => setting("C", 10 ** Number(event.target.value)));
element("width").addEventListener("input", (event) => setting("gamma", 10 ** Number(event.target.value)));
element("band").addEventListener("input", (event) => setting("band", Number(event.target.value)));
element("ramp").addEventListener("change", (event) => {
  state.showRamp = event.target.checked;
  element("second-figure").hidden = !state.showRamp;
  redraw();
  later();
});
element("png").addEventListener("click", savePicture);
element("python").addEventListener("click", showPython);
new ResizeObserver(() => redraw()).observe(element("first"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); redraw(); });
ask("look").then((picture) => { receive(picture); later(); }, (error) => complain(error.message));

// Pictures of points and models on a canvas. The plane is the square from -1 to 1.

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let COLOURS = {};

function readColours() {
  const names = ["ink", "soft", "line", "card", "blue", "orange", "ring", "accent"];
  COLOURS = Object.fromEntries(names.map((name) => [name, style("--" + name)]));
  const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  for (const name of ["card", "blue", "orange"]) COLOURS[name + "Rgb"] = rgb(COLOURS[name]);
}

class Plot {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.sheet = document.createElement("canvas");
  }

  // Match the canvas to its size on the screen; return its side in CSS pixels.
  resized() {
    const side = this.canvas.clientWidth, scale = window.devicePixelRatio || 1;
    const pixels = Math.max(1, Math.round(side * scale));
    if (this.canvas.width !== pixels) this.canvas.width = this.canvas.height = pixels;
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    return side;
  }

  draw(picture) {
    const side = (this.side = this.resized()), context = this.context;
    context.fillStyle = COLOURS.card;
    context.fillRect(0, 0, side, side);
    if (picture.values) {
      if (picture.regression) this.band(picture);
      else this.field(picture);
    }
    this.size = Math.max(3, 5.2 * Math.min(1, Math.sqrt(250 / picture.points.size))); // of a point
    for (const [id, point] of picture.points) this.point(id, point, picture);
    if (picture.brush) this.circle(picture.brush, picture.brushRadius, COLOURS.soft);
    if (picture.cursor) this.crosshair(picture.cursor);
  }

  place(point) {
    return [((point.x + 1) / 2) * this.side, ((1 - point.y) / 2) * this.side];
  }

  // Decision values as colours, with boundary and margins.
  field({ values, shape: [height, width] }) {
    const sheet = this.sheet, context = this.context;
    if (sheet.width !== width) [sheet.width, sheet.height] = [width, height];
    const paint = sheet.getContext("2d"), image = paint.createImageData(width, height);
    for (let i = 0; i < values.length; i++) {
      const strength = 0.5 * (1 - Math.exp(-Math.abs(values[i]) * 0.9));
      const colour = values[i] < 0 ? COLOURS.blueRgb : COLOURS.orangeRgb;
      for (let part = 0; part < 3; part++) {
        image.data[4 * i + part] = COLOURS.cardRgb[part] * (1 - strength) + colour[part] * strength;
      }
      image.data[4 * i + 3] = 255;
    }
    paint.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = "high";
    // the values are at the corners of the square, not in the middle of pixels
    const half = this.side / (width - 1) / 2;
    context.drawImage(sheet, -half, -half, this.side + 2 * half, this.side + 2 * half);
    const step = this.side / (width - 1);
    for (const [level, dash, thickness] of [[0, [], 2.6], [-1, [6, 5], 1.2], [1, [6, 5], 1.2]]) {
      context.beginPath();
      for (const [x1, y1, x2, y2] of contour(values, width, height, level)) {
        context.moveTo(x1 * step, y1 * step);
        context.lineTo(x2 * step, y2 * step);
      }
      context.setLineDash(dash.length && level ? [] : dash);
      context.globalAlpha = level ? 0.45 : 0.95;
      context.lineWidth = thickness;
      context.lineCap = "round";
      context.strokeStyle = level < 0 ? COLOURS.blue : level > 0 ? COLOURS.orange : COLOURS.ink;
      context.stroke();
    }
    context.globalAlpha = 1;
    context.setLineDash([]);
  }

  // Lower, middle and upper quantile along the line.
  band({ values, shape: [, count] }) {
    const context = this.context;
    const at = (curve, i) => this.place({ x: (2 * i) / (count - 1) - 1, y: values[curve * count + i] });
    const trace = (curve, backwards) => {
      for (let k = 0; k < count; k++) context.lineTo(...at(curve, backwards ? count - 1 - k : k));
    };
    context.beginPath();
    trace(0, false);
    trace(2, true);
    context.closePath();
    context.fillStyle = COLOURS.blue;
    context.globalAlpha = 0.17;
    context.fill();
    context.globalAlpha = 1;
    for (const [curve, width] of [[0, 1.1], [2, 1.1], [1, 2.6]]) {
      context.beginPath();
      trace(curve, false);
      context.lineWidth = width;
      context.strokeStyle = curve === 1 ? COLOURS.ink : COLOURS.blue;
      context.stroke();
    }
  }

  point(id, point, { support, suspects, held, regression }) {
    const [x, y] = this.place(point), context = this.context;
    const size = id === held ? 8 : this.size;
    const blue = regression || point.label < 0;
    context.beginPath();
    if (blue) context.arc(x, y, size, 0, 2 * Math.PI);
    else {
      const reach = size * 1.2; // a diamond: not by colour alone
      context.moveTo(x, y - reach);
      context.lineTo(x + reach, y);
      context.lineTo(x, y + reach);
      context.lineTo(x - reach, y);
      context.closePath();
    }
    context.fillStyle = blue ? COLOURS.blue : COLOURS.orange;
    context.fill();
    const supports = support.has(id);
    context.lineWidth = supports ? 2 : Math.min(1.4, size / 4);
    context.strokeStyle = supports ? COLOURS.ink : COLOURS.card;
    context.stroke();
    if (suspects && suspects.has(id)) this.circle(point, (5.8 + size) * 2 / this.side, COLOURS.ring, 2.4);
  }

  circle(point, radius, colour, width = 1.5) {
    const [x, y] = this.place(point), context = this.context;
    context.beginPath();
    context.arc(x, y, (radius * this.side) / 2, 0, 2 * Math.PI);
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke();
  }

  crosshair(point) {
    const [x, y] = this.place(point), context = this.context;
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + 4 * dx, y + 4 * dy);
      context.lineTo(x + 13 * dx, y + 13 * dy);
    }
    context.lineWidth = 2.5;
    context.strokeStyle = COLOURS.accent;
    context.stroke();
  }
}

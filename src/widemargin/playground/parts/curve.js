// The leave-one-out error along C, beneath the slider.

class Curve {
  constructor(canvas) {
    this.canvas = canvas;
    this.errors = new Map(); // log10 C -> error
  }

  clear() {
    this.errors.clear();
  }

  add(C, error) {
    this.errors.set(Math.log10(C), error);
  }

  draw(now, low, high) {
    const scale = window.devicePixelRatio || 1, canvas = this.canvas;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = Math.max(1, width * scale);
    canvas.height = Math.max(1, height * scale);
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    const edge = 8, top = 14, bottom = height - 4;
    const x = (power) => edge + ((power - low) / (high - low)) * (width - 2 * edge);
    const sorted = [...this.errors].sort((a, b) => a[0] - b[0]);
    const most = Math.max(0.05, ...sorted.map(([, error]) => error)) * 1.08;
    const y = (error) => bottom - (error / most) * (bottom - top);
    context.strokeStyle = COLOURS.line;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(edge, bottom);
    context.lineTo(width - edge, bottom);
    context.stroke();
    context.strokeStyle = COLOURS.accent;
    context.globalAlpha = 0.35;
    context.beginPath();
    context.moveTo(x(now), top);
    context.lineTo(x(now), bottom);
    context.stroke();
    context.globalAlpha = 1;
    context.lineWidth = 2;
    context.beginPath();
    for (const [power, error] of sorted) context.lineTo(x(power), y(error));
    context.stroke();
    const best = Math.min(...sorted.map(([, error]) => error));
    for (const [power, error] of sorted) {
      context.beginPath();
      context.arc(x(power), y(error), power === now ? 4.5 : 2.6, 0, 2 * Math.PI);
      context.fillStyle = error === best ? COLOURS.orange : COLOURS.accent;
      context.fill();
    }
    if (this.errors.has(now)) {
      const text = (100 * this.errors.get(now)).toFixed(1) + " %";
      context.fillStyle = COLOURS.ink;
      context.font = "600 12px system-ui, sans-serif";
      const wide = context.measureText(text).width;
      context.fillText(text, Math.min(width - wide - 2, Math.max(2, x(now) - wide / 2)), 10);
    }
  }
}

// Lines of equal value through a table of values (marching squares).

// Segments [x1, y1, x2, y2] in units of table cells, where the value crosses `level`.
function contour(values, width, height, level) {
  const lines = [];
  const cross = (a, b) => (level - a) / (b - a);
  for (let row = 0; row + 1 < height; row++) {
    for (let column = 0; column + 1 < width; column++) {
      const at = row * width + column;
      const a = values[at], b = values[at + 1];
      const c = values[at + width + 1], d = values[at + width];
      const ends = [];
      if ((a < level) !== (b < level)) ends.push([column + cross(a, b), row]);
      if ((b < level) !== (c < level)) ends.push([column + 1, row + cross(b, c)]);
      if ((d < level) !== (c < level)) ends.push([column + cross(d, c), row + 1]);
      if ((a < level) !== (d < level)) ends.push([column, row + cross(a, d)]);
      for (let i = 0; i + 1 < ends.length; i += 2) lines.push([...ends[i], ...ends[i + 1]]);
    }
  }
  return lines;
}

// Float32 numbers from base64 text.
function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

// A treemap: the area of each box is its value, and boxes are nearly square.

export interface Box { x: number; y: number; w: number; h: number }

/** squarify lays out values, largest first, in a box; it returns one box per value. */
export function squarify(values: number[], w: number, h: number): Box[] {
  const sum = values.reduce((a, b) => a + b, 0);
  if (!sum) return values.map(() => ({ x: 0, y: 0, w: 0, h: 0 }));
  const areas = values.map((v) => (v / sum) * w * h), out: Box[] = [];
  let x = 0, y = 0, i = 0;
  while (i < areas.length) {
    const side = Math.min(w - x, h - y), row: number[] = [];
    let total = 0, worst = Infinity;
    // A row grows as long as its boxes get closer to squares.
    while (i + row.length < areas.length) {
      const next = areas[i + row.length]!, all = total + next, large = Math.max(next, ...row), small = Math.min(next, ...row);
      const ratio = Math.max((side * side * large) / (all * all), (all * all) / (side * side * small));
      if (ratio > worst) break;
      row.push(next);
      total = all;
      worst = ratio;
    }
    const deep = total / side, across = w - x >= h - y;
    let at = across ? y : x;
    for (const a of row) {
      const long = a / deep;
      out.push(across ? { x, y: at, w: deep, h: long } : { x: at, y, w: long, h: deep });
      at += long;
    }
    if (across) x += deep; else y += deep;
    i += row.length;
  }
  return out;
}

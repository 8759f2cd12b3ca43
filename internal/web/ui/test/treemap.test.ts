import assert from "node:assert/strict";
import { test } from "node:test";
import { squarify } from "../src/treemap.ts";

test("a treemap fills its box, each value by its share", () => {
  const values = [50, 30, 10, 6, 3, 1], boxes = squarify(values, 200, 100);
  boxes.forEach((b, i) => {
    assert.ok(Math.abs(b.w * b.h - values[i]! * 200) < 1e-6, JSON.stringify(b));
    assert.ok(b.x >= -1e-9 && b.y >= -1e-9 && b.x + b.w <= 200 + 1e-6 && b.y + b.h <= 100 + 1e-6, JSON.stringify(b));
  });
  assert.deepEqual(squarify([], 10, 10), []);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { rank } from "../src/rank.ts";

const order = (query: string, texts: string[]) => texts.map((x) => ({ x, n: rank(x, "", query) })).filter((e) => e.n > 0).sort((a, b) => b.n - a.n).map((e) => e.x);

test("console/3 an equal name is first, then a beginning, the beginning of a word, letters", () => {
  assert.deepEqual(order("add", ["demo / fadding", "demo / load_add", "demo / add", "demo / add_one", "demo / random_word_d", "demo / echo"]),
    ["demo / add", "demo / add_one", "demo / load_add", "demo / fadding", "demo / random_word_d"]);
});

test("console/3 the words may stand in any order", () => {
  assert.deepEqual(order("issue gh", ["ghub / search_issues", "gitlab / merge"]), ["ghub / search_issues"]);
  assert.equal(rank("github / search", "finds issues", "issues github") > 0, true);
  assert.equal(rank("github / search", "", "github nothing"), 0);
});

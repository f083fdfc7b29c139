// The types of the package, in a program that uses the types of the published frameworks.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const STRICT = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--skipLibCheck", "--noEmit", "--ignoreConfig"];
const MODULES = { node20: [], esnext: ["--moduleResolution", "bundler"] };

for (const [module, resolution] of Object.entries(MODULES)) {
  test(`each receiver fits the types of its framework, with modules as ${module}`, () => {
    const options = ["--module", module, ...resolution, "--target", "es2022", "--types", "node", "test/frameworks.ts"];
    const tsc = ["node_modules/typescript/bin/tsc", ...STRICT, ...options];
    const { stdout, status } = spawnSync(process.execPath, tsc, { cwd: `${import.meta.dirname}/..`, encoding: "utf8" });
    assert.deepEqual([stdout, status], ["", 0]);
  });
}

test("the types export what src/index.ts names, and no more", () => {
  const text = (name) => readFileSync(`${import.meta.dirname}/../${name}`, "utf8");
  const named = [...text("src/index.ts").matchAll(/\{(.*)\}/g)].flatMap(([, names]) => names.trim().split(", "));
  const exported = [...text("dist/index.d.ts").matchAll(/^export (?:declare )?(?:class|function|interface|type) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(exported.sort(), named.sort());
});

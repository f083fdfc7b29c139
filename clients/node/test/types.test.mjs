// The types of the package, in a program that uses the types of the published frameworks.

import { execFileSync } from "node:child_process";
import { test } from "node:test";

const STRICT = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--skipLibCheck", "--noEmit", "--ignoreConfig"];

for (const module of ["node20", "esnext"]) {
  test(`each receiver fits the types of its framework, with modules as ${module}`, () => {
    const resolution = module === "esnext" ? ["--moduleResolution", "bundler"] : [];
    const options = ["--module", module, ...resolution, "--target", "es2022", "--types", "node", "test/frameworks.ts"];
    execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", ...STRICT, ...options], { cwd: `${import.meta.dirname}/..`, encoding: "utf8", stdio: "pipe" });
  });
}

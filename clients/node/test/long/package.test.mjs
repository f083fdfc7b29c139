// The package as users get it: packed, and installed into an empty folder.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

import { STORIES, Theatre } from "../support/stories.mjs";

const NAME = "votegate-client";
const PACKAGE = join(import.meta.dirname, "../..");
const MOST_BYTES = 12 * 1024;

const folder = mkdtempSync(join(tmpdir(), "votegate-package-"));
const theatre = new Theatre();
after(() => {
  rmSync(folder, { recursive: true });
  return theatre.close();
});

function run(program, ...options) {
  return execFileSync(program, options, { cwd: folder, encoding: "utf8" });
}

function tool(name, ...options) {
  const { bin } = JSON.parse(readFileSync(join(PACKAGE, "node_modules", name, "package.json"), "utf8"));
  return run(process.execPath, join(PACKAGE, "node_modules", name, typeof bin === "string" ? bin : Object.values(bin)[0]), ...options);
}

const tarball = join(folder, run("npm", "pack", PACKAGE, "--ignore-scripts", "--silent").trim());
writeFileSync(join(folder, "package.json"), "{}");
run("npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", tarball);
writeFileSync(join(folder, "imports.mjs"), `import * as all from "${NAME}";\nexport default all;\n`);

const imported = (await import(pathToFileURL(join(folder, "imports.mjs")))).default;
const require = createRequire(join(folder, "index.js"));

for (const story of STORIES) test(`installed, ${story.side}: ${story.name}`, () => theatre.play(story, imported));

test("the package has no dependency", () => {
  assert.deepEqual(readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith(".")), [NAME]);
});

test("`import` and `require` give the same classes, under the same names", () => {
  assert.deepEqual({ ...imported }, { ...require(NAME) });
  assert.equal(require(`${NAME}/topgg`), require(NAME));
});

test("the package has at most 12 KB", () => {
  const { size } = statSync(tarball);
  assert.ok(size <= MOST_BYTES, `${size} bytes`);
});

for (const [name, module] of Object.entries({ "program.mts": "node20", "program.cts": "node20", "program.ts": "preserve" })) {
  test(`the types hold in a strict ${name} with modules as ${module}, without --skipLibCheck`, () => {
    writeFileSync(
      join(folder, name),
      `import { Client, Receiver, TooFarOff } from "votegate-client";
       import { topgg } from "votegate-client/topgg";
       const options = { key: "vg_key", botId: "1".repeat(18), baseUrl: "https://votes.example", timeout: undefined };
       export const known: Promise<boolean> = new Client(options).hasVoted("3".repeat(18));
       export const given = (error: unknown): number | null => (error instanceof TooFarOff ? error.given : null);
       export const receiver = new Receiver({ token: "token", onVote: ({ user }) => user.length });
       export const sdk: object = topgg(options);`,
    );
    const strict = ["--strict", "--exactOptionalPropertyTypes", "--noEmit", "--ignoreConfig", "--target", "es2022", "--module", module];
    assert.equal(tool("typescript", ...strict, "--typeRoots", join(PACKAGE, "node_modules/@types"), "--types", "node", name), "");
  });
}

test("publint finds nothing", () => {
  assert.match(tool("publint", tarball, "--strict"), /All good!/);
});

test("@arethetypeswrong/cli finds nothing", () => {
  assert.match(tool("@arethetypeswrong/cli", tarball), /No problems found/);
});

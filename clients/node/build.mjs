// Builds dist/: a CommonJS module and its types, and beside each a module for `import` that only re-exports the names.
//
// So there is one copy of every class, and `instanceof` works in a program that uses both `import` and `require`. The modules of
// src/ are joined into one file, because separate files are larger, and a test bounds the size of the package.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const OWN_IMPORT = /^(?:im|ex)port .* from "\.\/(.*)";\n/gm;
const EXPORTED = /^export (?=async|class|const|function)/gm;

function compiled(...options) {
  const folder = mkdtempSync(join(tmpdir(), "votegate-build-"));
  execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "--outDir", folder, ...options], { stdio: "inherit" });
  return folder;
}

/** Returns the texts of all modules that a module imports, each once, and then its own. Tabs replace four spaces: they are shorter. */
function joined(folder, ending, name = "index", seen = new Set()) {
  if (seen.has(name)) return "";
  seen.add(name);
  const text = readFileSync(join(folder, name + ending), "utf8");
  const needed = [...text.matchAll(OWN_IMPORT)].map(([, other]) => joined(folder, ending, other, seen));
  return [...needed, text.replace(OWN_IMPORT, "").replace(/^( {4})+/gm, (indent) => "\t".repeat(indent.length / 4))].join("");
}

process.chdir(import.meta.dirname);
rmSync("dist", { recursive: true, force: true });
mkdirSync("dist");

const code = compiled("--removeComments");
const names = [...readFileSync(join(code, "index.js"), "utf8").matchAll(/\{(.*)\}/g)].flatMap(([, list]) => list.trim().split(", ")).sort();
const required = joined(code, ".js").replace(/^import (.*) from (.*);$/gm, "const $1 = require($2);").replace(EXPORTED, "");
new Function(`"use strict"; { ${required} }`); // throws if two modules declare the same name
writeFileSync("dist/index.js", `"use strict";\n${required}module.exports = { ${names.join(", ")} };\n`);
writeFileSync("dist/index.mjs", `export { ${names.join(", ")} } from "./index.js";\n`);

const types = compiled("--declaration", "--emitDeclarationOnly", "--stripInternal");
writeFileSync("dist/index.d.ts", `${joined(types, ".d.ts").replace(/^export \{\};\n/gm, "")}export {};\n`); // without it, all declarations are exported
writeFileSync("dist/index.d.mts", 'export * from "./index.js";\n');

for (const folder of [code, types]) rmSync(folder, { recursive: true });

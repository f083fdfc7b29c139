// Builds dist/: CommonJS by the compiler, and beside each entry a module that only names its exports.
//
// So there is one copy of every class, and `instanceof` works in a program that uses both `import` and `require`.

import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const ENTRIES = ["index", "topgg"]; // each has its lines under "exports" in package.json
const INTERNAL = ["exchange", "replies"]; // no type of an entry uses their types

const require = createRequire(import.meta.url);

function compile(...options) {
  execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", ...options], { stdio: "inherit" });
}

process.chdir(import.meta.dirname);
rmSync("dist", { recursive: true, force: true });
compile("--emitDeclarationOnly");
compile("--declaration", "false", "--removeComments");
for (const module of INTERNAL) rmSync(`dist/${module}.d.ts`);
for (const entry of ENTRIES) {
  const names = Object.keys(require(`./dist/${entry}.js`)).sort();
  writeFileSync(`dist/${entry}.mjs`, `export { ${names.join(", ")} } from "./${entry}.js";\n`);
  writeFileSync(`dist/${entry}.d.mts`, `export * from "./${entry}.js";\n`);
}

// Builds dist/: CommonJS by the compiler, without comments and indents, and beside each entry a module that only names its exports.
//
// So there is one copy of every class, and `instanceof` works in a program that uses both `import` and `require`.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const ENTRIES = ["index", "topgg"]; // each has its lines under "exports" in package.json
const INTERNAL = ["bodies", "exchange", "quietly", "replies"]; // no type of an entry uses their types

const require = createRequire(import.meta.url);

function compile(...options) {
  execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", ...options], { stdio: "inherit" });
}

process.chdir(import.meta.dirname);
rmSync("dist", { recursive: true, force: true });
compile("--emitDeclarationOnly");
compile("--declaration", "false", "--removeComments");
for (const name of readdirSync("dist").filter((name) => /\.(js|d\.ts)$/.test(name))) {
  writeFileSync(`dist/${name}`, readFileSync(`dist/${name}`, "utf8").replace(/^ +/gm, ""));
}
for (const module of INTERNAL) rmSync(`dist/${module}.d.ts`);
for (const entry of ENTRIES) {
  const names = Object.keys(require(`./dist/${entry}.js`)).sort();
  writeFileSync(`dist/${entry}.mjs`, `export { ${names.join(", ")} } from "./${entry}.js";\n`);
  writeFileSync(`dist/${entry}.d.mts`, `export * from "./${entry}.js";\n`);
}

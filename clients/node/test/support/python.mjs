// Programs of the repository in Python, which speak lines of JSON.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

const ROOT = join(import.meta.dirname, "../../../..");
const PYTHON = process.env.PYTHON ?? join(ROOT, ".venv/bin/python");

export class PythonProgram {
  #child;
  #lines;
  #ended;

  constructor(module, ...options) {
    this.#child = spawn(PYTHON, ["-m", module, ...options], { cwd: ROOT, stdio: ["pipe", "pipe", "inherit"] });
    this.#ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  write(command) {
    this.#child.stdin.write(`${JSON.stringify(command)}\n`);
  }

  async read() {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("The program has ended.");
    return JSON.parse(value);
  }

  end() {
    this.#child.stdin.end();
    return this.#ended;
  }
}

// Mistakes that authors of clients make, put into a copy of the built package on purpose.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const require = createRequire(import.meta.url);
const DIST = join(import.meta.dirname, "../../dist");

/** Each changes one place, and breaks a story. */
export const MUTANTS = {
  "no wait": ["this.#clock.sleep((wait + Math.random()) * 1000)", "this.#clock.sleep(0)", "429 with retry-after alone"],
  "no jitter": [
    "(wait + Math.random()) * 1000",
    "wait * 1000",
    "jitter spreads the retries of bots that failed at the same time",
  ],
  "the wait from the body": [
    'const asked = headers.get("retry-after");',
    'const asked = String(arguments[0].body?.retry_after ?? "");',
    "429 with retry-after: the client waits so long, whatever the body says",
  ],
  "no bound of waits": ["waited > this.#longestWait", "false", "429 for two hours is an error at once"],
  "the limit only once it is hit": ["if (usedUp > 0)", "if (false)", "nothing left: the next call waits for the reset"],
  "broken connections are not tried again": ["error.status === 0 ||", "", "an answer that is not HTTP"],
  "no minimum wait of the poster": [
    "Math.max(error.wait, LEAST_WAIT)",
    "Math.max(error.wait, 1)",
    "after a page with a wait of 0, the next push comes a minute later",
  ],
  "redirects are followed": ['redirect: "manual"', 'redirect: "follow"', "307: a redirect is not followed"],
  "bodies of any length": ["size > MOST_BYTES", "false", "200 with 10 MB"],
  "a scheme before the key": ["authorization: checkedKey(", 'authorization: "Bearer " + checkedKey(', "a vote status"],
  "the key in an error": ["return errorOf(reply, this.#clock.now());", "return Object.assign(errorOf(reply, this.#clock.now()), { request: this.#headers });", "401: a wrong key"],
  "ids as numbers": ['checkedId(userId, "userId")', "Number(userId)", "a user id of 20 digits is not rounded"],
  "each push is sent": [
    "carried = this.#pushes.length;\n\t\t\t\tconst fields",
    "carried = 1; const fields",
    "while a push is under way, only the newest counts wait",
  ],
  "`==` on signatures": ["sent.some((other) => same(one, other))", "sent.some((other) => one == other)", "a vote for a bot"],
  "only the first signature": [".split(/,? /)", ".split(/,? /).slice(0, 1)", "a wrong and a right signature are accepted"],
  "the signature of a body that was written again": [
    ".update(body)",
    ".update(JSON.stringify(JSON.parse(String(body))))",
    "a body with spaces is checked as it came",
  ],
  "no check of the timestamp": ["> TOLERANCE_SECONDS", "> Infinity", "the receiver's clock is 301 seconds behind"],
  "each repeat is rewarded": ["if (this.#claimed.has(id))", "if (false)", "a repeated event is accepted and rewarded once"],
  "a test is a vote": ["if (raw.test === true)", "if (false)", "a test"],
  "only the types of today": ["if (type !== null)", 'if (/^(review|vote|rating)\\./.test(type))', "an event of an unknown type"],
};

/** Gives `use` a copy of the package with the change. */
export async function withMutant([old, changed], use) {
  const folder = mkdtempSync(join(tmpdir(), "votegate-mutant-"));
  try {
    cpSync(DIST, folder, { recursive: true });
    const path = join(folder, "index.js");
    const source = readFileSync(path, "utf8");
    assert.equal(source.split(old).length, 2, `The package has changed: it must have ${old} exactly once`);
    writeFileSync(path, source.replace(old, () => changed));
    await use(require(path));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

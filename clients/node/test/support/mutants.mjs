// Mistakes that authors of clients make, put into a copy of the built package on purpose.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const require = createRequire(import.meta.url);
const DIST = join(import.meta.dirname, "../../dist");

/** Each changes one place of one file, and breaks a story. */
export const MUTANTS = {
  "no wait": ["client.js", "this.#clock.sleep((wait + Math.random()) * 1000)", "this.#clock.sleep(0)", "429 with retry-after alone"],
  "the wait from the body": [
    "replies.js",
    'const asked = headers.get("retry-after");',
    'const asked = String(arguments[0].body?.retry_after ?? "");',
    "429 with retry-after: the client waits so long, whatever the body says",
  ],
  "no bound of waits": ["client.js", "waited > this.#longestWait", "false", "429 for two hours is an error at once"],
  "the limit only once it is hit": ["client.js", "if (usedUp > 0)", "if (false)", "nothing left: the next call waits for the reset"],
  "broken connections are not tried again": ["replies.js", "error.status === 0 ||", "", "an answer that is not HTTP"],
  "redirects are followed": ["exchange.js", 'redirect: "manual"', 'redirect: "follow"', "307: a redirect is not followed"],
  "bodies of any length": ["exchange.js", "size > MOST_BYTES", "false", "200 with 10 MB"],
  "a scheme before the key": ["client.js", "authorization: checkedKey(", 'authorization: "Bearer " + checkedKey(', "a vote status"],
  "the key in an error": ["client.js", "return (0, replies_1.errorOf)(reply, this.#clock.now());", "return Object.assign((0, replies_1.errorOf)(reply, this.#clock.now()), { request: this.#headers });", "401: a wrong key"],
  "ids as numbers": ["client.js", 'checkedId(userId, "userId")', "Number(userId)", "a user id of 20 digits is not rounded"],
  "each push is sent": [
    "client.js",
    "carried = this.#pushes.length;\nconst fields",
    "carried = 1;\nconst fields",
    "while a push is under way, only the newest counts wait",
  ],
  "`==` on signatures": ["signature.js", "sent.some((other) => same(one, other))", "sent.some((other) => one == other)", "a vote for a bot"],
  "only the first signature": ["signature.js", ".split(/,? /)", ".split(/,? /).slice(0, 1)", "a wrong and a right signature are accepted"],
  "the signature of a body that was written again": [
    "signature.js",
    ".update(body)",
    ".update(JSON.stringify(JSON.parse(String(body))))",
    "a body with spaces is checked as it came",
  ],
  "no check of the timestamp": ["signature.js", "> TOLERANCE_SECONDS", "> Infinity", "the receiver's clock is 301 seconds behind"],
  "each repeat is rewarded": ["store.js", "if (this.#claimed.has(id))", "if (false)", "a repeated event is accepted and rewarded once"],
  "a test is a vote": ["payload.js", "if (raw.test === true)", "if (false)", "a test"],
  "only the types of today": ["payload.js", "if (type !== null)", 'if (/^(review|vote|rating)\\./.test(type))', "an event of an unknown type"],
};

/** Gives `use` a copy of the package with the change. */
export async function withMutant([file, old, changed], use) {
  const folder = mkdtempSync(join(tmpdir(), "votegate-mutant-"));
  try {
    cpSync(DIST, folder, { recursive: true });
    const path = join(folder, file);
    const source = readFileSync(path, "utf8");
    assert.equal(source.split(old).length, 2, `${file} has changed: it has not one ${old}`);
    writeFileSync(path, source.replace(old, () => changed));
    await use(require(join(folder, "index.js")));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// What no story tells: what a Client refuses when it is made, and that it shows its key nowhere.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import { Client, Unavailable } from "votegate-client";

import { FakeClock } from "./support/clock.mjs";

const OPTIONS = { key: "vg_secret", botId: "111111111111111111", baseUrl: "http://127.0.0.1:1" };

test("a key that no header can carry is refused, and not shown", () => {
  for (const key of ["Bearer vg_secret", "vg_secret\n", "vg_sécret", "", undefined]) {
    assert.throws(
      () => new Client({ ...OPTIONS, key }),
      (error) => error instanceof TypeError && !error.message.includes("vg_s"),
    );
  }
});

test("an id that is a number, or no id, is refused", async () => {
  const message = (name) => ({ name: "TypeError", message: `${name} must be 17 to 20 digits, as text` });
  assert.throws(() => new Client({ ...OPTIONS, botId: 111111111111111111 }), message("botId"));
  await assert.rejects(new Client(OPTIONS).hasVoted("bob"), message("userId"));
});

test("an address that is missing, none of http, or names a user, is refused", () => {
  for (const baseUrl of [undefined, "", "votes.example", "votes.example:8080", "https://", "ftp://votes.example", "https://user:pass@votes.example"]) {
    assert.throws(() => new Client({ ...OPTIONS, baseUrl }), { name: "TypeError", message: "baseUrl must be like https://votes.example" });
  }
});

test("counts that are no whole numbers are refused", async () => {
  const client = new Client(OPTIONS);
  for (const serverCount of ["1210", 1.5, NaN, null, 2 ** 53]) await assert.rejects(client.postStats({ serverCount }), TypeError);
});

test("the first failure of each call is logged, with the wait and without the key", async () => {
  const lines = [];
  const broken = () => Promise.reject(new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") }));
  const client = new Client({ ...OPTIONS, fetch: broken, clock: new FakeClock(), log: (line) => lines.push(line) });
  for (const user of ["333333333333333333", "444444444444444444"]) await assert.rejects(client.hasVoted(user), Unavailable);
  const line = "A request to 127.0.0.1:1 waits 1 s: fetch failed: connect ECONNREFUSED";
  assert.deepEqual(lines, [line, line]);
});

test("the message of a used-up limit has the wait, its text is the platform's", async () => {
  const refusal = { success: false, error: "Too many requests, please try again later.", status: 429 };
  const fetch = async () => Response.json(refusal, { status: 429, headers: { "retry-after": "7188" } });
  const error = await new Client({ ...OPTIONS, fetch }).hasVoted("333333333333333333").then(assert.fail, (error) => error);
  assert.deepEqual([error.message, error.text], [`429 ${refusal.error} Wait 7188 s.`, refusal.error]);
});

test("the key is in no text of a client, nor of the error of a broken connection", async () => {
  const client = new Client({ ...OPTIONS, longestWait: 0 });
  const error = await client.hasVoted("333333333333333333").then(assert.fail, (error) => error);
  assert.ok(error instanceof Unavailable);
  assert.match(error.text, /ECONNREFUSED|bad port/);
  for (const value of [client, error]) {
    for (const text of [inspect(value, { depth: 9, showHidden: true }), JSON.stringify(value), String(value)]) assert.ok(!text.includes("vg_secret"), text);
  }
});

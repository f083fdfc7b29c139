// What no story tells: what a Client refuses when it is made, and that it shows its key nowhere.

import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
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

test("a time-out may be as long as one likes", async () => {
  const fetch = async (_url, { signal }) => {
    await new Promise((resume) => setTimeout(resume, 20));
    signal.throwIfAborted();
    return Response.json({ success: true });
  };
  for (const timeout of [3_000_000, Infinity]) await new Client({ ...OPTIONS, timeout, longestWait: 0, fetch }).postStats({ serverCount: 1 });
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

test("each request names the client, and only a push has a content type", async () => {
  const sent = [];
  const fetch = async (_url, { headers }) => {
    sent.push([headers["user-agent"], headers["content-type"]]);
    return Response.json({ success: true, voted: false, vote: 0, lastVote: null });
  };
  const client = new Client({ ...OPTIONS, fetch });
  await client.postStats({ serverCount: 1 });
  await client.hasVoted("333333333333333333");
  const agent = "votegate-client/0.1.0 (Node)";
  assert.deepEqual(sent, [[agent, "application/json"], [agent, undefined]]);
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

test("a broken answer that quotes the key does not bring it into the error", async () => {
  const server = net.createServer((socket) =>
    socket.once("data", (request) => socket.end(`HTTP/1.1 200 OK\r\nbroken ${String(request).replaceAll("\r\n", " ")}\r\n\r\n`)),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  const client = new Client({ ...OPTIONS, baseUrl: `http://127.0.0.1:${server.address().port}`, longestWait: 0 });
  const error = await client.hasVoted("333333333333333333").then(assert.fail, (error) => error);
  server.close();
  assert.ok(error instanceof Unavailable);
  assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes("vg_secret"));
});

test("a log that fails costs no call and ends no program", async () => {
  const unhandled = [];
  const keep = (error) => unhandled.push(error);
  process.on("unhandledRejection", keep);
  for (const log of [() => { throw new Error("The log fails."); }, async () => { throw new Error("The log fails."); }]) {
    const answers = [new Response("", { status: 503 }), Response.json({ success: true })];
    await new Client({ ...OPTIONS, clock: new FakeClock(), log, fetch: async () => answers.shift() }).postStats({ serverCount: 1 });
  }
  await new Promise((resume) => setTimeout(resume, 20));
  process.off("unhandledRejection", keep);
  assert.deepEqual(unhandled, []);
});

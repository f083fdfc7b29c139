// Programs of the README, of docs/bots.md and of docs/coming-from.md, word by word but for the port and for `import`, which a
// function cannot contain.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import { BOT, post, SECRET, signed, USER } from "./signing.mjs";

const require = createRequire(import.meta.url);
const README = read("../README.md");
const GUIDE = read("../../../docs/bots.md");
const COMING_FROM = read("../../../docs/coming-from.md");
const ENV = { WEBHOOK_SECRET: SECRET, API_KEY: "vg_key", BOT_ID: BOT, API: "https://votes.example" };
const AsyncFunction = (async () => {}).constructor;
const EVENTS = [
  { user: USER, test: true },
  { bot: BOT, user: USER, test: false },
  { type: "review.approved", bot: BOT, at: 1750000000000 },
];

function read(name) {
  const blocks = readFileSync(new URL(name, import.meta.url), "utf8").matchAll(/^```js\n(.*?)^```$/gms);
  return [...blocks].map(([, program]) => program);
}

/** Run the program that contains a text, and return the value of an expression after it. */
async function run(programs, text, expression, names) {
  const [program] = programs.filter((program) => program.includes(text));
  const body = program
    .replace(/^import (.*) from (".*");$/gm, "const $1 = require($2);")
    .replace(/^(\S+)\.listen\(9000\)/m, 'const server = $1.listen(0, "127.0.0.1")');
  const given = { require, process: { env: ENV }, ...names };
  return new AsyncFunction(...Object.keys(given), `${body}; return ${expression};`)(...Object.values(given));
}

for (const [name, programs] of Object.entries({ README, COMING_FROM })) {
  test(`the receiver of ${name} rewards a vote alone`, async (context) => {
    context.mock.method(console, "log", () => {});
    const rewarded = [];
    const { server, receiver } = await run(programs, "new Receiver", "{ server, receiver }", { reward: (user) => rewarded.push(user) });
    if (!server.listening) await once(server, "listening");
    const statuses = [];
    for (const event of EVENTS) statuses.push((await post(server, signed(event))).status);
    await receiver.finish();
    server.close();
    assert.deepEqual([statuses, rewarded], [[204, 204, 204], [USER]]);
  });
}

/** Keep what is pushed to the platform. */
function platform(context) {
  return new Promise((resolve) => {
    context.mock.method(globalThis, "fetch", async (url, { method, headers, body }) => {
      if (method === "GET") return Response.json({ voted: true, vote: 1, lastVote: 1750000000000 });
      resolve({ url, method, key: headers.authorization, body });
      return Response.json({ success: true });
    });
  });
}

function pushOf(servers) {
  return { url: `https://votes.example/bots/${BOT}/stats`, method: "PATCH", key: "vg_key", body: JSON.stringify({ server_count: servers }) };
}

test("the bot of the README pushes its servers and thanks a voter", async (context) => {
  const pushed = platform(context);
  const thanked = [];
  const bot = { isReady: () => true, guilds: { cache: { size: 1210 } }, shard: null };
  await run(README, "autoPost", "null", { bot, user: { id: USER }, thank: ({ id }) => thanked.push(id) });
  assert.deepEqual([await pushed, thanked], [pushOf(1210), [USER]]);
});

test("topgg-autoposter of docs/coming-from.md pushes to the platform, with its key", async (context) => {
  const { Client } = require("discord.js");
  const bot = new Client({ intents: [] });
  bot.ws.status = 0;
  const pushed = platform(context);
  context.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  await run(COMING_FROM, "topgg-autoposter", "null", { bot });
  await new Promise((resume) => setImmediate(resume));
  context.mock.timers.tick(5000);
  assert.deepEqual(await pushed, pushOf(0));
});

test("the store of the guide takes an id once", async () => {
  const rows = new Set();
  const pool = { query: async (_text, [id]) => ({ rowCount: rows.size < rows.add(id).size ? 1 : 0 }) };
  const store = await run(GUIDE, "claim(id)", "store", { pool });
  assert.deepEqual([await store.claim("1"), await store.claim("1"), await store.claim("2")], [true, false, true]);
});

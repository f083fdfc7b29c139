// Programs of the README and of docs/coming-from.md, word by word but for the port and for `import`, which a function cannot contain.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import { BOT, post, SECRET, signed, USER } from "./signing.mjs";

const require = createRequire(import.meta.url);
const README = read("../README.md");
const COMING_FROM = read("../../../docs/coming-from.md");
const ENV = { WEBHOOK_SECRET: SECRET, API_KEY: "vg_key", BOT_ID: BOT, API: "https://votes.example" };
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
function run(programs, text, expression, names) {
  const [program] = programs.filter((program) => program.includes(text));
  const body = program
    .replace(/^import (.*) from (".*");$/gm, "const $1 = require($2);")
    .replace(/^(\S+)\.listen\(9000\)/m, 'const server = $1.listen(0, "127.0.0.1")');
  const given = { require, process: { env: ENV }, ...names };
  return new Function(...Object.keys(given), `${body}; return ${expression};`)(...Object.values(given));
}

for (const [name, programs] of Object.entries({ README, COMING_FROM })) {
  test(`the receiver of ${name} rewards a vote alone`, async (context) => {
    context.mock.method(console, "log", () => {});
    const rewarded = [];
    const { server, receiver } = run(programs, "new Receiver", "{ server, receiver }", { reward: (user) => rewarded.push(user) });
    await once(server, "listening");
    const statuses = [];
    for (const event of EVENTS) statuses.push((await post(server, signed(event))).status);
    await receiver.finish();
    server.close();
    assert.deepEqual([statuses, rewarded], [[204, 204, 204], [USER]]);
  });

  test(`topgg-autoposter of ${name} pushes to the platform, with its key`, async (context) => {
    const { Client } = require("discord.js");
    const { AutoPoster } = require("topgg-autoposter");
    const bot = new Client({ intents: [] });
    bot.ws.status = 0;
    const pushed = new Promise((resolve) => {
      context.mock.method(globalThis, "fetch", async (url, { method, headers, body }) => {
        resolve({ url, method, key: headers.authorization, body });
        return Response.json({ success: true });
      });
    });
    context.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
    run(programs, "votegate-client/topgg", "null", name === "README" ? { bot, AutoPoster } : { bot });
    await new Promise((resume) => setImmediate(resume));
    context.mock.timers.tick(5000);
    const expected = { url: `https://votes.example/bots/${BOT}/stats`, method: "PATCH", key: "vg_key", body: '{"server_count":0}' };
    assert.deepEqual(await pushed, expected);
  });
}

test("the store of the README takes an id once", async () => {
  const rows = new Set();
  const pool = { query: async (_text, [id]) => ({ rowCount: rows.size < rows.add(id).size ? 1 : 0 }) };
  const store = run(README, "claim(id)", "store", { pool });
  assert.deepEqual([await store.claim("1"), await store.claim("1"), await store.claim("2")], [true, false, true]);
});

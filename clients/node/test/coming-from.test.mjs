// The programs of docs/coming-from.md that use this package, word by word but for the port.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import { BOT, post, SECRET, signed, USER } from "./signing.mjs";

const require = createRequire(import.meta.url);
const PAGE = readFileSync(new URL("../../../docs/coming-from.md", import.meta.url), "utf8");
const ENV = { WEBHOOK_SECRET: SECRET, API_KEY: "vg_key", BOT_ID: BOT, API: "https://votes.example" };

/** Run the program that contains a text, and return the value of a name in it. */
function run(text, result, names) {
  const [program] = [...PAGE.matchAll(/^```js\n(.*?)^```$/gms)].map((block) => block[1]).filter((program) => program.includes(text));
  const given = { require, process: { env: ENV }, ...names };
  return new Function(...Object.keys(given), `${program.replace("app.listen(9000)", 'const server = app.listen(0, "127.0.0.1")')}; return ${result};`)(
    ...Object.values(given),
  );
}

test("the receiver of the page rewards a vote, and no test", async () => {
  const rewarded = [];
  const { server, receiver } = run("onVote", "{ server, receiver }", { reward: (user) => rewarded.push(user) });
  await new Promise((resolve) => server.on("listening", resolve));
  const statuses = [];
  for (const event of [{ user: USER, test: true }, { bot: BOT, user: USER, test: false }]) statuses.push((await post(server, signed(event))).status);
  await receiver.finish();
  server.close();
  assert.deepEqual([statuses, rewarded], [[204, 204], [USER]]);
});

test("the poster of the page pushes to the gateway, with its key", async (context) => {
  const { Client } = require("discord.js");
  const bot = new Client({ intents: [] });
  bot.ws.status = 0;
  const pushed = new Promise((resolve) => {
    context.mock.method(globalThis, "fetch", async (url, { method, headers, body }) => {
      resolve({ url, method, key: headers.authorization, body });
      return Response.json({ success: true });
    });
  });
  context.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  const poster = run("topgg-autoposter", "poster", { bot });
  await new Promise((resume) => setImmediate(resume));
  context.mock.timers.tick(5000);
  const expected = { url: `https://votes.example/bots/${BOT}/stats`, method: "PATCH", key: "vg_key", body: '{"server_count":0}' };
  assert.deepEqual(await pushed, expected);
  poster.stop();
});

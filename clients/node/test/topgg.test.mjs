// `topgg` inside the published topgg-autoposter, with a bot of the published discord.js.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import { topgg } from "votegate-client";

const require = createRequire(import.meta.url);
const { Client } = require("discord.js"); // the poster looks for it among what `require` has loaded
const { AutoPoster } = require("topgg-autoposter");

const MINUTE = 60_000;
const WINDOW = 120 * MINUTE;

/** A bot that is ready. It is in `servers` servers. */
function botIn(servers) {
  const bot = new Client({ intents: [] });
  bot.ws.status = 0;
  Object.defineProperty(bot.guilds.cache, "size", { get: () => servers.count });
  return bot;
}

/** A platform with the limit of pushes: two in a window of 120 minutes, which begins with the first. */
function platform() {
  const found = { pushed: [], refused: 0, begin: -Infinity, left: 0 };
  found.fetch = async (_url, { body }) => {
    if (Date.now() - found.begin >= WINDOW) Object.assign(found, { begin: Date.now(), left: 2 });
    const reset = String(Math.ceil((found.begin + WINDOW - Date.now()) / 1000));
    const limits = { "ratelimit-limit": "2", "ratelimit-remaining": String(Math.max(found.left - 1, 0)), "ratelimit-reset": reset };
    if (found.left === 0) {
      found.refused += 1;
      const error = { success: false, error: "Too many requests, please try again later.", status: 429 };
      return Response.json(error, { status: 429, headers: { ...limits, "retry-after": reset } });
    }
    found.left -= 1;
    found.pushed.push({ at: Date.now() / MINUTE, servers: JSON.parse(body).server_count });
    return Response.json({ success: true }, { headers: limits });
  };
  return found;
}

/** Time that moves only by `pass`. */
function fakeTime(context) {
  context.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: 0 });
  const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  return {
    clock: { now: () => Date.now(), monotonic: () => Date.now(), sleep },
    async pass(minutes, each = () => {}) {
      for (let minute = 0; minute < minutes; minute++) {
        context.mock.timers.tick(MINUTE);
        each();
        for (let turn = 0; turn < 5; turn++) await new Promise((resume) => setImmediate(resume));
      }
    },
  };
}

function poster(bot, platform, clock, options = {}) {
  const sdk = topgg({ key: "vg_key", botId: "111111111111111111", baseUrl: "https://votes.example", fetch: platform.fetch, clock });
  const found = AutoPoster("unused", bot, { sdk, ...options });
  const events = { posted: [], errors: [] };
  found.on("posted", (stats) => events.posted.push(stats.serverCount));
  found.on("error", (error) => events.errors.push(error));
  return { ...events, stop: () => found.stop() };
}

test("topgg-autoposter with its default of 30 minutes never gets 429, and pushes the newest counts", async (context) => {
  const time = fakeTime(context);
  const votegate = platform();
  const servers = { count: 100 };
  const posting = poster(botIn(servers), votegate, time.clock);
  await time.pass(12 * 60, () => (servers.count = 100 + Math.floor(Date.now() / MINUTE)));
  posting.stop();
  assert.deepEqual([votegate.refused, posting.errors], [0, []]);
  const pushes = votegate.pushed.length;
  assert.ok(pushes >= 11 && pushes <= 12, `${pushes} pushes in 12 hours: as many as the limit allows`);
  for (const { at, servers } of votegate.pushed) assert.ok(at + 100 - servers <= 30, "counts that waited are not sent in place of newer ones");
  assert.ok(posting.posted.length >= 22, "each post ends, also one that waited");
});

test("after a restart with the limit used up, a push waits for the end of the window", async (context) => {
  const time = fakeTime(context);
  const votegate = platform();
  Object.assign(votegate, { begin: Date.now(), left: 0 });
  const posting = poster(botIn({ count: 200 }), votegate, time.clock);
  await time.pass(WINDOW / MINUTE - 1);
  assert.deepEqual([votegate.refused, votegate.pushed, posting.posted], [1, [], []]);
  await time.pass(3);
  posting.stop();
  assert.equal(votegate.refused, 1);
  assert.deepEqual(new Set(posting.posted), new Set([200]));
  assert.ok(posting.posted.length >= 4, "those that waited, too");
  assert.deepEqual(posting.errors, []);
});

test("the count of one shard alone is not pushed", async (context) => {
  const time = fakeTime(context);
  const votegate = platform();
  const bot = botIn({ count: 100 });
  bot.shard = { ids: [1] };
  bot.options.shardCount = 2;
  const posting = poster(bot, votegate, time.clock);
  await time.pass(2);
  posting.stop();
  assert.match(posting.errors[0].message, /count of shard 1 alone.*ShardingManager/);
  assert.deepEqual(votegate.pushed, []);
});

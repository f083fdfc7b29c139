// autoPost with the bots of the published discord.js and Eris.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";

import { Client as DiscordClient, ShardingManager } from "discord.js";
import { Client as ErisClient } from "eris";
import { autoPost, Client, InvalidKey } from "votegate-client";

import { FakeClock } from "./support/clock.mjs";

const SUCCESS = () => Response.json({ success: true });
const HOUR = 3600;

/** Runs autoPost until the platform has been asked as often as there are answers. Returns the pushes, with their seconds. */
async function pushesOf(bot, answers, options = {}) {
  const clock = new FakeClock();
  const pushes = [];
  const done = new AbortController();
  const fetch = async (_url, { body }) => {
    const answer = answers[pushes.length];
    pushes.push({ at: clock.monotonic() / 1000, ...JSON.parse(body) });
    if (pushes.length === answers.length) {
      poster.stop();
      done.abort();
    }
    return answer();
  };
  const client = new Client({ key: "vg_key", botId: "111111111111111111", baseUrl: "http://votes.example", fetch, clock });
  const poster = autoPost(bot, client, { clock, ...options });
  await once(done.signal, "abort");
  await new Promise((resume) => setTimeout(resume, 20)); // a poster that goes on would push again
  return pushes;
}

function discordBot(servers, status = 0) {
  const bot = new DiscordClient({ intents: [] });
  bot.ws.status = status;
  Object.defineProperty(bot.guilds.cache, "size", { get: () => servers });
  return bot;
}

function refusal(status, error, headers = {}) {
  return () => Response.json({ success: false, error, status }, { status, headers });
}

test("a discord.js Client pushes once an hour", async () => {
  const pushes = await pushesOf(discordBot(1210), [SUCCESS, SUCCESS, SUCCESS], { commandCount: 42 });
  assert.deepEqual(
    pushes,
    [0, HOUR, 2 * HOUR].map((at) => ({ at, server_count: 1210, command_count: 42 })),
  );
});

test("nothing is pushed before the bot is ready", async () => {
  const bot = discordBot(1210, 8);
  setTimeout(() => (bot.ws.status = 0), 20);
  const [push] = await pushesOf(bot, [SUCCESS]);
  assert.ok(push.at >= 5, `pushed after ${push.at} seconds`);
});

test("an Eris Client counts its servers, also those that are unavailable", async () => {
  const bot = new ErisClient("Bot token");
  bot.guilds.set("1", { id: "1" });
  bot.guilds.set("2", { id: "2" });
  bot.unavailableGuilds.set("3", { id: "3" });
  setTimeout(() => (bot.ready = true), 20);
  const [push] = await pushesOf(bot, [SUCCESS]);
  assert.equal(push.server_count, 3);
  assert.ok(push.at >= 5, `pushed after ${push.at} seconds`);
});

test("without onError, a failure is logged with its reason and the next try", async () => {
  const lines = [];
  await pushesOf(discordBot(1210), [refusal(401, "Invalid API key."), SUCCESS], { log: (line) => lines.push(line) });
  assert.deepEqual(lines, ["The counts were not pushed (401 Invalid API key.). Next try in 3600 s."]);
});

test("a bot that restarts within the window pushes when the limit lets it, and logs the wait alone", async () => {
  const limit = { "retry-after": "7157", "ratelimit-remaining": "0", "ratelimit-reset": "7157" };
  const errors = [];
  const lines = [];
  const answers = [refusal(429, "Too many requests, please try again later.", limit), SUCCESS];
  const options = { onError: (error) => errors.push(error), log: (line) => lines.push(line) };
  const [first, second] = await pushesOf(discordBot(1210), answers, options);
  assert.deepEqual([first.at, errors], [0, []]);
  assert.deepEqual(lines, ["The counts were not pushed (429 Too many requests, please try again later. Wait 7157 s.). Next try in 7157 s."]);
  assert.ok(second.at >= 7157 && second.at < 7160, `pushed after ${second.at} seconds`);
});

test("a wait that no limit has ends within a day", async () => {
  for (const seconds of ["1800000000", "9".repeat(400)]) {
    const limit = { "retry-after": seconds, "ratelimit-remaining": "0", "ratelimit-reset": seconds };
    const [, second] = await pushesOf(discordBot(1210), [refusal(429, "Too many requests.", limit), SUCCESS]);
    assert.ok(second.at >= 24 * HOUR && second.at < 24 * HOUR + 120, `pushed after ${second.at} seconds`);
  }
});

test("a failure is reported and stops nothing, even if the report fails", async () => {
  const errors = [];
  const onError = async (error) => {
    errors.push(error);
    throw new Error("The report fails.");
  };
  const onPost = () => {
    throw new Error("The handler fails.");
  };
  const pushes = await pushesOf(discordBot(1210), [refusal(401, "Invalid API key."), SUCCESS, SUCCESS], { onError, onPost });
  assert.deepEqual(pushes.map(({ at }) => at), [0, HOUR, 2 * HOUR]);
  assert.deepEqual(errors.map((error) => error.constructor), [InvalidKey]);
});

test("a bot in several processes pushes the servers that a function returns, once it is ready", async () => {
  const bot = discordBot(1210, 8);
  setTimeout(() => (bot.ws.status = 0), 20);
  const counts = [2500, null, 2510];
  const serverCount = async () => counts.shift() ?? assert.fail("A process has died.");
  const errors = [];
  const [first, second] = await pushesOf(bot, [SUCCESS, SUCCESS], { serverCount, onError: ({ message }) => errors.push(message) });
  assert.ok(first.at >= 5, `pushed after ${first.at} seconds`);
  assert.deepEqual([first.server_count, second.server_count, errors], [2500, 2510, ["A process has died."]]);
});

test("the number of commands may be a function", async () => {
  const [push] = await pushesOf(discordBot(1210), [SUCCESS], { commandCount: async () => 42 });
  assert.deepEqual(push, { at: 0, server_count: 1210, command_count: 42 });
});

test("a limit that names no wait is tried again after 300 seconds, or sooner by the interval", async () => {
  const refused = refusal(429, "Too many requests, please try again later.");
  for (const [interval, wait] of [[HOUR, 300], [200, 200]]) {
    const answers = [...Array(6).fill(refused), SUCCESS];
    const pushes = await pushesOf(discordBot(1210), answers, { interval, log: () => {} });
    assert.ok(pushes[6].at - pushes[5].at >= wait && pushes[6].at - pushes[5].at <= wait + 1);
  }
});

test("a bot whose servers cannot be counted is asked again", async () => {
  const bot = new ShardingManager(join(import.meta.dirname, "support/shard.cjs"), { totalShards: 1 });
  bot.shards.set(0, { ready: true });
  let asked = 0;
  bot.fetchClientValues = async () => {
    asked += 1;
    if (asked === 1) throw new Error("A shard has died.");
    return [1210];
  };
  const errors = [];
  const [push] = await pushesOf(bot, [SUCCESS], { onError: ({ message }) => errors.push(message) });
  assert.deepEqual([push, errors], [{ at: 300, server_count: 1210 }, ["A shard has died."]]);
});

test("a program ends although autoPost waits", () => {
  const program = `
    const { autoPost, Client } = require("votegate-client");
    const client = new Client({ key: "vg_key", botId: "111111111111111111", baseUrl: "http://127.0.0.1:1" });
    autoPost({ isReady: () => false, guilds: { cache: { size: 0 } }, shard: null }, client);
  `;
  const { status } = spawnSync(process.execPath, ["--eval", program], { cwd: join(import.meta.dirname, ".."), timeout: 60_000 });
  assert.equal(status, 0);
});

test("a ShardingManager pushes the sum of all shards; among its processes only shard 0 does, for all", async () => {
  const manager = new ShardingManager(join(import.meta.dirname, "support/shard.cjs"), { totalShards: 2, respawn: false });
  const reports = [];
  let reported;
  const report = new Promise((resolve) => (reported = resolve));
  manager.on("shardCreate", (shard) =>
    shard.on("message", (message) => {
      if (!message.pushed) return;
      reports.push(message);
      reported();
    }),
  );
  const ownPush = pushesOf(manager, [SUCCESS]); // before there is any shard
  await manager.spawn({ delay: 0 });
  const [push] = await ownPush;
  await report;
  for (const shard of manager.shards.values()) shard.kill();
  assert.equal(push.server_count, 3000);
  assert.deepEqual(reports, [{ shard: 0, pushed: { server_count: 3000 } }]);
});

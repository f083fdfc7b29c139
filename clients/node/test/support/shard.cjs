// A process that a ShardingManager of discord.js starts: a bot that is ready, without a chat platform.

const { Client } = require("discord.js");
const { autoPost, Client: Votegate } = require("votegate-client");

const bot = new Client({ intents: [] });
const [shard] = bot.shard.ids;
Object.defineProperty(bot.guilds.cache, "size", { value: 1000 * (shard + 1) });

const votegate = new Votegate({
  key: "vg_key",
  botId: "111111111111111111",
  baseUrl: "http://votes.example",
  fetch: async (_url, { body }) => {
    await bot.shard.send({ shard, pushed: JSON.parse(body) });
    return Response.json({ success: true });
  },
});
// Polls without its pauses of seconds.
autoPost(bot, votegate, { clock: { now: Date.now, monotonic: Date.now, sleep: (wait) => new Promise((resolve) => setTimeout(resolve, wait / 100).unref()) } });

bot.ws.status = 0;
bot.emit("shardReady", shard);

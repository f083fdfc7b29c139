// Lets discord.js connect to the address in CHAT instead of the chat platform's.

const { createRequire } = require("node:module");

const library = createRequire(createRequire(`${process.env.BOT_FOLDER}/`).resolve("discord.js"));
library("@discordjs/rest").DefaultRestOptions.api = `http://${process.env.CHAT}/api`;

const undici = library("undici"); // a ShardingManager asks by itself how many shards it needs
const { fetch } = undici;
undici.fetch = (url, ...rest) => fetch(String(url).replace("https://discord.com", `http://${process.env.CHAT}`), ...rest);

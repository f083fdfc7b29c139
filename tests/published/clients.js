// Pushes a count by a published client, and prints the host that it asks for. It gets another address in each way that one may try.
//
// node clients.js PACKAGE ADDRESS
"use strict";
const dns = require("node:dns");

const [name, address] = process.argv.slice(2);
const NAMES = ["address", "api", "apiUrl", "base", "baseURL", "baseUrl", "base_url", "endpoint", "host", "hostname", "origin", "url"];
const options = Object.fromEntries(NAMES.map((option) => [option, address]));

dns.lookup = (host) => {
  console.log(host);
  process.exit(0);
};

const PUSHES = {
  "@top-gg/sdk"() {
    const { Api } = require("@top-gg/sdk");
    return new Api("the-key", options).postStats({ serverCount: 1 });
  },
  "dblapi.js"() {
    const DBL = require("dblapi.js");
    return new DBL("the-key", options).postStats(1);
  },
  discordbotlist() {
    const { postBotStats } = require("discordbotlist");
    return postBotStats("the-key", "111111111111111111", { guilds: 1 }, options);
  },
};

PUSHES[name]();

// Compares the client with a bare fetch, and with one that has a time-out: one vote check after the other, in turns.
//
// `node bench.mjs` asks a server that does nothing else, in a process of its own: the worst case.
// `node bench.mjs ADDRESS KEY BOT_ID` asks a gateway, whose limits must be high enough for 36,000 checks.

import { fork } from "node:child_process";
import { once } from "node:events";
import http from "node:http";

import { Client } from "votegate-client";

const BOT = "111111111111111111";
const USER = "333333333333333333";
const CHECKS = 50;
const ROUNDS = 200;
const WARM_UP = 40;
const HEADERS = {
  "content-type": "application/json",
  "ratelimit-limit": "100",
  "ratelimit-remaining": "99",
  "ratelimit-reset": "300",
  "ratelimit-policy": "100;w=300",
  "x-request-id": "9f2c4e6a8b0d1f35",
};
const BODY = JSON.stringify({ voted: true, vote: 3, lastVote: 1749996400000 });

function serve() {
  const server = http.createServer((_request, response) => response.writeHead(200, HEADERS).end(BODY));
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
}

/** Returns the microseconds of one check: of the clock, and of the processor. */
async function measured(check) {
  const begin = performance.now();
  const cpu = process.cpuUsage();
  for (let i = 0; i < CHECKS; i++) await check();
  const { user, system } = process.cpuUsage(cpu);
  return { clock: (1000 * (performance.now() - begin)) / CHECKS, processor: (user + system) / CHECKS };
}

function median(numbers) {
  return numbers.sort((one, other) => one - other)[numbers.length >> 1];
}

async function compare(baseUrl, key, botId) {
  const client = new Client({ key, botId, baseUrl });
  const url = `${baseUrl}/bots/${botId}/voters/${USER}`;
  const headers = { authorization: key };
  const subjects = {
    "bare fetch": async () => (await fetch(url, { headers })).json(),
    "with a time-out": async () => (await fetch(url, { headers, signal: AbortSignal.timeout(10_000) })).json(),
    client: () => client.voteStatus(USER),
  };
  const rounds = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const times = {};
    for (const [name, check] of Object.entries(subjects)) times[name] = await measured(check);
    rounds.push(times);
  }
  rounds.splice(0, WARM_UP);
  console.log(`| Node ${process.version}, medians | clock, microseconds | processor | ratio of clocks | of processors |`);
  console.log("| --- | ---: | ---: | ---: | ---: |");
  for (const name of Object.keys(subjects)) {
    const of = (kind) => median(rounds.map((round) => round[name][kind])).toFixed(0);
    const ratio = (kind) => median(rounds.map((round) => round[name][kind] / round["bare fetch"][kind])).toFixed(2);
    console.log(`| ${[name, of("clock"), of("processor"), ratio("clock"), ratio("processor")].join(" | ")} |`);
  }
}

const [address, key = "vg_key", botId = BOT] = process.argv.slice(2);
if (address === "serve") {
  serve();
} else if (address) {
  await compare(address, key, botId);
} else {
  const server = fork(import.meta.filename, ["serve"]);
  const [port] = await once(server, "message");
  await compare(`http://127.0.0.1:${port}`, key, botId);
  server.kill();
}

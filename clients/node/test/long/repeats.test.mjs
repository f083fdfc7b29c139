// 10,000 webhooks into each receiver, 10% of them repeated: each is rewarded once.

import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";

import { Receiver } from "votegate-client";

import { listening, SERVERS } from "../frameworks.mjs";
import { BOT, post, SECRET, signed } from "../signing.mjs";

const WEBHOOKS = 10_000;
const CONNECTIONS = 16;

// Each tenth webhook is a repeat: by turns of the one before it, which is still under way, and of one that came long ago.
function idOf(index) {
  if (index % 10 !== 9) return `id-${index}`;
  return idOf(index % 20 === 9 ? index - 1 : index >> 1);
}

async function sendAll(server) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let next = 0;
  const statuses = new Set();
  async function sender() {
    while (next < WEBHOOKS) {
      const id = idOf(next++);
      const user = String(300000000000000000n + BigInt(id.slice("id-".length)));
      statuses.add((await post(server, signed({ bot: BOT, user, test: false }, { id }), agent)).status);
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, sender));
  agent.destroy();
  return [...statuses];
}

/** A store that answers later, like a database. */
function slowStore() {
  const claimed = new Set();
  return {
    async claim(id) {
      await new Promise((resume) => setImmediate(resume));
      return claimed.size < claimed.add(id).size;
    },
  };
}

for (const [name, serverOf] of Object.entries(SERVERS).filter(([name]) => !name.includes(" with "))) {
  test(`${name}: of 10,000 webhooks with 10% repeated each is rewarded once`, async () => {
    const rewards = new Map();
    const onVote = async ({ user }) => rewards.set(user, (rewards.get(user) ?? 0) + 1);
    const receiver = new Receiver({ secret: SECRET, onVote, ...(name === "node:http" ? { store: slowStore() } : {}) });
    const server = await listening(await serverOf(receiver));
    assert.deepEqual(await sendAll(server), [204]);
    await receiver.finish();
    server.close();
    assert.equal(rewards.size, WEBHOOKS * 0.9);
    assert.deepEqual([...new Set(rewards.values())], [1]);
  });
}

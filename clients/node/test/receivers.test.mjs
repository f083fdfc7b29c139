// The receivers inside the published frameworks, over loopback.

import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";

import fastify from "fastify";
import { Receiver } from "votegate-client";

import { listening, PARSED_FIRST, SERVERS } from "./frameworks.mjs";
import { BOT, NEW_SECRET, post, SECRET, signed, USER } from "./signing.mjs";

const VOTE = { bot: BOT, user: USER, test: false };

/** A receiver that keeps what its handlers got. */
function recorder(options = {}) {
  const got = [];
  const errors = [];
  const keep = (on) => (value) => got.push({ on, value });
  const receiver = new Receiver({
    secret: SECRET,
    onVote: keep("vote"),
    onTest: keep("test"),
    onEvent: keep("event"),
    onError: (error) => errors.push(error),
    log: () => {},
    ...options,
  });
  return { receiver, got, errors };
}

for (const [name, serverOf] of Object.entries(SERVERS)) {
  describe(name, () => {
    const { receiver, got, errors } = recorder();
    let server;
    before(async () => (server = await listening(await serverOf(receiver))));
    after(() => server.close());

    async function delivered(...message) {
      const answer = await post(server, ...message);
      await receiver.finish();
      return { ...answer, got: got.splice(0) };
    }

    test("a vote, a test and an event each reach their handler", async () => {
      const vote = await delivered(signed(VOTE, { id: "v" }));
      assert.deepEqual([vote.status, vote.got], [204, [{ on: "vote", value: { id: "v", user: USER, bot: BOT, guild: null, template: null } }]]);
      const tried = await delivered(signed({ user: USER, test: true }, { id: "t" }));
      assert.deepEqual([tried.status, tried.got], [204, [{ on: "test", value: { id: "t", user: USER } }]]);
      const raw = { type: "review.denied", guild: BOT, at: 1750000000000, reason: "It answers no command." };
      const denied = await delivered(signed(raw, { id: "e" }));
      const event = { id: "e", type: raw.type, bot: null, guild: BOT, template: null, user: null, at: new Date(raw.at), reason: raw.reason, stars: null, raw };
      assert.deepEqual([denied.status, denied.got], [204, [{ on: "event", value: event }]]);
    });

    test("a repeat is answered 204, and nobody is rewarded again", async () => {
      assert.equal((await delivered(signed(VOTE, { id: "again" }))).got.length, 1);
      const repeat = await delivered(signed(VOTE, { id: "again", at: Date.now() / 1000 + 5 }));
      assert.deepEqual([repeat.status, repeat.got], [204, []]);
    });

    test("a body that was changed on its way is refused", async () => {
      const { headers, body } = signed(VOTE);
      const changed = await delivered({ headers, body: JSON.stringify(JSON.parse(body), null, 1) });
      assert.deepEqual([changed.status, changed.got], [401, []]);
      assert.match(changed.text, /No signature is right/);
    });

    test("a body of 64 KiB is taken, one byte more is refused", async () => {
      const padded = (length) => JSON.stringify(VOTE).padEnd(length);
      assert.equal((await delivered(signed(padded(64 * 1024)))).got.length, 1);
      const larger = await delivered(signed(padded(64 * 1024 + 1)));
      assert.deepEqual([larger.status, larger.got], [413, []]);
    });

    test("a body that is not JSON, or no webhook, is refused", async () => {
      for (const body of ["", "vote", "[]", "null", '{"test":false}', '{"user":1,"test":true}', '{"type":null,"user":"1","test":true}']) {
        const answer = await delivered(signed(body));
        assert.deepEqual([body, answer.status, answer.got], [body, 400, []]);
      }
    });

    test("the content type does not matter", async () => {
      const { headers, body } = signed(VOTE);
      delete headers["content-type"];
      assert.equal((await delivered({ headers, body })).status, 204);
      assert.equal((await delivered(signed(VOTE, { type: "text/plain" }))).status, 204);
    });

    test("nothing above was an error of the receiver", () => assert.deepEqual(errors, []));
  });
}

for (const [name, serverOf] of Object.entries(PARSED_FIRST)) {
  test(`${name}: if a body parser ran first, the error says so and how to fix it`, async () => {
    const { receiver, got, errors } = recorder();
    const server = await listening(await serverOf(receiver));
    const answer = await post(server, signed(VOTE));
    server.close();
    assert.equal(answer.status, 500);
    assert.match(answer.text, /read the body of the webhook before the receiver.*(verify:|clone\(\))/);
    assert.deepEqual(errors.map(({ message }) => message), [answer.text]);
    assert.deepEqual(got, []);
  });
}

/** A plain server, for what does not depend on the framework. */
async function plain(options, use) {
  const found = recorder(options);
  const server = await listening(http.createServer(found.receiver.node));
  try {
    await use({ ...found, server, send: (...message) => post(server, signed(...message)) });
  } finally {
    server.close();
  }
}

test("a sender that goes away in the middle of a body does no harm", async () => {
  await plain({}, async ({ receiver, got, errors, send, server }) => {
    const { headers, body } = signed(VOTE);
    const request = http.request({ port: server.address().port, method: "POST", headers: { ...headers, "content-length": body.length } });
    const gone = once(request, "error");
    request.write(body.slice(0, 10));
    await once(server, "request");
    request.destroy();
    await gone;
    assert.equal((await send(VOTE)).status, 204);
    await receiver.finish();
    assert.deepEqual([got.length, errors], [1, []]);
  });
});

test("the answer does not wait for the handler", async () => {
  let end;
  const ended = new Promise((resolve) => (end = resolve));
  await plain({ onVote: () => ended }, async ({ receiver, send }) => {
    assert.equal((await send(VOTE)).status, 204);
    end();
    await receiver.finish();
  });
});

test("a handler that fails is reported, and its webhook is not sent again", async () => {
  const failure = new Error("the database is away");
  await plain({ onVote: () => Promise.reject(failure) }, async ({ receiver, errors, send }) => {
    assert.equal((await send(VOTE)).status, 204);
    await receiver.finish();
    assert.deepEqual(errors, [failure]);
  });
});

test("a report that fails, at once or later, ends no program", async () => {
  const unhandled = [];
  const keep = (error) => unhandled.push(error);
  process.on("unhandledRejection", keep);
  const failing = { onVote: () => { throw new Error("The handler fails."); } };
  const full = { store: { claim: () => { throw new Error("The disk is full."); } } };
  for (const onError of [() => { throw new Error("The report fails."); }, async () => { throw new Error("The report fails."); }]) {
    for (const [options, status] of [[failing, 204], [full, 503]]) {
      const { receiver } = recorder({ ...options, onError });
      const { headers, body } = signed(VOTE);
      assert.equal((await receiver.receive(headers, Buffer.from(body))).status, status);
      await receiver.finish();
    }
  }
  const log = () => { throw new Error("The log fails."); };
  const { receiver } = recorder({ log });
  assert.equal((await receiver.receive({}, Buffer.from("{}"))).status, 401);
  await new Promise((resume) => setTimeout(resume, 20));
  process.off("unhandledRejection", keep);
  assert.deepEqual(unhandled, []);
});

test("a request that something else has answered meanwhile ends no program", async () => {
  let failure = null;
  const { receiver, got } = recorder({ store: { claim: () => new Promise((resolve) => setTimeout(resolve, 50, true)) } });
  const server = await listening(
    http.createServer((request, response) => {
      receiver.node(request, response).catch((error) => (failure = error));
      setTimeout(() => response.writeHead(503).end(), 10); // as a time-out does
    }),
  );
  assert.equal((await post(server, signed(VOTE))).status, 503);
  await new Promise((resume) => setTimeout(resume, 100));
  await receiver.finish();
  server.close();
  assert.deepEqual([failure, got.length], [null, 1]);
});

test("an error on the console names neither body nor secret", async (context) => {
  const said = context.mock.method(console, "error", () => {});
  const onVote = () => Promise.reject(new Error("the database is away"));
  await plain({ onVote, onError: undefined, token: "the token" }, async ({ receiver }) => {
    const { headers, body } = signed(VOTE, { id: "5f0c7d6a1b2e4f8091a3c5d7" });
    await receiver.receive({ ...headers, authorization: "the token" }, Buffer.from(body));
    await receiver.finish();
    const line = said.mock.calls[0].arguments.map(String).join(" ");
    assert.match(line, /5f0c7d6a1b2e4f8091a3c5d7.*the database is away/);
    for (const secret of [SECRET, "the token", USER]) assert.ok(!line.includes(secret));
  });
});

test("each reason of a refusal is logged once, without body and secret", async () => {
  const lines = [];
  await plain({ token: "the token", log: (line) => lines.push(line) }, async ({ receiver }) => {
    const { headers, body } = signed(VOTE, { secrets: [NEW_SECRET] });
    const answer = (authorization) => receiver.receive({ ...headers, authorization }, Buffer.from(body));
    const texts = [];
    for (const token of ["guessed", "guessed", "the token"]) texts.push((await answer(token)).text);
    assert.deepEqual(lines, [texts[0], texts[2]].map((text) => `A webhook was refused with 401: ${text}`));
    for (const secret of [SECRET, NEW_SECRET, "the token", "guessed", USER]) assert.ok(!lines.join().includes(secret));
  });
});

test("a webhook without a handler is logged once for each kind", async () => {
  const lines = [];
  const receiver = new Receiver({ secret: SECRET, log: (line) => lines.push(line) });
  for (const event of [{ user: USER, test: true }, { user: USER, test: true }, VOTE, { type: "review.denied" }]) {
    const { headers, body } = signed(event);
    assert.equal((await receiver.receive(headers, Buffer.from(body))).status, 204);
  }
  await receiver.finish();
  assert.deepEqual(lines, ["onTest", "onVote", "onEvent"].map((name) => `A webhook has no handler: give the receiver ${name}.`));
});

test("a store that fails is answered 503, so that the webhook comes again", async () => {
  const failure = new Error("locked");
  await plain({ store: { claim: () => Promise.reject(failure) } }, async ({ got, errors, send }) => {
    const answer = await send(VOTE);
    assert.deepEqual([answer.status, answer.text], [503, "The receiver cannot store the event now."]);
    assert.deepEqual([got, errors], [[], [failure]]);
  });
});

test("during a rotation the old and the new secret are accepted", async () => {
  await plain({ secret: [SECRET, NEW_SECRET] }, async ({ send }) => {
    assert.equal((await send(VOTE, { id: "old" })).status, 204);
    assert.equal((await send(VOTE, { id: "new", secrets: [NEW_SECRET] })).status, 204);
  });
  await plain({ secret: NEW_SECRET }, async ({ send }) => {
    assert.equal((await send(VOTE, { id: "both", secrets: [SECRET, NEW_SECRET] })).status, 204);
    assert.equal((await send(VOTE, { id: "only the old", secrets: [SECRET] })).status, 401);
  });
});

test("a webhook without a signature is checked by its token", async () => {
  await plain({ secret: undefined, token: "the token" }, async ({ receiver }) => {
    const { body } = signed(VOTE);
    const answer = (headers) => receiver.receive(headers, Buffer.from(body)).then(({ status }) => status);
    assert.equal(await answer({ "webhook-id": "1", authorization: "the token" }), 204);
    assert.equal(await answer({ "webhook-id": "2", authorization: "another" }), 401);
    assert.equal(await answer({ "webhook-id": "3" }), 401);
    assert.equal(await answer({ authorization: "the token" }), 400); // a repeat could not be told
  });
});

test("beside a secret the token is checked, too", async () => {
  await plain({ token: "the token" }, async ({ receiver }) => {
    const { headers, body } = signed(VOTE);
    const answer = (authorization) => receiver.receive(new Headers({ ...headers, authorization }), Buffer.from(body));
    assert.equal((await answer("another")).status, 401);
    assert.equal((await answer("the token")).status, 204);
  });
});

test("the headers may be of another class than the global Headers", async () => {
  const { Headers } = createRequire(import.meta.url)("undici");
  await plain({}, async ({ receiver }) => {
    const { headers, body } = signed(VOTE);
    assert.equal((await receiver.receive(new Headers(headers), Buffer.from(body))).status, 204);
  });
});

test("the parsers of a Fastify app stay as they were", async () => {
  const { receiver } = recorder();
  const app = fastify();
  app.register(receiver.fastify, { url: "/votes" });
  app.post("/other", async (request) => request.body.name);
  const answer = await app.inject({ method: "POST", url: "/other", payload: { name: "parsed" } });
  assert.deepEqual([answer.statusCode, answer.body], [200, "parsed"]);
});

test("without a secret and without a token there is no receiver", () => {
  assert.throws(() => new Receiver({}), /anybody could send votes/);
  assert.throws(() => new Receiver({ secret: [], token: [] }), /anybody could send votes/);
});

test("an empty token is refused, also beside a secret", () => {
  for (const token of ["", ["the token", ""]]) assert.throws(() => new Receiver({ secret: SECRET, token }), /token is empty/);
});

test("a secret that is none is refused without showing it", () => {
  for (const secret of ["vg_the-key", "whsec_the key", "the-token", "whsec_QQ==", SECRET.slice(0, 40), SECRET.slice(6)]) {
    assert.throws(() => new Receiver({ secret }), (error) => /Copy it whole/.test(error.message) && !error.message.includes(secret));
  }
});

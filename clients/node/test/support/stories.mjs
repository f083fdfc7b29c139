// Plays the stories of clients/stories.json; clients/README.md says how to read one.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { inspect } from "node:util";

import { FakeClock } from "./clock.mjs";
import { PythonProgram } from "./python.mjs";

const BOOK = JSON.parse(readFileSync(join(import.meta.dirname, "../../../stories.json"), "utf8"));
const LONGEST_STORY = 30_000;

export const STORIES = BOOK.stories.filter((story) => (story.languages ?? ["node"]).includes("node"));

export function named(name) {
  return STORIES.find((story) => story.name === name) ?? assert.fail(`There is no story "${name}".`);
}

/** Plays stories with a copy of the package against a server that does as the stories say. */
export class Theatre {
  #server;

  /** `isReal`: the server is a gateway, so that its requests, times and headers are not compared. */
  constructor(server = "tests.clients.scripted_server", isReal = false) {
    this.#server = new PythonProgram(server);
    this.isReal = isReal;
  }

  /** Throws if the package does not do as the story says. */
  async play(story, votegate) {
    let timer;
    const tooLong = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("The story did not end.")), LONGEST_STORY);
    });
    const play = story.side === "client" ? this.#playClient(story, votegate) : playReceiver(story, votegate);
    await Promise.race([play, tooLong]).finally(() => clearTimeout(timer));
  }

  close() {
    return this.#server.end();
  }

  async #playClient(story, votegate) {
    this.#server.write({ begin: story.name });
    const { ready } = await this.#server.read();
    const player = new ClientPlayer(story, ready, votegate, this.isReal);
    const listening = this.#listen(player);
    try {
      for (const step of story.do) await player.do(step);
    } finally {
      this.#server.write({ end: true });
      player.left = await listening;
    }
    player.check();
  }

  /** Hand each request to the player, until the story has ended. Returns how many exchanges did not happen. */
  async #listen(player) {
    for (;;) {
      const line = await this.#server.read();
      if (line.ended) return line.ended.left;
      player.arrived(line.request ?? line.connects);
      this.#server.write({ go: true });
    }
  }
}

class ClientPlayer {
  #story;
  #address;
  #key;
  #client;
  #votegate;
  #isReal;
  #clock = new FakeClock(BOOK.defaults.now);
  #mark = 0; // the time of the last request, or of the begin of the call
  #atFirstRequest = null;
  #wrong = [];
  left = 0;

  constructor(story, { address, key, bot_id }, votegate, isReal) {
    const options = { ...BOOK.defaults.client, base_url: "{address}", ...story.options, ...(isReal && { key, bot_id }) };
    this.#story = story;
    this.#address = address;
    this.#key = options.key;
    this.#votegate = votegate;
    this.#isReal = isReal;
    this.#client = new votegate.Client({
      key: options.key,
      botId: options.bot_id,
      baseUrl: options.base_url.replace("{address}", address),
      timeout: options.timeout,
      longestWait: options.longest_wait,
      clock: this.#clock,
    });
  }

  async do(step) {
    if (step.pass) return this.#clock.pass(step.pass);
    if (!step.together) return this.#call(step);
    const [first, ...others] = step.together;
    let calls;
    const allBegun = new Promise((resolve) => {
      this.#atFirstRequest = () => {
        calls = others.map((call) => this.#call(call));
        resolve();
      };
    });
    await Promise.all([this.#call(first), allBegun]);
    await Promise.all(calls);
  }

  arrived(request) {
    this.#attempt(() => this.#compare(request));
    this.#mark = this.#clock.monotonic();
    this.#atFirstRequest?.();
    this.#atFirstRequest = null;
  }

  check() {
    if (this.#wrong.length > 0) throw this.#wrong[0];
    assert.equal(this.left, 0, "The server waits for more requests.");
  }

  #compare({ number, method, path, headers, body }) {
    if (this.#isReal) return;
    assert.notEqual(number, null, `${method} ${path} is not in the story.`);
    const { request } = this.#story.server[number];
    within(this.#clock.monotonic() - this.#mark, request.after);
    if (request === "connects") return;
    assert.deepEqual([method, path], [request.method, request.path]);
    assert.deepEqual(body ? JSON.parse(body) : undefined, request.json);
    const sent = Object.fromEntries(headers);
    for (const [name, value] of Object.entries({ authorization: this.#key, ...request.headers })) assert.equal(sent[name], value);
  }

  async #call(step) {
    this.#mark = this.#clock.monotonic();
    const outcome = await this.#outcomeOf(step);
    this.#attempt(() => {
      if (!this.#isReal) within(this.#clock.monotonic() - this.#mark, step.after);
      if (step.raises) this.#compareError(outcome.error, step.raises);
      else assert.deepEqual(outcome, { returned: step.returns });
    });
  }

  async #outcomeOf({ call, with: given }) {
    const { server_count: serverCount, command_count: commandCount, user_id: userId } = given;
    try {
      if (call === "post_stats") {
        await this.#client.postStats({ serverCount, commandCount });
        return { returned: null };
      }
      if (call === "has_voted") return { returned: await this.#client.hasVoted(userId) };
      const { voted, votes, lastVote } = await this.#client.voteStatus(userId);
      return { returned: { voted, votes, last_vote: lastVote && lastVote.getTime() } };
    } catch (error) {
      return { error };
    }
  }

  #compareError(error, { error: name, mentions, wait, ...fields }) {
    if (name === "BadArgument") return assert.ok(error instanceof TypeError || error instanceof RangeError, inspect(error));
    assert.equal(error?.constructor, this.#votegate[name], inspect(error));
    assert.ok(![inspect(error, { depth: 9, showHidden: true }), String(error), JSON.stringify(error)].some((text) => text.includes(this.#key)), "The error shows the key.");
    if (mentions) assert.ok(error.text.includes(mentions.replace("{address}", this.#address)), error.text);
    if (wait === null) assert.equal(error.wait, null);
    else if (wait) within(error.wait * 1000, wait);
    for (const [field, value] of Object.entries(fields)) {
      if (field === "request_id" && this.#isReal) continue; // it is another one each time
      assert.equal(error[field === "request_id" ? "requestId" : field], value);
    }
  }

  #attempt(check) {
    try {
      check();
    } catch (error) {
      this.#wrong.push(error);
    }
  }
}

function within(milliseconds, [least, most] = [0, 0]) {
  const seconds = milliseconds / 1000;
  assert.ok(seconds > least - 0.001 && seconds < most + 0.001, `${seconds} seconds, not ${least} to ${most}`);
}

async function playReceiver(story, votegate) {
  const clock = new FakeClock(BOOK.defaults.now);
  const got = [];
  const handler = (on) => (value) => {
    got.push({ on, value });
    if (story.handler_fails) throw new Error("The handler fails.");
  };
  const { secrets, token } = story.options;
  const receiver = new votegate.Receiver({
    ...(secrets && { secret: secrets }),
    ...(token && { token }),
    clock,
    onVote: handler("vote"),
    onTest: handler("test"),
    onEvent: handler("event"),
    onError: () => {},
  });
  const server = http.createServer(receiver.node);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    for (const { headers, body, answer, handler } of story.deliveries) {
      assert.equal(await post(server.address().port, headers, bytesOf(body)), answer);
      await receiver.finish();
      const called = got.splice(0);
      assert.equal(called.length, handler ? 1 : 0, inspect(called));
      if (handler) compareValue(called[0], handler);
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function compareValue({ on, value }, { on: expected, gets }) {
  assert.equal(on, expected);
  for (const [field, wanted] of Object.entries(gets)) assert.deepEqual(value[field === "body" ? "raw" : field], wanted);
}

function bytesOf(body) {
  if (typeof body === "string") return Buffer.from(body);
  if ("base64" in body) return Buffer.from(body.base64, "base64");
  return Buffer.from(body.before + "x".repeat(body.filler) + body.after);
}

function post(port, headers, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ port, host: "127.0.0.1", method: "POST", headers: { ...headers, "content-length": body.length } }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    });
    request.once("error", reject).end(body);
  });
}

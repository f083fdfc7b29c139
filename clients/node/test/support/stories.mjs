// Plays the stories of clients/stories.json; clients/README.md says how to read one.

import assert from "node:assert/strict";
import crypto from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { inspect } from "node:util";

import { FakeClock } from "./clock.mjs";
import { PythonProgram } from "./python.mjs";

const BOOK = JSON.parse(readFileSync(join(import.meta.dirname, "../../../stories.json"), "utf8"));
const GUILD = "222222222222222222";
const OF_THE_GATEWAY = ["id", "at"]; // each has its own
const LONGEST_STORY = 30_000;

export const STORIES = BOOK.stories.filter((story) => (story.languages ?? ["node"]).includes("node"));

export function named(name) {
  return STORIES.find((story) => story.name === name) ?? assert.fail(`There is no story "${name}".`);
}

// No story can see how a signature is compared, so a genuine one must have gone through the comparison in constant time.
let compared = 0;
const { timingSafeEqual } = crypto;
crypto.timingSafeEqual = (one, other) => {
  compared += 1;
  return timingSafeEqual(one, other);
};

/** Plays stories with a copy of the package. */
export class Theatre {
  #program;
  #isReal;

  /** A real gateway has its own requests, times, dates and ids: those are not compared. */
  constructor({ isReal = false } = {}) {
    this.#program = new PythonProgram(isReal ? "tests.clients.real_gateway" : "tests.clients.scripted_server");
    this.#isReal = isReal;
  }

  /** Throws if the package does not do as the story says. */
  async play(story, votegate) {
    let timer;
    const tooLong = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("The story does not end.")), LONGEST_STORY);
    });
    const play = story.side === "receiver" ? this.#playReceiver(story, votegate) : this.#playRuns(story, votegate);
    await Promise.race([play, tooLong]).finally(() => clearTimeout(timer));
  }

  async #playRuns(story, votegate) {
    const told = [];
    for (let time = 0; time < (story.times ?? 1); time++) told.push(await this.#playClient(story, votegate));
    if (!story.times) return;
    const isSame = told[0].map((_, number) => new Set(told.map((waits) => waits[number])).size === 1);
    assert.ok(!isSame.includes(true), `The same waits: ${inspect(told)}`);
  }

  close() {
    return this.#program.end();
  }

  async #begin(story, receiver) {
    this.#program.write({ begin: story.name, receiver });
    return (await this.#program.read()).ready;
  }

  /** Returns the milliseconds before each request with `after`. */
  async #playClient(story, votegate) {
    const ready = await this.#begin(story);
    const player = new ClientPlayer(this.#isReal ? withIds(story, ready) : story, ready, votegate, this.#isReal);
    const listening = this.#listen(player);
    try {
      if (story.side === "poster") await player.post();
      else for (const step of player.steps) await player.do(step);
    } finally {
      this.#program.write({ end: true });
      player.left = await listening;
    }
    player.check();
    return player.waits;
  }

  /** Hand each request to the player, until the story has ended. Returns how many exchanges did not happen. */
  async #listen(player) {
    for (;;) {
      const line = await this.#program.read();
      if (line.ended) return line.ended.left ?? 0;
      player.arrived(line.request ?? line.connects);
      this.#program.write({ go: true });
    }
  }

  async #playReceiver(story, votegate) {
    const player = new ReceiverPlayer(votegate);
    const url = await player.open();
    try {
      if (!this.#isReal) return await player.play(story);
      const ready = await this.#begin(story, url);
      const sending = player.play(withIds(story, ready), ready);
      this.#program.write({ go: true });
      await sending;
      this.#program.write({ end: true });
      await this.#program.read();
    } finally {
      player.close();
    }
  }
}

/** Returns a story about the bot and the server of a real gateway. */
function withIds(story, { bot_id, guild_id }) {
  return JSON.parse(JSON.stringify(story).replaceAll(BOOK.defaults.client.bot_id, bot_id).replaceAll(GUILD, guild_id));
}

class ClientPlayer {
  #story;
  #address;
  #key;
  #client;
  #votegate;
  #isReal;
  #clock;
  #mark = 0; // the time of the last request, or of the begin of the call
  #atFirstRequest = null;
  #wrong = [];
  left = 0;
  waits = [];

  constructor(story, { address, key, bot_id, now = BOOK.defaults.now }, votegate, isReal) {
    const options = { ...BOOK.defaults.client, ...(isReal && { key, bot_id }), base_url: "{address}", ...story.options };
    this.steps = story.do;
    this.#clock = new FakeClock(now);
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
      log: (line) => this.#attempt(() => assert.ok(!line.includes(this.#key), line)),
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

  /** Run a poster until it counts once more than the story says. */
  async post() {
    this.#mark = this.#clock.monotonic();
    const { command_count: commandCount, every: interval } = this.#story;
    const counts = [...this.#story.server_counts];
    const bot = { isReady: () => true, guilds: { cache: { size: 0 } }, shard: null };
    await new Promise((resolve) => {
      const serverCount = () => {
        if (counts.length > 0) return counts.shift() ?? assert.fail("A process has died.");
        poster.stop();
        resolve();
        return new Promise(() => {});
      };
      const options = { serverCount, commandCount, interval, clock: this.#clock, log: () => {} };
      const poster = this.#votegate.autoPost(bot, this.#client, options);
    });
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
    if (request.after) this.waits.push(Math.round(this.#clock.monotonic() - this.#mark));
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
      else assert.deepEqual(outcome, { returned: this.#isReal ? withDateOf(outcome, step.returns) : step.returns });
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
    if (mentions) assert.ok(error.message.includes(mentions.replace("{address}", this.#address)), error.message);
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

/** Returns the vote status that a story wants, with the date that a real gateway knows. */
function withDateOf({ returned }, wanted) {
  return wanted?.last_vote ? { ...wanted, last_vote: returned?.last_vote } : wanted;
}

class ReceiverPlayer {
  #votegate;
  #receiver;
  #called = [];
  #answers = [];
  #answered = () => {};
  #server = http.createServer(async (request, response) => {
    await this.#receiver.node(request, response);
    this.#answers.push(response.statusCode);
    this.#answered();
  });

  constructor(votegate) {
    this.#votegate = votegate;
  }

  /** Listen on a port of its own. Returns the address of the receiver. */
  async open() {
    await new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${this.#server.address().port}/votes`;
  }

  close() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Compare what the receiver answers and hands on. Without a real gateway, which sends the webhooks, they are sent from here. */
  async play(story, real) {
    this.#receiver = this.#made(story, real);
    for (const { headers, body, answer, handler } of story.deliveries) {
      const answered = new Promise((resolve) => (this.#answered = resolve));
      compared = 0;
      if (!real) await this.#send(headers, bytesOf(body));
      if (this.#answers.length === 0) await answered;
      assert.equal(this.#answers.shift(), answer);
      if (answer === 204) assert.ok(compared > 0, "The signature is compared without timingSafeEqual.");
      await this.#receiver.finish();
      const called = this.#called.splice(0);
      assert.equal(called.length, handler ? 1 : 0, inspect(called));
      if (handler) compareValue(called[0], handler, real);
    }
  }

  #made({ options: { secrets, token }, handler_fails: fails, store_fails: storeFails }, real) {
    const handler = (on) => (value) => {
      this.#called.push({ on, value });
      if (fails) throw new Error("The handler fails.");
    };
    return new this.#votegate.Receiver({
      secret: secrets && (real?.secrets ?? secrets),
      token,
      store: storeFails && { claim: () => Promise.reject(new Error("The disk is full.")) },
      clock: new FakeClock(real?.now ?? BOOK.defaults.now),
      onVote: handler("vote"),
      onTest: handler("test"),
      onEvent: handler("event"),
      onError: () => {},
      log: () => {},
    });
  }

  #send(headers, body) {
    return new Promise((resolve, reject) => {
      const options = { method: "POST", port: this.#server.address().port, headers: { ...headers, "content-length": body.length } };
      http.request(options, (response) => response.resume().once("end", resolve)).once("error", reject).end(body);
    });
  }
}

function compareValue({ on, value }, { on: wantedOn, gets }, real) {
  assert.equal(on, wantedOn);
  for (const [field, wanted] of Object.entries(gets)) {
    if (field === "raw") compareRaw(value.raw, wanted, real);
    else if (!(real && OF_THE_GATEWAY.includes(field))) assert.deepEqual(value[field], wanted);
  }
}

function compareRaw(got, wanted, real) {
  const own = real ? Object.fromEntries(OF_THE_GATEWAY.filter((field) => field in got).map((field) => [field, got[field]])) : {};
  assert.deepEqual(got, { ...wanted, ...own });
}

function bytesOf(body) {
  if (typeof body === "string") return Buffer.from(body);
  if ("base64" in body) return Buffer.from(body.base64, "base64");
  return Buffer.from(body.before + "x".repeat(body.filler) + body.after);
}

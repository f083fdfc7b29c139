import { timeOf, wholeNumber } from "./bodies";
import { errorOf, isTemporary, usedUpFor } from "./replies";
import { systemClock, type Clock } from "./clock";
import { RateLimited, type VotegateError } from "./errors";
import { exchange, type Reply, type Outgoing } from "./exchange";
import { quietly } from "./quietly";

/** Settings of a client. */
export interface ClientOptions {
  /** The API key of the bot, without a word such as `Bearer`. */
  readonly key: string;
  /** The id of the bot, as text: a number would be rounded. */
  readonly botId: string;
  /** The address of the platform, such as `https://votes.example`. */
  readonly baseUrl: string;
  /** Seconds that one request may take; by default 10. */
  readonly timeout?: number | undefined;
  /** Seconds that one call may wait between its requests; by default 60. */
  readonly longestWait?: number | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Gets each line of the log; by default `console.warn`. */
  readonly log?: ((line: string) => unknown) | undefined;
  /** Replaces the clock of the computer. */
  readonly clock?: Clock | undefined;
}

/** The counts of a push: one of them, or both. */
export interface Counts {
  /** The sum of the servers of all shards. */
  readonly serverCount?: number | undefined;
  /** The number of commands that the bot has. */
  readonly commandCount?: number | undefined;
}

/** The votes of a user for the bot. */
export interface VoteStatus {
  /** True if the user has voted in the last 24 hours. */
  readonly voted: boolean;
  /** All votes of the user for the bot, ever. */
  readonly votes: number;
  /** The time of the latest vote; `null` for never. */
  readonly lastVote: Date | null;
}

interface Push {
  readonly fields: Record<string, number>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

type Endpoint = "stats" | "voters";

const LONGEST_BACK_OFF = 60;

/** Pushes the counts of a bot, and asks for votes. It sends a request again after 429, 5xx and a broken connection. */
export class Client {
  readonly #url: string;
  readonly #headers: Outgoing["headers"];
  readonly #timeout: number;
  readonly #longestWait: number;
  readonly #fetch: typeof globalThis.fetch;
  readonly #log: (line: string) => unknown;
  readonly #clock: Clock;
  /** For each endpoint, the monotonic time until which its limit is used up. */
  readonly #usedUpUntil: Record<Endpoint, number> = { stats: 0, voters: 0 };
  /** The pushes that have no result yet, oldest first. */
  readonly #pushes: Push[] = [];
  #pushing = false;

  constructor(options: ClientOptions) {
    this.#url = `${checkedUrl(options.baseUrl)}/bots/${checkedId(options.botId, "botId")}`;
    this.#headers = { authorization: checkedKey(options.key), "user-agent": "votegate-client/0.1.0 (Node)" };
    this.#timeout = options.timeout ?? 10;
    this.#longestWait = options.longestWait ?? 60;
    this.#fetch = options.fetch ?? globalThis.fetch;
    this.#log = options.log ?? console.warn;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Push one count or both. Pushes that come while one is under way become one, with the newest counts.
   *
   * @throws VotegateError
   */
  async postStats(counts: Counts): Promise<void> {
    const fields: Record<string, number> = {};
    if (counts.serverCount !== undefined) fields.server_count = checkedCount(counts.serverCount, "serverCount");
    if (counts.commandCount !== undefined) fields.command_count = checkedCount(counts.commandCount, "commandCount");
    if (Object.keys(fields).length === 0) throw new TypeError("give serverCount, commandCount, or both");
    return new Promise((resolve, reject) => {
      this.#pushes.push({ fields, resolve, reject });
      if (!this.#pushing) void this.#push();
    });
  }

  /**
   * Ask for the votes of a user.
   *
   * @throws VotegateError
   */
  async voteStatus(userId: string): Promise<VoteStatus> {
    const url = `${this.#url}/voters/${checkedId(userId, "userId")}`;
    const reply = await this.#send("voters", () => ({ method: "GET", url, headers: this.#headers, body: null }));
    const { voted, vote, lastVote: at } = reply.body ?? {};
    const [votes, lastVote] = [wholeNumber(vote), timeOf(at)];
    if (typeof voted !== "boolean" || votes === null || (lastVote === null && at !== null)) throw this.#errorOf(reply);
    return { voted, votes, lastVote };
  }

  /**
   * Return true if a user has voted in the last 24 hours.
   *
   * @throws VotegateError
   */
  async hasVoted(userId: string): Promise<boolean> {
    return (await this.voteStatus(userId)).voted;
  }

  async #push(): Promise<void> {
    this.#pushing = true;
    while (this.#pushes.length > 0) {
      let carried = this.#pushes.length;
      const newestCounts = (): Outgoing => {
        carried = this.#pushes.length;
        const fields = Object.assign({}, ...this.#pushes.map((push) => push.fields));
        return { method: "PATCH", url: `${this.#url}/stats`, headers: { ...this.#headers, "content-type": "application/json" }, body: JSON.stringify(fields) };
      };
      const error = await this.#send("stats", newestCounts).then(
        (reply) => (reply.body?.success === true ? null : this.#errorOf(reply)),
        (error: unknown) => error,
      );
      for (const push of this.#pushes.splice(0, carried)) {
        if (error === null) push.resolve();
        else push.reject(error);
      }
    }
    this.#pushing = false;
  }

  /** Send a request until it succeeds, is refused for good, or would wait too long. `draft` returns the request of each try. */
  async #send(endpoint: Endpoint, draft: () => Outgoing): Promise<Reply> {
    let waited = 0;
    let wait = 0;
    let failure: VotegateError | undefined;
    for (let backOff = 1; ; backOff = Math.min(2 * backOff, LONGEST_BACK_OFF)) {
      const usedUp = (this.#usedUpUntil[endpoint] - this.#clock.monotonic()) / 1000;
      wait = Math.max(wait, usedUp);
      if (wait > 0) {
        waited += wait;
        if (waited > this.#longestWait) throw failure ?? new RateLimited({ status: 0, text: "The limit is used up.", requestId: null }, wait);
        const line = `A request to ${new URL(this.#url).host} waits ${Math.ceil(wait)} s: ${failure?.message}`;
        if (backOff === 2) void quietly(() => this.#log(line));
        await this.#clock.sleep((wait + Math.random()) * 1000);
      }
      try {
        return await this.#try(endpoint, draft());
      } catch (error) {
        if (!isTemporary(error)) throw error;
        failure = error;
        wait = Math.max(error.wait ?? 0, backOff);
      }
    }
  }

  /** Send a request once, and remember until when its limit is used up. */
  async #try(endpoint: Endpoint, request: Outgoing): Promise<Reply> {
    const reply = await exchange(this.#fetch, this.#timeout, request);
    const usedUp = usedUpFor(reply);
    if (usedUp > 0) this.#usedUpUntil[endpoint] = this.#clock.monotonic() + usedUp * 1000;
    if (reply.status !== 200 || reply.body === null) throw this.#errorOf(reply);
    return reply;
  }

  #errorOf(reply: Reply): VotegateError {
    return errorOf(reply, this.#clock.now());
  }
}

/** Refuse a key that no header can carry: the error of `fetch` would print it. */
function checkedKey(key: string): string {
  if (typeof key !== "string" || !/^[\x21-\x7e]+$/.test(key)) {
    throw new TypeError("key must be the API key alone: text without spaces, and no word such as Bearer before it");
  }
  return key;
}

function checkedId(id: string, name: string): string {
  if (typeof id !== "string" || !/^\d{17,20}$/.test(id)) {
    throw new TypeError(`${name} must be 17 to 20 digits, as text`);
  }
  return id;
}

function checkedUrl(url: string): string {
  if (!/^https?:\/\/[^@]+$/i.test(url) || !URL.canParse(url)) throw new TypeError("baseUrl must be like https://votes.example");
  return url.replace(/\/+$/, "");
}

function checkedCount(count: number, name: string): number {
  if (!Number.isSafeInteger(count)) throw new TypeError(`${name} must be a whole number`);
  return count;
}

// Receives webhooks. `receive` answers a request; the methods below it are handlers for frameworks.

import type { IncomingMessage, ServerResponse } from "node:http";

import { type Clock, systemClock } from "./clock";
import { type Delivery, type Event, read, type Test, type Vote } from "./payload";
import { quietly } from "./quietly";
import { doubt, headerIn, keyOf, type ReceivedHeaders } from "./signature";
import { MemoryStore, type Store } from "./store";

const LONGEST_BODY = 64 * 1024;

/** Settings of a receiver. */
export interface ReceiverOptions {
  /** The signing secret of the webhook, `whsec_...`; during a rotation the old and the new one. */
  readonly secret?: string | readonly string[] | undefined;
  /** The token of the webhook, or several. With a secret and a token, both are checked. */
  readonly token?: string | readonly string[] | undefined;
  /** Keeps the ids of webhooks. The default, a `MemoryStore`, forgets when the program ends. */
  readonly store?: Store | undefined;
  /** A user has voted: hand out the reward here. */
  readonly onVote?: ((vote: Vote) => unknown) | undefined;
  /** Somebody has pressed Send Test. */
  readonly onTest?: ((test: Test) => unknown) | undefined;
  /** Any other event. Ignore types that you do not know. */
  readonly onEvent?: ((event: Event) => unknown) | undefined;
  /** Replaces the console for errors of handlers and of the store. */
  readonly onError?: ((error: unknown) => unknown) | undefined;
  /** Gets each line of the log; by default `console.warn`. */
  readonly log?: ((line: string) => unknown) | undefined;
  /** Replaces the clock of the computer. */
  readonly clock?: Clock | undefined;
}

/** The answer to a webhook. The text is for the delivery log. */
export interface Answer {
  readonly status: 204 | 400 | 401 | 413 | 500 | 503;
  readonly text: string;
}

/** Receive webhooks: check that they are genuine, drop repeats, answer, and then call a handler. */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #keys: readonly Buffer[];
  readonly #tokens: readonly string[];
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #underWay = new Set<Promise<void>>();
  readonly #logged = new Set<string>();

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#keys = [options.secret ?? []].flat().map(keyOf);
    this.#tokens = [options.token ?? []].flat();
    if (this.#tokens.includes("")) throw new TypeError("The token is empty.");
    if (this.#keys.length + this.#tokens.length === 0) {
      throw new TypeError("Give the receiver the secret or the token of the webhook: without one, anybody could send votes.");
    }
    this.#clock = options.clock ?? systemClock;
    this.#store = options.store ?? new MemoryStore({ clock: this.#clock });
  }

  /** Return the answer to a request. If it is a genuine webhook that is new, its handler starts soon after. */
  async receive(headers: ReceivedHeaders, body: Uint8Array): Promise<Answer> {
    const answer = await this.#received(headers, body);
    if (answer.text) this.#logOnce(`A webhook was refused with ${answer.status}: ${answer.text}`);
    return answer;
  }

  async #received(headers: ReceivedHeaders, body: Uint8Array): Promise<Answer> {
    if (body.length > LONGEST_BODY) return TOO_LARGE;
    const why = doubt(headers, body, this.#keys, this.#tokens, this.#clock.now());
    if (why !== null) return { status: 401, text: why };
    const id = headerIn(headers, "webhook-id");
    if (!id) return { status: 400, text: "The header webhook-id is missing." };
    const delivery = read(id, body);
    if (delivery === null) return { status: 400, text: "The body is not a vote, a test or an event." };
    try {
      if (!(await this.#store.claim(id))) return DONE;
    } catch (error) {
      this.#report(error, "the store of webhook ids failed");
      return { status: 503, text: "The receiver cannot store the event now." };
    }
    const running = this.#run(delivery).finally(() => this.#underWay.delete(running));
    this.#underWay.add(running);
    return DONE;
  }

  /** Wait until no handler is under way. Call it before the program ends. */
  async finish(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** For `node:http` and Express: `http.createServer(receiver.node)`, `app.post("/votes", receiver.node)`. */
  readonly node = async (request: NodeRequest, response: ServerResponse): Promise<void> => {
    const answer = await this.#ofNode(request, bytesIn(request.rawBody, request.body));
    // A time-out of a framework may have answered meanwhile.
    if (answer !== null && !response.headersSent) response.writeHead(answer.status).end(answer.text);
  };

  /** For Koa: `router.post("/votes", receiver.koa)`. */
  readonly koa = async (context: KoaContext): Promise<void> => {
    const answer = await this.#ofNode(context.req, bytesIn(context.request.rawBody, context.request.body));
    if (answer === null) return;
    context.status = answer.status;
    if (answer.text) context.body = answer.text;
  };

  /** For Fastify: `app.register(receiver.fastify, { url: "/votes" })`. Parsers that you have added do not matter. */
  readonly fastify = (app: any, options: { readonly url: string }, done: () => void): void => {
    app.removeAllContentTypeParsers(); // in the scope of this plugin alone
    app.addContentTypeParser("*", { parseAs: "buffer" }, (_request: unknown, body: unknown, parsed: (error: null, body: unknown) => void) => parsed(null, body));
    app.post(options.url, { bodyLimit: LONGEST_BODY }, async (request: any, reply: any) => {
      const { status, text } = await this.receive(request.raw.headersDistinct, bytesIn(request.body) ?? new Uint8Array());
      return reply.code(status).send(text);
    });
    done();
  };

  /** For a server that takes a `Request`, such as Next.js: `export const POST = receiver.fetch`. */
  readonly fetch = async (request: Request): Promise<Response> => {
    const { status, text } = await this.#ofWeb(request);
    return status === 204 ? new Response(null, { status }) : new Response(text, { status });
  };

  /** `kept`: the bytes of the body, if a parser that ran first has kept them. */
  async #ofNode(request: IncomingMessage, kept: Uint8Array | null): Promise<Answer | null> {
    if (kept !== null) return this.receive(request.headersDistinct, kept);
    if (request.readableDidRead) {
      return this.#alreadyRead(
        "Add the route of the receiver before the parser, or let the parser keep the bytes: " +
          "express.json({ verify: (request, response, bytes) => { request.rawBody = bytes; } }).",
      );
    }
    let body: Uint8Array | null;
    try {
      body = await collect(request);
    } catch {
      return null; // the sender went away
    }
    return body === null ? TOO_LARGE : this.receive(request.headersDistinct, body);
  }

  async #ofWeb(request: Request): Promise<Answer> {
    if (request.bodyUsed) {
      return this.#alreadyRead("Hand the request to the receiver first, or read a copy of it: request.clone().json().");
    }
    const body = request.body === null ? new Uint8Array() : await collect(request.body);
    return body === null ? TOO_LARGE : this.receive(request.headers, body);
  }

  async #run({ on, value }: Delivery): Promise<void> {
    await new Promise((resume) => setImmediate(resume)); // the answer leaves first
    if (!this.#options[on]) return this.#logOnce(`A webhook has no handler: give the receiver ${on}.`);
    try {
      await this.#options[on](value as never);
    } catch (error) {
      this.#report(error, `the handler of the webhook ${value.id} failed`);
    }
  }

  /** Strangers may send any number of requests, so each line is logged once. */
  #logOnce(line: string): void {
    const { log = console.warn } = this.#options;
    if (!this.#logged.has(line)) void quietly(() => log(line));
    this.#logged.add(line);
  }

  #alreadyRead(remedy: string): Answer {
    const text =
      "Something has read the body of the webhook before the receiver, probably a body parser. " +
      `The signature is over the bytes as they were sent. ${remedy}`;
    this.#report(new Error(text), "a webhook was answered 500");
    return { status: 500, text };
  }

  #report(error: unknown, what: string): void {
    const { onError } = this.#options;
    if (onError) void quietly(() => onError(error));
    else console.error(`votegate-client: ${what}:`, error);
  }
}

const DONE: Answer = { status: 204, text: "" };
const TOO_LARGE: Answer = { status: 413, text: "The body is larger than 65536 bytes." };

/** Return the bytes of a body, or null if they are too many. Read to the end, so that the sender sees the answer. */
async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array | null> {
  const kept: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    length += piece.length;
    if (length <= LONGEST_BODY) kept.push(piece);
  }
  return length <= LONGEST_BODY ? Buffer.concat(kept) : null;
}

/** Return the first of these that is a body as it was sent, or null. */
function bytesIn(...bodies: readonly unknown[]): Uint8Array | null {
  for (const body of bodies) {
    if (body instanceof Uint8Array) return body;
    if (typeof body === "string") return Buffer.from(body);
  }
  return null;
}

// The parts of frameworks that the methods use: their packages are not needed for the types.

type NodeRequest = IncomingMessage & { readonly body?: unknown; readonly rawBody?: unknown };

interface KoaContext {
  readonly req: IncomingMessage;
  readonly request: { readonly body?: unknown; readonly rawBody?: unknown };
  status: number;
  body: unknown;
}

// The bodies of webhooks, and the values that handlers get.

/** A user has voted for a bot or a server. */
export interface Vote {
  /** The id of the webhook. It stays the same when the webhook is sent again. */
  readonly id: string;
  /** The bot's id; null if the vote is for a server. */
  readonly bot: string | null;
  /** The server's id; null if the vote is for a bot. */
  readonly guild: string | null;
  readonly user: string;
}

/** Somebody has pressed Send Test. Nobody has voted. */
export interface Test {
  readonly id: string;
  readonly user: string;
}

/** Something else has happened, for example `review.denied`. A field that an event of its type does not have is null. */
export interface Event {
  readonly id: string;
  /** A newer platform may send other types. */
  readonly type: "review.approved" | "review.denied" | "vote.struck" | "rating.posted" | (string & {});
  readonly bot: string | null;
  readonly guild: string | null;
  readonly user: string | null;
  readonly at: Date | null;
  readonly reason: string | null;
  readonly stars: number | null;
  /** The whole body. */
  readonly raw: Readonly<Record<string, unknown>>;
}

export type Delivery =
  | { readonly on: "vote"; readonly value: Vote }
  | { readonly on: "test"; readonly value: Test }
  | { readonly on: "event"; readonly value: Event };

/** Reads the body of a genuine webhook. Returns null if it is not JSON, or none of the three. */
export function read(id: string, body: Uint8Array): Delivery | null {
  const raw = objectIn(body);
  if (raw === null) return null;
  const [type, bot, guild, user] = [text(raw.type), text(raw.bot), text(raw.guild), text(raw.user)];
  if (type !== null) {
    const at = typeof raw.at === "number" ? new Date(raw.at) : null;
    const stars = typeof raw.stars === "number" ? raw.stars : null;
    return { on: "event", value: { id, type, bot, guild, user, at, reason: text(raw.reason), stars, raw } };
  }
  if ("type" in raw || user === null) return null;
  if (raw.test === true) return { on: "test", value: { id, user } };
  if (raw.test === false && (bot ?? guild) !== null) return { on: "vote", value: { id, bot, guild, user } };
  return null;
}

function objectIn(body: Uint8Array): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

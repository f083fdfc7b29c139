// The bodies of webhooks, and the values that handlers get.

import { objectIn, timeOf, wholeNumber } from "./bodies";

/** A user has voted for a listing: one of `bot`, `guild` and `template` is its id, the others are null. */
export interface Vote {
  /** The id of the webhook. It stays the same when the webhook is sent again. */
  readonly id: string;
  readonly user: string;
  readonly bot: string | null;
  readonly guild: string | null;
  readonly template: string | null;
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
  readonly template: string | null;
  readonly user: string | null;
  /** The time of the decision or the review. */
  readonly at: Date | null;
  readonly reason: string | null;
  readonly stars: number | null;
  /** The whole body. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** @internal */
export type Delivery =
  | { readonly on: "onVote"; readonly value: Vote }
  | { readonly on: "onTest"; readonly value: Test }
  | { readonly on: "onEvent"; readonly value: Event };

/** @internal Read the body of a genuine webhook. Return null if it is not JSON, or none of the three. */
export function read(id: string, body: Uint8Array): Delivery | null {
  const raw = objectIn(body);
  if (raw === null) return null;
  const [type, user] = [text(raw.type), text(raw.user)];
  const listing = { bot: text(raw.bot), guild: text(raw.guild), template: text(raw.template) };
  if (type !== null) {
    const [at, stars] = [timeOf(raw.at), wholeNumber(raw.stars)];
    return { on: "onEvent", value: { id, type, ...listing, user, at, reason: text(raw.reason), stars, raw } };
  }
  if ("type" in raw || user === null) return null;
  if (raw.test === true) return { on: "onTest", value: { id, user } };
  if (raw.test === false && Object.values(listing).some(Boolean)) return { on: "onVote", value: { id, user, ...listing } };
  return null;
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

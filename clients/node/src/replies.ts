import { BotNotFound, CountUnknown, InvalidKey, InvalidRequest, RateLimited, TooFarOff, Unavailable, VotegateError } from "./errors";
import type { Reply } from "./exchange";

const NOT_VOTEGATE = "The answer is not from Votegate, but perhaps from a proxy. Is the base address right?";
const TOO_FAR_OFF = /\((\d+)\) is too far off .* by more than (\d+) .* is (\d+)\.$/;

/** Seconds. A longer wait is not believed: a wrong header would silence a bot until it is restarted. */
export const LONGEST_WAIT = 24 * 3600;

/** Return the error that an answer means. A success means one if it lacks a field. */
export function errorOf(reply: Reply, now: number): VotegateError {
  const { status, headers, body } = reply;
  const text = typeof body?.error === "string" ? body.error : NOT_VOTEGATE;
  const failure = { status, text, requestId: headers.get("x-request-id") };
  const wait = askedWait(reply, now);
  if (status === 429) return new RateLimited(failure, wait);
  if (status >= 300 && status < 400) return new VotegateError({ ...failure, text: `The gateway redirects to ${headers.get("location")}. Is the base address right?` });
  if (status === 500 && text === "Could not fetch server count.") return new CountUnknown(failure, wait);
  if (status >= 500 || status < 400 || body === null) return new Unavailable(failure, wait);
  if (status === 401) return new InvalidKey(failure);
  if (status === 404) return new BotNotFound(failure);
  const [, given, allowed, actual] = TOO_FAR_OFF.exec(text) ?? [];
  return status === 400 && given ? new TooFarOff(failure, Number(given), Number(actual), Number(allowed)) : new InvalidRequest(failure);
}

/** Return true if the same request may succeed later. */
export function isTemporary(error: unknown): error is RateLimited | Unavailable {
  return error instanceof RateLimited || (error instanceof Unavailable && (error.status === 0 || error.status >= 500));
}

/** Return the seconds until the limit allows a request again; 0 while requests are left. */
export function usedUpFor({ headers }: Reply): number {
  return headers.get("ratelimit-remaining") === "0" ? Math.min(secondsIn(headers.get("ratelimit-reset")) ?? 0, LONGEST_WAIT) : 0;
}

/** Return the seconds that an answer asks to wait; `null` if it does not. Only headers ask, never a body. */
function askedWait({ status, headers }: Reply, now: number): number | null {
  const asked = headers.get("retry-after");
  const wait = secondsIn(asked) ?? secondsUntil(asked, now);
  return wait ?? (status === 429 ? secondsIn(headers.get("ratelimit-reset")) : null);
}

function secondsIn(value: string | null): number | null {
  return value !== null && /^\d+$/.test(value) ? Number(value) : null;
}

function secondsUntil(date: string | null, now: number): number | null {
  const seconds = date?.endsWith("GMT") ? (Date.parse(date) - now) / 1000 : NaN;
  return seconds > 0 ? seconds : null;
}

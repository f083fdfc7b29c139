import timers from "node:timers/promises";

/** The times and waits of the client. Tests replace it. */
export interface Clock {
  /** The time of day, in milliseconds since 1970. */
  now(): number;
  /** A time in milliseconds that never jumps. */
  monotonic(): number;
  /** Wait. Rejects as soon as the signal is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** @internal Milliseconds. */
export const LONGEST_TIMER = 2 ** 31 - 1; // setTimeout fires at once for a longer one

function sleeping(ref: boolean): Clock["sleep"] {
  return (milliseconds, signal) => timers.setTimeout(Math.min(milliseconds, LONGEST_TIMER), undefined, { ref, signal });
}

/** @internal The clock of the computer. */
export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now(), sleep: sleeping(true) };

/** @internal The same, but its waits do not keep the program running. */
export const backgroundClock: Clock = { ...systemClock, sleep: sleeping(false) };

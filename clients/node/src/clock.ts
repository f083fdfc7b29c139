/** The times and waits of the client. Tests replace it. */
export interface Clock {
  /** The time of day, in milliseconds since 1970. */
  now(): number;
  /** A time in milliseconds that never jumps. */
  monotonic(): number;
  /** Wait. Rejects with the reason of the signal as soon as it is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** Milliseconds. */
export const LONGEST_TIMER = 2 ** 31 - 1; // setTimeout fires at once for a longer one

function sleeping(keepsAlive: boolean): Clock["sleep"] {
  return (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const end = (): void => {
        signal?.removeEventListener("abort", abort);
        resolve();
      };
      const timer = setTimeout(end, Math.min(milliseconds, LONGEST_TIMER));
      if (!keepsAlive) timer.unref();
      signal?.addEventListener("abort", abort, { once: true });
    });
}

/** The clock of the computer. */
export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now(), sleep: sleeping(true) };

/** The same, but its waits do not keep the program running. */
export const backgroundClock: Clock = { ...systemClock, sleep: sleeping(false) };

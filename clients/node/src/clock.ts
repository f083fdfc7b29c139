/** The times and waits of the client. A test hands in its own. */
export interface Clock {
  /** The time of day, in milliseconds since 1970. */
  now(): number;
  /** A time in milliseconds that never jumps. */
  monotonic(): number;
  /** Waits. Rejects with the reason of the signal as soon as that is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** The clock of the computer. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", abort);
        resolve();
      }, milliseconds);
      signal?.addEventListener("abort", abort, { once: true });
    }),
};

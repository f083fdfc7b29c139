import { type Clock, systemClock } from "./clock";

/** The ids of the webhooks that were received. */
export interface Store {
  /**
   * Keep the id for 15 days. Return true the first time, false after that, even if two calls come at once.
   *
   * In a database: one INSERT into a table whose id is unique. If `claim` throws, the platform sends the webhook again.
   */
  claim(id: string): boolean | Promise<boolean>;
}

const KEPT_MILLISECONDS = 15 * 24 * 60 * 60 * 1000;

/** A store in memory. It forgets when the program ends: a webhook that is sent again then counts once more. */
export class MemoryStore implements Store {
  readonly #claimed = new Map<string, number>(); // in the order of time, as a Map keeps the order of insertion
  readonly #most: number;
  readonly #clock: Clock;

  /** `mostIds`: if more come within 15 days, the oldest are forgotten. */
  constructor({ mostIds = 1_000_000, clock = systemClock }: { readonly mostIds?: number; readonly clock?: Clock } = {}) {
    this.#most = mostIds;
    this.#clock = clock;
  }

  claim(id: string): boolean {
    if (this.#claimed.has(id)) return false;
    const now = this.#clock.monotonic();
    for (const [oldest, at] of this.#claimed) {
      if (this.#claimed.size < this.#most && now - at <= KEPT_MILLISECONDS) break;
      this.#claimed.delete(oldest);
    }
    this.#claimed.set(id, now);
    return true;
  }
}

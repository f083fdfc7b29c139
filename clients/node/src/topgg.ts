// For those who push with `topgg-autoposter`: an object for its option `sdk`.

import { Client, type ClientOptions } from "./client";
import { backgroundClock } from "./clock";

/** The counts that `topgg-autoposter` hands over. */
interface Stats {
  readonly serverCount?: number;
  readonly shardId?: number;
  readonly shardCount?: number;
}

// Twice the window of the limit, in case the platform cannot be reached when the window ends.
const LONGEST_CALL = 4 * 3600;

/** Return an object for the option `sdk` of `topgg-autoposter`. A push beyond the limit waits, and takes the newest counts. */
export function topgg(options: ClientOptions): any { // the type of the option is a class with private members: no object fits it
  const client = new Client({ longestWait: LONGEST_CALL, clock: backgroundClock, ...options });
  return {
    async postStats(stats: Stats): Promise<Stats> {
      if (stats.shardId !== undefined && (stats.shardCount ?? 1) > 1) {
        throw new TypeError(`This is the count of shard ${stats.shardId} alone. Hand the ShardingManager to AutoPoster.`);
      }
      await client.postStats({ serverCount: stats.serverCount });
      return stats;
    },
  };
}

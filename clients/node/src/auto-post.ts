import { backgroundClock, type Clock } from "./clock";
import type { Client, Counts } from "./client";
import { RateLimited, Unavailable, VotegateError } from "./errors";
import { quietly } from "./quietly";
import { LONGEST_WAIT } from "./replies";

/** A `Client` of discord.js 14, alone or started by a `ShardingManager`. */
export interface DiscordClient {
  isReady(): boolean;
  readonly guilds: { readonly cache: { readonly size: number } };
  readonly shard: { readonly ids: readonly number[]; fetchClientValues(name: string): Promise<unknown[]> } | null;
}

/** A `ShardingManager` of discord.js 14. */
export interface DiscordShardingManager {
  readonly shards: { readonly size: number; every(test: (shard: { readonly ready: boolean }) => boolean): boolean };
  readonly totalShards: number | "auto";
  fetchClientValues(name: string): Promise<unknown[]>;
}

/** A `Client` of Eris. */
export interface ErisClient {
  readonly ready: boolean;
  readonly guilds: { readonly size: number };
  readonly unavailableGuilds: { readonly size: number };
}

/** A bot whose servers `autoPost` can count. */
export type Bot = DiscordClient | DiscordShardingManager | ErisClient;

/** Settings of `autoPost`. */
export interface AutoPostOptions {
  /** Seconds between two pushes; by default 3600. The platform allows two pushes in two hours. */
  readonly interval?: number | undefined;
  /** Returns the servers of all shards. For shards in several processes without a `ShardingManager`: call `autoPost` in one. */
  readonly serverCount?: (() => number | Promise<number>) | undefined;
  /** The number of commands, or a function that returns it. */
  readonly commandCount?: number | (() => number | Promise<number>) | undefined;
  /** Called after each push. */
  readonly onPost?: ((counts: Counts) => unknown) | undefined;
  /** Called with each failure. Without it, failures are logged. */
  readonly onError?: ((error: unknown) => unknown) | undefined;
  /** Gets each line of the log; by default `console.warn`. */
  readonly log?: ((line: string) => unknown) | undefined;
  /** Replaces the clock of the computer. */
  readonly clock?: Clock | undefined;
}

/** Pushes the counts of a bot until it is stopped. */
export interface AutoPoster {
  stop(): void;
}

const HOUR = 3600;
const UNTIL_READY = 5;
const AFTER_FAILURE = 300;
const LEAST_WAIT = 60; // after a failure, even if the platform asks for less

/** Push the servers of a bot as soon as it is ready, then once an hour. With a `ShardingManager`, only the process of shard 0 pushes, for all. */
export function autoPost(bot: Bot, client: Client, options: AutoPostOptions = {}): AutoPoster {
  const stopped = new AbortController();
  const pushes = !("shard" in bot && bot.shard && !bot.shard.ids.includes(0));
  if (pushes) run(bot, client, options, stopped.signal).catch(() => {}); // ends only when it is stopped
  return { stop: () => stopped.abort() };
}

async function run(bot: Bot, client: Client, options: AutoPostOptions, stopped: AbortSignal): Promise<void> {
  const { interval = HOUR, clock = backgroundClock, log = console.warn, serverCount: count = () => serversOf(bot), commandCount, onPost, onError } = options;
  for (;;) {
    let pause = interval;
    try {
      if (!(await isReady(bot))) {
        pause = UNTIL_READY;
      } else {
        const serverCount = await count();
        const counts = { serverCount, commandCount: typeof commandCount === "function" ? await commandCount() : commandCount };
        await client.postStats(counts);
        await quietly(() => onPost?.(counts));
      }
    } catch (error) {
      pause = pauseAfter(error, interval);
      const line = `The counts were not pushed (${(error as Error).message}). Next try in ${Math.ceil(pause)} s.`;
      // After a restart the limit may be used up. The counts go out later, so this is no failure.
      await quietly(() => (onError && !(error instanceof RateLimited) ? onError(error) : log(line)));
    }
    await clock.sleep(pause * 1000, stopped);
  }
}

function pauseAfter(error: unknown, interval: number): number {
  if (error instanceof RateLimited || error instanceof Unavailable) {
    if (error.wait !== null) return Math.min(Math.max(error.wait, LEAST_WAIT), LONGEST_WAIT);
  } else if (error instanceof VotegateError) return interval;
  return Math.min(interval, AFTER_FAILURE);
}

/** Return true if all shards are ready. */
async function isReady(bot: Bot): Promise<boolean> {
  if ("fetchClientValues" in bot) return bot.shards.size === bot.totalShards && bot.shards.every((shard) => shard.ready);
  if (!("isReady" in bot)) return bot.ready;
  if (!bot.shard || !bot.isReady()) return bot.isReady();
  const statuses = await bot.shard.fetchClientValues("ws.status");
  return statuses.every((status) => status === 0); // 0: ready
}

/** Return the number of servers of all shards. */
async function serversOf(bot: Bot): Promise<number> {
  if ("unavailableGuilds" in bot) return bot.guilds.size + bot.unavailableGuilds.size;
  if ("guilds" in bot && !bot.shard) return bot.guilds.cache.size;
  const shards = "guilds" in bot ? bot.shard! : bot;
  const sizes = (await shards.fetchClientValues("guilds.cache.size")) as number[];
  return sizes.reduce((sum, size) => sum + size, 0);
}

export { autoPost } from "./auto-post";
export type { AutoPoster, AutoPostOptions, Bot, DiscordClient, DiscordShardingManager, ErisClient } from "./auto-post";
export { Client } from "./client";
export type { ClientOptions, Counts, VoteStatus } from "./client";
export type { Clock } from "./clock";
export { BotNotFound, CountUnknown, InvalidKey, InvalidRequest, RateLimited, TooFarOff, Unavailable, VotegateError } from "./errors";
export type { Event, Test, Vote } from "./payload";
export { type Answer, BodyAlreadyRead, Receiver, type ReceiverOptions } from "./receiver";
export { MemoryStore, type Store } from "./store";

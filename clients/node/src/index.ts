export type { Clock } from "./clock";
export * from "./errors";
export type { Event, Test, Vote } from "./payload";
export { type Answer, BodyAlreadyRead, Receiver, type ReceiverOptions } from "./receiver";
export { MemoryStore, type Store } from "./store";

export type { Clock } from "./clock";
export * from "./errors";

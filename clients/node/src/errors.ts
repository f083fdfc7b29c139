/** @internal The fields that every error of the client has, and the error that caused it, such as a broken connection. */
export type Failure = Pick<VotegateError, "status" | "text" | "requestId" | "cause">;

/** The base of all errors of this client. A redirect is this error itself. */
export class VotegateError extends Error {
  /** The status of the answer; 0 if there was none. */
  readonly status: number;
  /** The text of the answer. */
  readonly text: string;
  /** The id of the request in the log of the operators. */
  readonly requestId: string | null;

  /** @internal */
  constructor({ status, text, requestId, cause }: Failure, advice = "") {
    super((status ? `${status} ${text}` : text) + advice, cause === undefined ? {} : { cause });
    this.name = new.target.name;
    this.status = status;
    this.text = text;
    this.requestId = requestId;
  }
}

/** Another 4xx: the same request would be refused again. */
export class InvalidRequest extends VotegateError {}

/** 400: the server count is too far off from the actual one. */
export class TooFarOff extends InvalidRequest {
  /** The count that was pushed. */
  readonly given: number;
  /** The count that the platform sees. */
  readonly actual: number;
  /** The difference that is allowed. */
  readonly allowed: number;

  /** @internal */
  constructor(failure: Failure, given: number, actual: number, allowed: number) {
    super(failure);
    this.given = given;
    this.actual = actual;
    this.allowed = allowed;
  }
}

/** 401: the key is wrong, or the bot is not approved. */
export class InvalidKey extends VotegateError {}

/** 404: no bot has this id, or the base address has a wrong path. */
export class BotNotFound extends VotegateError {}

/** 429, or not sent (status 0) because the limit is used up. */
export class RateLimited extends VotegateError {
  /** Seconds until the next request is allowed; `null` if the platform does not say. */
  readonly wait: number | null;

  /** @internal */
  constructor(failure: Failure, wait: number | null) {
    super(failure, wait === null ? "" : ` Wait ${Math.ceil(wait)} s.`);
    this.wait = wait;
  }
}

/** 5xx, a broken connection, a time-out, or an answer that is not Votegate's. */
export class Unavailable extends VotegateError {
  /** Seconds to wait before the next try; `null` if the platform does not say. */
  readonly wait: number | null;

  /** @internal */
  constructor(failure: Failure, wait: number | null) {
    super(failure);
    this.wait = wait;
  }
}

/** 500: the platform does not know the bot's actual server count yet. */
export class CountUnknown extends Unavailable {}

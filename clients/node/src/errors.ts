/** Facts about a failure that every error of the client has. */
export interface Failure {
  /** The status of the answer; 0 if there was none. */
  readonly status: number;
  /** The text of the answer, to be shown to the people who run the bot. */
  readonly text: string;
  /** The id of the answer, by which the operators find it in their log. */
  readonly requestId: string | null;
  /** The error below, such as a broken connection. */
  readonly cause?: unknown;
}

/** The client could not do as asked. The classes below say why. */
export class VotegateError extends Error implements Failure {
  readonly status: number;
  readonly text: string;
  readonly requestId: string | null;

  constructor(failure: Failure) {
    super(failure.status ? `${failure.status} ${failure.text}` : failure.text, "cause" in failure ? { cause: failure.cause } : {});
    this.name = new.target.name;
    this.status = failure.status;
    this.text = failure.text;
    this.requestId = failure.requestId;
  }
}

/** 400: the request is wrong; sending it again does not help. */
export class InvalidRequest extends VotegateError {}

/** 400: the server count is too far off from the actual one. */
export class TooFarOff extends InvalidRequest {
  /** The count that was pushed. */
  readonly given: number;
  /** The count that the platform sees. */
  readonly actual: number;
  /** The difference that is allowed. */
  readonly allowed: number;

  constructor(failure: Failure, given: number, actual: number, allowed: number) {
    super(failure);
    this.given = given;
    this.actual = actual;
    this.allowed = allowed;
  }
}

/** 401: the key is missing, unknown, or of another bot. */
export class InvalidKey extends VotegateError {}

/** 404: no bot with this id is listed. */
export class BotNotFound extends VotegateError {}

/** A failure that may be over after a while. */
export class Temporary extends VotegateError {
  /** Seconds to wait before the next try; `null` if nobody knows. */
  readonly wait: number | null;

  constructor(failure: Failure, wait: number | null) {
    super(failure);
    this.wait = wait;
  }
}

/** 429, or a request that was not sent because the limit is used up. */
export class RateLimited extends Temporary {}

/** 500: the platform does not know the actual server count yet. */
export class CountUnknown extends Temporary {}

/** No usable answer: 5xx, a broken connection, a time-out, or no JSON. */
export class Unavailable extends Temporary {}

import { objectIn } from "./bodies";
import { LONGEST_TIMER } from "./clock";
import { Unavailable } from "./errors";

/** One request to the platform. */
export interface Outgoing {
  readonly method: "GET" | "PATCH";
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string | null;
}

/** The answer to it. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON object in the body; `null` if there is none. */
  readonly body: Record<string, unknown> | null;
}

const MOST_BYTES = 1024 * 1024;

/**
 * Send one request, and return its answer: no second try, no redirect.
 *
 * @throws Unavailable if the whole answer is not there after `timeout` seconds, or the connection breaks.
 */
export async function exchange(fetch: typeof globalThis.fetch, timeout: number, request: Outgoing): Promise<Reply> {
  const { method, headers, body } = request;
  const late = new AbortController(); // a timer and a controller cost half as much as AbortSignal.timeout
  const timer = setTimeout(() => late.abort(new Error(`No answer came within ${timeout} seconds.`)), Math.min(timeout * 1000, LONGEST_TIMER));
  try {
    const response = await fetch(request.url, { method, headers, body, redirect: "manual", signal: late.signal });
    return { status: response.status, headers: response.headers, body: objectIn(await bytesOf(response)) };
  } catch (error) {
    const { cause } = error as Error;
    // The bytes of a broken answer, which may quote the request.
    if (cause instanceof Error && "data" in cause) delete cause.data;
    throw new Unavailable({ status: 0, text: reasonOf(error as Error), requestId: null, cause: error }, null);
  } finally {
    clearTimeout(timer);
  }
}

/** Return the body; nothing if it is too large. A reader is faster than `for await`. */
async function bytesOf(response: Response): Promise<Uint8Array> {
  const reader = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { value } = (await reader?.read()) ?? {};
    if (value === undefined) return Buffer.concat(chunks);
    chunks.push(value);
    size += value.length;
    if (size > MOST_BYTES) {
      await reader?.cancel();
      return new Uint8Array();
    }
  }
}

/** Return the reason of a failed request. `fetch` has it in the cause; its own message is only "fetch failed". */
function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

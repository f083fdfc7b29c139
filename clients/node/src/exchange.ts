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
  try {
    const response = await fetch(request.url, { method, headers, body, redirect: "manual", signal: AbortSignal.timeout(timeout * 1000) });
    return { status: response.status, headers: response.headers, body: objectIn(await textOf(response)) };
  } catch (error) {
    throw new Unavailable({ status: 0, text: reasonOf(error as Error, timeout), requestId: null, cause: error }, null);
  }
}

/** Return the body; nothing if it is too large. A reader is faster than `for await`. */
async function textOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { value } = (await reader?.read()) ?? {};
    if (value === undefined) return Buffer.concat(chunks).toString();
    chunks.push(value);
    size += value.length;
    if (size > MOST_BYTES) {
      await reader?.cancel();
      return "";
    }
  }
}

function objectIn(text: string): Reply["body"] {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && !Array.isArray(value) ? (value as Reply["body"]) : null;
  } catch {
    return null;
  }
}

function reasonOf({ name, message, cause }: Error, timeout: number): string {
  if (name === "TimeoutError") return `No answer came within ${timeout} seconds.`;
  // "fetch failed" alone helps nobody.
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

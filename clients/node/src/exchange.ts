import { Unavailable } from "./errors";

/** One request to the platform. */
export interface Outgoing {
  readonly method: "GET" | "PATCH";
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
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
export async function exchange(fetch: typeof globalThis.fetch, timeout: number, { url, ...init }: Outgoing): Promise<Reply> {
  try {
    const response = await fetch(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(timeout * 1000) });
    return { status: response.status, headers: response.headers, body: objectIn(await textOf(response)) };
  } catch (error) {
    throw new Unavailable({ status: 0, text: reasonOf(error as Error, timeout), requestId: null, cause: error }, null);
  }
}

/** Return the body; nothing if it is too large. */
async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MOST_BYTES) return ""; // leaving the loop ends the connection
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
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

// JSON in the body of an answer or a webhook, and the values in it.

const YEAR_9999 = 253_370_764_800_000;

/** Return the JSON object in a body; `null` if it is something else. */
export function objectIn(body: Uint8Array): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body));
    return typeof value === "object" && !Array.isArray(value) ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

/** Return a value that is a whole number; `null` for any other. */
export function wholeNumber(value: unknown): number | null {
  return Number.isInteger(value) ? (value as number) : null;
}

/** Return the time of Unix milliseconds; `null` if the value is no such time. */
export function timeOf(value: unknown): Date | null {
  const at = wholeNumber(value) ?? -1;
  return at >= 0 && at < YEAR_9999 ? new Date(at) : null;
}

// Is a webhook genuine? https://www.standardwebhooks.com/ describes the signature.

import crypto from "node:crypto";

type WebHeaders = Pick<Headers, "get">;

/** The headers of a request: a `Headers`, or an object with names in lower case. */
export type ReceivedHeaders = WebHeaders | Readonly<Record<string, string | readonly string[] | undefined>>;

const PREFIX = "whsec_";
const TOLERANCE_SECONDS = 300;
const LEAST_KEY_BYTES = 16; // a shorter one was cut off, and could be guessed

/** @internal Return the key in a signing secret. The error for a wrong secret does not show it. */
export function keyOf(secret: string): Buffer {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : "";
  const key = Buffer.from(encoded, "base64");
  // Buffer decodes any text. A text that was not base64 differs when it is encoded again.
  if (key.length < LEAST_KEY_BYTES || key.toString("base64") !== encoded) {
    throw new TypeError('A signing secret begins with "whsec_". Copy it whole from the settings of the webhook.');
  }
  return key;
}

/** @internal Return a header, or "" if it is missing. */
export function headerIn(headers: ReceivedHeaders, name: string): string {
  return isWeb(headers) ? (headers.get(name) ?? "") : [headers[name] ?? []].flat().join(" ");
}

// Not `instanceof Headers`: frameworks bring classes of their own.
function isWeb(headers: ReceivedHeaders): headers is WebHeaders {
  return typeof headers.get === "function";
}

/** @internal Return why a request may not be genuine; null if it is genuine. */
export function doubt(headers: ReceivedHeaders, body: Uint8Array, keys: readonly Buffer[], tokens: readonly string[], now: number): string | null {
  const authorization = headerIn(headers, "authorization");
  if (tokens.length > 0 && !tokens.some((token) => same(token, authorization))) return "The header Authorization is not the webhook's token.";
  if (keys.length === 0) return null;
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) => headerIn(headers, `webhook-${name}`));
  if (!(id && timestamp && signatures)) return "A header is missing: webhook-id, webhook-timestamp or webhook-signature.";
  if (!/^[0-9]{1,12}$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) {
    return "webhook-timestamp differs from the receiver's clock by more than 5 minutes.";
  }
  // During a rotation there are two signatures, and perhaps two secrets: one match is enough. `Headers` joins lines with a comma.
  const sent = signatures.split(/,? /);
  const expected = keys.map((key) => `v1,${crypto.createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64")}`);
  const genuine = expected.some((one) => sent.some((other) => same(one, other)));
  return genuine ? null : "No signature is right: another secret was used, or the body was changed on its way.";
}

// Comparing hashes takes the same time wherever the texts differ, and whatever their lengths are.
function same(one: string, other: string): boolean {
  return crypto.timingSafeEqual(crypto.createHash("sha256").update(one).digest(), crypto.createHash("sha256").update(other).digest());
}

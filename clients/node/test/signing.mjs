// Signs webhooks as the platform does, and sends them. Nothing here is of the package that is tested.

import { createHmac, randomUUID } from "node:crypto";
import http from "node:http";

export const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
export const NEW_SECRET = "whsec_Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=";
export const BOT = "111111111111111111";
export const USER = "333333333333333333";

/** Returns the headers and the body of a webhook. */
export function signed(event, { id = randomUUID(), at = Date.now() / 1000, secrets = [SECRET], type = "application/json" } = {}) {
  const body = typeof event === "string" ? event : JSON.stringify(event);
  const time = String(Math.floor(at));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${time}.${body}`).digest("base64")}`;
  });
  const headers = { "content-type": type, "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures.join(" ") };
  return { headers, body };
}

/** Sends a webhook to a server on this machine. */
export function post(server, { headers, body }, agent) {
  return new Promise((resolve, reject) => {
    const options = { port: server.address().port, host: "127.0.0.1", path: "/votes", method: "POST", headers, agent };
    const request = http.request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece) => (text += piece));
      response.on("end", () => resolve({ status: response.statusCode, text })).on("error", reject);
    });
    request.on("error", reject).end(body);
  });
}

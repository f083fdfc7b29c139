// Receives webhooks. Accepts only requests that the platform signed, and rewards each event once.
//
// WEBHOOK_SECRET=whsec_... node verify.js [port]

const crypto = require("node:crypto");
const http = require("node:http");

const SECRET = process.env.WEBHOOK_SECRET;
const PORT = Number(process.argv[2] ?? 9000);
const TOLERANCE_SECONDS = 5 * 60;
const MOST_BYTES = 64 * 1024;

const seen = new Set(); // in a bot: a unique column in the table of rewards, so that it survives a restart

// Returns true if the platform signed this body less than five minutes ago.
function isGenuine(secret, messageId, timestamp, signatures, body) {
  if (!/^[0-9]{1,12}$/.test(timestamp)) return false;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const mac = crypto.createHmac("sha256", key).update(`${messageId}.${timestamp}.`).update(body);
  const expected = Buffer.from(`v1,${mac.digest("base64")}`);
  // During a rotation there are two signatures: one match is enough.
  return signatures.split(" ").some((one) => {
    const sent = Buffer.from(one);
    return sent.length === expected.length && crypto.timingSafeEqual(sent, expected);
  });
}

const server = http.createServer(async (request, response) => {
  // Check the bytes that came: JSON that was parsed and written again may differ.
  const pieces = [];
  let length = 0;
  try {
    for await (const piece of request) {
      length += piece.length;
      if (length > MOST_BYTES) return request.destroy();
      pieces.push(piece);
    }
  } catch {
    return; // the sender went away
  }
  const body = Buffer.concat(pieces);
  const messageId = request.headers["webhook-id"] ?? "";
  const timestamp = request.headers["webhook-timestamp"] ?? "";
  const signatures = request.headers["webhook-signature"] ?? "";
  const genuine = isGenuine(SECRET, messageId, timestamp, signatures, body);
  response.writeHead(genuine ? 204 : 401).end();
  if (genuine && !seen.has(messageId)) { // a repeated event gets 204 and nothing else
    seen.add(messageId);
    receive(JSON.parse(body));
  }
});

function receive(event) {
  if (event.type !== undefined) { // a review or a removed vote, for example: nobody has voted
    console.log(`event ${event.type}`);
  } else if (event.test) { // somebody has pressed Send Test: nobody has voted
    console.log(`test for ${event.user}`);
  } else {
    console.log(`vote of ${event.user}`); // the reward belongs here, and nowhere else
  }
}

server.listen(PORT, "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});

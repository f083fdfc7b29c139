// Pushes a bot's counts and asks whether a user has voted.
//
// API=https://api.example BOT_ID=... API_KEY=vg_... node client.js <servers> <commands> <user id>

const { API, BOT_ID, API_KEY } = process.env;

// Returns the body of a successful answer. Throws an error; its `wait` is null if the same request would fail again.
async function call(method, path, body) {
  const response = await fetch(API + path, {
    method,
    // The key is the whole header: no "Bearer", no "Bot".
    headers: { Authorization: API_KEY, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  const answer = await response.json();
  if (response.ok) return answer;
  const error = new Error(`${response.status} ${answer.error}`);
  // The wait is a header. The body has `success`, `error` and `status`, and nothing else.
  const wait = response.headers.get("retry-after");
  error.wait = wait && Number(wait);
  throw error;
}

async function main(servers, commands, user) {
  try {
    await call("PATCH", `/bots/${BOT_ID}/stats`, {
      server_count: Number(servers),
      command_count: Number(commands),
    });
    console.log("pushed");
  } catch (error) {
    console.log(`not pushed: ${error.message} Wait: ${error.wait}`);
  }
  try {
    // The user's id stays a string: as a number it would be rounded.
    const { voted } = await call("GET", `/bots/${BOT_ID}/voters/${user}`);
    console.log(voted ? "voted" : "not voted");
  } catch (error) {
    console.log(`not asked: ${error.message} Wait: ${error.wait}`);
  }
}

main(...process.argv.slice(2));

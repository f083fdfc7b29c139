// The calls of all generated clients, with the functions of @hey-api/openapi-ts.
import { createClient } from "../hey_api/client";
import { checkVote, listBots, showBot, strikeBotVotes, testBotWebhook, updateStats } from "../hey_api";
import { BASE, BOT, KEY, OPERATOR, UNKNOWN, USER, show } from "./given";

const bots = createClient({ baseUrl: BASE, auth: KEY });
const operator = createClient({ baseUrl: BASE, auth: OPERATOR });
const ofBot = { client: operator, path: { id: BOT } };

const pushed = await updateStats({ ...ofBot, client: bots, body: { server_count: 1200, command_count: 42 } });
const checked = await checkVote({ client: bots, path: { id: BOT, user_id: USER } });
const listed = await listBots({ client: operator, query: { state: "approved" } });
const tested = await testBotWebhook({ ...ofBot, body: {} });
const struck = await strikeBotVotes({
  ...ofBot,
  body: { reason: "Accounts of one person.", users: [USER], dry_run: true },
});
const unknown = await showBot({ client: operator, path: { id: UNKNOWN } });
show({
  pushed: pushed.data?.success,
  voted: checked.data?.voted,
  votes: checked.data?.vote,
  listed: listed.data?.bots.map((each) => each.id),
  tested: tested.data?.user,
  struck: struck.data?.votes,
  code: unknown.error?.code,
});

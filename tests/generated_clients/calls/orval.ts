// The calls of all generated clients, with the functions of orval.
import { checkVote, listBots, showBot, strikeBotVotes, testBotWebhook, updateStats } from "../orval/client";
import { BOT, UNKNOWN, USER, show } from "./given";

const pushed = await updateStats(BOT, { server_count: 1200, command_count: 42 });
const checked = await checkVote(BOT, USER);
const listed = await listBots({ state: "approved" });
const tested = await testBotWebhook(BOT, {});
const struck = await strikeBotVotes(BOT, { reason: "Accounts of one person.", users: [USER], dry_run: true });
const unknown = await showBot(UNKNOWN);
show({
  pushed: pushed.status === 200 ? pushed.data.success : undefined,
  voted: checked.status === 200 ? checked.data.voted : undefined,
  votes: checked.status === 200 ? checked.data.vote : undefined,
  listed: listed.status === 200 ? listed.data.bots.map((each) => each.id) : undefined,
  tested: tested.status === 200 ? tested.data.user : undefined,
  struck: struck.status === 200 ? struck.data.votes : undefined,
  code: unknown.status === 404 ? unknown.data.code : undefined,
});

// The calls of all generated clients, with openapi-fetch over the types of openapi-typescript.
import createClient from "openapi-fetch";
import type { paths } from "../openapi_fetch/schema";
import { BASE, BOT, KEY, OPERATOR, UNKNOWN, USER, show } from "./given";

const bots = createClient<paths>({ baseUrl: BASE, headers: { authorization: KEY } });
const operator = createClient<paths>({ baseUrl: BASE, headers: { authorization: `Bearer ${OPERATOR}` } });
const bot = { params: { path: { id: BOT } } };

const pushed = await bots.PATCH("/bots/{id}/stats", { ...bot, body: { server_count: 1200, command_count: 42 } });
const voter = { params: { path: { id: BOT, user_id: USER } } };
const checked = await bots.GET("/bots/{id}/voters/{user_id}", voter);
const listed = await operator.GET("/manage/bots", { params: { query: { state: "approved" } } });
const tested = await operator.POST("/manage/bots/{id}/webhook/test", { ...bot, body: {} });
const struck = await operator.POST("/manage/bots/{id}/votes/strike", {
  ...bot,
  body: { reason: "Accounts of one person.", users: [USER], flagged: false, dry_run: true },
});
const unknown = await operator.GET("/manage/bots/{id}", { params: { path: { id: UNKNOWN } } });
show({
  pushed: pushed.data?.success,
  voted: checked.data?.voted,
  votes: checked.data?.vote,
  listed: listed.data?.bots.map((each) => each.id),
  tested: tested.data?.user,
  struck: struck.data?.votes,
  code: unknown.error?.code,
});

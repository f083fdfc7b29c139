// Every story of clients/stories.json, against a server that does as the story says.

import { after, test } from "node:test";

import * as votegate from "votegate-client";

import { STORIES, Theatre } from "./support/stories.mjs";

const theatre = new Theatre();
after(() => theatre.close());

for (const story of STORIES) test(`${story.side}: ${story.name}`, () => theatre.play(story, votegate));

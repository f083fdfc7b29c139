// Every story that a real gateway can produce, against one.

import { after, test } from "node:test";

import * as votegate from "votegate-client";

import { STORIES, Theatre } from "./support/stories.mjs";

const theatre = new Theatre({ isReal: true });
after(() => theatre.close());

for (const story of STORIES.filter(({ gateway }) => gateway)) {
  test(`${story.side}: ${story.name}`, () => theatre.play(story, votegate));
}

// A client that is broken on purpose turns a story red.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { MUTANTS, withMutant } from "./support/mutants.mjs";
import { named, Theatre } from "./support/stories.mjs";

const theatre = new Theatre();
after(() => theatre.close());

for (const [name, mutant] of Object.entries(MUTANTS)) {
  test(`a story turns red: ${name}`, () =>
    withMutant(mutant, (broken) => assert.rejects(theatre.play(named(mutant.at(-1)), broken), { code: "ERR_ASSERTION" })));
}

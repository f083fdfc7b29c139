// The ids of webhooks in memory.

import assert from "node:assert/strict";
import { test } from "node:test";

import { MemoryStore } from "votegate-client";

const DAY = 24 * 60 * 60 * 1000;

/** A store whose clock moves only by `pass`. */
function storeWith(options) {
  let now = 0;
  const store = new MemoryStore({ ...options, clock: { monotonic: () => now } });
  return { claim: (id) => store.claim(id), pass: (milliseconds) => (now += milliseconds) };
}

test("an id is new once", () => {
  const store = storeWith({});
  assert.deepEqual([store.claim("1"), store.claim("1"), store.claim("2")], [true, false, true]);
});

test("an id is kept for 15 days, longer than the platform sends its event", () => {
  const store = storeWith({});
  store.claim("1");
  store.pass(15 * DAY);
  store.claim("2");
  assert.equal(store.claim("1"), false);
  store.pass(1);
  store.claim("3");
  assert.deepEqual([store.claim("1"), store.claim("2")], [true, false]);
});

test("of more ids than it may keep, the oldest is forgotten", () => {
  const store = storeWith({ mostIds: 2 });
  for (const id of ["1", "2", "3"]) store.claim(id);
  assert.deepEqual([store.claim("3"), store.claim("2"), store.claim("1")], [false, false, true]);
});

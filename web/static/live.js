// What the pages of operators do with htmx. Without script they are still: a reload shows the newest.
(() => {
  "use strict";
  // htmx alone turns text into markup: an answer that it has put into a template, of elements as our templates write
  // them. None brings a script or a document, and none holds text that a browser reads by other rules than these.
  const ELEMENT = /<\/?(?!(?:script|style|template|i?frame|frameset|object|embed|base|meta|link|title|textarea|xmp|plaintext|no(?:script|embed|frames)|svg|math)\b)[a-z][a-z0-9]*(?:\s+(?!on|style|srcdoc)[a-z][a-z0-9:_-]*(?:="[^"<]*")?)*\s*\/?>/gi;
  const createHTML = (text) => {
    const answer = /^<template>([^]*)<\/template>$/.exec(text)?.[1];
    if (answer === undefined || answer.replace(ELEMENT, "").includes("<")) throw new TypeError("This is no markup of ours.");
    return text;
  };
  const policy = window.trustedTypes?.createPolicy("votegate", { createHTML });
  htmx.registerExtension("votegate", {
    init: (api) => policy && api.initSecurity({ createHTML: (text) => policy.createHTML(text), createScript: () => "" }),
  });

  // Live updates: a button holds them, and their state is said beside it, in words that stand in the page.
  let paused = false;
  const say = (state) => document.querySelectorAll("[data-live-state]").forEach((each) => { each.textContent = each.dataset[state]; });
  document.addEventListener("click", (click) => {
    const button = click.target.closest("[data-live-pause]");
    if (!button) return;
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    say(paused ? "paused" : "live");
  });
  document.addEventListener("htmx:sse:before:message", (message) => { if (paused) message.preventDefault(); });
  document.addEventListener("htmx:sse:after:connection", () => { if (!paused) say("live"); });
  document.addEventListener("htmx:sse:error", () => say("unanswered"));
  document.addEventListener("signed-out", () => say("ended"));
})();

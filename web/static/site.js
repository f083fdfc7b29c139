// What pages do with script. Everything that matters works without it.
(() => {
  "use strict";
  document.documentElement.classList.add("scripted");

  // htmx puts answers of ours into the page; no other text becomes markup, and no text becomes script.
  const policy = window.trustedTypes?.createPolicy("votegate", { createHTML: (text) => text });
  htmx.registerExtension("votegate", {
    init: (api) => policy && api.initSecurity({ createHTML: (text) => policy.createHTML(text), createScript: () => "" }),
  });

  // Live updates: a button holds them, and their state is said beside it.
  let paused = false;
  const say = (text) => document.querySelectorAll("[data-live-state]").forEach((each) => { each.textContent = text; });
  document.addEventListener("click", (click) => {
    const button = click.target.closest("[data-live-pause]");
    if (!button) return;
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    say(paused ? "Paused" : "Live");
  });
  document.addEventListener("htmx:sse:before:message", (message) => { if (paused) message.preventDefault(); });
  document.addEventListener("htmx:sse:after:connection", () => { if (!paused) say("Live"); });
  document.addEventListener("htmx:sse:error", () => say("Not live: the gateway does not answer"));
  document.addEventListener("signed-out", () => say("Not live: your session has ended"));

  // A button copies a text. Where the browser forbids that, the text is selected, for the keyboard to copy.
  document.addEventListener("click", async (click) => {
    const button = click.target.closest("[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy);
    const state = button.parentElement.querySelector("[role=status]");
    try {
      await navigator.clipboard.writeText(text.textContent);
      state.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      state.textContent = "Selected: press Ctrl or ⌘ and C";
    }
  });

  // The first field of a refused form gets the focus, by way of the list of what is wrong.
  document.getElementById("problems")?.focus();
})();

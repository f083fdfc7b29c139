// What pages do with script. Everything that matters works without it.
(() => {
  "use strict";
  document.documentElement.classList.add("scripted");

  // Times are said by the clock of their reader: a time of day, and the exact time of a relative one.
  const clocks = (part) => {
    const said = (time, dateStyle) => new Date(time.dateTime).toLocaleString(document.documentElement.lang, { dateStyle, timeStyle: "short" });
    for (const time of part.querySelectorAll("time[title$=' UTC']")) {
      if ("clock" in time.dataset) time.textContent = said(time, time.dataset.clock || undefined);
      time.title = said(time, "medium");
    }
  };
  clocks(document);

  // A part that is about to change is taken from its page again after some seconds. Such an answer is no text that
  // becomes markup: Trusted Types let the browser read it.
  const lookAgain = (part) => part.dataset.again && setTimeout(() => {
    const asked = new XMLHttpRequest();
    asked.open("GET", location.href);
    asked.responseType = "document";
    asked.addEventListener("loadend", () => {
      const found = asked.response?.getElementById(part.id);
      if (found) {
        clocks(found);
        part.dataset.again = found.dataset.again ?? "";
        if (found.textContent !== part.textContent) part.replaceChildren(...found.childNodes);
      }
      if (found || !asked.response) lookAgain(part);
    });
    asked.send();
  }, part.dataset.again * 1_000);
  document.querySelectorAll("[data-again]").forEach(lookAgain);

  // A button copies a text. Where the browser forbids that, the text is selected, for the keyboard to copy.
  document.addEventListener("click", async (click) => {
    const button = click.target.closest("[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy);
    const state = (button.closest(".copied") ?? button.parentElement).querySelector("[role=status]");
    try {
      await navigator.clipboard.writeText(text.textContent);
      state.textContent = button.dataset.copied;
    } catch {
      getSelection().selectAllChildren(text);
      state.textContent = button.dataset.selected;
    }
  });

  // A browser that can share asks how; any other shows the address to copy.
  document.addEventListener("click", (click) => {
    const button = click.target.closest("[data-share]");
    if (!button || !navigator.share) return;
    click.preventDefault();
    navigator.share({ title: button.dataset.title, url: button.dataset.share }).catch(() => {});
  });

  // A letter presses a button of the review desk. It can be turned off, and fields keep their letters.
  const keys = document.querySelector("[data-keys]");
  if (keys) {
    const turn = (isOn) => {
      keys.setAttribute("aria-pressed", isOn);
      for (const each of document.querySelectorAll("[data-key]")) each.toggleAttribute("aria-keyshortcuts", isOn) && each.setAttribute("aria-keyshortcuts", each.dataset.key);
    };
    const kept = () => { try { return localStorage.getItem("keys") !== "off"; } catch { return true; } };
    turn(kept());
    keys.addEventListener("click", () => {
      turn(keys.getAttribute("aria-pressed") !== "true");
      try { localStorage.setItem("keys", keys.getAttribute("aria-pressed") === "true" ? "on" : "off"); } catch { /* It is for this page alone, then. */ }
    });
    document.addEventListener("keydown", (press) => {
      if (press.repeat || press.ctrlKey || press.altKey || press.metaKey || press.target.closest("input:not([type=checkbox]), select, textarea, [popover]")) return;
      const button = document.querySelector(`[aria-keyshortcuts="${CSS.escape(press.key.toLowerCase())}"]`);
      if (!button) return;
      press.preventDefault();
      button.click();
      button.closest("details[open]")?.querySelector("fieldset button")?.focus();
    });
  }

  // Drafts: what is typed into a form stays in this browser until it is sent or discarded, or somebody else signs in.
  const fieldsOf = (form) => [...form.elements].filter((each) => each.matches("textarea, select, [name=version], input:not([type=hidden], [type=password], [type=file])"));
  const typedIn = (form) => fieldsOf(form).filter((each) => each.type !== "checkbox" || each.checked).map((each) => [each.name, each.value.trim()]);
  const forget = (isMeant) => Object.keys(localStorage).filter((key) => key.startsWith("draft ") && isMeant(key)).forEach((key) => localStorage.removeItem(key));
  const offerDraft = (form, key, isTyped) => {
    const line = form.querySelector("[data-draft-line]");
    const version = form.elements.version?.value;
    const draft = JSON.parse(localStorage.getItem(key));
    form.addEventListener("input", () => localStorage.setItem(key, JSON.stringify({ at: Date.now(), fields: typedIn(form) })));
    form.addEventListener("submit", () => sessionStorage.setItem("sent", key));
    line.querySelector("button").addEventListener("click", () => {
      localStorage.removeItem(key);
      form.reset();
      if (version) form.elements.version.value = version;
      line.hidden = true;
      fieldsOf(form).find((each) => each.type !== "hidden").focus();
    });
    if (isTyped || !draft || JSON.stringify(draft.fields) === JSON.stringify(typedIn(form))) return;
    for (const field of fieldsOf(form)) {
      const values = draft.fields.filter(([name]) => name === field.name).map(([, value]) => value);
      if (field.type === "checkbox") field.checked = values.includes(field.value);
      else if (values.length) field.value = values[0];
    }
    line.querySelector("time").textContent = new Date(draft.at).toLocaleString(document.documentElement.lang);
    line.hidden = false;
  };
  try {
    const sent = sessionStorage.getItem("sent");
    sessionStorage.removeItem("sent");
    if (sent && document.querySelector("#notices .notice:not(.problem)")) localStorage.removeItem(sent);
    document.querySelector("[data-resend]")?.addEventListener("submit", () => sent && sessionStorage.setItem("sent", sent));
    document.addEventListener("submit", (submit) => submit.target.matches("[action='/signout']") && forget(() => true));
    for (const form of document.querySelectorAll("form[data-draft]")) {
      const key = `draft ${form.dataset.draft}`;
      forget((other) => other.split(" ")[1] !== key.split(" ")[1]);
      offerDraft(form, key, document.getElementById("problems") || "typed" in form.dataset);
    }
  } catch { /* The browser keeps nothing for us: then there are no drafts. */ }

  // A picker writes its colour into the field beside it, and the field sets the picker.
  for (const picker of document.querySelectorAll("input[data-writes]")) {
    const field = document.getElementById(picker.dataset.writes);
    picker.addEventListener("input", () => { field.value = picker.value; });
    field.addEventListener("input", () => { if (/^#[0-9a-f]{6}$/i.test(field.value)) picker.value = field.value; });
  }

  // Suggestions for a search while it is typed. The last answer that was asked for is shown.
  for (const input of document.querySelectorAll("input[data-suggestions]")) {
    const list = document.createElement("datalist");
    list.id = "suggestions";
    input.after(list);
    input.setAttribute("list", list.id);
    let waiting = 0;
    input.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(async () => {
        const q = input.value;
        const answer = await fetch(`${input.dataset.suggestions}?${new URLSearchParams({ q })}`).catch(() => null);
        if (!answer?.ok || input.value !== q) return;
        const { suggestions } = await answer.json();
        list.replaceChildren(...suggestions.map(({ text }) => new Option(text, text)));
      }, 150);
    });
  }

  // The first field of a refused form gets the focus, by way of the list of what is wrong.
  document.getElementById("problems")?.focus();
})();

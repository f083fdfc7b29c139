// What pages do with script. Everything that matters works without it.
(() => {
  "use strict";
  document.documentElement.classList.add("scripted");

  // A time of day is said by the clock of its reader.
  for (const time of document.querySelectorAll("time[data-clock]")) time.textContent = new Date(time.dateTime).toLocaleTimeString(document.documentElement.lang, { timeStyle: "short" });

  // A button copies a text. Where the browser forbids that, the text is selected, for the keyboard to copy.
  document.addEventListener("click", async (click) => {
    const button = click.target.closest("[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy);
    const state = button.parentElement.querySelector("[role=status]");
    try {
      await navigator.clipboard.writeText(text.textContent);
      state.textContent = button.dataset.copied;
    } catch {
      getSelection().selectAllChildren(text);
      state.textContent = button.dataset.selected;
    }
  });

  // Drafts: what is typed into a form stays in this browser until it is sent or discarded, or somebody else signs in.
  const fieldsOf = (form) => [...form.elements].filter((each) => each.matches("textarea, select, [name=version], input:not([type=hidden], [type=password])"));
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

  // The first field of a refused form gets the focus, by way of the list of what is wrong.
  document.getElementById("problems")?.focus();
})();

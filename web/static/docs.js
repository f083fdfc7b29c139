// The script of the documentation: the filter, copying, and "Try it". All else works without it.
(() => {
  "use strict";
  document.documentElement.classList.add("scripted");

  // A button copies the text of its block.
  for (const header of document.querySelectorAll(".block > header")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button bare small";
    button.textContent = "Copy";
    header.append(button);
  }
  const said = document.getElementById("said");
  document.addEventListener("click", async (click) => {
    const button = click.target.closest(".block > header > button");
    if (!button) return;
    const text = [...button.closest(".block").querySelectorAll("code")].find((code) => code.checkVisibility());
    try {
      await navigator.clipboard.writeText(text.textContent);
      said.textContent = button.textContent = "Copied";
      setTimeout(() => { said.textContent = ""; button.textContent = "Copy"; }, 3_000);
    } catch {
      getSelection().selectAllChildren(text);
      said.textContent = "Selected: press Ctrl or ⌘ and C";
    }
  });

  // The filter hides the requests that have not all of its words, with their links and empty sections.
  const filter = document.getElementById("filter");
  if (filter) {
    const links = new Map([...document.querySelectorAll(".toc a")].map((link) => [link.hash, link.closest("li")]));
    const calls = [...document.querySelectorAll("article.call")].map((call) => {
      const title = call.querySelector("h3");
      const text = `${title.textContent} ${title.id} ${call.querySelector(".endpoint").textContent}`.toLowerCase();
      return { call, text, link: links.get(`#${title.id}`) };
    });
    const hideEmpty = (whole, part) => {
      for (const each of document.querySelectorAll(whole)) {
        const parts = [...each.querySelectorAll(part)];
        if (parts.length) each.hidden = parts.every((one) => one.hidden);
      }
    };
    const sift = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const { call, text, link } of calls) {
        call.hidden = link.hidden = !words.every((word) => text.includes(word));
        shown += !call.hidden;
      }
      hideEmpty(".docs section", "article.call");
      hideEmpty(".toc details, .toc > div", "li");
      for (const each of document.querySelectorAll(".toc details")) each.open = words.length > 0;
      document.getElementById("shown").textContent = `${shown} of ${calls.length} requests`;
    };
    filter.addEventListener("input", sift);
    // A link to a request that is hidden shows it again.
    addEventListener("hashchange", () => {
      if (!document.getElementById(location.hash.slice(1))?.closest("[hidden]")) return;
      filter.value = "";
      sift();
      document.getElementById(location.hash.slice(1)).scrollIntoView();
    });
  }

  // "Try it" sends one request of the API. The key is in its field alone: no address, cookie or storage has it, and
  // leaving the page clears it. A key that is typed into one form is there in the other, too.
  const keys = [...document.querySelectorAll("input[data-key]")];
  for (const key of keys) key.addEventListener("input", () => keys.forEach((other) => { other.value = key.value; }));
  addEventListener("pagehide", () => keys.forEach((key) => { key.value = ""; }));

  const show = (answer, status, told, text, headers) => {
    const chip = answer.querySelector(".chip");
    chip.textContent = status;
    chip.className = `chip ${status === 200 ? "good" : "bad"}`;
    answer.querySelector(".told span:last-child").textContent = told;
    answer.querySelector("code").textContent = text;
    for (const name of answer.querySelectorAll("[data-header]")) {
      const value = headers?.get(name.dataset.header) ?? null;
      name.hidden = name.nextElementSibling.hidden = value === null;
      name.querySelector("b").textContent = value ?? "";
    }
    answer.hidden = false;
  };

  const told = (answer) => {
    const wait = answer.headers.get("retry-after");
    const left = answer.headers.get("ratelimit-remaining");
    const reset = answer.headers.get("ratelimit-reset");
    if (wait !== null) return `Send nothing for ${wait} seconds.`;
    if (left === "0") return `No request is left: send the next one in ${reset} seconds.`;
    return left === null ? "" : `${left} more may be sent in the next ${reset} seconds.`;
  };

  const indented = (text) => {
    try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
  };

  document.addEventListener("submit", async (submit) => {
    submit.preventDefault();
    const form = submit.target;
    const answer = form.parentElement.querySelector(".answer");
    const button = form.querySelector("button");
    const fields = [...form.querySelectorAll("[data-field]")].filter((field) => field.value !== "");
    const path = form.dataset.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(form.querySelector(`[data-in="${name}"]`).value));
    const body = form.querySelector("[data-field]") && JSON.stringify(Object.fromEntries(fields.map((field) => [field.dataset.field, Number(field.value)])));
    button.disabled = true;
    try {
      const sent = await fetch(path, {
        method: form.dataset.method,
        headers: { Authorization: form.querySelector("[data-key]").value, ...(body && { "Content-Type": "application/json" }) },
        body,
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
      });
      show(answer, sent.status, told(sent), indented(await sent.text()), sent.headers);
    } catch {
      show(answer, "No answer", "The gateway did not answer. Is the connection there?", "", null);
    }
    button.disabled = false;
  });
})();

// The script of the documentation: the filter, copying, and "Try it". All else works without it.
(() => {
  "use strict";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  document.documentElement.classList.add("scripted");

  // A button copies the text of its block.
  const said = document.getElementById("said");
  for (const header of all(".block > header")) {
    const button = document.createElement("button");
    button.className = "button bare small";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const text = all("code", header.parentElement).find((code) => code.checkVisibility());
      try {
        await navigator.clipboard.writeText(text.textContent);
        said.textContent = button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text);
      }
    });
    header.append(button);
  }

  // The filter hides the requests that have not all of its words, with their links and empty sections.
  const filter = document.getElementById("filter");
  const links = new Map(all(".toc a").map((link) => [link.hash, link.closest("li")]));
  filter?.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    const calls = all("article.call");
    for (const call of calls) {
      const title = call.querySelector("h3");
      const text = `${title.textContent} ${title.id} ${call.querySelector(".endpoint").textContent}`.toLowerCase();
      call.hidden = links.get(`#${title.id}`).hidden = !words.every((word) => text.includes(word));
    }
    for (const each of all(".docs section:has(.call), .toc details, .toc div")) each.hidden = !each.querySelector(":is(.call, li):not([hidden])");
    for (const each of all(".toc details")) each.open = filter.value;
    document.getElementById("shown").textContent = `${calls.filter((call) => !call.hidden).length} of ${calls.length} requests`;
  });

  // "Try it" sends one request. The key is in its field alone: no address, cookie or storage has it, and leaving the
  // page clears it.
  addEventListener("pagehide", () => all("form").forEach((form) => form.reset()));

  const show = (answer, status, told, text, headers) => {
    const chip = answer.querySelector(".chip");
    chip.textContent = status;
    chip.className = `chip ${status === 200 ? "good" : "bad"}`;
    answer.querySelector(".told span:last-child").textContent = told;
    answer.querySelector("code").textContent = text;
    for (const name of all("[data-header]", answer)) {
      const value = name.querySelector("b").textContent = headers.get(name.dataset.header);
      name.hidden = name.nextElementSibling.hidden = !value;
    }
    answer.hidden = false;
  };

  const told = (headers) => {
    const [wait, left, reset] = ["retry-after", "ratelimit-remaining", "ratelimit-reset"].map((name) => headers.get(name));
    if (wait ?? left === "0") return `Send nothing for ${wait ?? reset} seconds.`;
    return left && `${left} more may be sent in the next ${reset} seconds.`;
  };

  document.addEventListener("submit", async (submit) => {
    submit.preventDefault();
    const form = submit.target;
    const answer = form.parentElement.querySelector(".answer");
    const path = form.dataset.path.replace(/\{(\w+)\}/g, (_, name) => form.querySelector(`[data-in="${name}"]`).value);
    const fields = all("[data-field]", form);
    const sent = fields.filter((field) => field.value).map((field) => [field.dataset.field, Number(field.value)]);
    try {
      const got = await fetch(path, {
        method: form.dataset.method,
        headers: { Authorization: form.querySelector("[data-key]").value, "Content-Type": "application/json" },
        body: fields.length ? JSON.stringify(Object.fromEntries(sent)) : null,
        credentials: "omit",
        redirect: "error",
      });
      show(answer, got.status, told(got.headers), JSON.stringify(await got.json(), null, 2), got.headers);
    } catch {
      show(answer, "No answer", "Is the gateway there?", "", new Headers());
    }
  });
})();

// The work before a suspicious vote. Workers of ALTCHA share it, each with every nth number; the first to find
// a solution ends it, and the form sends that along.
(() => {
  "use strict";
  const MOST_WORKERS = 4, LONGEST_MS = 120_000;
  const field = document.querySelector("[data-challenge]");
  const challenge = JSON.parse(field.dataset.challenge);
  const button = field.form.querySelector("button");
  const state = field.form.querySelector("[role=status]");
  const own = (address) => {
    if (new URL(address, location.href).origin !== location.origin) throw new Error("a worker of others");
    return address;
  };
  const policy = window.trustedTypes?.createPolicy("votegate-worker", { createScriptURL: own }) ?? { createScriptURL: own };

  const count = Math.min(navigator.hardwareConcurrency || 1, MOST_WORKERS);
  const workers = Array.from({ length: count }, () => new Worker(policy.createScriptURL(field.dataset.worker)));
  const end = (words) => {
    workers.forEach((worker) => worker.terminate());
    state.textContent = words;
  };
  workers.forEach((worker, counterStart) => {
    worker.addEventListener("error", () => end(state.dataset.failed));
    worker.addEventListener("message", ({ data: solution }) => {
      if (!solution || solution.error) return end(state.dataset.failed);
      field.value = btoa(JSON.stringify({ challenge, solution }));
      button.disabled = false;
      end(state.dataset.done);
      button.focus();
    });
    worker.postMessage({ type: "work", challenge, counterStart, counterStep: count, timeout: LONGEST_MS });
  });
})();

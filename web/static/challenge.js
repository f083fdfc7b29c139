// The work before a suspicious vote. The vendored element does it, out of sight; its field goes with the form.
const place = document.querySelector("[data-challenge]");
const form = place.closest("form");
const button = form.querySelector("button");
const state = form.querySelector("[role=status]");
const own = (address) => {
  if (new URL(address, location.href).origin !== location.origin) throw new Error("a worker of others");
  return address;
};
const policy = window.trustedTypes?.createPolicy("votegate-worker", { createScriptURL: own });
const worker = policy ? policy.createScriptURL(place.dataset.worker) : own(place.dataset.worker);

$altcha.algorithms.set("PBKDF2/SHA-256", () => new Worker(worker));
const widget = document.createElement("altcha-widget");
widget.setAttribute("auto", "onload");
widget.setAttribute("challenge", place.dataset.challenge);
widget.setAttribute("configuration", JSON.stringify({ humanInteractionSignature: false, minDuration: 0 }));
widget.addEventListener("statechange", ({ detail }) => {
  if (detail.state === "verified") {
    state.textContent = state.dataset.done;
    button.disabled = false;
    button.focus();
  } else if (detail.state === "error") {
    state.textContent = state.dataset.failed;
  }
});
place.append(widget);

// A clock that moves on only when somebody sleeps, or by `pass`.

export class FakeClock {
  #now;

  constructor(seconds = 0) {
    this.#now = seconds * 1000;
  }

  now() {
    return this.#now;
  }

  monotonic() {
    return this.#now;
  }

  async sleep(milliseconds, signal) {
    this.#now += milliseconds;
    await new Promise((resume) => setImmediate(resume));
    signal?.throwIfAborted();
  }

  pass(seconds) {
    this.#now += seconds * 1000;
  }
}

/** Call a handler of the user, whose failure is not ours: it ends neither the program nor what called it. */
export async function quietly(handler: () => unknown): Promise<void> {
  try {
    await handler();
  } catch {
    // Nobody is left to be told.
  }
}

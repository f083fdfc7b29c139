// The fetch that orval's functions call: it adds the address, and the key or the token.
import { BASE, KEY, OPERATOR } from "./given";

export async function ownFetch<T>(path: string, options: RequestInit): Promise<T> {
  const headers = new Headers(options.headers);
  headers.set("authorization", path.startsWith("/manage/") ? `Bearer ${OPERATOR}` : KEY);
  const answer = await fetch(BASE + path, { ...options, headers });
  return { data: await answer.json(), status: answer.status, headers: answer.headers } as T;
}

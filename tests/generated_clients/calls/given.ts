// What the test gives, and the line that it reads.
declare const process: { env: Record<string, string | undefined> };

function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

export const [BASE, KEY, OPERATOR] = [given("BASE"), given("KEY"), given("OPERATOR")];
export const [BOT, USER, UNKNOWN] = [given("BOT"), given("USER"), given("UNKNOWN")];

export interface Shown {
  pushed: boolean | undefined;
  voted: boolean | undefined;
  votes: number | undefined;
  listed: string[] | undefined;
  tested: string | null | undefined;
  struck: number | undefined;
  code: string | undefined;
}

export function show(shown: Shown): void {
  console.log(JSON.stringify(shown));
}

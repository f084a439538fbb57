/** Longest wait for an answer, ms. A console host gives up on the service behind it before. */
const TIMEOUT_MS = 12_000;

/** An answer with its JSON. The content of another answer is undefined. */
export interface RawAnswer {
  ok: boolean;
  status: number;
  content: unknown;
}

/** Sends a call, with the cookies of the own origin. Rejects if no answer comes within 12 s. */
export async function sendCall(address: string, call: RequestInit): Promise<RawAnswer> {
  const response = await fetch(address, {
    ...call,
    credentials: 'same-origin',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const content: unknown = await response.json().catch(() => undefined);
  return { ok: response.ok, status: response.status, content };
}

/** Calls of the account layer that a page sent before its code was there, by method and path. Each is taken once, within 12 s. */
const early = new Map<string, Promise<RawAnswer>>();

export function sendEarly(method: 'GET' | 'POST', path: string): void {
  const name = `${method} ${path}`;
  const answer = sendCall(path, { method });
  // The taker of the call gets its failure.
  answer.catch(() => undefined);
  early.set(name, answer);
  setTimeout(() => early.delete(name), TIMEOUT_MS);
}

/** Returns the answer to a call that was sent early, and undefined for any other. */
export function takeEarly(method: string, path: string): Promise<RawAnswer> | undefined {
  const name = `${method} ${path}`;
  const answer = early.get(name);
  early.delete(name);
  return answer;
}

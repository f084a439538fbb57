import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export const COUNTED_MODEL = 'llama-3.3-70b-instruct';
export const COUNTED_WINDOW = 131_072;
export const BYTES_PER_TOKEN = 4;

/** Requests that an engine received: prompts to count, and the bodies of chats. */
export interface Counted {
  prompts: number;
  bodies: { max_tokens: number }[];
}

export interface CountingEngine {
  url: string;
  /** Returns the requests since the last call. */
  takeCounted(): Promise<Counted>;
  stop(): Promise<void>;
}

/** An engine that counts a token for every four bytes of a question, and answers every chat with a word. */
export async function startCountingEngine(): Promise<CountingEngine> {
  const child = fork(fileURLToPath(new URL('countingEngine.ts', import.meta.url)), { execArgv: [] });
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  return {
    url,
    async takeCounted() {
      const answer = once(child, 'message') as Promise<[Counted]>;
      child.send('take');
      return (await answer)[0];
    },
    async stop() {
      const exit = once(child, 'exit');
      child.disconnect();
      await exit;
    },
  };
}

import { randomUUID } from 'node:crypto';
import { startDeadline } from '@turnpike/lifecycle/startDeadline';
import { REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import type { ProbeResult } from '../../health/engineHealth.ts';
import type { EngineConnection } from '../terms/dialect.ts';
import { askEngine } from './askEngine.ts';

/** Longest wait for the token: an engine that is full answers late, and is well. */
const TIMEOUT_MS = 10_000;
/** Enough to see that there is an answer; a server that goes on and on has shown it. */
const MAX_BYTES = 65_536;
/** Connections that break are tried again: one in ten may on a poor network, and the engine be well. */
const MAX_TRIES = 3;
const ANSWER = /"choices"\s*:\s*\[\s*\{|"embedding"\s*:/;

/** The smallest request of each kind. An engine that has no such route, or cannot do it, answers with a 4xx. */
const questionsFor = (model: string): { path: string; body: object }[] => [
  { path: '/v1/chat/completions', body: { model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 } },
  { path: '/v1/completions', body: { model, prompt: 'Hi', max_tokens: 1 } },
  { path: '/v1/embeddings', body: { model, input: 'Hi' } },
];

/**
 * Makes an engine produce one token, or one vector, under a name it serves. It is no client's call: it is free, and its request
 * id begins with `probe-`.
 */
export async function produceToken(pool: EngineConnection, model: string): Promise<ProbeResult> {
  const late = new AbortController();
  const deadline = startDeadline(TIMEOUT_MS, () => late.abort());
  const { signal } = late;
  try {
    for (const question of questionsFor(model)) {
      const { status, bytes } = await ask(pool, question, signal);
      if (status === 200) return ANSWER.test(bytes.toString('utf8')) ? 'token' : 'failed';
      if (status === 429 || status === 503) return 'busy';
      if (status >= 500 && status !== 501) return 'failed';
    }
    return 'failed';
  } catch {
    return signal.aborted ? 'silent' : 'failed';
  } finally {
    deadline.stop();
  }
}

async function ask(
  pool: EngineConnection,
  question: { path: string; body: object },
  signal: AbortSignal,
): Promise<{ status: number; bytes: Buffer }> {
  for (let tries = 1; ; tries += 1) {
    try {
      const headers = { [REQUEST_ID_HEADER]: `probe-${randomUUID()}` };
      return await askEngine(pool, { ...question, headers, maxBytes: MAX_BYTES, signal });
    } catch (error) {
      if (tries === MAX_TRIES || signal.aborted) throw error;
    }
  }
}

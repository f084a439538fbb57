import { randomInt, randomUUID } from 'node:crypto';
import { REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import type { EngineConnection, Trial } from '../terms/dialect.ts';
import { askEngine } from './askEngine.ts';

/** An engine that takes longer for so little is as slow as it was. */
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 65_536;
/** An error may come as an event, and soon. */
const FIRST_EVENT = /"choices"\s*:\s*\[\s*\{/;
const COMPLETION_TOKENS = /"completion_tokens"\s*:\s*(\d+)/;

/** A model that has no chat template is asked for a completion. */
const questionsFor = (model: string, { promptTokens, outputTokens }: Trial): { path: string; body: object }[] => {
  const text = `Repeat these letters:${someLetters(promptTokens)}`;
  const fields = { model, max_tokens: outputTokens, stream: true, stream_options: { include_usage: true } };
  return [
    { path: '/v1/chat/completions', body: { ...fields, messages: [{ role: 'user', content: text }] } },
    { path: '/v1/completions', body: { ...fields, prompt: text } },
  ];
};

/** To about every tokenizer a letter with a space before it is one token. Drawn at random, so no engine has them cached. */
const someLetters = (count: number): string =>
  Array.from({ length: count }, () => ` ${String.fromCharCode(97 + randomInt(26))}`).join('');

/**
 * Sends an engine a trial under a name it serves, and reports how it goes. Ends it in any case, within 10 s. This is no client's
 * call: nobody is charged, and its request id begins with `probe-`.
 */
export async function sendTrial(pool: EngineConnection, model: string, trial: Trial): Promise<void> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  let hasBegun = false;
  try {
    for (const question of questionsFor(model, trial)) {
      const { status, bytes } = await askEngine(pool, {
        ...question,
        headers: { [REQUEST_ID_HEADER]: `probe-${randomUUID()}` },
        maxBytes: MAX_BYTES,
        signal,
        onText(text) {
          if (hasBegun || !FIRST_EVENT.test(text)) return;
          hasBegun = true;
          trial.onFirstEvent();
        },
      });
      if (status === 200) {
        const [, completionTokens] = COMPLETION_TOKENS.exec(bytes.toString('utf8')) ?? [];
        trial.end(completionTokens === undefined ? undefined : Number(completionTokens));
        return;
      }
      // One that has no time now is not asked twice.
      if (status >= 500 || status === 429) break;
    }
    trial.end(undefined);
  } catch {
    trial.end(undefined);
  }
}

import { z } from 'zod';
import type { PricedModel } from '../catalog/catalog.ts';
import { isInline } from '../images/decodeInlineImage.ts';
import type { InferenceRequest } from '../wire/inferenceRequest.ts';
import { type Engine, servedNameOf } from './engine.ts';
import type { EngineRegistry } from './engineRegistry.ts';

/** For all questions together: a call whose prompt cannot be counted by then is judged by its bytes. */
const TIMEOUT_MS = 2_000;
const MAX_AT_ONCE = 16;
/** Questions under way for all calls of this router: above them the byte bound decides, and engines are spared. */
const MAX_IN_ALL = 128;
let inAll = 0;
const countSchema = z.object({ count: z.number().int().min(0) });

/**
 * The engine's count of the prompt, or undefined when no engine gives one in time: then the byte bound stands. It is exact
 * but for images that have not been fetched, which are counted at the model's most.
 */
export async function countPromptTokens(
  engines: Pick<EngineRegistry, 'findEngines'>,
  request: InferenceRequest,
  model: PricedModel,
): Promise<number | undefined> {
  const engine = engines
    .findEngines(model)
    .find((candidate) => candidate.isHealthy && servedNameOf(candidate, model) !== undefined);
  if (!engine || inAll >= MAX_IN_ALL) return undefined;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const questions = request.tokenizeQuestions();
  try {
    const remoteImages = request.images.urls.filter((url) => !isInline(url)).length;
    let sum = remoteImages * model.maxTokensPerImage;
    for (let start = 0; start < questions.length; start += MAX_AT_ONCE) {
      const batch = questions.slice(start, start + MAX_AT_ONCE);
      const counts = await Promise.all(
        batch.map((question) => ask(engine, { model: servedNameOf(engine, model), ...question }, signal)),
      );
      for (const count of counts) sum += count;
    }
    return sum;
  } catch {
    return undefined;
  }
}

async function ask(engine: Engine, question: object, signal: AbortSignal): Promise<number> {
  inAll += 1;
  try {
    return await askOnce(engine, question, signal);
  } finally {
    inAll -= 1;
  }
}

async function askOnce(engine: Engine, question: object, signal: AbortSignal): Promise<number> {
  const { statusCode, body } = await engine.pool.request({
    method: 'POST',
    path: '/tokenize',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(question),
    signal,
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`engine answered ${statusCode} to a question for a count`);
  return countSchema.parse(JSON.parse(text)).count;
}

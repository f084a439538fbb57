import { z } from 'zod';
import { type Dialect, RefusedQuestion } from '../terms/dialect.ts';
import { toQuestionBody } from './toEngineBody.ts';

const countSchema = z.object({ count: z.number().int().min(0) });

/** Has an engine's tokenizer count the prompt that a question is about. */
export const countTokens: Dialect['countTokens'] = async (engine, { request, question, servedName }, signal) => {
  const { statusCode, body } = await engine.request({
    method: 'POST',
    path: '/tokenize',
    headers: { 'content-type': 'application/json' },
    body: toQuestionBody(request, question, servedName),
    signal,
  });
  const text = await body.text();
  if (statusCode >= 400 && statusCode < 500) throw new RefusedQuestion(`engine answered ${statusCode}`);
  if (statusCode !== 200) throw new Error(`engine answered ${statusCode} to a question for a count`);
  return countSchema.parse(JSON.parse(text)).count;
};

import { z } from 'zod';
import { type Dialect, RefusedQuestion } from '../terms/dialect.ts';
import { produceToken } from './produceToken.ts';
import { readReport } from './readReport.ts';
import { readServedModels, readVersion } from './readServedModels.ts';
import { sendTrial } from './sendTrial.ts';
import { toEngineBody, toQuestionBody } from './toEngineBody.ts';
import { toEngineFault } from './toEngineFault.ts';
import { toSentBody } from './toSentBody.ts';

const countSchema = z.object({ count: z.number().int().min(0) });

/** Has an engine's tokenizer count the prompt that a question is about. */
const countTokens: Dialect['countTokens'] = async (engine, { request, question, servedName }, signal) => {
  const asked = toSentBody(toQuestionBody(request, question, servedName));
  const { statusCode, body } = await engine.request({
    method: 'POST',
    path: '/tokenize',
    headers: { 'content-type': 'application/json', ...asked.headers },
    body: asked.body,
    signal,
  });
  const text = await body.text();
  if (statusCode >= 400 && statusCode < 500) throw new RefusedQuestion(`engine answered ${statusCode}`);
  if (statusCode !== 200) throw new Error(`engine answered ${statusCode} to a question for a count`);
  return countSchema.parse(JSON.parse(text)).count;
};

/** Engines of vLLM, any release: the paths of calls are those of OpenAI, as the router's own are. */
export const vllm: Dialect = {
  pathOf: ({ path }) => path,
  toBody: toEngineBody,
  toFault: toEngineFault,
  readServed: readServedModels,
  readVersion,
  readReport,
  produceToken,
  sendTrial,
  countTokens,
};

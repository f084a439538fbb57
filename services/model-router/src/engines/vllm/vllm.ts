import { z } from 'zod';
import { type Dialect, RefusedQuestion } from '../terms/dialect.ts';
import { findEngineMembers, parseEngineJson } from '../terms/engineJson.ts';
import { readAnswer } from './askEngine.ts';
import { produceToken } from './produceToken.ts';
import { readReport } from './readReport.ts';
import { readServedModels, readVersion } from './readServedModels.ts';
import { sendTrial } from './sendTrial.ts';
import { toEngineBody, toQuestionBody } from './toEngineBody.ts';
import { toEngineFault } from './toEngineFault.ts';
import { toSentBody } from './toSentBody.ts';

const countSchema = z.number().int().min(0);
/** The most that is read of a count: two million tokens beside it. */
const MAX_COUNT_BYTES = 16_777_216;
const NOTHING = Buffer.alloc(0);

/** Makes an engine's tokenizer count the prompt of a question. */
const countTokens: Dialect['countTokens'] = async (engine, { request, question, servedName }, signal) => {
  const asked = toSentBody(toQuestionBody(request, question, servedName));
  const { statusCode, body } = await engine.request({
    method: 'POST',
    path: '/tokenize',
    headers: { 'content-type': 'application/json', ...asked.headers },
    body: asked.body,
    signal,
  });
  const bytes = await readAnswer(body, { maxBytes: MAX_COUNT_BYTES });
  if (statusCode >= 400 && statusCode < 500) throw new RefusedQuestion(`engine answered ${statusCode}`);
  if (statusCode !== 200) throw new Error(`engine answered ${statusCode} to a question for a count`);
  // Beside it stand all tokens of the prompt, which nobody needs.
  return countSchema.parse(parseEngineJson(findEngineMembers(bytes)?.get('count') ?? NOTHING));
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

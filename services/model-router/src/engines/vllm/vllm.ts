import { randomInt, randomUUID } from 'node:crypto';
import { REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import type { JsonPath } from '@turnpike/request-reading/body/scanJson';
import { findDataHeader, isInline } from '@turnpike/request-reading/images/decodeInlineImage';
import { z } from 'zod';
import type { InferenceRequest, RequestImages } from '../../request/inferenceRequest.ts';
import { type PlacedLiteral, toLiteralTree, writeJson } from '../../request/writeJson.ts';
import {
  type Dialect,
  type EngineCallFields,
  type EngineConnection,
  RefusedQuestion,
  type Trial,
} from '../terms/dialect.ts';
import { findEngineMembers, parseEngineJson } from '../terms/engineJson.ts';
import { askEngine, readAnswer } from './askEngine.ts';
import { produceToken } from './produceToken.ts';
import { readReport } from './readReport.ts';
import { readServedModels, readVersion } from './readServedModels.ts';
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
  // The answer also has all tokens of the prompt, which are not parsed.
  return countSchema.parse(parseEngineJson(findEngineMembers(bytes)?.get('count') ?? NOTHING));
};

/** Engines of vLLM, any release. */
export const vllm: Dialect = {
  toBody: toEngineBody,
  toFault: toEngineFault,
  readServed: readServedModels,
  readVersion,
  readReport,
  produceToken,
  sendTrial,
  countTokens,
};

/** Longest trial. An engine that takes longer for so little is still slow. */
const TRIAL_TIMEOUT_MS = 10_000;
const MAX_TRIAL_BYTES = 65_536;
/** Pattern of the first event with content, because an error may come early as an event. */
const FIRST_EVENT = /"choices"\s*:\s*\[\s*\{/;
const COMPLETION_TOKENS = /"completion_tokens"\s*:\s*(\d+)/;

/** Returns the requests of a trial. A model without a chat template gets a completion. */
const questionsFor = (model: string, { promptTokens, outputTokens }: Trial): { path: string; body: object }[] => {
  const text = `Repeat these letters:${someLetters(promptTokens)}`;
  const fields = { model, max_tokens: outputTokens, stream: true, stream_options: { include_usage: true } };
  return [
    { path: '/v1/chat/completions', body: { ...fields, messages: [{ role: 'user', content: text }] } },
    { path: '/v1/completions', body: { ...fields, prompt: text } },
  ];
};

/**
 * Returns random letters, so that no engine has them cached. Most tokenizers make one token of a letter with a space.
 */
const someLetters = (count: number): string =>
  Array.from({ length: count }, () => ` ${String.fromCharCode(97 + randomInt(26))}`).join('');

/**
 * Sends an engine a trial under a served name, and reports its progress. Ends the trial in every case, within 10 s. No
 * client is charged, and its request id begins with `probe-`.
 */
export async function sendTrial(pool: EngineConnection, model: string, trial: Trial): Promise<void> {
  const signal = AbortSignal.timeout(TRIAL_TIMEOUT_MS);
  let hasBegun = false;
  try {
    for (const question of questionsFor(model, trial)) {
      const { status, bytes } = await askEngine(pool, {
        ...question,
        headers: { [REQUEST_ID_HEADER]: `probe-${randomUUID()}` },
        maxBytes: MAX_TRIAL_BYTES,
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
      // A busy or failing engine gets no second request.
      if (status >= 500 || status === 429) break;
    }
    trial.end(undefined);
  } catch {
    trial.end(undefined);
  }
}

/** Members that only the router sets or reads. The client's values never reach the engine. */
const OWNED_KEYS = new Set([
  'model',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'cache_salt',
  'n',
  'logprobs',
  'top_logprobs',
  'user',
  'session_id',
]);

/**
 * Returns the body for the engine, in pieces. It has the router's own members and the client's bytes of plain ones.
 * Members with nested values are written anew from the checked values, so that the engine cannot read them differently
 * than the check did. Long strings and digits keep the client's bytes. Throws if an image that is not inline was not
 * fetched.
 */
export function toEngineBody(
  request: InferenceRequest,
  { model, servedName, maxOutputTokens, cacheSalt }: EngineCallFields,
): Buffer[] {
  const owned: Record<string, unknown> = {
    model: servedName,
    cache_salt: cacheSalt,
    ...(request.operation.isGenerating && { max_tokens: maxOutputTokens }),
    ...(request.isStream && {
      stream: true,
      // The running usage in each chunk gives a cut stream the engine's own count. Clients do not see it.
      stream_options: { include_usage: true, continuous_usage_stats: true },
    }),
  };
  const { bytes, members, value } = request.body;
  const { replaced } = request.formFor(model);
  const placed = request.body.literals.length > 0 ? [...clientLiterals(request)] : [];
  if (request.images.urls.length > 0) placed.push(...fetchedImages(request));
  const literals = placed.length > 0 ? toLiteralTree(placed) : undefined;
  const pieces: Buffer[] = [];
  // Most bodies are short and fastest to write as one text.
  let text = JSON.stringify(owned).slice(0, -1);
  for (const { key, start, end } of members) {
    if (OWNED_KEYS.has(key) || value[key] === null) continue;
    if (!Object.hasOwn(request.written, key)) {
      if (end - start <= SHORT_BYTES) {
        text += `,${bytes.toString('utf8', start, end)}`;
      } else {
        pieces.push(Buffer.from(`${text},`), bytes.subarray(start, end));
        text = '';
      }
      continue;
    }
    const isReplaced = replaced.has(key);
    const written = isReplaced ? replaced.get(key) : request.written[key];
    if (written === undefined) continue;
    const literalsThere = isReplaced ? undefined : literals?.get(key);
    text += `,${JSON.stringify(key)}:`;
    if (literalsThere) {
      pieces.push(Buffer.from(text), ...writeJson(written, literalsThere));
      text = '';
    } else {
      text += JSON.stringify(written);
    }
  }
  pieces.push(Buffer.from(`${text}}`));
  return pieces;
}

/** Up to here bytes are quicker made a text, and bytes again, than copied. */
const SHORT_BYTES = 1_024;
const QUOTE = Buffer.from('"');

/**
 * A question for the engine's tokenizer, which it answers with the count of a prompt. A conversation's long strings and inline
 * images are copied: to write them again could hold up the process.
 */
export function toQuestionBody(request: InferenceRequest, question: object, servedName: string | undefined): Buffer[] {
  // A question of the other operations has texts at places of its own.
  const literals = request.operation.isAskedByBody ? toLiteralTree(clientLiterals(request)) : undefined;
  // The client's own name of the model is not the engine's.
  literals?.delete('model');
  return writeJson({ model: servedName, ...question }, literals);
}

/** The client's own, which need not be written again, at the places where engines read them. */
function* clientLiterals({ body, images }: InferenceRequest): Generator<PlacedLiteral> {
  for (const { path, bytes } of body.literals) {
    if (path[0] === 'response_format' && path[1] === 'schema') {
      yield { path: ['response_format', 'json_schema', ...path.slice(1)], pieces: [bytes] };
    } else if (path[0] === 'messages' && path[4] === 'image_url') {
      const pieces = toTypedImage(bytes, urlAt(images, path));
      if (pieces) yield { path: ['messages', ...path.slice(1, 5), 'url'], pieces };
    } else {
      yield { path, pieces: [bytes] };
    }
  }
}

/** The address that the image part on the way to a literal has. */
function urlAt({ places, urls }: RequestImages, [, message, , part]: JsonPath): string {
  const index = places.findIndex((place) => place.message === message && place.part === part);
  return urls[index] ?? '';
}

/** An image's literal with the header of its address; undefined where the bytes do not show where the header ends. */
function toTypedImage(bytes: Buffer, url: string): readonly Buffer[] | undefined {
  const header = findDataHeader(url);
  if (header === undefined || bytes.subarray(1, 1 + header.length).equals(Buffer.from(header))) return [bytes];
  const comma = bytes.indexOf(',');
  return comma < 0 ? undefined : [Buffer.from(`"${header}`), bytes.subarray(comma + 1)];
}

/** The images that were fetched, at the places of their addresses. */
function* fetchedImages({ images }: InferenceRequest): Generator<PlacedLiteral> {
  for (const [index, { message, part }] of images.places.entries()) {
    const url = images.urls[index] ?? '';
    if (isInline(url)) continue;
    const fetched = images.fetched.get(url);
    if (!fetched) throw new Error('an image was not fetched');
    const path = ['messages', message, 'content', part, 'image_url', 'url'];
    yield { path, pieces: [QUOTE, fetched, QUOTE] };
  }
}

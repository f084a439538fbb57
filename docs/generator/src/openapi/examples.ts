import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import type { CreditInformation } from '@turnpike/public-api/creditInformation';
import type { ModelList } from '@turnpike/public-api/modelEntry';
import type { ResponsesRequest } from '@turnpike/public-api/responsesRequest';
import { toCreditBody } from '../../../../services/auth/src/wire/creditBody.ts';
import { toKeyInformationBody } from '../../../../services/auth/src/wire/keyInformationBody.ts';
import { toModelBody } from '../../../../services/catalog/src/wire/modelBody.ts';
import { toTranscriptAnswer } from '../../../../services/media-jobs/src/answer/audio/transcriptAnswer.ts';
import { toImageLinksBody } from '../../../../services/media-jobs/src/answer/images/imageAnswer.ts';
import {
  toDeletedBody,
  toMediaJobBody,
  toVideoBody,
  toVideoListBody,
} from '../../../../services/media-jobs/src/answer/jobs/jobBodies.ts';
import type { ShownJob } from '../../../../services/media-jobs/src/terms/job.ts';
import { EngineStream } from '../../../../services/model-router/src/answer/chunks/engineStream.ts';
import type { ChunkShape } from '../../../../services/model-router/src/answer/chunks/streamEncoder.ts';
import { CHAT_CHUNKS, editChatAnswer } from '../../../../services/model-router/src/answer/operations/chat.ts';
import {
  COMPLETION_CHUNKS,
  editCompletionAnswer,
} from '../../../../services/model-router/src/answer/operations/completions.ts';
import { editEmbeddingAnswer } from '../../../../services/model-router/src/answer/operations/embeddings.ts';
import { editMessage, MESSAGE_EVENTS } from '../../../../services/model-router/src/answer/operations/messages.ts';
import { editResponse, RESPONSE_EVENTS } from '../../../../services/model-router/src/answer/operations/responses.ts';
import type {
  AnswerOptions,
  WholeAnswer,
} from '../../../../services/model-router/src/answer/operations/wholeAnswer.ts';
import { toRepeated } from '../../../../services/model-router/src/request/responsesRequest.ts';
import { toUsageBody } from '../../../../services/usage-ledger/src/wire/usageBody.ts';
import { toUsageRequestBody } from '../../../../services/usage-ledger/src/wire/usageRequestBody.ts';

const NOW = new Date('2026-11-21T10:00:00Z');
const MODEL: CatalogModel = {
  id: 'llama-3.3-70b-instruct',
  createdAt: 1_733_443_200,
  huggingFaceId: 'meta-llama/Llama-3.3-70B-Instruct',
  aliases: ['llama-3.3-70b'],
  name: 'Llama 3.3 70B Instruct',
  category: 'text',
  inputModalities: ['text'],
  outputModalities: ['text'],
  quantization: 'fp8',
  contextLength: 131_072,
  maxOutputLength: 16_384,
  pricing: {
    prompt: '0.0000004',
    completion: '0.0000008',
    input_cache_read: '0.0000001',
    request: '0',
    image: '0',
    web_search: '0',
    internal_reasoning: '0',
  },
  state: 'live',
  replacement: null,
  supportedFeatures: ['tools', 'json_mode'],
  supportedParameters: ['temperature', 'top_p', 'stop', 'seed', 'max_tokens', 'tools', 'tool_choice'],
  supportedSamplingParameters: ['temperature', 'top_p', 'stop', 'seed'],
  isCacheCapable: true,
  sharesPrefixCache: false,
  templateTokensPerMessage: 0,
  templateTokensPerRequest: 0,
  maxTokensPerImage: 0,
};
const SUMS = {
  requests: 12n,
  success: 11n,
  failure: 1n,
  unknown: 0n,
  promptTokens: 2_400n,
  completionTokens: 910n,
  cachedPromptTokens: 1_600n,
  chargeNanoUsd: 1_234_567n,
  units: null,
};

/** Fields that an engine writes in an answer, whole or in chunks. */
const CALL = { id: 'chatcmpl-01979f5e', created: 1_790_000_000 };
const USAGE = { prompt_tokens: 18, completion_tokens: 6, prompt_tokens_details: { cached_tokens: 16 } };
const aChoice = (choice: object) => ({ ...CALL, choices: [choice], usage: USAGE });

/** The charge of each example. */
const chargeOf = (): bigint => 7_200n;

/** Fields of the request that the example of a response repeats. */
const ECHO: NonNullable<AnswerOptions['echo']> = {
  fields: toRepeated({
    model: MODEL.id,
    instructions: 'Be brief.',
    input: 'Say hello in one word.',
    max_output_tokens: 16,
  } as ResponsesRequest),
  namespaced: new Map(),
};

/** Returns the router's version of an engine's answer. */
function toAnswer(
  edit: (bytes: Buffer, options: AnswerOptions) => WholeAnswer,
  answer: object,
  model = MODEL.id,
  echo?: AnswerOptions['echo'],
): unknown {
  const edited = edit(Buffer.from(JSON.stringify(answer)), {
    callId: 'call-1',
    engine: { repeatsCallIds: false },
    canonicalModel: model,
    echo,
    isCacheCapable: true,
    chargeOf,
  });
  if (edited.kind !== 'answer' || !edited.payload) throw new Error('this is no whole answer');
  return JSON.parse(edited.payload.toString());
}

/** Returns the router's version of an engine's stream. */
function toEvents(shape: ChunkShape, ...choices: object[]): string {
  const terms = { callId: 'call-1', canonicalModel: MODEL.id, isCacheCapable: true, chargeOf, echo: ECHO };
  const encoder = shape.createEncoder({ ...terms, includeUsage: false });
  const stream = new EngineStream({
    ...terms,
    engine: { repeatsCallIds: false },
    shape,
    encoder,
    isToolForced: false,
    toFault: () => ({ kind: 'engine_failed' }),
  });
  const events = choices.map((choice) => {
    const edited = stream.edit(Buffer.from(JSON.stringify(aChoice(choice)))) ?? '';
    if (typeof edited === 'object' && 'kind' in edited) throw new Error(`the stream has ended: ${edited.kind}`);
    return edited.toString();
  });
  const end = stream.edit(Buffer.from('[DONE]'));
  if (!end || !('kind' in end) || end.kind !== 'whole') throw new Error('the stream is not whole');
  return `${events.join('')}${end.lastEvents}`;
}

const IMAGE_PARAMS = {
  operation: 'images.generations' as const,
  model: 'flux.1-schnell',
  n: 1,
  size: { width: 512, height: 512 },
  outputFormat: 'png' as const,
  responseFormat: 'url' as const,
  isAsync: true,
  isStream: false,
};
const IMAGE_USAGE = { billingUnit: 'image' as const, units: 1, chargeNanoUsd: 2_800_000n };
const OUTPUTS = [{ key: 'images/job_1/1/0.png', bytes: 1_024, sha256: '', type: 'image/png' }];
const PUBLIC_URL = 'https://api.turnpike.example';

const WAITING: ShownJob = {
  id: 'job_3uZVJWwJq1v9sXk2Tn8dLe',
  status: 'queued',
  progress: 0,
  queuePosition: 2,
  params: IMAGE_PARAMS,
  prompt: null,
  createdAt: NOW,
  completedAt: null,
  expiresAt: null,
  errorCode: null,
  outputs: [],
  usage: null,
};
const MADE: ShownJob = {
  ...WAITING,
  status: 'completed',
  progress: 100,
  queuePosition: null,
  completedAt: new Date(NOW.getTime() + 9_000),
  expiresAt: new Date(NOW.getTime() + 86_409_000),
  outputs: OUTPUTS,
  usage: IMAGE_USAGE,
};
const VIDEO: ShownJob = {
  ...WAITING,
  id: 'video_6yR2mDq0bHc4TzWf9sKpXa',
  status: 'in_progress',
  progress: 40,
  queuePosition: null,
  params: { operation: 'videos', model: 'wan2.2-t2v-a14b', seconds: 5, size: { width: 832, height: 480 } },
  prompt: 'A toll gate opens at dawn.',
};

/** One example of each body, by the operation's id: answers as services write them. Every one is checked against its schema. */
export const EXAMPLES = {
  createChatCompletion: {
    request: {
      model: MODEL.id,
      messages: [{ role: 'user', content: 'Say hello in one word.' }],
      max_tokens: 16,
    },
    answer: toAnswer(editChatAnswer, aChoice({ message: { content: 'Hello.' }, finish_reason: 'stop' })),
    events: toEvents(
      CHAT_CHUNKS,
      { delta: { content: '' } },
      { delta: { content: 'Hello.' } },
      { delta: {}, finish_reason: 'stop' },
    ),
  },
  createResponse: {
    request: { model: MODEL.id, instructions: 'Be brief.', input: 'Say hello in one word.', max_output_tokens: 16 },
    answer: toAnswer(editResponse, aChoice({ message: { content: 'Hello.' }, finish_reason: 'stop' }), MODEL.id, ECHO),
    events: toEvents(RESPONSE_EVENTS, { delta: { content: 'Hello.' } }, { delta: {}, finish_reason: 'stop' }),
  },
  createMessage: {
    request: { model: MODEL.id, max_tokens: 16, messages: [{ role: 'user', content: 'Say hello in one word.' }] },
    answer: toAnswer(editMessage, aChoice({ message: { content: 'Hello.' }, finish_reason: 'stop' })),
    events: toEvents(MESSAGE_EVENTS, { delta: { content: 'Hello.' } }, { delta: {}, finish_reason: 'stop' }),
  },
  countMessageTokens: {
    request: { model: MODEL.id, messages: [{ role: 'user', content: 'Say hello in one word.' }] },
    answer: { input_tokens: 18 },
  },
  createCompletion: {
    request: { model: MODEL.id, prompt: 'Once upon a time', max_tokens: 16 },
    answer: toAnswer(editCompletionAnswer, aChoice({ text: ', in a land', finish_reason: 'length' })),
    events: toEvents(COMPLETION_CHUNKS, { text: ', in a land' }, { text: '', finish_reason: 'length' }),
  },
  createEmbedding: {
    request: { model: 'multilingual-embeddings', input: ['Où est le café ?'] },
    answer: toAnswer(
      editEmbeddingAnswer,
      { data: [{ index: 0, embedding: [0.0123, -0.0456] }], usage: { prompt_tokens: 6 } },
      'multilingual-embeddings',
    ),
  },
  createImages: {
    request: { model: IMAGE_PARAMS.model, prompt: 'A toll gate at dawn.', size: '512x512', response_format: 'url' },
    answer: toImageLinksBody({ ...MADE, params: IMAGE_PARAMS, usage: IMAGE_USAGE }, { publicUrl: PUBLIC_URL }),
  },
  getImageJob: {
    waiting: toMediaJobBody(WAITING, { publicUrl: PUBLIC_URL }),
    answer: toMediaJobBody(MADE, { publicUrl: PUBLIC_URL }),
  },
  createVideo: {
    request: { model: VIDEO.params.model, prompt: VIDEO.prompt, seconds: '5', size: '832x480' },
    answer: toVideoBody(VIDEO),
  },
  listVideos: { answer: toVideoListBody([VIDEO], { hasMore: false }) },
  deleteVideo: { answer: toDeletedBody(VIDEO.id, 'video') },
  createSpeech: { request: { model: 'kokoro-82m', input: 'Have a good journey.', voice: 'af_heart' } },
  createTranscription: {
    request: { file: 'the bytes of speech.mp3', model: 'whisper-large-v3', response_format: 'json' },
    answer: JSON.parse(
      toTranscriptAnswer(
        { text: 'Have a good journey.', language: 'en', segments: null, words: null },
        { operation: 'audio.transcriptions', responseFormat: 'json', granularities: ['segment'] },
        { seconds: 1.6, chargeNanoUsd: 50_000n },
      ).body,
    ),
  },
  listModels: { answer: { object: 'list', data: [toModelBody(MODEL, { isReady: true })] } satisfies ModelList },
  getModel: { answer: toModelBody(MODEL, { isReady: true }) },
  getKey: {
    answer: toKeyInformationBody(
      {
        lastFour: 'wxyz',
        maxBudgetNanoUsd: 10_000_000_000n,
        rpm: 600,
        tpm: 1_000_000,
        expiresAt: null,
      },
      { spend: 1_234_567_891n, now: NOW },
    ),
  },
  getCredit: {
    answer: {
      ...toCreditBody(
        { creditNanoUsd: 24_770_000_000n, heldNanoUsd: 1_640_000n, monthSpentNanoUsd: 230_000_000n },
        { monthlyCapNanoUsd: null },
      ),
      generated_at: NOW.toISOString(),
    } satisfies CreditInformation,
  },
  getUsage: {
    answer: toUsageBody(
      { totals: SUMS, groups: [{ model: MODEL.id, day: null, hour: null, modality: null, ...SUMS }] },
      { start: new Date('2026-11-01'), end: new Date('2026-12-01') },
      NOW,
    ),
  },
  getUsageRequest: {
    answer: toUsageRequestBody(
      {
        callId: '01979f5e-7c1a-7b60-9d0e-5a4f3b2c1d0e',
        model: MODEL.id,
        canonicalModel: MODEL.id,
        status: 'success',
        promptTokens: 18,
        completionTokens: 6,
        totalTokens: 24n,
        chargeNanoUsd: 7_200n,
        modality: 'text',
        billingUnit: 'token',
        startedAt: new Date('2026-11-21T09:59:58.120Z'),
        endedAt: new Date('2026-11-21T09:59:58.640Z'),
      },
      NOW,
    ),
  },
};

import { aSilentLogger } from '@turnpike/logging/createLogger';
import { noSpan } from '@turnpike/telemetry/callSpan';
import { noMetrics } from '@turnpike/telemetry/noTelemetry';
import type { AnswerDependencies, AnswerTimeouts, Call } from '../src/answer/call.ts';
import { OpenStreams } from '../src/answer/chunks/clientStream.ts';
import { CHAT_CHUNKS, editChatAnswer } from '../src/answer/operations/chat.ts';
import type { AnsweredOperation } from '../src/answer/operations/operations.ts';
import { CHAT } from '../src/request/chatRequest.ts';
import { aChatRequest } from './aChatRequest.ts';
import { anEngineQueue } from './anEngineQueue.ts';
import { anEngineRegistry } from './anEngineRegistry.ts';
import { aPricedModel } from './aPricedModel.ts';

/** A time that no test reaches unless it shortens a timeout. */
const LONG_MS = 30_000;
export const LONG_TIMEOUTS: AnswerTimeouts = {
  firstEventMs: LONG_MS,
  betweenEventsMs: LONG_MS,
  wholeMs: LONG_MS,
  streamMs: LONG_MS,
  headersAfterMs: LONG_MS,
  keepAliveMs: LONG_MS,
  slowReaderMs: LONG_MS,
  listenOnMs: LONG_MS,
};

/** A key's rate limits after its first small call. */
export const RATE_LIMIT = {
  limitRequests: 600,
  remainingRequests: 599,
  resetRequestsMs: 100,
  limitTokens: 1_000_000,
  remainingTokens: 999_000,
  resetTokensMs: 100,
};

/** The chat operation. */
export const CHAT_OPERATION: AnsweredOperation = { ...CHAT, editWhole: editChatAnswer, chunks: CHAT_CHUNKS };

/** An admitted chat of a few words. */
export const aCall = (fields: Partial<Call> = {}): Call => ({
  callId: 'call-1',
  keyId: 'key_1',
  workspaceId: 'ws_1',
  operation: CHAT_OPERATION,
  request: aChatRequest(),
  model: aPricedModel(),
  bound: {
    isCounted: true,
    promptTokens: 9,
    outputTokens: 100,
    estimatedPromptTokens: 9,
    worstCaseNanoUsd: 1_000_000n,
  },
  chargeOf: () => 2_010n,
  cacheSalt: 'salt',
  receivedAt: performance.now(),
  span: noSpan,
  log: aSilentLogger,
  ...fields,
});

/** The dependencies of an answer, with no engine, no image and an empty queue. */
export const answerDependencies = (fields: Partial<AnswerDependencies> = {}): AnswerDependencies => ({
  engines: anEngineRegistry(),
  queue: anEngineQueue(),
  streams: new OpenStreams(),
  images: {
    load: async () => {
      throw new Error('asked for images');
    },
  },
  countPromptTokens: async () => undefined,
  timeouts: LONG_TIMEOUTS,
  metrics: noMetrics,
  keysPageUrl: 'https://dashboard.example/keys',
  ...fields,
});

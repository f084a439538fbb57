import type { Authenticator } from '@turnpike/authentication/createAuthenticator';
import type { ServiceBase } from '@turnpike/http-service/startService';
import { createImageLoader } from '@turnpike/request-reading/images/createImageLoader';
import { resolveHost } from '@turnpike/request-reading/images/resolveHost';
import { type BodyMemory, createBodyMemory } from '@turnpike/request-reading/shares/bodyMemory';
import { createKeyAllowance, type KeyAllowance } from '@turnpike/request-reading/shares/keyAllowance';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { AdmitCallDependencies } from '../money/gate/admitCall.ts';
import type { Money } from '../money/openMoney.ts';
import type { OpenFleet } from '../placement/openFleet.ts';
import type { AnswerDependencies } from './call.ts';
import { OpenStreams } from './chunks/clientStream.ts';
import { LISTEN_ON_MS } from './streamAttempt.ts';

/**
 * A call has at most 16 images. So one workspace may fetch the images of four calls at once, and 12 more calls of a key
 * may wait. Each fetch is a socket; `inAll` is far below the limit of sockets of a process.
 */
const IMAGE_FETCHES = { inAll: 256, perWorkspace: 64, waitingPerKey: 192 };
/** Longest wait for a turn to fetch images. Working hosts answer sooner, and clients' timeouts are longer. */
const IMAGE_WAIT_MS = 2_000;
/**
 * Bytes of prompts that engines count for refused calls of one key: two of the longest prompts at once, and as much
 * again each minute. `least` is taken for any count, because each costs an engine work.
 */
const REFUSED_COUNTS = {
  bound: 'prompt_counts',
  capacity: 8 * 1_048_576,
  refillMs: 60_000,
  least: 4_096,
} as const;
/** Time that a client may leave an answer unread before the router cuts it and cancels the engine's work. */
const SLOW_READER_MS = 60_000;
const REFUSED_BODIES = { bound: 'refused_bodies', refillMs: 2_000, least: 1_024 } as const;

/** The settings that answers depend on. */
export interface AnswerSettings {
  KEYS_PAGE_URL?: string | undefined;
  BODIES_MAX_BYTES: number;
  REFUSED_BODIES_BYTES_PER_SECOND: number;
  IMAGES_TIMEOUT_MS: number;
  IMAGE_PRIVATE_HOSTS: ReadonlySet<string>;
  FIRST_EVENT_TIMEOUT_MS: number;
  BETWEEN_EVENTS_TIMEOUT_MS: number;
  WHOLE_TIMEOUT_MS: number;
  STREAM_TIMEOUT_MS: number;
  HEADERS_AFTER_MS: number;
  KEEP_ALIVE_MS: number;
}

/** Reads, admits and answers calls. */
export interface Answers {
  /** Memory for the bodies and non-streaming answers of all calls in progress. */
  bodies: BodyMemory;
  /** Allowance, by key, of body bytes that are read for calls that are then refused. */
  refusedBodies: KeyAllowance;
  /** Allowance, by key, of prompt bytes for token counts that clients ask for. */
  tokenCounts: KeyAllowance;
  admission: AdmitCallDependencies;
  dependencies: AnswerDependencies;
}

/** Creates the dependencies of calls. There is nothing to close, because calls end by themselves. */
export function openAnswers(
  { config, log }: Pick<ServiceBase<AnswerSettings>, 'config' | 'log'>,
  {
    money,
    fleet,
    authenticator,
    metrics,
  }: { money: Money; fleet: OpenFleet; authenticator: Authenticator; metrics: InferenceMetrics },
): Answers {
  const { countPromptTokens } = fleet;
  return {
    bodies: createBodyMemory(config.BODIES_MAX_BYTES),
    refusedBodies: createKeyAllowance({
      ...REFUSED_BODIES,
      capacity: (config.REFUSED_BODIES_BYTES_PER_SECOND * REFUSED_BODIES.refillMs) / 1_000,
    }),
    tokenCounts: createKeyAllowance({ ...REFUSED_COUNTS, bound: 'token_counts' }),
    admission: {
      ...money,
      authenticator,
      countPromptTokens,
      refusedCounts: createKeyAllowance(REFUSED_COUNTS),
      metrics,
      log,
    },
    dependencies: {
      ...fleet,
      streams: new OpenStreams(),
      images: createImageLoader({
        privateHosts: config.IMAGE_PRIVATE_HOSTS,
        resolve: resolveHost,
        times: { timeoutMs: config.IMAGES_TIMEOUT_MS, waitMs: IMAGE_WAIT_MS },
        limits: IMAGE_FETCHES,
      }),
      timeouts: {
        firstEventMs: config.FIRST_EVENT_TIMEOUT_MS,
        betweenEventsMs: config.BETWEEN_EVENTS_TIMEOUT_MS,
        wholeMs: config.WHOLE_TIMEOUT_MS,
        streamMs: config.STREAM_TIMEOUT_MS,
        headersAfterMs: config.HEADERS_AFTER_MS,
        keepAliveMs: config.KEEP_ALIVE_MS,
        slowReaderMs: SLOW_READER_MS,
        listenOnMs: LISTEN_ON_MS,
      },
      metrics,
      keysPageUrl: config.KEYS_PAGE_URL,
    },
  };
}

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
 * A call has at most 16 images: one workspace has four such calls on their way, and a key as many again three times in line.
 * Each fetch is a socket, and `inAll` is far below what a process may open.
 */
const IMAGE_FETCHES = { inAll: 256, perWorkspace: 64, waitingPerKey: 192 };
/** Longer than hosts that answer at all take for the images before; a client's own timeout is not reached by it. */
const IMAGE_WAIT_MS = 2_000;
/** Two of the longest prompts there are at once, and as much again every minute; any question costs an engine something. */
const REFUSED_COUNTS = {
  bound: 'prompt_counts',
  capacity: 8 * 1_048_576,
  refillMs: 60_000,
  least: 4_096,
} as const;
/** Time that a client may leave an answer unread before it is cut and the engine's work cancelled. */
const SLOW_READER_MS = 60_000;
const REFUSED_BODIES = { bound: 'refused_bodies', refillMs: 2_000, least: 1_024 } as const;

/** The settings that answers go by. */
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
  /** Memory for the bodies and whole answers of all calls under way. */
  bodies: BodyMemory;
  /** The bytes of bodies that were read in vain, as their calls were refused, by key. */
  refusedBodies: KeyAllowance;
  /** The bytes of prompts that clients have had counted, by key. */
  tokenCounts: KeyAllowance;
  admission: AdmitCallDependencies;
  dependencies: AnswerDependencies;
}

/** Opens what calls are answered with. There is nothing to close: calls end by themselves. */
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

import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { z } from 'zod';
import { BackendFault, type Replica } from '../../terms/backend.ts';
import type { Answer, Question } from '../exchange/askBackend.ts';
import { parseJson, readText } from '../exchange/readText.ts';
import {
  CHECK_ROUND_MS,
  CHECK_ROUND_WHILE_OUT_MS,
  CHECK_TIMEOUT_MS,
  FIRST_PAUSE_MS,
  LONGEST_PAUSE_MS,
  MAX_JOB_BYTES,
  MAX_MISSED_CHECKS,
  TRUSTED_AFTER_MS,
} from '../limits.ts';
import { readEngineError } from '../verdict/readEngineError.ts';
import { toBackendFault } from '../verdict/toBackendFault.ts';
import { WorkWatchdog } from './workWatchdog.ts';

/**
 * The state of a replica.
 * - `starting`: it has not answered yet.
 * - `ready`: it works.
 * - `out`: it is left out until it has passed a check.
 */
export type ReplicaState = 'starting' | 'ready' | 'out';
/** Faults of a replica that is down, refuses our credentials, or lacks its own model. */
export type OutReason = 'unreachable' | 'misconfigured';

export interface ReplicaWatch {
  readonly state: ReplicaState;
  /** Whether it has not answered its last check. */
  readonly hasMissedCheck: boolean;
  /** The replica's name of its model. */
  readonly servedName: string;
  /**
   * Takes the replica out of rotation until a later check has passed. Repeated refusals of this service make the time
   * longer and longer.
   */
  leaveOut(reason: OutReason): void;
  /** Whether the replica gives outputs for its work. */
  readonly work: WorkWatchdog;
  close(): Promise<void>;
}

export interface WatchOptions {
  ask: (question: Question) => Promise<Answer>;
  /** Called each time the replica goes out as `misconfigured`. */
  onMisconfigured: () => void;
  nowMs: () => number;
  log: Logger;
}

const modelsSchema = z.object({ data: z.array(z.object({ id: z.string() })).min(1) });

/** Watches a replica: reads its models regularly, and keeps its health by that and by other requests. */
export function watchReplica(replica: Replica, { ask, onMisconfigured, nowMs, log }: WatchOptions): ReplicaWatch {
  const work = new WorkWatchdog(nowMs);
  let state: ReplicaState = 'starting';
  let servedName = replica.model;
  let missed = 0;
  let readySinceMs = 0;
  let outUntilMs = 0;
  let pauseMs = FIRST_PAUSE_MS;
  let timesOut = 0;

  function leaveOut(reason: OutReason): void {
    timesOut += 1; // a check in progress no longer counts
    const isNews = state !== 'out';
    const now = performance.now();
    if (reason === 'misconfigured' && now >= outUntilMs) {
      pauseMs = now - readySinceMs > TRUSTED_AFTER_MS ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      outUntilMs = now + pauseMs;
    }
    if (!isNews) return;
    state = 'out';
    if (reason === 'misconfigured') {
      onMisconfigured();
      log.error(
        { backend: replica.id, model: replica.model },
        'ALERT a media backend refuses us or its own model: it is out until a check passes',
      );
    } else log.warn({ backend: replica.id }, 'media backend cannot be reached: it is out until a check passes');
  }

  function takeIn(names: readonly string[]): void {
    servedName = names.find((name) => name === replica.model) ?? names[0] ?? replica.model;
    missed = 0;
    if (state === 'ready' || performance.now() < outUntilMs) return;
    state = 'ready';
    readySinceMs = performance.now();
    work.reset();
    log.info({ backend: replica.id, serves: servedName }, 'media backend is in');
  }

  async function check(signal: AbortSignal): Promise<void> {
    const before = timesOut;
    try {
      const names = await readModels(signal);
      if (before === timesOut) takeIn(names);
    } catch (error) {
      if (signal.aborted) return;
      missed += 1;
      if (error instanceof BackendFault && error.kind === 'misconfigured') leaveOut('misconfigured');
      else if (missed >= MAX_MISSED_CHECKS) leaveOut('unreachable');
    }
  }

  async function readModels(signal: AbortSignal): Promise<string[]> {
    const answer = await ask({
      method: 'GET',
      path: '/v1/models',
      begins: 'nothing',
      answerWithinMs: CHECK_TIMEOUT_MS,
      signal: AbortSignal.any([signal, AbortSignal.timeout(2 * CHECK_TIMEOUT_MS)]),
    });
    const text = await readText(answer, MAX_JOB_BYTES);
    if (answer.status !== 200) {
      throw toBackendFault(answer.status, readEngineError(text), { begins: 'nothing', retryAfterMs: undefined });
    }
    return modelsSchema.parse(parseJson(text)).data.map(({ id }) => id);
  }

  const checking = repeat(check, {
    pauseMs: () => (state === 'ready' && missed === 0 ? CHECK_ROUND_MS : CHECK_ROUND_WHILE_OUT_MS),
    log,
    failing: `media backend ${replica.id} is not looked after`,
  });

  return {
    get state() {
      return state;
    },
    get hasMissedCheck() {
      return missed > 0;
    },
    get servedName() {
      return servedName;
    },
    leaveOut,
    work,
    close: checking.close,
  };
}

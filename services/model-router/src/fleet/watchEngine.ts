import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { FleetEngine, OutReason } from './fleetEngine.ts';
import { askEngine } from './vllm/askEngine.ts';
import { readEngineLoad } from './vllm/engineLoad.ts';
import { type ProbeResult, produceToken } from './vllm/produceToken.ts';
import { readServedModels, readVersion } from './vllm/readServedModels.ts';

const ROUND_MS = 2_000;
/** An engine that is not in is looked at more often. */
const SOON_MS = 500;
/** An engine in doubt is asked for a token at once, but not more often than this, whatever calls do. */
const BETWEEN_PROOFS_MS = 250;
const CHECK_TIMEOUT_MS = 2_000;
const METRICS_TIMEOUT_MS = 1_000;
const METRICS_MAX_BYTES = 4_194_304;
/** Checks missed on end after which an engine is left out: a busy one may be late once. */
const MAX_MISSED_CHECKS = 2;
/** An engine with calls that says nothing for this long is in doubt, though it may only be full. */
const SILENCE_MS = 10_000;

const isRefused = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ECONNREFUSED';

export interface EngineWatch {
  /** Has the engine asked for a token before the next round, as something speaks against it. */
  doubt(): void;
  close(): Promise<void>;
}

export interface EngineWatchOptions {
  /** Called each time it is found not to answer, also while it is out. */
  leaveOut(engine: FleetEngine, reason: OutReason): void;
  onProbed(engine: FleetEngine, result: ProbeResult): void;
  log: Logger;
}

/**
 * Looks at one engine every 2 s: whether it says it is well, what it serves, how loaded it is. Where that alone proves
 * nothing, as it is new, was left out, or is in doubt, it has to produce a token. Rounds of one engine delay no other's.
 */
export function watchEngine(engine: FleetEngine, { leaveOut, onProbed, log }: EngineWatchOptions): EngineWatch {
  const nowMs = () => performance.now();
  let isClosed = false;
  let isProving = false;
  let proofTimer: NodeJS.Timeout | undefined;

  async function round(): Promise<void> {
    if (!(await check())) return;
    await readLoad();
    if (engine.load?.isAsleep) leaveOut(engine, 'asleep');
    else await prove();
  }

  async function check(): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
      engine.takeServed(await readServedModels(engine.pool, signal));
      if (!engine.isReachable) engine.version = await readVersion(engine.pool, signal);
      engine.isReachable = true;
      engine.missedChecks = 0;
      return true;
    } catch (error) {
      if (isClosed) return false;
      engine.missedChecks += 1;
      if (isRefused(error)) leaveOut(engine, 'refused');
      else if (engine.missedChecks >= MAX_MISSED_CHECKS) leaveOut(engine, 'unreachable');
      return false;
    }
  }

  /** Metrics are welcome and never needed: what is not told is not known, and what is old is known to be. */
  async function readLoad(): Promise<void> {
    try {
      const signal = AbortSignal.timeout(METRICS_TIMEOUT_MS);
      const { status, text } = await askEngine(engine.pool, { path: '/metrics', maxBytes: METRICS_MAX_BYTES, signal });
      if (status === 200) engine.takeLoad(readEngineLoad(text), nowMs());
    } catch {
      // The next round asks again.
    }
  }

  async function prove(): Promise<void> {
    if (isProving || isClosed || engine.isDraining || !engine.isReachable) return;
    isProving = true;
    await tryProof();
    isProving = false;
  }

  async function tryProof(): Promise<void> {
    const isTrial = engine.breaker.beginTrial();
    const isDoubted = engine.breaker.state === 'closed' && (engine.doubts > 0 || isStalled());
    if (!isTrial && !isDoubted) return;
    const heardBefore = engine.traffic.heardAtMs;
    const result = await probe();
    if (isTrial) {
      engine.breaker.endTrial(result === 'token');
    } else {
      engine.doubts = 0;
      engine.awaitsProof = false;
      if (result === 'busy') engine.rest.begin();
    }
    // A full engine lets the probe wait, and is heard to work meanwhile.
    const isSilent = result === 'silent' && engine.traffic.heardAtMs === heardBefore;
    if (result === 'failed' || isSilent) leaveOut(engine, 'no_token');
  }

  async function probe(): Promise<ProbeResult> {
    const result = await produceToken(engine.pool, engine.servedNames[0] ?? '');
    engine.provedAtMs = nowMs();
    if (!isClosed) onProbed(engine, result);
    return result;
  }

  function isStalled(): boolean {
    const { openCalls, busySinceMs, heardAtMs } = engine.traffic;
    return openCalls > 0 && nowMs() - Math.max(busySinceMs, heardAtMs, engine.provedAtMs) > SILENCE_MS;
  }

  const watching = repeat(round, {
    pauseMs: () => (engine.isWell ? ROUND_MS : SOON_MS),
    log,
    failing: `engine ${engine.id} is not looked after`,
  });
  return {
    doubt() {
      if (isClosed || proofTimer !== undefined) return;
      const waitMs = engine.provedAtMs + BETWEEN_PROOFS_MS - nowMs();
      proofTimer = setTimeout(
        () => {
          proofTimer = undefined;
          void prove();
        },
        Math.max(0, waitMs),
      );
      proofTimer.unref();
    },
    close() {
      isClosed = true;
      clearTimeout(proofTimer);
      return watching.close();
    },
  };
}

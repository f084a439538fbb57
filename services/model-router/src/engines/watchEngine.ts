import { repeat } from '@turnpike/lifecycle/repeat';
import { startDeadline } from '@turnpike/lifecycle/startDeadline';
import type { Logger } from '@turnpike/logging/createLogger';
import type { OutReason, ProbeResult } from '../health/engineHealth.ts';
import { type Engine, isRefusal } from './engine.ts';
import { UnwellEngine } from './terms/dialect.ts';
import {
  BETWEEN_PROBES_MS,
  CHECK_TIMEOUT_MS,
  METRICS_TIMEOUT_MS,
  ROUND_MS,
  ROUND_WHILE_OUT_MS,
  SILENCE_MS,
} from './terms/limits.ts';

export interface EngineWatch {
  /** Requests a token from the engine before the next round, because of a doubt. */
  doubt(): void;
  close(): Promise<void>;
}

export interface EngineWatchOptions {
  /** Called each time the engine is found not to answer, also while it is out. */
  leaveOut(engine: Engine, reason: OutReason): void;
  onProbed(engine: Engine, result: ProbeResult): void;
  log: Logger;
}

/**
 * Checks one engine every 2 s: its health, its models and its load. An engine that is new, out or in doubt also has to
 * produce a token. Rounds of one engine do not delay others. The deadlines count turns of the event loop, because
 * silence while this process is blocked says nothing about an engine.
 */
export function watchEngine(engine: Engine, { leaveOut, onProbed, log }: EngineWatchOptions): EngineWatch {
  const { health, dialect, pool } = engine;
  const nowMs = () => performance.now();
  let isClosed = false;
  let isProving = false;
  let proofTimer: NodeJS.Timeout | undefined;

  async function round(): Promise<void> {
    if (!(await check())) return;
    await readReport();
    if (engine.report?.isAsleep) leaveOut(engine, 'asleep');
    else await prove();
  }

  async function check(): Promise<boolean> {
    const late = new AbortController();
    const deadline = startDeadline(CHECK_TIMEOUT_MS, () => late.abort(new Error('no answer to a check')));
    const { signal } = late;
    try {
      engine.served = await dialect.readServed(pool, signal);
      if (!health.isReachable) engine.version = await dialect.readVersion(pool, signal);
      health.checked();
      return true;
    } catch (error) {
      if (isClosed) return false;
      const hasMissedMany = health.missedCheck();
      if (isRefusal(error)) leaveOut(engine, 'refused');
      else if (hasMissedMany) leaveOut(engine, error instanceof UnwellEngine ? 'unwell' : 'unreachable');
      return false;
    } finally {
      deadline.stop();
    }
  }

  /** Reads the load. A failure has no consequence, because the report's age shows that it is old. */
  async function readReport(): Promise<void> {
    try {
      const report = await dialect.readReport(pool, AbortSignal.timeout(METRICS_TIMEOUT_MS));
      if (report) engine.takeReport(report);
    } catch {
      // The next round reads it again.
    }
  }

  async function prove(): Promise<void> {
    if (isProving || isClosed || engine.isDraining || !health.isReachable) return;
    isProving = true;
    await tryProof();
    isProving = false;
  }

  async function tryProof(): Promise<void> {
    if (!health.beginProbe({ isStalled: isStalled() })) return;
    const heardBefore = engine.traffic.heardAtMs;
    const result = await dialect.produceToken(pool, engine.servedNames[0] ?? '');
    if (!isClosed) onProbed(engine, result);
    health.endProbe(result);
    if (result === 'busy') engine.room.sayBusy();
    // A full engine delays the probe, but its other answers show that it works.
    const isSilent = result === 'silent' && engine.traffic.heardAtMs === heardBefore;
    if (result === 'failed' || isSilent) leaveOut(engine, 'no_token');
  }

  function isStalled(): boolean {
    const { openCalls, busySinceMs, heardAtMs } = engine.traffic;
    return openCalls > 0 && nowMs() - Math.max(busySinceMs, heardAtMs, health.probedAtMs) > SILENCE_MS;
  }

  const watching = repeat(round, {
    pauseMs: () => (health.state === 'out' ? ROUND_WHILE_OUT_MS : ROUND_MS),
    log,
    failing: `engine ${engine.id} is not looked after`,
  });
  return {
    doubt() {
      if (isClosed || proofTimer !== undefined) return;
      const waitMs = health.probedAtMs + BETWEEN_PROBES_MS - nowMs();
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

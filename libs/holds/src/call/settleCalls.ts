import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@turnpike/logging/createLogger';
import type { StandingOf } from '../redis/standing.ts';
import type { Spool } from '../spool/spool.ts';
import type { CallEndings } from './endCall.ts';
import type { EndedCall, PendingCalls } from './pendingCalls.ts';
import type { Recorder } from './recordCalls.ts';

const RETRY_MS = 100;
/** How long the end of a call waits for Redis where the disk has refused its event. */
const REFUSED_WAIT_MS = 5_000;
/** How often a disk that refused an event is tried again. */
const RESPOOL_MS = 1_000;

export interface SettlerOptions {
  endings: Pick<CallEndings, 'settle'>;
  spool: Pick<Spool, 'append' | 'release'>;
  recorder: Pick<Recorder, 'add'>;
  pending: PendingCalls;
  standingOf: StandingOf<'session' | 'reportMissingCall'>;
  /** Tries to put a call back that has ended and was dropped. Never rejects. */
  restore: (ended: EndedCall) => Promise<void>;
  log: Logger;
}

/** Puts the events of ended calls where they are safe, settles each call in Redis, and hands it on to be recorded. */
export function createSettler({ endings, spool, recorder, pending, standingOf, restore, log }: SettlerOptions) {
  const running = new Set<Promise<unknown>>();
  let isClosing = false;
  /** Whether the disk refused the event before: a refusal is logged once until the disk takes an event. */
  let isRefusing = false;

  function inBackground(work: Promise<unknown>): void {
    const tracked: Promise<unknown> = work.finally(() => running.delete(tracked));
    running.add(tracked);
  }
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms * (1 + Math.random())));

  /** Tries until Redis has taken it, or it is recorded, or put back with all others. False: neither, as this process ends. */
  async function settleUntilTaken(ended: EndedCall): Promise<boolean> {
    const { event, json, maxTokens } = ended;
    const { callId, workspaceId } = event;
    for (let attempt = 0; pending.hasEnded(callId); attempt += 1) {
      const standing = standingOf(workspaceId);
      const session = standing?.session;
      if (standing && session) {
        try {
          const found = await endings.settle(event, json, maxTokens);
          // The list of calls was lost: the others of this router are missing there as well, unless they were put back since.
          if (found === 'unlisted' && standing.session === session) standing.reportMissingCall();
          if (found !== 'none') return true;
          // It was dropped when this owner was thought dead, or Redis has lost it. The next attempt finds it.
          await restore(ended);
        } catch (error) {
          if (attempt === 0) log.warn({ err: error, callId }, 'settlement waits for Redis');
        }
      }
      if (isClosing) return false; // the sweeper finds its hold, the next process its event
      await pause(RETRY_MS);
    }
    return true;
  }

  /** Brings an event to the disk that refused it, for as long as it is nowhere else. */
  async function respool({ event, json }: EndedCall): Promise<void> {
    while (!isClosing && pending.hasEnded(event.callId)) {
      await pause(RESPOOL_MS);
      try {
        await spool.append(event.callId, json);
        if (!pending.hasEnded(event.callId)) spool.release(event.callId);
        return;
      } catch {
        // Said once, when it was refused; new calls are refused for as long as this goes on.
      }
    }
  }

  return {
    /**
     * Writes the event to the spool and settles the call in the background. Where the disk refuses the event, it is kept in
     * Redis beside the settled call, which is waited for. False when that takes too long: the event is in this process alone,
     * and is tried on until one of the two takes it. It stays as it is, since Redis may have taken it without saying so.
     */
    async record(ended: EndedCall): Promise<boolean> {
      const { callId } = ended.event;
      pending.end(ended);
      try {
        await spool.append(callId, ended.json);
        isRefusing = false;
      } catch (error) {
        if (!isRefusing)
          log.error({ err: error, callId }, 'spool refuses events; they are kept in Redis until the disk takes them');
        isRefusing = true;
        inBackground(respool(ended));
        const settled = settleUntilTaken(ended);
        inBackground(settled);
        recorder.add(ended);
        return Promise.race([settled, delay(REFUSED_WAIT_MS, false, { ref: false })]);
      }
      inBackground(settleUntilTaken(ended));
      recorder.add(ended);
      return true;
    },
    async close(): Promise<void> {
      isClosing = true;
      await Promise.allSettled(running);
    },
  };
}

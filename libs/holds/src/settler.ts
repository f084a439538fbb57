import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@turnpike/logging/createLogger';
import type { EndedCall, PendingCalls } from './call/pendingCalls.ts';
import type { Recorder } from './call/recordCalls.ts';
import type { ShardHolds } from './shardHolds.ts';
import type { Spool } from './spool/spool.ts';

const RETRY_MS = 100;
/** How long the end of a call waits for Redis where the disk has refused its event. */
const REFUSED_WAIT_MS = 5_000;
/** How often a disk that refused an event is tried again. */
const RESPOOL_MS = 1_000;

export interface SettlerOptions {
  /** Returns the holds of the shard that has a workspace by now; undefined where none has. */
  shardOf: (workspaceId: string) => Pick<ShardHolds, 'standing' | 'settle' | 'restore'> | undefined;
  spool: Pick<Spool, 'append' | 'release'>;
  recorder: Pick<Recorder, 'add'>;
  pending: PendingCalls;
  log: Logger;
}

/** Puts the events of ended calls where they are safe, settles each call in Redis, and hands it on to be recorded. */
export class Settler {
  readonly #options: SettlerOptions;
  readonly #running = new Set<Promise<unknown>>();
  #isClosing = false;
  /** Whether the disk refused the event before: a refusal is logged once until the disk takes an event. */
  #isRefusing = false;

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  /**
   * Writes the event to the spool and settles the call in the background. Where the disk refuses the event, it is kept in
   * Redis beside the settled call, which is waited for. False when that takes too long: the event is in this process alone,
   * and is tried on until one of the two takes it. It stays as it is, since Redis may have taken it without saying so.
   */
  async settle(ended: EndedCall): Promise<boolean> {
    const { pending, spool, recorder, log } = this.#options;
    const { callId } = ended.event;
    pending.end(ended);
    try {
      await spool.append(callId, ended.json);
      this.#isRefusing = false;
    } catch (error) {
      if (!this.#isRefusing)
        log.error({ err: error, callId }, 'spool refuses events; they are kept in Redis until the disk takes them');
      this.#isRefusing = true;
      this.#inBackground(this.#respool(ended));
      const settled = this.#settleUntilTaken(ended);
      this.#inBackground(settled);
      recorder.add(ended);
      return Promise.race([settled, delay(REFUSED_WAIT_MS, false, { ref: false })]);
    }
    this.#inBackground(this.#settleUntilTaken(ended));
    recorder.add(ended);
    return true;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.allSettled(this.#running);
  }

  /** Settles a call, and retries until Redis has taken it or the call is recorded. Returns false if this process ends before. */
  async #settleUntilTaken(ended: EndedCall): Promise<boolean> {
    const { shardOf, pending, log } = this.#options;
    const { event, json, maxTokens } = ended;
    const { callId, workspaceId } = event;
    for (let attempt = 0; pending.hasEnded(callId); attempt += 1) {
      const shard = shardOf(workspaceId);
      const session = shard?.standing.session;
      if (shard && session) {
        try {
          const found = await shard.settle(event, json, maxTokens);
          // Redis has lost the list of calls. The other calls of this owner are missing too, unless they were put back since.
          if (found === 'unlisted' && shard.standing.session === session) shard.standing.reportMissingCall();
          if (found !== 'none') return true;
          // Redis dropped the call because its owner seemed dead, or lost it. The next attempt finds the call.
          await shardOf(workspaceId)?.restore(ended);
        } catch (error) {
          if (attempt === 0) log.warn({ err: error, callId }, 'settlement waits for Redis');
        }
      }
      if (this.#isClosing) return false; // the sweeper finds its hold, the next process its event
      await delay(RETRY_MS * (1 + Math.random()));
    }
    return true;
  }

  /** Brings an event to the disk that refused it, for as long as it is nowhere else. */
  async #respool({ event, json }: EndedCall): Promise<void> {
    const { spool, pending } = this.#options;
    while (!this.#isClosing && pending.hasEnded(event.callId)) {
      await delay(RESPOOL_MS * (1 + Math.random()));
      try {
        await spool.append(event.callId, json);
        if (!pending.hasEnded(event.callId)) spool.release(event.callId);
        return;
      } catch {
        // Said once, when it was refused; new calls are refused for as long as this goes on.
      }
    }
  }

  #inBackground(work: Promise<unknown>): void {
    const tracked: Promise<unknown> = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }
}

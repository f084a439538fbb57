import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@turnpike/logging/createLogger';
import type { RedisEpoch } from '../redis/redisEpoch.ts';
import type { Spool } from '../spool/spool.ts';
import type { CallEndings } from './endCall.ts';
import type { EndedCall, HeldCall, HeldCalls } from './heldCalls.ts';

const RETRY_MS = 100;
/** How long the end of a call waits for Redis where the disk has refused its event. */
const REFUSED_WAIT_MS = 5_000;
/** How often a disk that refused an event is tried again. */
const RESPOOL_MS = 1_000;

export interface SettlerOptions {
  endings: CallEndings;
  spool: Pick<Spool, 'append'>;
  heldCalls: HeldCalls;
  epoch: RedisEpoch;
  log: Logger;
  leaseMs: number;
}

/** Puts the events of ended calls where they are safe, and settles each call in the epoch it is held in. */
export function createSettler({ endings, spool, heldCalls, epoch, log, leaseMs }: SettlerOptions) {
  const running = new Set<Promise<void>>();
  let isClosing = false;

  function inBackground(work: Promise<void>): void {
    const tracked: Promise<void> = work.finally(() => running.delete(tracked));
    running.add(tracked);
  }
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms * (1 + Math.random())));

  /** Settles once if the call has its hold in the balances in force. False: it waits. Rejects when Redis does not answer. */
  async function settleOnce({ event, json }: EndedCall): Promise<boolean> {
    if (!epoch.isOpen) return false;
    const found = await endings.settle(event, json, { isSafe: false, keepMs: leaseMs });
    if (found === 'none' || found === 'other_epoch') {
      if (epoch.isOpen && heldCalls.has(event.callId)) epoch.reportMissingCall();
      return false;
    }
    heldCalls.remove(event.callId);
    return true;
  }

  /** Tries until Redis has taken it, or the ledger counts it because the balances are built anew. */
  async function settleUntilTaken(ended: EndedCall): Promise<void> {
    const { callId } = ended.event;
    for (let attempt = 0; heldCalls.has(callId); attempt += 1) {
      try {
        if (await settleOnce(ended)) return;
      } catch (error) {
        if (attempt === 0) log.warn({ err: error, callId }, 'settlement waits for Redis');
      }
      if (isClosing) return; // the spool settles it at the next start
      await pause(RETRY_MS);
    }
  }

  /** Brings an event to the disk that refused it, so that it takes the way of all others. */
  async function respool({ event, json }: EndedCall): Promise<void> {
    while (!isClosing) {
      await pause(RESPOOL_MS);
      try {
        await spool.append(json);
        heldCalls.forgetUnspooled(event.callId);
        return;
      } catch {
        // Said once, when it was refused; new calls are refused for as long as this goes on.
      }
    }
  }

  function keepRefused(held: HeldCall, ended: EndedCall): void {
    heldCalls.keepUnspooled(ended);
    // A line drawn meanwhile took it for spooled: it waits for its settlement again.
    if (!heldCalls.has(ended.event.callId)) heldCalls.add(held, { hasEnded: true });
    inBackground(respool(ended));
  }

  return {
    /**
     * Writes the event to the spool and settles the call in the background. Where the disk refuses the event, it is kept in
     * Redis beside the settled call, which is waited for. False when that takes too long: the event is in this process alone,
     * and is tried on until one of the two takes it. It stays as it is, since Redis may have taken it without saying so.
     */
    async record(held: HeldCall, ended: EndedCall): Promise<boolean> {
      const { callId } = ended.event;
      heldCalls.end(callId);
      try {
        await spool.append(ended.json);
      } catch (error) {
        log.error({ err: error, callId }, 'spool refused an event; it is kept in Redis until the disk takes it');
        keepRefused(held, ended);
        const settled = settleUntilTaken(ended);
        inBackground(settled);
        const isTaken = settled.then(() => !heldCalls.has(callId));
        return Promise.race([isTaken, delay(REFUSED_WAIT_MS, false, { ref: false })]);
      }
      inBackground(settleUntilTaken(ended));
      return true;
    },
    async close(): Promise<void> {
      isClosing = true;
      await Promise.allSettled(running);
    },
  };
}

import { setTimeout as delay } from 'node:timers/promises';
import type { EventLogProducer, EventRecord } from '@turnpike/event-log/eventLog';
import { usageRecorded } from '@turnpike/events/usageRecorded';
import { backoffMs, repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Absorber, Question } from '../balances/absorb.ts';
import type { StateByWorkspace } from '../redis/sessionState.ts';
import type { Spool } from '../spool/spool.ts';
import type { EndedCall, PendingCalls } from './pendingCalls.ts';

const MAX_BATCH = 500;
/** Events are collected for this long: the log takes a batch for little more than the price of one event. */
const LINGER_MS = 100;
/** How soon the ledger is asked whether what was sent is recorded, and how often it is asked about a call that never is. */
const ASK = { firstMs: 250, longestMs: 5_000 };
const ASK_PAUSE_MS = 250;
/** How often it is asked about a call with a dead letter, which an operator may replay. */
const ASK_SET_ASIDE_MS = 30_000;
/** When an event that the log took and the ledger does not show is sent again: the log may have lost it. */
const SEND_AGAIN = { firstMs: 30_000, longestMs: 3_600_000 };
const BACKOFF = { firstMs: 50, longestMs: 2_000 };
/** Calls that the ledger is asked about in one round; where there are more, the next one follows at once. Half as many after a failure. */
const MAX_QUESTIONS = 1_000;

/** Partition key of an event that names no key a program can read. */
const UNREADABLE_KEY = 'unreadable';

/** How far an ended call has come. */
interface Progress {
  ended: EndedCall;
  sends: number;
  sendAt: number;
  asks: number;
  askAt: number;
  /** The ledger keeps its event as a dead letter. */
  isSetAside: boolean;
}

export interface RecorderOptions {
  eventLog: EventLogProducer;
  absorber: Pick<Absorber, 'absorbCalls'>;
  pending: PendingCalls;
  spool: Pick<Spool, 'release' | 'setAside'>;
  shards: StateByWorkspace<'session'>;
  log: Logger;
}

export type Recorder = ReturnType<typeof createRecorder>;

/**
 * Sends the events of ended calls to the event log. Asks the ledger until each event is recorded and the sums in Redis
 * contain it. Only then does the event leave the spool. An event that the log has lost is sent again, and repeats
 * change nothing. An event that the ledger keeps as a dead letter is set aside, and is sent again only if that letter
 * is lost.
 */
export function createRecorder({ eventLog, absorber, pending, spool, shards, log }: RecorderOptions) {
  const calls = new Map<string, Progress>();
  let unsent: Progress[] = [];
  /** Events of the spool that no program can read: their reader keeps them as dead letters. */
  let unreadable: { id: string; json: string }[] = [];
  let isClosing = false;
  /** Whether there were more to ask about than one round takes. */
  let hasMore = false;
  let mostQuestions = MAX_QUESTIONS;
  let onWork: (() => void) | undefined;

  async function send(): Promise<void> {
    if (unsent.length === 0 && unreadable.length === 0 && !isClosing) {
      const work = Promise.withResolvers<void>();
      onWork = work.resolve;
      await work.promise;
    }
    // Also after a batch: what has come meanwhile is a few.
    if (unsent.length < MAX_BATCH) await delay(LINGER_MS);
    const some = unsent.slice(0, MAX_BATCH);
    const unnamed = unreadable.slice(0, MAX_BATCH);
    // All events of a key go to one partition.
    const records: EventRecord[] = [];
    for (const { ended } of some) records.push({ key: ended.event.keyId, value: ended.json });
    for (const { json } of unnamed) records.push({ key: UNREADABLE_KEY, value: json });
    if (records.length === 0) return;
    await eventLog.append(usageRecorded.topic, records);
    unsent = unsent.slice(some.length);
    unreadable = unreadable.slice(unnamed.length);
    const now = performance.now();
    for (const progress of some) {
      progress.sendAt = now + backoffMs(progress.sends, SEND_AGAIN);
      if (progress.sends === 0) progress.askAt = now + ASK.firstMs;
      progress.sends += 1;
    }
    for (const { id } of unnamed) spool.release(id);
  }

  function sendAgain(progress: Progress): void {
    log.warn(
      { callId: progress.ended.event.callId },
      'the ledger has not recorded an event that was sent: it is sent again',
    );
    progress.sendAt = Number.POSITIVE_INFINITY;
    unsent.push(progress);
    onWork?.();
  }

  /**
   * Asks about the events that have waited longest, of all workspaces together, and about other sent events of the same
   * workspaces. Their sums may contain such an event, which would count twice while it is still pending.
   */
  async function ask(): Promise<void> {
    const now = performance.now();
    const byWorkspace = new Map<string, Progress[]>();
    const others: Progress[] = [];
    let questions = 0;
    hasMore = false;
    for (const progress of calls.values()) {
      if (progress.sends === 0) continue;
      if (progress.askAt > now) {
        others.push(progress);
        continue;
      }
      if (questions === mostQuestions) {
        hasMore = true;
        break;
      }
      const { workspaceId } = progress.ended.event;
      if (!shards.of(workspaceId)?.sessionState.session) continue;
      if (progress.sendAt <= now) sendAgain(progress);
      questions += 1;
      const due = byWorkspace.get(workspaceId);
      if (due) due.push(progress);
      else byWorkspace.set(workspaceId, [progress]);
    }
    for (const progress of others) {
      if (questions === mostQuestions) break;
      const due = byWorkspace.get(progress.ended.event.workspaceId);
      if (!due) continue;
      questions += 1;
      due.push(progress);
    }
    if (questions === 0) return;
    // Calls give up their turn before the answer, so that a workspace whose questions fail does not block the others.
    for (const progress of [...byWorkspace.values()].flat())
      if (progress.askAt <= now) {
        progress.askAt = now + backoffMs(progress.asks, ASK);
        progress.asks += 1;
      }
    const most = mostQuestions;
    // Halves the next round, unless this one succeeds.
    mostQuestions = Math.ceil(questions / 2);
    const { final, unknown, deadLetters } = await absorber.absorbCalls(Array.from(byWorkspace, toQuestion));
    mostQuestions = Math.min(2 * most, MAX_QUESTIONS);
    for (const some of byWorkspace.values())
      for (const progress of some) {
        const { callId, status } = progress.ended.event;
        if (final.has(callId) || (status === 'unknown' && unknown.has(callId))) {
          calls.delete(callId);
          pending.remove(callId);
          spool.release(callId);
        } else if (deadLetters.has(callId)) setAside(progress);
        else if (progress.isSetAside) {
          progress.isSetAside = false;
          progress.sendAt = performance.now() + backoffMs(progress.sends, SEND_AGAIN);
        }
      }
  }

  function setAside(progress: Progress): void {
    progress.isSetAside = true;
    progress.sendAt = Number.POSITIVE_INFINITY;
    progress.askAt = performance.now() + ASK_SET_ASIDE_MS;
    spool.setAside(progress.ended.event.callId);
  }

  const sending = repeat(send, {
    pauseMs: 0,
    backoff: BACKOFF,
    log,
    failing: 'event log takes no events; they wait in the spool',
  });
  const asking = repeat(ask, {
    pauseMs: () => (hasMore ? 0 : ASK_PAUSE_MS),
    backoff: { firstMs: ASK_PAUSE_MS, longestMs: 5_000 },
    log,
    failing: 'whether calls are recorded cannot be asked; they stay in the spool',
  });

  return {
    add(ended: EndedCall): void {
      const progress = { ended, sends: 0, sendAt: Number.POSITIVE_INFINITY, asks: 0, askAt: 0, isSetAside: false };
      calls.set(ended.event.callId, progress);
      unsent.push(progress);
      onWork?.();
    },
    addUnreadable(id: string, json: string): void {
      unreadable.push({ id, json });
      onWork?.();
    },
    /** Waits until all is recorded, at most `timeoutMs`, and stops. What is left is brought by the next process, or by a sweeper. */
    async close(timeoutMs: number): Promise<void> {
      isClosing = true;
      onWork?.();
      const deadline = performance.now() + timeoutMs;
      while (performance.now() < deadline && (calls.size > 0 || unreadable.length > 0)) await delay(LINGER_MS);
      await Promise.all([sending.close(), asking.close()]);
    },
  };
}

/** Returns the question to the ledger about some ended calls of a workspace. */
function toQuestion([workspaceId, calls]: [string, Progress[]]): Question {
  const callIds: string[] = [];
  const calledKeyIds = new Set<string>();
  const unknownAs = new Map<string, string>();
  for (const { ended } of calls) {
    const { callId, keyId, status } = ended.event;
    callIds.push(callId);
    calledKeyIds.add(keyId);
    if (status === 'unknown') unknownAs.set(callId, 'ended');
  }
  return { workspaceId, callIds, calledKeyIds: [...calledKeyIds], unknownAs };
}

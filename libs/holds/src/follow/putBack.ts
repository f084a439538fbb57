import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type EndedCall, type Hold, monthOf, type PendingCalls } from '../call/pendingCalls.ts';
import { headOf, redisKeys } from '../redis/redisKeys.ts';
import { defineScript } from '../redis/redisScript.ts';
import type { Session, Standing } from '../redis/standing.ts';

/** Calls of one script, and workspaces at once. */
const CALLS_A_SCRIPT = 100;
const WORKSPACES_AT_ONCE = 8;

/** How often a session is looked for. */
const PAUSE_MS = 100;

const answerSchema = z.enum(['back', 'closed', 'late']);

/** What `putBack.lua` is told of a call. */
type Fields = (string | number)[];

/** `holds`: those alone, of all that are to be put back. */
export type PutBack = (session: Session, holds?: readonly Hold[]) => Promise<void>;

/**
 * Makes `putBack(session)`: gives every call of this owner that the ledger has not recorded its place in Redis, under a new session:
 * the running ones their hold, the ended ones their charge. Rejects where one could not be put back; doing it all again changes
 * nothing for the others. With `holds`, those alone.
 */
export function createPutBack(redis: Redis, { owner, pending }: { owner: string; pending: PendingCalls }): PutBack {
  const putBack = defineScript(redis, 'putBack');
  let lastNumber = 0;
  /** Workspaces of put-backs that failed: their scripts may run late, unless one with a higher number has run. */
  const unsure = new Set<string>();

  async function putWorkspace(
    workspaceId: string,
    calls: Fields[],
    { mark, token, number }: Session & { number: number },
  ) {
    const { keys, args } = headOf(workspaceId, mark);
    const groups = calls.length === 0 ? [[]] : [...inGroups(calls, CALLS_A_SCRIPT)];
    for (const [index, group] of groups.entries()) {
      const answer = await putBack(
        [...keys, redisKeys.owners(workspaceId)],
        [...args, owner, number + index, token, group.length, ...group.flat()],
      );
      const outcome = answerSchema.parse(answer);
      if (outcome === 'back') continue;
      // The clock was set back since a former process of this owner, or this comes late itself.
      if (outcome === 'late')
        lastNumber = Math.max(lastNumber, Number(await redis.hget(redisKeys.owners(workspaceId), owner)));
      throw new Error(
        `calls cannot be put back: ${outcome === 'late' ? 'a later put-back was first' : 'Redis is another one by now'}`,
      );
    }
  }

  return async (session, holds) => {
    const byWorkspace = new Map<string, Fields[]>(holds ? [] : [...unsure].map((workspaceId) => [workspaceId, []]));
    const add = (workspaceId: string, fields: Fields): void => {
      const others = byWorkspace.get(workspaceId);
      if (others) others.push(fields);
      else byWorkspace.set(workspaceId, [fields]);
    };
    for (const hold of holds ?? pending.held) add(hold.workspaceId, ofHold(hold));
    if (!holds) for (const ended of pending.ended) add(ended.event.workspaceId, ofEnded(ended));
    for (const workspaceId of byWorkspace.keys()) unsure.add(workspaceId);
    // Numbered as they are listed, whenever they run.
    const number = Math.max(lastNumber + 1, Date.now());
    lastNumber = number + Math.ceil((holds?.length ?? pending.size) / CALLS_A_SCRIPT);
    for (const some of inGroups([...byWorkspace], WORKSPACES_AT_ONCE)) {
      const put = some.map(([workspaceId, calls]) => putWorkspace(workspaceId, calls, { ...session, number }));
      const failed = (await Promise.allSettled(put)).find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') throw failed.reason;
    }
    for (const workspaceId of byWorkspace.keys()) unsure.delete(workspaceId);
  };
}

/**
 * Makes `takeOver(holds)`: they are put back with all others from now on, and at once where there is a session, which may have begun with a
 * list that lacks them. What could not be put back has all put back under another session. Resolves once all that is held of them still
 * stands in Redis.
 */
export function createTakeOver({
  putBack,
  pending,
  standing,
}: {
  putBack: PutBack;
  pending: Pick<PendingCalls, 'add' | 'isHeld'>;
  standing: Pick<Standing, 'session' | 'reportMissingCall'>;
}): (holds: readonly Hold[]) => Promise<void> {
  async function putUntilBack(holds: readonly Hold[]): Promise<void> {
    for (;;) {
      const left = holds.filter(({ callId }) => pending.isHeld(callId));
      if (left.length === 0) return;
      const { session } = standing;
      if (session) {
        const isBack = await putBack(session, left).then(
          () => true,
          () => false,
        );
        const isSameSession = standing.session?.token === session.token;
        if (isBack && isSameSession) return;
        // The command may run late: a put-back of all has a higher number, and fences it.
        if (isSameSession) standing.reportMissingCall();
      }
      await delay(PAUSE_MS, undefined, { ref: false });
    }
  }
  /** One after the other: of two at once, the older would come late. */
  let turn: Promise<void> = Promise.resolve();
  return (holds) => {
    for (const hold of holds) pending.add(hold);
    turn = turn.then(() => putUntilBack(holds));
    return turn;
  };
}

function ofHold({ callId, keyId, holdNanoUsd, admittedAtMs, unknownEventJson, ...hold }: Hold): Fields {
  const limits = [hold.estimatedPromptTokens, hold.rpm, hold.tpm, admittedAtMs];
  return [callId, 'held', holdNanoUsd.toString(), keyId, monthOf(admittedAtMs), ...limits, unknownEventJson];
}

function ofEnded({ event, json }: EndedCall): Fields {
  const { callId, chargeNanoUsd, keyId, startedAtMs } = event;
  return [callId, 'ended', chargeNanoUsd.toString(), keyId, monthOf(startedAtMs), 0, 0, 0, startedAtMs, json];
}

function* inGroups<Item>(items: Item[], size: number): Generator<Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

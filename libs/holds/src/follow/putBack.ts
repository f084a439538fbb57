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

const answerSchema = z.enum(['back', 'recounted', 'closed', 'late']);

/** What `putBack.lua` is told of a call. */
type Fields = (string | number)[];

/** Those alone, of all that are to be put back. */
interface Some {
  held?: readonly Hold[];
  ended?: readonly EndedCall[];
}

/** True where more than calls was lost, so that the pending ones of a workspace were counted again. */
export type PutBack = (session: Session, some?: Some) => Promise<boolean>;

/**
 * Makes `putBack(session)`: gives every call of this owner that the ledger has not recorded its place in Redis, under a new session:
 * the running ones their hold, the ended ones their charge. Rejects where one could not be put back; doing it all again changes
 * nothing for the others. With `some`, those alone.
 */
export function createPutBack(
  redis: Redis,
  { owner, pending }: { owner: string; pending: Pick<PendingCalls, 'held' | 'ended'> },
): PutBack {
  const putBack = defineScript(redis, 'putBack');
  let lastNumber = 0;
  /** Workspaces of put-backs that failed: their scripts may run late, unless one with a higher number has run. */
  const unsure = new Set<string>();

  async function putWorkspace(
    workspaceId: string,
    calls: Fields[],
    { mark, token, number }: Session & { number: number },
  ): Promise<boolean> {
    const { keys, args } = headOf(workspaceId, mark);
    let isRecounted = false;
    const groups = calls.length === 0 ? [[]] : [...inGroups(calls, CALLS_A_SCRIPT)];
    for (const [index, group] of groups.entries()) {
      const answer = await putBack(keys, [...args, owner, number + index, token, group.length, ...group.flat()]);
      const outcome = answerSchema.parse(answer);
      if (outcome === 'recounted') isRecounted = true;
      if (outcome === 'back' || outcome === 'recounted') continue;
      // The clock was set back since a former process of this owner, or this comes late itself.
      if (outcome === 'late')
        lastNumber = Math.max(lastNumber, Number(await redis.hget(redisKeys.owners(workspaceId), owner)));
      throw new Error(
        `calls cannot be put back: ${outcome === 'late' ? 'a later put-back was first' : 'Redis is another one by now'}`,
      );
    }
    return isRecounted;
  }

  return async (session, some) => {
    const byWorkspace = new Map<string, Fields[]>(some ? [] : [...unsure].map((workspaceId) => [workspaceId, []]));
    const { held = [], ended = [] } = some ?? { held: [...pending.held], ended: [...pending.ended] };
    const add = (workspaceId: string, fields: Fields): void => {
      const others = byWorkspace.get(workspaceId);
      if (others) others.push(fields);
      else byWorkspace.set(workspaceId, [fields]);
    };
    for (const hold of held) add(hold.workspaceId, ofHold(hold));
    for (const call of ended) add(call.event.workspaceId, ofEnded(call));
    for (const workspaceId of byWorkspace.keys()) unsure.add(workspaceId);
    // Numbered as they are listed, whenever they run.
    const number = Math.max(lastNumber + 1, Date.now());
    lastNumber = number + Math.ceil((held.length + ended.length) / CALLS_A_SCRIPT);
    let isRecounted = false;
    for (const workspaces of inGroups([...byWorkspace], WORKSPACES_AT_ONCE)) {
      const put = workspaces.map(([workspaceId, calls]) => putWorkspace(workspaceId, calls, { ...session, number }));
      for (const done of await Promise.allSettled(put)) {
        if (done.status === 'rejected') throw done.reason;
        if (done.value) isRecounted = true;
      }
    }
    for (const workspaceId of byWorkspace.keys()) unsure.delete(workspaceId);
    return isRecounted;
  };
}

/** Where calls of a workspace are put back. */
interface Place {
  putBack: PutBack;
  standing: Pick<Standing, 'session' | 'reportMissingCall' | 'notePutBack'>;
}

/** What is put back beside all that is, under the session that lives. A place that is lost keeps none waiting that belong elsewhere. */
export interface PutBackSome {
  /**
   * Has these be put back with all others from now on, and at once where there is a session, which may have begun with a list that lacks
   * them. Resolves once all that is held of them still stands in Redis.
   */
  takeOver(holds: readonly Hold[]): Promise<void>;
  /** Tries once to put back a call that has ended and was dropped. Never rejects: under another session it is put back with all. */
  restore(ended: EndedCall): Promise<void>;
}

/** Makes both. Where some could not be put back, or more was lost than they, all are put back under another session. */
export function createPutBackSome({
  placeOf,
  pending,
}: {
  /** Undefined while nobody serves the workspace. */
  placeOf: (workspaceId: string) => Place | undefined;
  pending: Pick<PendingCalls, 'add' | 'isHeld' | 'hasEnded'>;
}): PutBackSome {
  /** Whether they stand in Redis under the session of now. */
  async function tryToPut({ putBack, standing }: Place, some: Some): Promise<boolean> {
    const { session } = standing;
    if (!session) return false;
    standing.notePutBack();
    const isBack = await putBack(session, some).then(
      (isRecounted) => !isRecounted,
      () => false,
    );
    standing.notePutBack();
    const isSameSession = standing.session?.token === session.token;
    // A command that failed may run late: a put-back of all has a higher number, and fences it.
    if (isSameSession && !isBack) standing.reportMissingCall();
    return isSameSession && isBack;
  }

  /** One after the other: of two at once, the older would come late. */
  const turns = new WeakMap<Place, Promise<unknown>>();
  function inTurn<Result>(place: Place, work: () => Promise<Result>): Promise<Result> {
    const done = (turns.get(place) ?? Promise.resolve()).then(work);
    turns.set(place, done);
    return done;
  }
  const stillHeld = (holds: readonly Hold[]): Hold[] => holds.filter(({ callId }) => pending.isHeld(callId));

  async function putUntilBack(holds: readonly Hold[]): Promise<void> {
    for (;;) {
      // Where a workspace belongs may change from one time to the next.
      const byPlace = Map.groupBy(stillHeld(holds), ({ workspaceId }) => placeOf(workspaceId));
      if (byPlace.size === 0) return;
      if (byPlace.size > 1) {
        await Promise.all([...byPlace.values()].map(putUntilBack));
        return;
      }
      const [place] = byPlace.keys();
      if (place && (await inTurn(place, () => tryToPut(place, { held: stillHeld(holds) })))) return;
      await delay(PAUSE_MS, undefined, { ref: false });
    }
  }

  return {
    takeOver(holds) {
      for (const hold of holds) pending.add(hold);
      return putUntilBack(holds);
    },
    async restore(ended) {
      const { callId, workspaceId } = ended.event;
      const place = placeOf(workspaceId);
      if (place) await inTurn(place, async () => pending.hasEnded(callId) && tryToPut(place, { ended: [ended] }));
    },
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

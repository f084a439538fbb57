import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type EndedCall, type Hold, monthOf, type PendingCalls } from '../call/pendingCalls.ts';
import { defineWorkspaceScript, type WorkspaceScript } from '../redis/askRedis.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import type { Session, SessionState } from '../redis/sessionState.ts';

/** Calls of one script, and workspaces at once. */
const CALLS_A_SCRIPT = 100;
const WORKSPACES_AT_ONCE = 8;

const answerSchema = z.enum(['back', 'recounted', 'closed', 'late']);

/** Arguments of `putBack.lua` for one call. */
type Fields = (string | number)[];

/** A part of the pending calls. */
interface Some {
  held?: readonly Hold[];
  ended?: readonly EndedCall[];
}

export interface PutBackOptions {
  owner: string;
  sessionState: Pick<SessionState, 'session' | 'reportMissingCall' | 'notePutBack'>;
  pending: Pick<PendingCalls, 'held' | 'ended'>;
}

/**
 * Lists calls of this owner in a Redis: running calls with their hold, ended calls with their charge. Covers the calls
 * that the ledger has not recorded. Repeating it changes nothing.
 */
export class PutBack {
  readonly #redis: Redis;
  readonly #options: PutBackOptions;
  readonly #putBack: WorkspaceScript;
  #lastNumber = 0;
  /** Workspaces of put-backs that failed: their scripts may run late, unless one with a higher number has run. */
  readonly #unsure = new Set<string>();
  /** The last put-back of some calls: of two at once, the older would come late. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(redis: Redis, options: PutBackOptions) {
    this.#redis = redis;
    this.#options = options;
    this.#putBack = defineWorkspaceScript(redis, 'putBack');
  }

  /** Puts all pending calls back under a new session. Rejects if a call could not be put back. */
  async putAll(session: Session): Promise<void> {
    const { pending } = this.#options;
    const byWorkspace = new Map<string, Fields[]>([...this.#unsure].map((workspaceId) => [workspaceId, []]));
    await this.#put(session, byWorkspace, { held: [...pending.held], ended: [...pending.ended] });
  }

  /**
   * Puts the calls of `list` back under the session in force, after earlier calls of this method. Returns whether the calls are in Redis
   * under that session. If a call could not be put back, or Redis had lost more, the session ends and all are put back under another.
   */
  putSome(list: () => Some): Promise<boolean> {
    const done = this.#last.then(() => this.#tryToPut(list()));
    this.#last = done;
    return done;
  }

  async #tryToPut(some: Some): Promise<boolean> {
    if (!some.held?.length && !some.ended?.length) return true;
    const { sessionState } = this.#options;
    const { session } = sessionState;
    if (!session) return false;
    sessionState.notePutBack();
    const isBack = await this.#put(session, new Map(), some).then(
      (isRecounted) => !isRecounted,
      () => false,
    );
    sessionState.notePutBack();
    const isSameSession = sessionState.session?.token === session.token;
    // A command that failed may run late: a put-back of all has a higher number, and fences it.
    if (isSameSession && !isBack) sessionState.reportMissingCall();
    return isSameSession && isBack;
  }

  /** Returns true where more than calls was lost, so that the pending calls of a workspace were counted again. */
  async #put(session: Session, byWorkspace: Map<string, Fields[]>, { held = [], ended = [] }: Some): Promise<boolean> {
    const add = (workspaceId: string, fields: Fields): void => {
      const others = byWorkspace.get(workspaceId);
      if (others) others.push(fields);
      else byWorkspace.set(workspaceId, [fields]);
    };
    for (const hold of held) add(hold.workspaceId, ofHold(hold));
    for (const call of ended) add(call.event.workspaceId, ofEnded(call));
    for (const workspaceId of byWorkspace.keys()) this.#unsure.add(workspaceId);
    // Numbered as they are listed, whenever they run.
    const number = Math.max(this.#lastNumber + 1, Date.now());
    this.#lastNumber = number + Math.ceil((held.length + ended.length) / CALLS_A_SCRIPT);
    let isRecounted = false;
    for (const workspaces of inGroups([...byWorkspace], WORKSPACES_AT_ONCE)) {
      const put = workspaces.map(([workspaceId, calls]) =>
        this.#putWorkspace(workspaceId, calls, { ...session, number }),
      );
      for (const done of await Promise.allSettled(put)) {
        if (done.status === 'rejected') throw done.reason;
        if (done.value) isRecounted = true;
      }
    }
    for (const workspaceId of byWorkspace.keys()) this.#unsure.delete(workspaceId);
    return isRecounted;
  }

  async #putWorkspace(
    workspaceId: string,
    calls: Fields[],
    { mark, token, number }: Session & { number: number },
  ): Promise<boolean> {
    const { owner } = this.#options;
    let isRecounted = false;
    const groups = calls.length === 0 ? [[]] : [...inGroups(calls, CALLS_A_SCRIPT)];
    for (const [index, group] of groups.entries()) {
      const args = [owner, number + index, token, group.length, ...group.flat()];
      const answer = await this.#putBack(workspaceId, mark, args);
      const outcome = answerSchema.parse(answer);
      if (outcome === 'recounted') isRecounted = true;
      if (outcome === 'back' || outcome === 'recounted') continue;
      // The clock was set back since a former process of this owner, or this comes late itself.
      if (outcome === 'late') {
        const latest = Number(await this.#redis.hget(redisKeys.owners(workspaceId), owner));
        this.#lastNumber = Math.max(this.#lastNumber, latest);
      }
      throw new Error(
        `calls cannot be put back: ${outcome === 'late' ? 'a later put-back was first' : 'Redis is another one by now'}`,
      );
    }
    return isRecounted;
  }
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

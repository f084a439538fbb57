import { sinceOf } from '@turnpike/internal-api/budgetPeriod';
import type { Logger } from '@turnpike/logging/createLogger';
import { sendAhead } from '@turnpike/redis-connection/connectRedis';
import { z } from 'zod';
import type { Absorber } from './balances/absorb.ts';
import { type EndedCall, type EndingEvent, type Hold, monthOf, type PendingCalls } from './call/pendingCalls.ts';
import { ReleaseQueue } from './call/releaseQueue.ts';
import { PutBack } from './follow/putBack.ts';
import { type Admission, type AdmitRequest, admitArguments, Refusals, readAdmission } from './gate/admit.ts';
import { type ExtendRequest, type Extension, extendArguments, readExtension } from './gate/extend.ts';
import { defineWorkspaceScript, type WorkspaceScript } from './redis/askRedis.ts';
import type { CallAddress } from './redis/redisKeys.ts';
import type { Session, SessionState } from './redis/sessionState.ts';
import type { Shard } from './redis/shards.ts';

/** A released admission can only still arrive while its command is under way. */
const RELEASED_MS = 600_000;

/**
 * The state that `settle` found a call in. `held`: the call is charged now. `unlisted`: the call is charged now, and the list of the
 * workspace's calls had lost it. `none`: the call is not pending.
 */
const settledSchema = z.enum(['held', 'unlisted', 'ended', 'released', 'none']);
export type Settlement = z.output<typeof settledSchema>;

export interface ShardHoldsOptions {
  owner: string;
  leaseMs: number;
  /** All calls of this owner, and those of them that this shard has. */
  pending: PendingCalls;
  pendingHere: Pick<PendingCalls, 'held' | 'ended'>;
  absorber: Pick<Absorber, 'load'>;
  /** Releases once, in the shard that has the call by then, as slots may move while a release is tried again. */
  release(address: CallAddress): Promise<void>;
  log: Logger;
}

/**
 * The holds of an owner in one shard. Each script may run any number of times: the first run that applies changes the balances. All
 * methods that ask Redis reject when it does not answer in time.
 */
export class ShardHolds {
  readonly sessionState: SessionState;
  /** Releases that are tried until Redis has taken them. A lost shard keeps those of no other waiting. */
  readonly releases: ReleaseQueue;
  readonly #owner: string;
  readonly #pending: PendingCalls;
  readonly #absorber: Pick<Absorber, 'load'>;
  readonly #refusals = new Refusals();
  readonly #putBack: PutBack;
  readonly #admit: WorkspaceScript;
  readonly #extend: WorkspaceScript;
  readonly #settle: WorkspaceScript;
  readonly #release: WorkspaceScript;

  constructor({ redis, sessionState }: Pick<Shard, 'redis' | 'sessionState'>, options: ShardHoldsOptions) {
    const { owner, leaseMs, pending, pendingHere, absorber, release, log } = options;
    this.sessionState = sessionState;
    this.releases = new ReleaseQueue({ release, onGiveUp: () => sessionState.reportMissingCall(), leaseMs, log });
    this.#owner = owner;
    this.#pending = pending;
    this.#absorber = absorber;
    this.#putBack = new PutBack(redis, { owner, sessionState, pending: pendingHere });
    this.#admit = defineWorkspaceScript(redis, 'admit');
    this.#extend = defineWorkspaceScript(redis, 'extend');
    this.#settle = defineWorkspaceScript(redis, 'settle');
    this.#release = defineWorkspaceScript(redis, 'release');
  }

  /**
   * Takes a hold in one round trip. From then on the admitted call is put back with all others. If another session began before the
   * answer came, its list lacks the call: the hold is released, and the answer is `closed`. After a rejection Redis may still admit
   * the call, so the hold is released too.
   */
  async admit(request: AdmitRequest): Promise<Admission> {
    const { callId, key } = request;
    const { keyId } = key;
    const { workspaceId } = key.workspace;
    const repeated = this.#refusals.repeat(key);
    if (repeated) return repeated;
    const { session, isOpen } = this.sessionState;
    if (!session || !isOpen) {
      this.sessionState.suspect();
      return { outcome: 'closed' };
    }

    const askedAt = performance.now();
    let admission: Admission;
    try {
      const args = admitArguments(request, { session, owner: this.#owner });
      const answer = await this.#admit(workspaceId, session.mark, args);
      admission = readAdmission(answer, request, session.token);
    } catch (error) {
      // A full Redis has admitted nothing. To release the call would take memory, for its tombstone.
      const isFull = error instanceof Error && error.message.startsWith('OOM ');
      if (!isFull) void this.releases.release({ callId, keyId, workspaceId });
      throw error;
    }

    switch (admission.outcome) {
      case 'admitted':
        if (this.sessionState.session?.token !== session.token) {
          void this.releases.release(admission.hold);
          return { outcome: 'closed' };
        }
        this.#pending.add(admission.hold);
        return admission;
      case 'rate_limited':
        this.#refusals.add(key, admission, askedAt);
        return admission;
      case 'closed':
        this.sessionState.suspect();
        return admission;
      default:
        return admission;
    }
  }

  /**
   * Raises the hold of a running call where the balances carry the difference; asked again, it changes nothing. If another session began
   * before the answer came, the hold was listed as it was, and is put back so: the answer is `closed`. After a rejection Redis may hold
   * more than this process knows, until the call ends or is put back.
   */
  async extend(hold: Hold, request: ExtendRequest): Promise<Extension> {
    const { session, isOpen } = this.sessionState;
    if (!session || !isOpen) return { outcome: 'closed' };
    const { workspaceId, keyId, callId } = hold;
    const ask = async () =>
      readExtension(await this.#extend(workspaceId, session.mark, extendArguments(hold, request, session)));
    let extension = await ask();
    if (extension.outcome === 'not_loaded') {
      // The sums of the month and the period that the call counts in, which may be over.
      const { periodBudget } = request.key;
      const since = periodBudget && sinceOf(periodBudget.period, hold.admittedAtMs);
      await this.#absorber.load(workspaceId, keyId, monthOf(hold.admittedAtMs), since ?? undefined);
      extension = await ask();
    }
    if (this.sessionState.session?.token !== session.token) return { outcome: 'closed' };
    const { outcome } = extension;
    if (outcome === 'closed') this.sessionState.suspect();
    if (outcome === 'not_held' && this.#pending.isHeld(callId)) this.sessionState.reportMissingCall();
    if (outcome === 'extended' && request.holdNanoUsd > hold.holdNanoUsd) {
      hold.holdNanoUsd = request.holdNanoUsd;
      hold.unknownEventJson = request.unknownEventJson;
    }
    return extension;
  }

  /**
   * Turns the hold into the charge, and keeps the event beside it until the call is recorded. The rate of the key takes `maxTokens` at
   * most.
   */
  async settle(event: EndingEvent, eventJson: string, maxTokens = Number.POSITIVE_INFINITY): Promise<Settlement> {
    // An engine may have computed the prompt of a call without a count.
    const tokens = event.status === 'unknown' ? '' : Math.min(event.promptTokens + event.completionTokens, maxTokens);
    const args = [event.callId, event.chargeNanoUsd.toString(), tokens, eventJson];
    // Redis has the only copy of an ended call if this process is lost with its disk.
    const answer = await sendAhead(() => this.#settle(event.workspaceId, '', args));
    return settledSchema.parse(answer);
  }

  /** Releases a hold with its request and tokens. Tries once; `releases` tries until Redis has taken it. */
  async release({ workspaceId, callId }: CallAddress): Promise<void> {
    await this.#release(workspaceId, '', [callId, RELEASED_MS]);
  }

  /** Puts all pending calls of the shard back under a session that begins. Rejects where one could not be put back. */
  putBackAll(session: Session): Promise<void> {
    return this.#putBack.putAll(session);
  }

  /** Puts running calls back that Redis lacks, as far as they still run. Returns whether all are in Redis under the session of now. */
  putBackHeld(holds: readonly Hold[]): Promise<boolean> {
    return this.#putBack.putSome(() => ({ held: holds.filter(({ callId }) => this.#pending.isHeld(callId)) }));
  }

  /** Tries once to put back a call that has ended and was dropped. Never rejects: under another session it is put back with all. */
  async restore(ended: EndedCall): Promise<void> {
    await this.#putBack.putSome(() => ({ ended: this.#pending.hasEnded(ended.event.callId) ? [ended] : [] }));
  }
}

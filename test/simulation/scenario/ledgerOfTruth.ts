import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { Ending } from '../../../services/model-router/src/money/call/openCalls.ts';

/** The true course of a call, counted outside of everything that is tested. */
export interface TrueCall {
  callId: string;
  keyId: string;
  workspaceId: string;
  /** The router by its machine, which of its processes, and how it calls itself. */
  router: number;
  incarnation: number;
  routerId: string;
  startedAt: number;
  /** `YYYY-MM` of its admission, by Redis' clock of then; undefined until Redis has admitted it. */
  month: string | undefined;
  /** The instant of its admission by that clock. */
  admittedAtMs: number | undefined;
  /** Its worst case, from when Redis has admitted it; undefined again where its client was refused all the same. */
  holdNanoUsd: bigint | undefined;
  /** The call releases its hold at its end; an admission after that is refused. */
  isToBeReleased: boolean;
  isRefused: boolean;
  isLetIn: boolean;
  ending: Ending | undefined;
  /** Its true cost: the engine's count at the model's prices, the hold at most. */
  chargeNanoUsd: bigint;
  /** The result of the call's end; undefined while it waits, or for ever if the router died. */
  isKept: boolean | undefined;
  /** The session that it is pending under in Redis, and since when Redis has known of it. */
  session: string | undefined;
  pendingAt: number | undefined;
  isPending: boolean;
  /** Since when its charge stands in Redis. */
  settledAt: number | undefined;
  /** Its router was given up: its hold may be given to others, until it is put back or recorded. */
  isExcused: boolean;
  /** An exception was made of it once, so other calls may have been admitted beside it. */
  wasExcused: boolean;
}

/** Something that was lost and never came back. */
export interface Loss {
  at: number;
  /** `refusal`: until then a disk took no event, and those of ended calls were in the process and in Redis alone. */
  kind: 'redis' | 'process' | 'disk' | 'refusal';
  /** The router of a lost process or disk. */
  router: number | undefined;
  /** The instant from which writes of Redis are lost; undefined if all are. */
  since?: number;
}

/** A credit that an operator has given, or taken where it is below zero. */
export interface TrueCredit {
  creditId: string;
  workspaceId: string;
  amountNanoUsd: bigint;
  /** Whether it limits what calls may cost: from before it is given, and from when it is known to be taken. */
  isCounted: boolean;
}

/** The truth of one run. */
export class LedgerOfTruth {
  readonly calls = new Map<string, TrueCall>();
  readonly losses: Loss[] = [];
  /** Names of the faults so far. */
  readonly faults = new Set<string>();
  readonly credits: TrueCredit[] = [];
  /** The highest credit ever, by workspace. */
  readonly mostCredited = new Map<string, bigint>();
  /** The highest that each key's budget ever was; one that ever had none is not here. */
  readonly budgetByKey = new Map<string, bigint>();
  /** A key's budget of a period, where it has one. */
  readonly periodBudgetByKey = new Map<string, NonNullable<KeyRecord['periodBudget']>>();
  /** A month's cap, where a workspace has one. */
  readonly capByWorkspace = new Map<string, bigint>();
  /** When the ledger last took a report of each router. */
  readonly heardAt = new Map<string, number>();
  /** Calls that a dead letter's replay has recorded. */
  readonly replayed = new Set<string>();

  count(credit: TrueCredit, isCounted: boolean): void {
    credit.isCounted = isCounted;
    const { workspaceId } = credit;
    const most = this.mostCredited.get(workspaceId) ?? 0n;
    const now = this.creditOf(workspaceId);
    this.mostCredited.set(workspaceId, now > most ? now : most);
  }

  creditOf(workspaceId: string): bigint {
    return this.credits
      .filter((credit) => credit.isCounted && credit.workspaceId === workspaceId)
      .reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
  }

  /** From here on the call may run uncounted, until it is put back or its charge is in the sums. */
  excuse(call: TrueCall): void {
    call.isExcused = true;
    call.wasExcused = true;
  }

  lose(loss: Loss): void {
    this.losses.push(loss);
  }

  has(kind: Loss['kind'], call: TrueCall): boolean {
    return this.losses.some(
      (loss) =>
        loss.kind === kind && loss.at >= call.startedAt && (loss.router === undefined || loss.router === call.router),
    );
  }

  /** Whether Redis has lost what it knew at that time and was not told since. */
  hasRedisLost(toldAt: number | undefined): boolean {
    if (toldAt === undefined) return true;
    return this.losses.some(({ kind, at, since = 0 }) => kind === 'redis' && at >= toldAt && toldAt >= since);
  }

  /** Whether the router's part of what is known of a call's end is gone: its process, and with that or without it its disk. */
  isGoneFromRouter(call: TrueCall): boolean {
    const hasDied = this.has('process', call);
    return hasDied && (call.isKept !== true || this.has('disk', call) || this.has('refusal', call));
  }

  /** Whether nobody who knew how a call ended is left: neither its router nor Redis. */
  isForgotten(call: TrueCall): boolean {
    return this.isGoneFromRouter(call) && this.hasRedisLost(call.settledAt);
  }

  /** Whether nobody who knew of the call at all is left. */
  isUnheardOf(call: TrueCall): boolean {
    return this.isGoneFromRouter(call) && this.hasRedisLost(call.pendingAt);
  }
}

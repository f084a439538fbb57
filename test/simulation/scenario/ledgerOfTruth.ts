import type { Ending } from '../../../services/model-router/src/money/call/toEvent.ts';

/** What truly happened to a call, counted outside of everything that is tested. */
export interface TrueCall {
  callId: string;
  keyId: string;
  workspaceId: string;
  /** The router, and which of its processes. */
  router: number;
  incarnation: number;
  startedAt: number;
  /** `YYYY-MM` of its admission, by Redis' clock of then; undefined until Redis has admitted it. */
  month: string | undefined;
  /** Set when the client was let in. */
  holdNanoUsd: bigint | undefined;
  ending: Ending | undefined;
  /** What it is to cost: the engine's count at the model's prices, the hold at most. */
  chargeNanoUsd: bigint;
  /** What the end of the call was told; undefined while it waits, or for ever where the router died. */
  isKept: boolean | undefined;
  /** When its charge stood in Redis first. */
  settledAt: number | undefined;
  /** Its router was given up: its hold may be given to others, until it is put back or recorded. */
  isExcused: boolean;
  /** It was once, so that others may have been let in beside it. */
  wasExcused: boolean;
}

/** Something that was lost and never came back. */
export interface Loss {
  at: number;
  /** `refusal`: until then a disk took no event, and those of ended calls were in the process and in Redis alone. */
  kind: 'redis' | 'process' | 'disk' | 'refusal';
  /** The router of a lost process or disk. */
  router: number | undefined;
}

/** The truth of one run. */
export class LedgerOfTruth {
  readonly calls = new Map<string, TrueCall>();
  readonly losses: Loss[] = [];
  /** Names of the faults so far. */
  readonly faults = new Set<string>();
  readonly creditedByWorkspace = new Map<string, bigint>();
  /** The highest that each key's budget ever was; one that ever had none is not here. */
  readonly budgetByKey = new Map<string, bigint>();
  /** A month's cap, where a workspace has one. */
  readonly capByWorkspace = new Map<string, bigint>();

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

  /** Whether the router's part of what is known of a call is gone, but for what it has in its memory. */
  hasNoDisk(call: TrueCall): boolean {
    return this.has('disk', call) || (this.has('refusal', call) && this.has('process', call));
  }

  /** Whether nobody who knew how a call ended is left: its router's disk is gone, and Redis had not been told, or has lost it. */
  isForgotten(call: TrueCall): boolean {
    if (!this.hasNoDisk(call)) return false;
    const { settledAt } = call;
    return settledAt === undefined || this.losses.some(({ kind, at }) => kind === 'redis' && at >= settledAt);
  }
}

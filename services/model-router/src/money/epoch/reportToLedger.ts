import { createClient } from '@turnpike/internal-api/createClient';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';

const TIMEOUT_MS = 1_000;

/** A router's sign of life to the ledger. */
export interface RouterReport {
  /** Replication id of the Redis it sees; null while it sees none. */
  redisId: string | null;
  /** The epochs it was told last, has drained for, and has asserted its holds in. */
  knownEpoch: number | null;
  drainedEpoch: number | null;
  assertedEpoch: number | null;
  /** The router has no call, an empty spool, and has not worked in an earlier epoch. */
  isBlank: boolean;
  /** The router holds a call that Redis does not know. */
  missesCalls: boolean;
}

/** The ledger's answer: the epoch in force, and its phase. */
export interface EpochNews {
  number: number;
  redisId: string;
  phase: 'draining' | 'asserting' | 'open';
  /** Whether this router counts in that epoch. */
  isMember: boolean;
}

export interface LedgerReports {
  report(report: RouterReport): Promise<EpochNews>;
  /** This router has ended all its calls and sent every event: nobody need wait for it. */
  leave(): Promise<void>;
}

export interface LedgerReportsOptions {
  ledgerUrl: string;
  internalHeaders: (audience: string) => Record<string, string>;
  routerId: string;
  /** Identifies this process: the next one with the same spool has forgotten the calls of this one. */
  processId: string;
}

/** Carries a router's signs of life to the ledger, which keeps the epoch of Redis. */
export function createLedgerReports(options: LedgerReportsOptions): LedgerReports {
  const { ledgerUrl, internalHeaders, routerId, processId } = options;
  const ledger = createClient(usageLedgerApi, { url: ledgerUrl, internalHeaders, timeoutMs: TIMEOUT_MS });
  const params = { router_id: routerId };
  return {
    async report({ redisId, knownEpoch, drainedEpoch, assertedEpoch, isBlank, missesCalls }) {
      const news = await ledger.reportRouter({
        params,
        body: {
          process_id: processId,
          redis_id: redisId,
          known_epoch: knownEpoch,
          drained_epoch: drainedEpoch,
          asserted_epoch: assertedEpoch,
          is_blank: isBlank,
          misses_calls: missesCalls,
        },
      });
      return { number: news.epoch, redisId: news.redis_id, phase: news.phase, isMember: news.is_member };
    },
    async leave() {
      await ledger.removeRouter({ params });
    },
  };
}

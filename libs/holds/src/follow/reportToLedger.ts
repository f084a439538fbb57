import { createClient } from '@turnpike/internal-api/createClient';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';

const TIMEOUT_MS = 1_000;

/** A router's sign of life to the ledger. */
export interface RouterReport {
  /** Replication id of the Redis it sees; null while it sees none. */
  redisId: string | null;
  /** The mark under which its calls are put back. */
  putBackMark: string | null;
  /** A mark that has gone from this Redis, and with it what stood there. */
  missingMark: string | null;
}

/** What the ledger says of the Redis that a router sees. */
export interface RedisNews {
  redisId: string | null;
  /** The name of its mark; null where no Redis is seen. */
  mark: string | null;
  /** The ledger gave this mark to this very report: this router puts it into Redis, in one try, and nobody else does. */
  isToBeSet: boolean;
  /** Whether the calls of all routers are put back, so that calls may be admitted. */
  isOpen: boolean;
  /** Other routers count in another Redis. */
  isStranger: boolean;
  /** Routers whose calls are not put back yet. */
  waitsFor: string[];
}

export interface LedgerReports {
  report(report: RouterReport): Promise<RedisNews>;
  /** This router has brought all its calls to the ledger: nobody need wait for it. */
  leave(): Promise<void>;
}

/** Carries a router's signs of life to the ledger, which knows who else counts in which Redis. */
export function createLedgerReports({
  ledgerUrl,
  internalHeaders,
  routerId,
}: {
  ledgerUrl: string;
  internalHeaders: (audience: string) => Record<string, string>;
  routerId: string;
}): LedgerReports {
  const ledger = createClient(usageLedgerApi, { url: ledgerUrl, internalHeaders, timeoutMs: TIMEOUT_MS });
  const params = { router_id: routerId };
  return {
    async report({ redisId, putBackMark, missingMark }) {
      const body = { redis_id: redisId, put_back_mark: putBackMark, missing_mark: missingMark };
      const news = await ledger.reportRouter({ params, body });
      return {
        redisId: news.redis_id,
        mark: news.mark,
        isToBeSet: news.is_to_be_set,
        isOpen: news.is_open,
        isStranger: news.is_stranger,
        waitsFor: news.waits_for,
      };
    },
    async leave() {
      await ledger.removeRouter({ params });
    },
  };
}

import { hostname } from 'node:os';
import { createClient } from '@turnpike/internal-api/transport/createClient';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import type { InternalHeaders } from '@turnpike/internal-auth/internalToken';

const TIMEOUT_MS = 1_000;
/** The longest name of a host in the DNS. */
const LONGEST_HOST = 253;

/** The services that hold money for calls. */
export type HoldingService = 'model-router' | 'media-jobs';

/** An owner's sign of life to the ledger, with where it stands with a shard. */
export interface OwnerReport {
  shard: string;
  /** Replication id of the Redis it sees; null while it sees none. */
  redisId: string | null;
  /** The mark under which its calls are put back. */
  putBackMark: string | null;
  /** A mark that has gone from this Redis, and with it what stood there. */
  missingMark: string | null;
}

/** The ledger's report about the Redis that an owner sees. */
export interface RedisNews {
  redisId: string | null;
  /** The name of its mark; null where no Redis is seen. */
  mark: string | null;
  /** The ledger gave this mark to this very report: this owner puts it into Redis, in one try, and nobody else does. */
  isToBeSet: boolean;
  /** Whether the calls of all owners are put back, so that calls may be admitted. */
  isOpen: boolean;
  /** Other owners count in another Redis. */
  isStranger: boolean;
  /** Routers whose calls are not put back yet. */
  waitsFor: string[];
}

export interface LedgerReports {
  report(report: OwnerReport): Promise<RedisNews>;
  /** This owner has brought all its calls to the ledger: nobody need wait for it. */
  leave(): Promise<void>;
}

/** Carries an owner's signs of life to the ledger, which knows who else counts in which Redis. */
export function createLedgerReports({
  ledgerUrl,
  internalHeaders,
  owner,
  service,
}: {
  ledgerUrl: string;
  internalHeaders: InternalHeaders;
  owner: string;
  /** The service of this process, for operators to see beside its host. */
  service?: HoldingService;
}): LedgerReports {
  const ledger = createClient(usageLedgerApi, { url: ledgerUrl, internalHeaders, timeoutMs: TIMEOUT_MS });
  const params = { router_id: owner };
  const process = service === undefined ? undefined : { service, host: hostname().slice(0, LONGEST_HOST) };
  return {
    async report({ shard, redisId, putBackMark, missingMark }) {
      const body = { shard, redis_id: redisId, put_back_mark: putBackMark, missing_mark: missingMark, process };
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

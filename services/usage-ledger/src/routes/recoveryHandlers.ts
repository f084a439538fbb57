import type { Handlers } from '@turnpike/internal-api/transport/serveApi';
import type { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import type { Db } from '../database/createDb.ts';
import { readRecoveryStanding } from '../recovery/describeRecovery.ts';
import { toRecoveryBody } from '../wire/recoveryBody.ts';

export interface RecoveryHandlerDependencies {
  reportDb: Db;
  /** Records of the event log that are not in the ledger yet. Rejects while the log does not answer. */
  readLag: () => Promise<bigint>;
}

/** How the region stands with its Redis and its Postgres, for the operator. */
export const createRecoveryHandlers = ({ reportDb, readLag }: RecoveryHandlerDependencies) =>
  ({
    async getRecovery() {
      const [standing, lag] = await Promise.all([readRecoveryStanding(reportDb), readLag().catch(() => null)]);
      return toRecoveryBody(standing, lag);
    },
  }) satisfies Pick<Handlers<typeof usageLedgerApi>, 'getRecovery'>;

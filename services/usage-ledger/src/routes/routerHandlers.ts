import { setTimeout as delay } from 'node:timers/promises';
import type { EventLogStore } from '@turnpike/event-log/consumeFromStore';
import type { Handlers } from '@turnpike/internal-api/transport/serveApi';
import type { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import type { Repetition } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerError.ts';
import { type Absorbed, absorb } from '../balances/absorb.ts';
import type { Db } from '../database/createDb.ts';
import type { AskedWorkspace } from '../database/statements.ts';
import { readRecoveryState } from '../recovery/describeRecovery.ts';
import { createReportRouter } from '../recovery/reportRouter.ts';
import { toAbsorbedBody } from '../wire/balancesBody.ts';
import { toRecoveryBody } from '../wire/recoveryBody.ts';

export interface RouterHandlerDependencies {
  /** A pool of its own for balances that calls wait for, so that many of these delay nothing else. */
  balancesDb: Db;
  /** A pool of its own for queries about recorded calls, which may take longer, because no call waits for them. */
  recordedDb: Db;
  /** A pool of its own, so that a region recovers under any load. */
  reportDb: Db;
  /** The feed of credits. Undefined in a region without an account layer. */
  creditFeed: Pick<Repetition, 'now'> | undefined;
  log: Logger;
  /** Store of the embedded event log. Undefined in a stack with a broker. */
  store: EventLogStore | undefined;
}

/** Longest wait for the feed. Auth follows it on its own, so a call may come before the first credit of its workspace. */
const FIRST_CREDIT_MS = 500;

type RouterHandlers = Pick<
  Handlers<typeof usageLedgerApi>,
  'absorb' | 'reportRouter' | 'removeRouter' | 'appendEvents'
>;

/** Creates the handlers of routers' queries, reports and events. */
export function createRouterHandlers({
  reportDb,
  balancesDb,
  recordedDb,
  creditFeed,
  log,
  store,
}: RouterHandlerDependencies) {
  const reportRouter = createReportRouter({ db: reportDb, log });

  /** Absorbs workspaces that a call waits for. Reads the feed of credits first if the ledger does not know a workspace. */
  async function absorbForCall(asked: AskedWorkspace[]): Promise<Absorbed> {
    const absorbed = await absorb(balancesDb, asked);
    if (!creditFeed || absorbed.workspaces.every(({ seq }) => seq > 0)) return absorbed;
    await Promise.race([creditFeed.now().catch(() => {}), delay(FIRST_CREDIT_MS, undefined, { ref: false })]);
    return absorb(balancesDb, asked);
  }

  return {
    async absorb({ body: { workspaces } }) {
      const asked = workspaces.map(({ workspace_id: workspaceId, month, keys: keyIds, since, calls: callIds }) => ({
        workspaceId,
        month,
        keyIds,
        since,
        callIds,
      }));
      const isAboutCalls = asked.some(({ callIds }) => callIds.length > 0);
      return toAbsorbedBody(await (isAboutCalls ? absorb(recordedDb, asked) : absorbForCall(asked)));
    },
    async reportRouter({ params: { router_id: routerId }, body }) {
      const { shard, redis_id: redisId, put_back_mark: putBackMark, missing_mark: missingMark, process } = body;
      const gate = await reportRouter({ routerId, shard, redisId, putBackMark, missingMark, process });
      return {
        redis_id: gate.redisId,
        mark: gate.mark,
        is_to_be_set: gate.isToBeSet,
        is_open: gate.isOpen,
        is_stranger: gate.isStranger,
        waits_for: gate.waitsFor,
      };
    },
    async removeRouter({ params: { router_id: routerId } }) {
      await reportDb.router.deleteMany({ where: { routerId } });
      return {};
    },
    async appendEvents({ params: { topic }, body: { records } }) {
      if (!store) throw new ApiError<LedgerFault>({ kind: 'unknown_topic' });
      await store.append(topic, records);
      return {};
    },
  } satisfies RouterHandlers;
}

export interface RecoveryHandlerDependencies {
  reportDb: Db;
  /** Records of the event log that are not in the ledger yet. Rejects while the log does not answer. */
  readLag: () => Promise<bigint>;
}

/** Returns the state of the region's Redis and Postgres, for the operator. */
export const createRecoveryHandlers = ({ reportDb, readLag }: RecoveryHandlerDependencies) =>
  ({
    async getRecovery() {
      const [standing, lag] = await Promise.all([readRecoveryState(reportDb), readLag().catch(() => null)]);
      return toRecoveryBody(standing, lag);
    },
  }) satisfies Pick<Handlers<typeof usageLedgerApi>, 'getRecovery'>;

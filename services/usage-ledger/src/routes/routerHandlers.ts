import type { EventLogConsumer } from '@turnpike/event-log/eventLog';
import type { EventLogStore } from '@turnpike/event-log/eventLogStore';
import type { Handlers } from '@turnpike/internal-api/serveApi';
import type { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerFault.ts';
import type { Db } from '../database/createDb.ts';
import { reportRouter } from '../epoch/reportRouter.ts';

export interface RouterHandlerDependencies {
  db: Db;
  consumer: Pick<EventLogConsumer, 'lag'>;
  /** The store of the embedded event log; undefined where the stack has a broker. */
  store: EventLogStore | undefined;
}

type RouterHandlers = Pick<Handlers<typeof usageLedgerApi>, 'reportRouter' | 'removeRouter' | 'appendEvents'>;

/** Handlers for routers: their reports, and the events that they hand over. */
export function createRouterHandlers({ db, consumer, store }: RouterHandlerDependencies): RouterHandlers {
  return {
    async reportRouter({ params: { router_id: routerId }, body }) {
      const epoch = await reportRouter(
        { db, consumer },
        {
          routerId,
          processId: body.process_id,
          redisId: body.redis_id,
          knownEpoch: body.known_epoch,
          drainedEpoch: body.drained_epoch,
          assertedEpoch: body.asserted_epoch,
          isBlank: body.is_blank,
          missesCalls: body.misses_calls,
        },
      );
      return { epoch: epoch.number, redis_id: epoch.redisId, phase: epoch.phase, is_member: epoch.isMember };
    },
    async removeRouter({ params: { router_id: routerId } }) {
      await db.router.deleteMany({ where: { routerId } });
      return {};
    },
    async appendEvents({ params: { topic }, body: { records } }) {
      if (!store) throw new ApiError<LedgerFault>({ kind: 'unknown_topic' });
      await store.append(topic, records);
      return {};
    },
  };
}

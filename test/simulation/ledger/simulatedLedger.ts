import { consumeFromStore } from '@turnpike/event-log/consumeFromStore';
import type { EventLogConsumer, EventRecord } from '@turnpike/event-log/eventLog';
import type { EventLogStore } from '@turnpike/event-log/eventLogStore';
import { usageRecorded } from '@turnpike/events/usageRecorded';
import type { Logger } from '@turnpike/logging/createLogger';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { createRecordingTelemetry } from '../../../services/usage-ledger/src/consumers/recordingTelemetry.ts';
import { recordUsageBatch } from '../../../services/usage-ledger/src/consumers/recordUsageBatch.ts';
import { getBalances } from '../../../services/usage-ledger/src/credits/getBalances.ts';
import { areBalancesReady } from '../../../services/usage-ledger/src/epoch/areBalancesReady.ts';
import { reportRouter } from '../../../services/usage-ledger/src/epoch/reportRouter.ts';
import { createEventLogStore } from '../../../services/usage-ledger/src/event-log/createEventLogStore.ts';
import { getNextOffset } from '../../../services/usage-ledger/src/event-log/eventOffset.ts';
import { toGateBalancesBody } from '../../../services/usage-ledger/src/wire/balancesBody.ts';
import type { SimulatedDatabase } from './simulatedDatabase.ts';

const PARTITIONS = [0, 1];
const { topic } = usageRecorded;
/** Each partition is a topic of its own in the store that stands for the log: one may be read long before another. */
const topicOf = (partition: number): string => `${topic}/${partition}`;

/** What the log of the simulation can be made to do. */
export interface LogState {
  isDown: boolean;
  /** Makes of a record's text what is written of it. */
  write: (text: string) => string;
}

/** One replica of the ledger: the consumers of every partition, and what routers ask of it. */
export class SimulatedLedger {
  readonly #db;
  readonly #store: EventLogStore;
  readonly #consumers: EventLogConsumer[];
  readonly #log: LogState;

  constructor({ database, log, logger }: { database: SimulatedDatabase; log: LogState; logger: Logger }) {
    this.#log = log;
    this.#db = database.asDb();
    const store = createEventLogStore(this.#db);
    // One emitter for all partitions: more listeners than one reader has.
    store.appends.setMaxListeners(100);
    this.#store = guarded(store, log);
    const telemetry = createRecordingTelemetry(noTelemetry);
    this.#consumers = PARTITIONS.map((partition) =>
      consumeFromStore({
        topic: topicOf(partition),
        store: this.#store,
        nextOffset: () => getNextOffset(this.#db, { topic, partition }),
        handle: (batch) =>
          recordUsageBatch(
            this.#db,
            { ...batch, partition },
            { topic, region: 'us', now: new Date(), log: logger, telemetry },
          ),
        log: logger,
      }),
    );
  }

  async lag(): Promise<bigint> {
    const lags = await Promise.all(this.#consumers.map((consumer) => consumer.lag()));
    return lags.reduce((sum, lag) => sum + lag, 0n);
  }

  /** Answers a request of a router, as the routes of the same names do. */
  async answer(method: string, url: URL, body: string): Promise<{ status: number; text: string }> {
    const [, , what, id = ''] = url.pathname.split('/');
    if (what === 'routers' && method === 'PUT')
      return { status: 200, text: JSON.stringify(await this.#report(id, JSON.parse(body))) };
    if (what === 'workspaces') return this.#balances(id, JSON.parse(body));
    if (what === 'event-log') return this.#append(JSON.parse(body).records);
    return { status: 404, text: '{}' };
  }

  async #report(routerId: string, body: Record<string, never>): Promise<object> {
    const { number, redisId, phase, isMember } = await reportRouter(
      { db: this.#db, consumer: this },
      {
        routerId,
        processId: body.process_id ?? '',
        redisId: body.redis_id ?? null,
        knownEpoch: body.known_epoch ?? null,
        drainedEpoch: body.drained_epoch ?? null,
        assertedEpoch: body.asserted_epoch ?? null,
        isBlank: body.is_blank === true,
        missesCalls: body.misses_calls === true,
      },
    );
    return { epoch: number, redis_id: redisId, phase, is_member: isMember };
  }

  async #balances(
    workspaceId: string,
    { month, epoch, calls }: { month: string; epoch: number; calls: string[] },
  ): Promise<{ status: number; text: string }> {
    if (!(await areBalancesReady(this.#db, epoch))) return { status: 409, text: '{}' };
    const balances = await getBalances(this.#db, { workspaceId, month, callIds: calls });
    return { status: 200, text: JSON.stringify(toGateBalancesBody(balances)) };
  }

  async #append(records: EventRecord[]): Promise<{ status: number; text: string }> {
    if (this.#log.isDown) return { status: 503, text: '{}' };
    for (const partition of PARTITIONS) {
      const own = records.filter(({ key }) => partitionOf(key) === partition);
      const written = own.map(({ key, value }) => ({ key, value: this.#log.write(value) }));
      if (own.length > 0) await this.#store.append(topicOf(partition), written);
    }
    return { status: 200, text: '{}' };
  }
}

const partitionOf = (key: string): number =>
  [...key].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % PARTITIONS.length;

/** A log that is down is read by nobody either. */
function guarded(store: EventLogStore, log: LogState): EventLogStore {
  const whileUp = (): void => {
    if (log.isDown) throw new Error('event log is down');
  };
  return {
    ...store,
    async read(...query) {
      whileUp();
      return store.read(...query);
    },
    async endOffset(name) {
      whileUp();
      return store.endOffset(name);
    },
  };
}

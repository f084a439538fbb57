import type { EventLogStore } from '@turnpike/event-log/consumeFromStore';
import { consumeFromStore } from '@turnpike/event-log/consumeFromStore';
import type { EventLogConsumer, EventRecord } from '@turnpike/event-log/eventLog';
import { usageRecorded } from '@turnpike/events/usageRecorded';
import { createFaultWording } from '@turnpike/internal-api/transport/serveApi';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import type { Logger } from '@turnpike/logging/createLogger';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { createRecordingTelemetry } from '../../../services/usage-ledger/src/consumers/recordingTelemetry.ts';
import { getNextOffset, recordUsageBatch } from '../../../services/usage-ledger/src/consumers/recordUsageBatch.ts';
import { createEventLogStore } from '../../../services/usage-ledger/src/event-log/createEventLogStore.ts';
import { followTimeline } from '../../../services/usage-ledger/src/recovery/followTimeline.ts';
import { createRouterHandlers } from '../../../services/usage-ledger/src/routes/routerHandlers.ts';
import type { SimulatedDatabase } from './simulatedDatabase.ts';

const PARTITIONS = [0, 1];
const { topic } = usageRecorded;
const { body: absorbSchema } = usageLedgerApi.routes.absorb;
const { body: reportSchema } = usageLedgerApi.routes.reportRouter;
const wordFault = createFaultWording(usageLedgerApi);

/** Each partition is a topic of its own in the store that stands for the log: one may be read long before another. */
const topicOf = (partition: number): string => `${topic}/${partition}`;

/** The event log, which is apart from the ledger's database as a broker is, and what it can be made to do. */
export interface LogState {
  database: SimulatedDatabase;
  isDown: boolean;
  /** Makes of a record's text what is written of it. */
  write: (text: string) => string;
}

/** One replica of the ledger: the consumers of every partition, and what routers ask of it. */
export class SimulatedLedger {
  readonly #db;
  readonly #store: EventLogStore;
  readonly #consumers: EventLogConsumer[];
  readonly #handlers;
  readonly #log: LogState;

  constructor({ database, log, logger }: { database: SimulatedDatabase; log: LogState; logger: Logger }) {
    this.#log = log;
    this.#db = database.asDb();
    const store = createEventLogStore(log.database.asDb());
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
            { topic, region: 'us', now: new Date(), log: logger, telemetry, mostRecords: new Map() },
          ),
        log: logger,
      }),
    );
    this.#handlers = createRouterHandlers({
      reportDb: this.#db,
      balancesDb: this.#db,
      recordedDb: this.#db,
      creditFeed: undefined,
      log: logger,
      store: undefined,
    });
    const consumer = { endOffsets: () => this.#endOffsets(), goBack: async () => {} };
    followTimeline({ db: this.#db, consumer, topic, log: logger });
  }

  async lag(): Promise<bigint> {
    const lags = await Promise.all(this.#consumers.map((consumer) => consumer.lag()));
    return lags.reduce((sum, lag) => sum + lag, 0n);
  }

  /** Returns the ends for one consumer of all partitions, although each has one of its own here. */
  async #endOffsets(): Promise<Map<number, bigint>> {
    const ends = await Promise.all(PARTITIONS.map((partition) => this.#store.endOffset(topicOf(partition))));
    return new Map(PARTITIONS.map((partition, nth) => [partition, ends[nth] ?? 0n]));
  }

  /** Answers a request of a router, as the routes of the same names do. */
  async answer(method: string, url: URL, text: string): Promise<{ status: number; text: string }> {
    try {
      const answer = await this.#handle(method, url, text);
      return { status: answer ? 200 : 404, text: JSON.stringify(answer ?? {}) };
    } catch (error) {
      const worded = wordFault(error);
      if (!worded) throw error;
      return { status: worded.status, text: JSON.stringify(worded.body) };
    }
  }

  async #handle(method: string, url: URL, text: string): Promise<object | undefined> {
    const [, , what, id = ''] = url.pathname.split('/');
    const { absorb, reportRouter, removeRouter } = this.#handlers;
    const body = text === '' ? undefined : JSON.parse(text);
    if (what === 'balances') return absorb({ params: undefined, body: absorbSchema.parse(body) });
    if (what === 'event-log') return this.#append(body.records);
    if (what !== 'routers') return undefined;
    const params = { router_id: id };
    return method === 'DELETE'
      ? removeRouter({ params, body: undefined })
      : reportRouter({ params, body: reportSchema.parse(body) });
  }

  async #append(records: EventRecord[]): Promise<object> {
    if (this.#log.isDown) throw new Error('event log is down');
    for (const partition of PARTITIONS) {
      const own = records.filter(({ key }) => partitionOf(key) === partition);
      const written = own.map(({ key, value }) => ({ key, value: this.#log.write(value) }));
      if (own.length > 0) await this.#store.append(topicOf(partition), written);
    }
    return {};
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

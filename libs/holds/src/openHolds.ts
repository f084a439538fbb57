import { hostname } from 'node:os';
import { createEmbeddedProducer } from '@turnpike/event-log/createEmbeddedProducer';
import type { EventLogProducer } from '@turnpike/event-log/eventLog';
import type { ServiceBase } from '@turnpike/http-service/startService';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { PendingCalls } from './call/pendingCalls.ts';
import { recoverSpool } from './call/recoverSpool.ts';
import { createLedgerReports, type HoldingService } from './follow/reportToLedger.ts';
import { type Counting, countByShard, Holds } from './holds.ts';
import { assertDurableRedis, type Durability } from './redis/assertDurableRedis.ts';
import { createOpenness, type Openness } from './redis/openness.ts';
import { type OpenShards, openShards, type Shards } from './redis/shards.ts';
import { openSpoolFolder } from './spool/openSpoolFolder.ts';
import type { Spool } from './spool/spool.ts';
import { closeSpool } from './spool/spool.ts';

/** How long what has ended may still be recorded once this process stops; the spool, and Redis, keep the rest. */
const RECORD_GRACE_MS = 5_000;
/** Beside that: what is under way to Redis or to the ledger. */
const CLOSE_MS = 10_000;

/** The settings that holds go by. */
export interface HoldsSettings {
  /** Addresses of one Redis, or of some nodes of a cluster. */
  REDIS_URL: string[];
  REDIS_TIMEOUT_MS: number;
  STORE_COPIES: 'one' | 'several';
  LEASE_MS: number;
  LEDGER_INTERNAL_URL: string;
  LEDGER_TIMEOUT_MS: number;
  SPOOL_DIR: string;
  SPOOL_MAX_BYTES: number;
  KAFKA_BROKERS?: string[] | undefined;
}

/** The holds of this process, and what it knows of balances by them. */
export interface OpenedHolds extends Counting, Openness {
  holds: Omit<Holds, 'close'>;
  shards: Shards;
  spool: Spool;
  /** The name that this process holds under. */
  owner: string;
}

/** Opens the spool, the connections to Redis and all that settles calls. Nothing is admitted until this process has a session. */
export async function openHolds(
  { config, log, shutdown, internalHeaders }: Omit<ServiceBase<HoldsSettings>, 'telemetry' | 'internalGuard'>,
  { service, ...metrics }: Pick<InferenceMetrics, 'holdSwept' | 'alerted'> & { service: HoldingService },
): Promise<OpenedHolds> {
  const { LEASE_MS: leaseMs, LEDGER_INTERNAL_URL: ledgerUrl } = config;
  const shards = openShards({ urls: config.REDIS_URL, timeoutMs: config.REDIS_TIMEOUT_MS, log });
  shutdown.defer('redis', () => shards.close());
  await assertDurable(shards, { copies: config.STORE_COPIES, log });
  const counting = countByShard(shards, { ledgerUrl, internalHeaders, timeoutMs: config.LEDGER_TIMEOUT_MS });
  const { absorber } = counting;

  const folder = await openSpoolFolder(config.SPOOL_DIR);
  shutdown.defer('spool folder', () => folder.release());
  const { owner } = folder;
  const pending = new PendingCalls();
  const reports = createLedgerReports({ ledgerUrl, internalHeaders, owner, service });
  log.info({ owner, host: hostname() }, 'holds are kept in the name of this owner');
  const { spool, left } = await recoverSpool({ dir: config.SPOOL_DIR, maxBytes: config.SPOOL_MAX_BYTES, metrics, log });
  shutdown.defer('spool', () => closeSpool(spool));
  // With events left to send, the ledger goes on expecting this owner's return.
  shutdown.defer('owner in the ledger', () => (pending.isEmpty && spool.isEmpty ? reports.leave() : undefined));
  const eventLog =
    (await openKafkaProducer(config, log)) ?? createEmbeddedProducer({ url: ledgerUrl, internalHeaders });
  shutdown.defer('event log', () => eventLog.close());
  const parts = { shards, owner, leaseMs, pending, spool, left, absorber, reports, eventLog };
  const holds = new Holds({ ...parts, metrics, log });
  shutdown.defer('holds', () => holds.close(RECORD_GRACE_MS), { timeoutMs: RECORD_GRACE_MS + CLOSE_MS });
  return { ...counting, ...createOpenness(shards), holds, shards, spool, owner };
}

/** Kafka's client is loaded only where there is a broker: it is a good part of what a process loads. */
async function openKafkaProducer(
  { KAFKA_BROKERS: brokers, STORE_COPIES: copies }: HoldsSettings,
  log: ServiceBase<HoldsSettings>['log'],
): Promise<EventLogProducer | undefined> {
  if (!brokers) return undefined;
  const { createKafkaProducer } = await import('@turnpike/event-log/createKafkaProducer');
  return createKafkaProducer({ brokers, copies, log });
}

/** Throws where a shard that is there may lose what it is given; of one that comes later an alert says so. */
async function assertDurable(shards: OpenShards, durability: Durability): Promise<void> {
  const judged: Promise<void>[] = [];
  let isStarting = true;
  shards.attend(({ name, redis }) => {
    const judging = assertDurableRedis(redis, durability);
    if (isStarting) judged.push(judging);
    else
      judging.catch((err: unknown) => durability.log.error({ err, shard: name }, 'ALERT Redis may lose what it holds'));
    return { close: async () => {} };
  });
  await shards.found();
  isStarting = false;
  await Promise.all(judged);
}

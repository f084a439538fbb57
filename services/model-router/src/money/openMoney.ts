import { createEmbeddedProducer } from '@turnpike/event-log/createEmbeddedProducer';
import { createKafkaProducer } from '@turnpike/event-log/createKafkaProducer';
import { type Absorber, createAbsorber } from '@turnpike/holds/balances/absorb';
import { createReadCounters } from '@turnpike/holds/balances/readCounters';
import { type CallEndings, createCallEndings } from '@turnpike/holds/call/endCall';
import { PendingCalls } from '@turnpike/holds/call/pendingCalls';
import { createRecorder } from '@turnpike/holds/call/recordCalls';
import { retryReleases } from '@turnpike/holds/call/retryReleases';
import { sweepCalls } from '@turnpike/holds/call/sweepCalls';
import { takeUpSpool } from '@turnpike/holds/call/takeUpSpool';
import { followRedis } from '@turnpike/holds/follow/followRedis';
import { createPutBack } from '@turnpike/holds/follow/putBack';
import { createLedgerReports } from '@turnpike/holds/follow/reportToLedger';
import { createAdmit } from '@turnpike/holds/gate/admit';
import { createSetBackGeneration } from '@turnpike/holds/gate/keyGeneration';
import { assertDurableRedis } from '@turnpike/holds/redis/assertDurableRedis';
import { connectRedis } from '@turnpike/holds/redis/connectRedis';
import { Standing } from '@turnpike/holds/redis/standing';
import { openSpoolFolder } from '@turnpike/holds/spool/openSpoolFolder';
import type { Spool } from '@turnpike/holds/spool/spool';
import type { ServiceBase } from '@turnpike/http-service/startService';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { Redis } from 'ioredis';
import { createOpenCalls, type OpenCalls } from './call/openCalls.ts';

/** How long what has ended may still be recorded once this router stops; the spool, and Redis, keep the rest. */
const RECORD_GRACE_MS = 5_000;

/** The settings that money goes by. */
export interface MoneySettings {
  REDIS_URL: string;
  REDIS_TIMEOUT_MS: number;
  STORE_COPIES: 'one' | 'several';
  LEASE_MS: number;
  LEDGER_INTERNAL_URL: string;
  LEDGER_TIMEOUT_MS: number;
  SPOOL_DIR: string;
  SPOOL_MAX_BYTES: number;
  KAFKA_BROKERS?: string[] | undefined;
}

/** Holds, charges and their way to the ledger. */
export interface Money {
  redis: Redis;
  standing: Standing;
  absorber: Absorber;
  readCounters: ReturnType<typeof createReadCounters>;
  endings: CallEndings;
  admit: ReturnType<typeof createAdmit>;
  setBackGeneration: ReturnType<typeof createSetBackGeneration>;
  spool: Spool;
  openCalls: OpenCalls;
}

/** Opens the spool, the connection to Redis and all that settles calls. Nothing is admitted until this router has a session. */
export async function openMoney(
  { config, log, shutdown, internalHeaders }: ServiceBase<MoneySettings>,
  metrics: InferenceMetrics,
): Promise<Money> {
  const { LEASE_MS: leaseMs, LEDGER_INTERNAL_URL: ledgerUrl } = config;
  const redis = connectRedis(config.REDIS_URL, { timeoutMs: config.REDIS_TIMEOUT_MS, log });
  shutdown.defer('redis', () => redis.disconnect());
  await assertDurableRedis(redis, { copies: config.STORE_COPIES, log });
  const standing = new Standing();
  const endings = retryReleases(createCallEndings(redis), { leaseMs });
  const absorber = createAbsorber({ redis, ledgerUrl, internalHeaders, timeoutMs: config.LEDGER_TIMEOUT_MS, standing });

  const folder = await openSpoolFolder(config.SPOOL_DIR);
  shutdown.defer('spool folder', () => folder.release());
  const { owner } = folder;
  const pending = new PendingCalls();
  const reports = createLedgerReports({ ledgerUrl, internalHeaders, owner });
  const { spool, left } = await takeUpSpool({ dir: config.SPOOL_DIR, maxBytes: config.SPOOL_MAX_BYTES, metrics, log });
  shutdown.defer('spool', () => spool.close());
  // Where something is left to bring, the ledger goes on counting on this router's return.
  shutdown.defer('router in the ledger', () => (pending.isEmpty && spool.isEmpty ? reports.leave() : undefined));
  for (const ended of left.calls) pending.end(ended);
  const follower = followRedis({
    redis,
    standing,
    owner,
    leaseMs,
    reports,
    putBack: createPutBack(redis, { owner, pending }),
    log,
  });
  shutdown.defer('session with Redis', () => follower.close());
  const eventLog = config.KAFKA_BROKERS
    ? createKafkaProducer({ brokers: config.KAFKA_BROKERS, copies: config.STORE_COPIES, log })
    : createEmbeddedProducer({ url: ledgerUrl, internalHeaders });
  shutdown.defer('event log', () => eventLog.close());
  const recorder = createRecorder({ eventLog, absorber, pending, spool, standing, log });
  shutdown.defer('recorder', () => recorder.close(RECORD_GRACE_MS));
  for (const ended of left.calls) recorder.add(ended);
  for (const { id, json } of left.unreadable) recorder.addUnreadable(id, json);
  const sweeper = sweepCalls({ redis, absorber, standing, eventLog, metrics, log, leaseMs });
  shutdown.defer('sweeper', () => sweeper.close());
  const openCalls = createOpenCalls({ endings, spool, recorder, pending, standing, metrics, log });
  metrics.observe({
    isOpen: () => standing.isOpen,
    openCalls: () => openCalls.size,
    spoolBytes: () => spool.waitingBytes,
    spoolLimitBytes: config.SPOOL_MAX_BYTES,
  });
  shutdown.defer('open calls', () => openCalls.close());
  const admit = createAdmit(redis, { standing, owner });
  const setBackGeneration = createSetBackGeneration(redis);
  const readCounters = createReadCounters(redis);
  return { redis, standing, absorber, readCounters, endings, admit, setBackGeneration, spool, openCalls };
}

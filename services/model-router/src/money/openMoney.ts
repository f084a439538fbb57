import { randomUUID } from 'node:crypto';
import { createEmbeddedProducer } from '@turnpike/event-log/createEmbeddedProducer';
import { createKafkaProducer } from '@turnpike/event-log/createKafkaProducer';
import type { ServiceBase } from '@turnpike/http-service/startService';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { Redis } from 'ioredis';
import { type BalanceLoader, createBalanceLoader } from './balances/loadBalances.ts';
import { type CallEndings, createCallEndings } from './call/endCall.ts';
import { HeldCalls } from './call/heldCalls.ts';
import { createOpenCalls, type OpenCalls } from './call/openCalls.ts';
import { publishEvents } from './call/publishEvents.ts';
import { retryReleases } from './call/retryReleases.ts';
import { sweepCalls } from './call/sweepCalls.ts';
import { createAssertCall } from './epoch/assertCall.ts';
import { createEpochMark } from './epoch/epochMark.ts';
import { followEpoch } from './epoch/followEpoch.ts';
import { publishKeptEvents } from './epoch/publishKeptEvents.ts';
import { createLedgerReports } from './epoch/reportToLedger.ts';
import { createAdmit } from './gate/admit.ts';
import { connectRedis } from './redis/connectRedis.ts';
import { RedisEpoch } from './redis/redisEpoch.ts';
import { openSpoolFolder } from './spool/openSpoolFolder.ts';
import { Spool } from './spool/spool.ts';

/** How long events may still go to the event log once the calls have ended; the spool keeps the rest. */
const PUBLISH_GRACE_MS = 5_000;

/** The settings that money goes by. */
export interface MoneySettings {
  REDIS_URL: string;
  REDIS_TIMEOUT_MS: number;
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
  epoch: RedisEpoch;
  balances: BalanceLoader;
  endings: CallEndings;
  admit: ReturnType<typeof createAdmit>;
  spool: Spool;
  openCalls: OpenCalls;
  leaseMs: number;
}

/** Opens the spool, the connection to Redis and all that settles calls. Nothing is admitted until the epoch of Redis is open. */
export async function openMoney(
  { config, log, shutdown, internalHeaders }: ServiceBase<MoneySettings>,
  metrics: InferenceMetrics,
): Promise<Money> {
  const { LEASE_MS: leaseMs, LEDGER_INTERNAL_URL: ledgerUrl } = config;
  const redis = connectRedis(config.REDIS_URL, { timeoutMs: config.REDIS_TIMEOUT_MS, log });
  shutdown.defer('redis', () => redis.disconnect());
  const epoch = new RedisEpoch();
  const endings = retryReleases(createCallEndings(redis, { epoch }), { leaseMs });
  const timeoutMs = config.LEDGER_TIMEOUT_MS;
  const balances = createBalanceLoader({ redis, ledgerUrl, internalHeaders, timeoutMs, epoch });

  const folder = await openSpoolFolder(config.SPOOL_DIR);
  shutdown.defer('spool folder', () => folder.release());
  const { routerId } = folder;
  const heldCalls = new HeldCalls();
  const reports = createLedgerReports({ ledgerUrl, internalHeaders, routerId, processId: randomUUID() });
  const spool = await Spool.open({ dir: config.SPOOL_DIR, maxBytes: config.SPOOL_MAX_BYTES, log });
  shutdown.defer('spool', () => spool.close());
  // Where something is left to bring, the ledger goes on counting on this router's return.
  shutdown.defer('router in the ledger', () =>
    heldCalls.size === 0 && !spool.hasUnread ? reports.leave() : undefined,
  );
  const eventLog = config.KAFKA_BROKERS
    ? createKafkaProducer({ brokers: config.KAFKA_BROKERS, log })
    : createEmbeddedProducer({ url: ledgerUrl, internalHeaders });
  shutdown.defer('event log', () => eventLog.close());
  const publisher = publishEvents({ spool, eventLog, endings, heldCalls, epoch, metrics, log });
  shutdown.defer('publisher', () => publisher.close(PUBLISH_GRACE_MS));
  const sweeper = sweepCalls({ redis, endings, balances, epoch, eventLog, metrics, log, leaseMs });
  shutdown.defer('sweeper', () => sweeper.close());
  const openCalls = createOpenCalls({ endings, spool, heldCalls, epoch, metrics, log, leaseMs });
  metrics.observe({
    openCalls: () => openCalls.size,
    spoolBytes: () => spool.unacknowledgedBytes,
    spoolLimitBytes: config.SPOOL_MAX_BYTES,
  });
  shutdown.defer('open calls', () => openCalls.close());
  const follower = followEpoch({
    redis,
    epoch,
    reports,
    heldCalls,
    mark: createEpochMark(redis),
    balances,
    assertCall: createAssertCall(redis, { routerId, leaseMs }),
    publishKept: (unspooled) => publishKeptEvents({ redis, eventLog, unspooled }),
    isCaughtUp: () => publisher.isCaughtUp,
    hasUnread: () => spool.hasUnread,
    log,
  });
  shutdown.defer('epoch of Redis', () => follower.close());
  const admit = createAdmit(redis, { epoch, routerId });
  return { redis, epoch, balances, endings, admit, spool, openCalls, leaseMs };
}

import { randomUUID } from 'node:crypto';
import { createEmbeddedProducer } from '@turnpike/event-log/createEmbeddedProducer';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { ApiError } from '@turnpike/public-api/apiError';
import { noSpan } from '@turnpike/telemetry/callSpan';
import { v7 as uuidv7 } from 'uuid';
import {
  type BalanceLoader,
  createBalanceLoader,
} from '../../services/model-router/src/money/balances/loadBalances.ts';
import { createCallEndings } from '../../services/model-router/src/money/call/endCall.ts';
import { HeldCalls } from '../../services/model-router/src/money/call/heldCalls.ts';
import { createOpenCalls, type OpenCall } from '../../services/model-router/src/money/call/openCalls.ts';
import { publishEvents } from '../../services/model-router/src/money/call/publishEvents.ts';
import { sweepCalls } from '../../services/model-router/src/money/call/sweepCalls.ts';
import { type AdmittedCall, toUnknownEventJson } from '../../services/model-router/src/money/call/toEvent.ts';
import { createAssertCall } from '../../services/model-router/src/money/epoch/assertCall.ts';
import { createEpochMark } from '../../services/model-router/src/money/epoch/epochMark.ts';
import { followEpoch } from '../../services/model-router/src/money/epoch/followEpoch.ts';
import { publishKeptEvents } from '../../services/model-router/src/money/epoch/publishKeptEvents.ts';
import { createLedgerReports } from '../../services/model-router/src/money/epoch/reportToLedger.ts';
import { createAdmit } from '../../services/model-router/src/money/gate/admit.ts';
import { connectRedis } from '../../services/model-router/src/money/redis/connectRedis.ts';
import { RedisEpoch } from '../../services/model-router/src/money/redis/redisEpoch.ts';
import { openSpoolFolder } from '../../services/model-router/src/money/spool/openSpoolFolder.ts';
import { Spool } from '../../services/model-router/src/money/spool/spool.ts';
import { aPricedModel } from '../../services/model-router/test/aPricedModel.ts';
import { aSilentLogger } from '../../services/model-router/test/aSilentLogger.ts';
import { noMetrics } from '../../services/model-router/test/noMetrics.ts';

/** What a router does with money, put together as its `main` does, without its HTTP side and engines. */
export interface RouterAccounts {
  epoch: RedisEpoch;
  heldCalls: HeldCalls;
  /** Admits a call, loading balances where Redis has none; undefined where it is refused. */
  admit(key: KeyRecord, holdNanoUsd: bigint): Promise<OpenCall | undefined>;
  /** Brings a workspace's balances into Redis, where those of this epoch are not there yet. */
  load(workspaceId: string): Promise<boolean>;
  /** Whether all that has ended is settled, sent and acknowledged. */
  isQuiet(): boolean;
  /** Ends as kill -9 does: nothing is finished, the spool keeps what it has. */
  crash(): Promise<void>;
  close(): Promise<void>;
}

export interface RouterAccountsOptions {
  redisUrl: string;
  /** Where this router reaches the ledger; a test that cuts it off changes what is returned. */
  ledgerUrl: () => string;
  internalHeaders: (audience: string) => Record<string, string>;
  spoolDir: string;
  leaseMs: number;
}

const MODEL = aPricedModel();
/** Redis is killed here, never slow: nothing but a busy machine would miss a shorter one. */
const TIMEOUT_MS = 5_000;

export async function startRouterAccounts(options: RouterAccountsOptions): Promise<RouterAccounts> {
  const { redisUrl, internalHeaders, spoolDir, leaseMs } = options;
  const log = aSilentLogger();
  const redis = connectRedis(redisUrl, { timeoutMs: TIMEOUT_MS, log });
  const epoch = new RedisEpoch();
  const endings = createCallEndings(redis, { epoch });
  // Asked for at each request, so that a test can cut a router off.
  const ledger = {
    internalHeaders,
    get ledgerUrl() {
      return options.ledgerUrl();
    },
  };
  const folder = await openSpoolFolder(spoolDir);
  const { routerId } = folder;
  const processId = randomUUID();
  const heldCalls = new HeldCalls();
  const spool = await Spool.open({ dir: spoolDir, maxBytes: 64 * 1_048_576, log });
  const eventLog = {
    async append(...batch: Parameters<ReturnType<typeof createEmbeddedProducer>['append']>) {
      const producer = createEmbeddedProducer({ url: ledger.ledgerUrl, internalHeaders });
      await producer.append(...batch).finally(() => producer.close());
    },
    close: async () => {},
  };
  const loader = () => createBalanceLoader({ redis, ...ledger, ledgerUrl: ledger.ledgerUrl, epoch });
  const balances: Pick<BalanceLoader, 'load' | 'loadFor'> = {
    load: (workspaceId) => loader().load(workspaceId),
    loadFor: (...what) => loader().loadFor(...what),
  };
  const publisher = publishEvents({ spool, eventLog, endings, heldCalls, epoch, metrics: noMetrics, log });
  const sweeper = sweepCalls({ redis, endings, balances, epoch, eventLog, metrics: noMetrics, log, leaseMs });
  const openCalls = createOpenCalls({ endings, spool, heldCalls, epoch, metrics: noMetrics, log, leaseMs });
  const follower = followEpoch({
    redis,
    epoch,
    reports: {
      report: (report) =>
        createLedgerReports({ ...ledger, ledgerUrl: ledger.ledgerUrl, routerId, processId }).report(report),
    },
    heldCalls,
    mark: createEpochMark(redis),
    balances,
    assertCall: createAssertCall(redis, { routerId, leaseMs }),
    publishKept: (unspooled) => publishKeptEvents({ redis, eventLog, unspooled }),
    isCaughtUp: () => publisher.isCaughtUp,
    hasUnread: () => spool.hasUnread,
    log,
  });
  const admit = createAdmit(redis, { epoch, routerId });

  async function stop(graceMs: number): Promise<void> {
    await follower.close();
    await sweeper.close();
    await openCalls.close();
    await publisher.close(graceMs);
    await spool.close();
    redis.disconnect();
    await folder.release();
  }

  return {
    epoch,
    heldCalls,
    async admit(key, holdNanoUsd) {
      const { keyId } = key;
      const { workspaceId } = key.workspace;
      const call: AdmittedCall = {
        callId: uuidv7(),
        keyId,
        workspaceId,
        region: 'us',
        operation: 'chat',
        model: MODEL,
        priceVersion: 7,
        images: 0,
        holdNanoUsd,
        isStream: true,
        span: noSpan,
      };
      const request = { callId: call.callId, key, holdNanoUsd, estimatedPromptTokens: 10, leaseMs };
      for (let round = 0; round < 3 && epoch.isOpen; round += 1) {
        const answer = await admit({ ...request, unknownEventJson: toUnknownEventJson(call) }).catch(() => {
          endings.release(call).catch(() => {});
          return undefined;
        });
        if (answer?.outcome === 'other_redis') epoch.suspect();
        if (answer?.outcome === 'not_loaded') {
          await balances.load(workspaceId).catch(() => {});
          continue;
        }
        if (answer?.outcome !== 'admitted') return undefined;
        const { admittedAtMs, epoch: number } = answer;
        const terms = { admittedAtMs, epoch: number, estimatedPromptTokens: 10, rpm: key.rpm, tpm: key.tpm };
        try {
          return openCalls.open(call, terms);
        } catch (error) {
          if (error instanceof ApiError) return undefined;
          throw error;
        }
      }
      return undefined;
    },
    load: (workspaceId) => balances.load(workspaceId),
    isQuiet: () => epoch.isOpen && heldCalls.size === 0 && !spool.hasUnread,
    crash: () => stop(0),
    close: () => stop(5_000),
  };
}

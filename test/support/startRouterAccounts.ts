import { createEmbeddedProducer } from '@turnpike/event-log/createEmbeddedProducer';
import type { EventRecord } from '@turnpike/event-log/eventLog';
import type { Absorber } from '@turnpike/holds/balances/absorb';
import { PendingCalls } from '@turnpike/holds/call/pendingCalls';
import { recoverSpool } from '@turnpike/holds/call/recoverSpool';
import { createLedgerReports, type LedgerReports } from '@turnpike/holds/follow/reportToLedger';
import { countByShard, Holds } from '@turnpike/holds/holds';
import { openShards, type Shards } from '@turnpike/holds/redis/shards';
import { openSpoolFolder } from '@turnpike/holds/spool/openSpoolFolder';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { InternalHeaders } from '@turnpike/internal-auth/internalToken';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { noSpan } from '@turnpike/telemetry/callSpan';
import { noMetrics } from '@turnpike/telemetry/noTelemetry';
import { v7 as uuidv7 } from 'uuid';
import {
  type AdmittedCall,
  OpenCall,
  OpenCalls,
  toUnknownEventJson,
} from '../../services/model-router/src/money/call/openCalls.ts';
import { aPricedModel } from '../../services/model-router/test/aPricedModel.ts';

/** A router's handling of money, put together like its `main`, without HTTP and engines. */
export interface RouterAccounts {
  /** The name that it holds under. */
  owner: string;
  shards: Shards;
  /** Whether there are shards, and all of them admit. */
  isOpen(): boolean;
  pending: PendingCalls;
  /** Admits a call, loading balances where Redis has none; undefined where it is refused. */
  admit(key: KeyRecord, holdNanoUsd: bigint): Promise<OpenCall | undefined>;
  /** Brings a workspace's newest sums into Redis, and those of a key. */
  load(workspaceId: string, keyId?: string): Promise<boolean>;
  /** Whether all that has ended is recorded, and the sums in Redis contain it. */
  isQuiet(): boolean;
  /** Ends as kill -9 does: nothing is finished, the spool keeps what it has. */
  crash(): Promise<void>;
  close(): Promise<void>;
}

export interface RouterAccountsOptions {
  /** Addresses of one Redis, or of nodes of a cluster. */
  redisUrls: string[];
  /** The address of the ledger for this router. A test that cuts it off changes the result. */
  ledgerUrl: () => string;
  internalHeaders: InternalHeaders;
  spoolDir: string;
  leaseMs: number;
  /** Makes of an event what is written to the event log. */
  write: (json: string) => string;
}

const MODEL = aPricedModel();
/** Redis and the ledger are killed or cut off here, never slow: nothing but a busy machine would miss a shorter one. */
const TIMEOUT_MS = 5_000;

export async function startRouterAccounts(options: RouterAccountsOptions): Promise<RouterAccounts> {
  const { redisUrls, internalHeaders, spoolDir, leaseMs } = options;
  const log = aSilentLogger();
  const shards = openShards({ urls: redisUrls, timeoutMs: TIMEOUT_MS, log });
  const isOpen = () => shards.all.length > 0 && shards.all.every(({ sessionState }) => sessionState.isOpen);
  // Asked for at each request, so that a test can cut a router off.
  const ledger = {
    internalHeaders,
    get ledgerUrl() {
      return options.ledgerUrl();
    },
  };
  const folder = await openSpoolFolder(spoolDir);
  const { owner } = folder;
  const pending = new PendingCalls();
  const { spool, left } = await recoverSpool({ dir: spoolDir, maxBytes: 64 * 1_048_576, metrics: noMetrics, log });
  const eventLog = {
    async append(topic: string, records: EventRecord[]) {
      const producer = createEmbeddedProducer({ url: ledger.ledgerUrl, internalHeaders });
      const written = records.map(({ key, value }) => ({ key, value: options.write(value) }));
      await producer.append(topic, written).finally(() => producer.close());
    },
    close: async () => {},
  };
  const countingNow = () => countByShard(shards, { ...ledger, ledgerUrl: ledger.ledgerUrl, timeoutMs: TIMEOUT_MS });
  const absorber: Pick<Absorber, 'load' | 'absorbCalls'> = {
    load: (...what) => countingNow().absorber.load(...what),
    absorbCalls: (questions) => countingNow().absorber.absorbCalls(questions),
  };
  const reports: Pick<LedgerReports, 'report'> = {
    report: (report) => createLedgerReports({ ...ledger, ledgerUrl: ledger.ledgerUrl, owner }).report(report),
  };
  const parts = { shards, owner, leaseMs, pending, spool, left, absorber, reports, eventLog };
  const holds = new Holds({ ...parts, metrics: noMetrics, log });
  const openCalls = new OpenCalls({ holds, metrics: noMetrics, log });

  async function stop(graceMs: number): Promise<void> {
    await holds.close(graceMs);
    await spool.close();
    await shards.close();
    await folder.release();
  }

  return {
    owner,
    shards,
    isOpen,
    pending,
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
        maxTokens: 1_000_000,
        isStream: true,
        span: noSpan,
      };
      const request = { callId: call.callId, key, holdNanoUsd, estimatedPromptTokens: 10 };
      for (let round = 0; round < 3 && shards.of(workspaceId)?.sessionState.isOpen; round += 1) {
        const answer = await holds
          .admit({ ...request, unknownEventJson: toUnknownEventJson(call) })
          .catch(() => undefined);
        if (answer?.outcome === 'not_loaded') {
          await absorber.load(workspaceId, keyId).catch(() => {});
          continue;
        }
        return answer?.outcome === 'admitted' ? new OpenCall(call, openCalls, answer.hold) : undefined;
      }
      return undefined;
    },
    load: (workspaceId, keyId) => absorber.load(workspaceId, keyId),
    isQuiet: () => isOpen() && pending.isEmpty && spool.isEmpty,
    crash: () => stop(0),
    close: () => stop(5_000),
  };
}

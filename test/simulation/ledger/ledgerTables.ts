import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type {
  MarkedRedis,
  ReportedRouter,
  ServedShard,
} from '../../../services/usage-ledger/src/database/statements.ts';

/** A row of `usage_request`, as the event that was recorded. */
export type UsageRow = Pick<
  UsageRecorded,
  | 'callId'
  | 'keyId'
  | 'workspaceId'
  | 'canonicalModel'
  | 'modality'
  | 'status'
  | 'reason'
  | 'promptTokens'
  | 'cachedPromptTokens'
  | 'completionTokens'
  | 'chargeNanoUsd'
  | 'holdNanoUsd'
  | 'startedAtMs'
>;

export interface HourTotal {
  requests: bigint;
  success: bigint;
  failure: bigint;
  unknown: bigint;
  promptTokens: bigint;
  completionTokens: bigint;
  charge: bigint;
}

export interface CreditRow {
  creditId: string;
  workspaceId: string;
  amountNanoUsd: bigint;
}

export interface LogRecord {
  offset: bigint;
  key: string;
  value: string;
}

export interface DeadLetterRow {
  id: bigint;
  payload: Buffer;
  reason: string;
  recordedAt: number;
  isReplayed: boolean;
}

export interface RouterRow extends ReportedRouter {
  shard: string;
  heardAt: number;
}

export interface RedisServerRow extends MarkedRedis {
  raisedAt: number;
  openedAt: number | null;
  seenAt: number;
}

export interface RecoveryRow {
  heardAt: number;
  listeningSince: number;
  timeline: number | null;
}

/** The shard of a Redis that is no cluster, as every one is here. */
export const ALL_SLOTS = '0-16383';

export const routerName = ({ routerId, shard }: Pick<RouterRow, 'routerId' | 'shard'>): string =>
  `${routerId} ${shard}`;
export const serverName = ({ shard, redisId }: ServedShard): string => `${shard} ${redisId}`;

/** The tables of the ledger's database that money runs through. */
export class LedgerTables {
  usageRequests = new Map<string, UsageRow>();
  keyTotals = new Map<string, { workspaceId: string; charge: bigint }>();
  workspaceTotals = new Map<string, bigint>();
  /** Transactions that have changed its sums, by workspace. */
  sequences = new Map<string, number>();
  /** Totals by workspace and `YYYY-MM`. */
  monthTotals = new Map<string, bigint>();
  /** Totals by key, hour, model. */
  hourTotals = new Map<string, HourTotal>();
  /** Changes of its wallet, by workspace. */
  postings: { workspaceId: string; keyId: string | undefined; wallet: bigint }[] = [];
  credits: CreditRow[] = [];
  eventOffsets = new Map<string, bigint>();
  deadLetters: DeadLetterRow[] = [];
  logs = new Map<string, LogRecord[]>();
  recovery: RecoveryRow = { heardAt: 0, listeningSince: 0, timeline: null };
  /** Rows by router and shard. */
  routers = new Map<string, RouterRow>();
  /** Rows by shard and replication id. */
  redisServers = new Map<string, RedisServerRow>();
  /** Marks given so far: none is given twice, whatever is rolled back. */
  marks = 0;

  findRouter(routerId: string): RouterRow | undefined {
    return this.routers.get(routerName({ routerId, shard: ALL_SLOTS }));
  }

  findServer(redisId: string): RedisServerRow | undefined {
    return this.redisServers.get(serverName({ shard: ALL_SLOTS, redisId }));
  }
}

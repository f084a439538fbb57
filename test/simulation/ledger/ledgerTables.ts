import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { Router } from '../../../services/usage-ledger/src/epoch/advanceEpoch.ts';

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
  seq: bigint;
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

export interface EpochRow {
  number: number;
  redisId: string;
  phase: string;
  heardAt: number;
  listeningSince: number;
  balancesSince: number;
  rebuildWantedSince: Date | null;
  rebuildWantedAt: Date | null;
}

/** The tables of the ledger's database that money runs through. */
export class LedgerTables {
  usageRequests = new Map<string, UsageRow>();
  keyTotals = new Map<string, { workspaceId: string; charge: bigint }>();
  workspaceTotals = new Map<string, bigint>();
  /** By workspace and `YYYY-MM`. */
  monthTotals = new Map<string, bigint>();
  /** By key, hour, model. */
  hourTotals = new Map<string, HourTotal>();
  /** By workspace: what its wallet was changed by. */
  postings: { workspaceId: string; keyId: string | undefined; wallet: bigint }[] = [];
  credits: CreditRow[] = [];
  eventOffsets = new Map<string, bigint>();
  deadLetters: DeadLetterRow[] = [];
  logs = new Map<string, LogRecord[]>();
  epoch: EpochRow = {
    number: 0,
    redisId: '',
    phase: 'open',
    heardAt: 0,
    listeningSince: 0,
    balancesSince: 0,
    rebuildWantedSince: null,
    rebuildWantedAt: null,
  };
  routers = new Map<string, Router>();
}

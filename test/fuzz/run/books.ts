import { Redis } from 'ioredis';
import pg from 'pg';
import { readBalances, type WorkspaceBalances } from '../../faults/books/readBalances.ts';
import { type LedgerRow, type LedgerTotals, readRows, readTotals } from '../../faults/books/readLedger.ts';
import { toNano } from '../../support/priceOf.ts';

/** The accounts of one workspace and its keys, wherever they are kept. */
export interface Books {
  /** Returns the problems of the books once no call is in progress. Gives up waiting after some minutes. */
  check(served: ServedCalls): Promise<string[]>;
  close(): Promise<void>;
}

/** Calls that a run saw served: text calls by their ids, and the number of media calls, whose ids no client gets. */
export interface ServedCalls {
  callIds: readonly string[];
  media: number;
}

/** The accounts, all read at one time. */
export interface BookPages {
  rows: readonly LedgerRow[];
  /** Which of them are of media. */
  mediaCallIds: ReadonlySet<string>;
  totals: LedgerTotals;
  balances: WorkspaceBalances;
  /** The spend of the keys that clients see. */
  shownSpend: bigint;
}

/** Clips are made one after the other, long after their calls were answered. */
const PATIENCE_MS = 150_000;
const PAUSE_MS = 250;
const QUERY_TIMEOUT_MS = 10_000;

export function openBooks({
  postgresUrl,
  redisUrl,
  baseUrl,
  workspaceId,
  apiKeys,
}: {
  postgresUrl: string;
  redisUrl: string;
  baseUrl: string;
  workspaceId: string;
  apiKeys: readonly string[];
}): Books {
  const ledgerUrl = new URL(postgresUrl);
  ledgerUrl.pathname = '/ledger';
  const ledger = new pg.Pool({ connectionString: ledgerUrl.href, max: 2, query_timeout: QUERY_TIMEOUT_MS });
  const redis = new Redis(redisUrl, { commandTimeout: QUERY_TIMEOUT_MS });

  async function readPages(): Promise<BookPages> {
    const rows = await readRows(ledger, [workspaceId]);
    const keyIds = [...new Set(rows.map(({ keyId }) => keyId))];
    const shownSpends = await Promise.all(
      apiKeys.map(async (apiKey) => {
        const answer = await fetch(`${baseUrl}/svc/key`, { headers: { authorization: `Bearer ${apiKey}` } });
        const { spend_usd: spend } = (await answer.json()) as { spend_usd: number };
        return toNano(spend);
      }),
    );
    const { rows: ofMedia } = await ledger.query<{ call_id: string }>(
      `SELECT call_id FROM usage_request WHERE workspace_id = $1 AND modality <> 'text'`,
      [workspaceId],
    );
    return {
      rows,
      mediaCallIds: new Set(ofMedia.map(({ call_id: callId }) => callId)),
      totals: await readTotals(ledger, [workspaceId]),
      balances: await readBalances(redis, workspaceId, keyIds),
      shownSpend: shownSpends.reduce((sum, spend) => sum + spend, 0n),
    };
  }
  return {
    async check(served) {
      const deadline = performance.now() + PATIENCE_MS;
      for (;;) {
        const problems = compareBooks(await readPages(), served);
        if (problems.length === 0 || performance.now() > deadline) return problems;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    },
    async close() {
      redis.disconnect();
      await ledger.end();
    },
  };
}

/** Returns the differences: each served call is charged once, sums are those of the rows everywhere, nothing is held. */
export function compareBooks(
  { rows, mediaCallIds, totals, balances, shownSpend }: BookPages,
  { callIds: servedCallIds, media }: ServedCalls,
): string[] {
  const sum = rows.reduce((total, { charge }) => total + charge, 0n);
  const successes = rows.filter(({ status }) => status === 'success').map(({ callId }) => callId);
  const succeeded = new Set(successes.filter((callId) => !mediaCallIds.has(callId)));
  const mediaSucceeded = successes.length - succeeded.size;
  const unrecorded = servedCallIds.filter((callId) => !succeeded.has(callId));
  const unknown = rows.filter(({ status }) => status === 'unknown');
  const chargedInVain = rows.filter(({ status, charge }) => status !== 'success' && charge !== 0n);
  const { wallet } = balances;
  const spends = {
    'the sum of the keys': sumOf(totals.byKey),
    'the sum of the workspaces': sumOf(totals.byWorkspace),
    'the sum of the hours': totals.hourlyCharge,
    'the wallet': wallet ? sumOf(totals.credited) - wallet.left + wallet.ended : 0n,
    'the keys in Redis': [...balances.keys.values()].reduce((total, { spent = 0n }) => total + spent, 0n),
    'what the client is told': shownSpend,
  };
  const all = [wallet, ...balances.keys.values(), ...balances.months.values()];
  const held = all.reduce((total, balance) => total + (balance?.held ?? 0n), 0n);
  return [
    ...Object.entries(spends).flatMap(([name, spend]) =>
      spend === sum ? [] : [`${name} is ${spend}, but the rows sum up to ${sum} nano-dollars`],
    ),
    ...(held === 0n ? [] : [`${held} nano-dollars are still held`]),
    ...(balances.pendingCalls === 0 ? [] : [`${balances.pendingCalls} calls are still pending`]),
    ...(unrecorded.length === 0
      ? []
      : [`${unrecorded.length} served calls have no row of success, such as ${unrecorded[0]}`]),
    ...(succeeded.size === servedCallIds.length
      ? []
      : [`${succeeded.size} calls succeeded, but ${servedCallIds.length} were served`]),
    ...(mediaSucceeded === media ? [] : [`${mediaSucceeded} calls of media succeeded, but ${media} were served`]),
    ...(unknown.length === 0 ? [] : [`${unknown.length} calls are unknown, such as ${unknown[0]?.callId}`]),
    ...(chargedInVain.length === 0 ? [] : [`${chargedInVain.length} calls failed and were charged`]),
  ];
}

const sumOf = (sums: Map<string, bigint>): bigint => [...sums.values()].reduce((total, part) => total + part, 0n);

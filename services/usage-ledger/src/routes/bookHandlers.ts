import { toChangeLog } from '@turnpike/http-service/createHttpApp';
import type { Handlers } from '@turnpike/internal-api/transport/serveApi';
import { MAX_USAGE_ENTRIES, type usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import type { Logger } from '@turnpike/logging/createLogger';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { isCanceled } from '@turnpike/postgres/databaseFailure';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerError.ts';
import { getBalances } from '../balances/getBalances.ts';
import { addCredit } from '../credits/addCredit.ts';
import type { Db } from '../database/createDb.ts';
import { findAnyUsageRequest, findUsageRequestOf } from '../ledger/findUsageRequest.ts';
import { listUsage, type UsageEntry } from '../ledger/listUsage.ts';
import { CHECKS, type WorkspaceReport } from '../reconcile/check.ts';
import { createReconcileGate, type Reconcile } from '../reconcile/createReconcileGate.ts';
import type { PricesOf } from '../reconcile/priceList.ts';
import { noteReconciled } from '../reconcile/scheduleReconciliation.ts';
import { toBalancesBody } from '../wire/balancesBody.ts';
import { explain, toCallBody, toCallId } from '../wire/callBody.ts';

/** Most credits of one answer. */
const CREDITS_PER_PAGE = 500;

export interface BookHandlerDependencies {
  log: Logger;
  db: Db;
  lookUpDb: Db;
  /** Makes the gate count a workspace's present credits. Throws `gate_not_told`. */
  announceCredit: (workspaceId: string) => Promise<void>;
  pricesOf: PricesOf;
  /** Checks the books of one workspace, or of all. */
  reconcile: Reconcile;
}

type BookHandlers = Pick<
  Handlers<typeof usageLedgerApi>,
  'addCredit' | 'listCredits' | 'getUsage' | 'getCall' | 'getBalances' | 'reconcile'
>;

/** Credits, sums and checks, for the operator. */
export function createBookHandlers(dependencies: BookHandlerDependencies): BookHandlers {
  const { log, db, lookUpDb, announceCredit, pricesOf } = dependencies;
  const reconcile = createReconcileGate(dependencies.reconcile);
  return {
    async addCredit({ body }, res) {
      const { credit_id: creditId, workspace_id: workspaceId, amount_nano_usd: amountNanoUsd, note } = body;
      const isApplied = await addCredit(db, { creditId, workspaceId, amountNanoUsd, note });
      const change = { creditId, workspaceId, amountNanoUsd: amountNanoUsd.toString(), isApplied };
      toChangeLog(log, res).info(change, 'credit applied');
      // Taken credit is announced. Routers fetch new credit themselves before they refuse a call.
      if (amountNanoUsd < 0n) await announceCredit(workspaceId);
      return { applied: isApplied };
    },
    async listCredits({ params: { workspace_id: workspaceId, after } }) {
      const credits = await listCredits(lookUpDb, { workspaceId, after, limit: CREDITS_PER_PAGE });
      const last = credits.length === CREDITS_PER_PAGE ? credits.at(-1) : undefined;
      return { credits: credits.map(toCreditBody), next_after: last ? String(last.seq) : null };
    },
    async getUsage({ params }) {
      const { key_id: keyId, workspace_id: workspaceId = '', start, end, group_by: groupBy } = params;
      const owner = keyId === undefined ? { workspaceId } : { keyId };
      const range = { start, end, groupBy, limit: MAX_USAGE_ENTRIES + 1 };
      const usage = await listUsage(lookUpDb, owner, range).catch((error: unknown) => {
        throw isCanceled(error) ? new ApiError<LedgerFault>({ kind: 'usage_timeout' }, { cause: error }) : error;
      });
      if (usage.length > MAX_USAGE_ENTRIES) throw new ApiError<LedgerFault>(TOO_MANY_ENTRIES);
      return { usage: usage.map(toEntryBody) };
    },
    async getCall({ params: { call_id: id } }) {
      const call =
        (await findAnyUsageRequest(lookUpDb, toCallId(id))) ?? (await findUsageRequestOf(lookUpDb, id.toLowerCase()));
      if (!call) throw new ApiError<LedgerFault>({ kind: 'call_not_recorded' });
      const body = toCallBody(call, await explain(call, pricesOf));
      return {
        ...body,
        workspace_id: call.workspaceId,
        model: call.model,
        request_id: call.requestId,
        trace_id: call.traceId?.replaceAll('-', '') ?? null,
      };
    },
    async getBalances({ params: { workspace_id: workspaceId, month } }) {
      return toBalancesBody(await getBalances(db, { workspaceId, month }));
    },
    async reconcile({ params: { workspace_id: workspaceId, seals } }) {
      const reports = await reconcile({ workspaceId, verifiesSeals: seals === 'verify' });
      // All books were checked, so the alert BooksNotChecked ends.
      if (workspaceId === undefined) await noteReconciled(db);
      return { workspaces: reports.map(toReconciliationBody) };
    },
  };
}

const toCreditBody = ({ creditId, amountNanoUsd, note, createdAt }: Credit) => ({
  credit_id: creditId,
  amount_nano_usd: String(amountNanoUsd),
  note,
  created_at: createdAt.toISOString(),
});

const TOO_MANY_ENTRIES = {
  kind: 'invalid_request',
  param: 'end',
  problem: `is too late: ${MAX_USAGE_ENTRIES} entries at most are given`,
} as const;

/** A credit as it was written, which never changes. */
interface Credit {
  creditId: string;
  /** The order of credits: one that came later has a higher one. */
  seq: bigint;
  amountNanoUsd: NanoUsd;
  note: string;
  createdAt: Date;
}

/** A workspace's credits in the order they came: at most `limit` of those after a `seq`. */
function listCredits(
  db: Db,
  { workspaceId, after, limit }: { workspaceId: string; after: bigint; limit: number },
): Promise<Credit[]> {
  return db.credit.findMany({ where: { workspaceId, seq: { gt: after } }, orderBy: { seq: 'asc' }, take: limit });
}

/** The findings in one workspace: amounts as decimal strings of nano-dollars, counts as decimal strings too. */
function toReconciliationBody({ workspaceId, checks, doubts }: WorkspaceReport) {
  return {
    workspace_id: workspaceId,
    checks: checks.map(({ name, unit, left, right, verdict }) => ({
      check: CHECKS[name],
      unit,
      left: String(left),
      right: String(right),
      verdict,
    })),
    doubts,
  };
}

const toEntryBody = (usage: UsageEntry) => ({
  ...(usage.keyId !== null && { key_id: usage.keyId }),
  ...(usage.start !== null && { day: usage.start.toISOString().slice(0, 10) }),
  ...(usage.model !== null && { model: usage.model }),
  ...toUsageSumsBody(usage),
});

/** Converts sums to JSON: counts as numbers, the charge as a decimal text of nano-dollars. */
export const toUsageSumsBody = (usage: UsageEntry) => ({
  requests: Number(usage.requests),
  success: Number(usage.success),
  failure: Number(usage.failure),
  unknown: Number(usage.unknown),
  prompt_tokens: Number(usage.promptTokens),
  cached_prompt_tokens: Number(usage.cachedPromptTokens),
  completion_tokens: Number(usage.completionTokens),
  charge_nano_usd: String(usage.chargeNanoUsd),
});

import type { HourTotal, LedgerTables, UsageRow } from './ledgerTables.ts';

const NO_HOUR: HourTotal = {
  requests: 0n,
  success: 0n,
  failure: 0n,
  unknown: 0n,
  promptTokens: 0n,
  completionTokens: 0n,
  charge: 0n,
};

/** Changes a map and notes how to change it back. */
export function change<Key, Value>(undo: (() => void)[], map: Map<Key, Value>, key: Key, value: Value): void {
  const had = map.has(key);
  const before = map.get(key) as Value;
  undo.push(() => void (had ? map.set(key, before) : map.delete(key)));
  map.set(key, value);
}

/**
 * Models the database's function `record_ended_calls`: writes calls, and replaces `unknown` by what is known. Adds what a row is now,
 * less what it was, to every total and one to every workspace's sequence. Returns how many rows are new or became known.
 */
export function recordUsageRows(tables: LedgerTables, rows: UsageRow[], undo: (() => void)[]): number {
  let recorded = 0;
  const workspaceIds = new Set<string>();
  const byKey = new Map<string, { workspaceId: string; charge: bigint }>();
  for (const row of rows) {
    const before = tables.usageRequests.get(row.callId);
    const isSameOwner = before?.keyId === row.keyId && before.workspaceId === row.workspaceId;
    if (before && !(before.status === 'unknown' && row.status !== 'unknown' && isSameOwner)) continue;
    recorded += 1;
    workspaceIds.add(row.workspaceId);
    change(undo, tables.usageRequests, row.callId, row);
    if (before) addHour(tables, before, -1n, undo);
    addHour(tables, row, 1n, undo);
    const charge = row.chargeNanoUsd - (before?.chargeNanoUsd ?? 0n);
    const sum = byKey.get(row.keyId) ?? { workspaceId: row.workspaceId, charge: 0n };
    byKey.set(row.keyId, { ...sum, charge: sum.charge + charge });
    const { keyTotals, workspaceTotals, monthTotals } = tables;
    const total = keyTotals.get(row.keyId) ?? { workspaceId: row.workspaceId, charge: 0n };
    change(undo, keyTotals, row.keyId, { ...total, charge: total.charge + charge });
    change(undo, workspaceTotals, row.workspaceId, (workspaceTotals.get(row.workspaceId) ?? 0n) + charge);
    if (before) addMonth(monthTotals, before, -before.chargeNanoUsd, undo);
    addMonth(monthTotals, row, row.chargeNanoUsd, undo);
  }
  for (const workspaceId of workspaceIds) raiseSequence(tables, workspaceId, undo);
  for (const [keyId, { workspaceId, charge }] of byKey) {
    if (charge === 0n) continue;
    tables.postings.push({ workspaceId, keyId, wallet: -charge });
    undo.push(() => void tables.postings.pop());
  }
  return recorded;
}

/** A transaction has changed a sum of the workspace. */
export function raiseSequence({ sequences }: LedgerTables, workspaceId: string, undo: (() => void)[]): void {
  change(undo, sequences, workspaceId, (sequences.get(workspaceId) ?? 0) + 1);
}

function addHour({ hourTotals }: LedgerTables, row: UsageRow, sign: bigint, undo: (() => void)[]): void {
  const hour = new Date(Math.floor(row.startedAtMs / 3_600_000) * 3_600_000).toISOString();
  const name = [row.keyId, hour, row.canonicalModel, row.modality].join(' ');
  const total = hourTotals.get(name) ?? NO_HOUR;
  const added = (status: UsageRow['status']): bigint => (row.status === status ? sign : 0n);
  change(undo, hourTotals, name, {
    requests: total.requests + sign,
    success: total.success + added('success'),
    failure: total.failure + added('failure'),
    unknown: total.unknown + added('unknown'),
    promptTokens: total.promptTokens + sign * BigInt(row.promptTokens),
    completionTokens: total.completionTokens + sign * BigInt(row.completionTokens),
    charge: total.charge + sign * row.chargeNanoUsd,
  });
}

function addMonth(monthTotals: Map<string, bigint>, row: UsageRow, charge: bigint, undo: (() => void)[]): void {
  const name = `${row.workspaceId} ${new Date(row.startedAtMs).toISOString().slice(0, 7)}`;
  change(undo, monthTotals, name, (monthTotals.get(name) ?? 0n) + charge);
}

import { redisKeys } from '@turnpike/holds/redis/redisKeys';
import { TAG } from '@turnpike/holds/test/aShard';
import type { UsageRow } from '../ledger/ledgerTables.ts';
import { type CheckName, Violation } from '../world/violation.ts';
import { checkCharges } from './checkLimits.ts';
import type { TrueCall } from './ledgerOfTruth.ts';
import type { Stack } from './stack.ts';

/** At the end, with everything mended and quiet: the truth, the rows, every total and Redis say the same (I1 to I9). */
export function checkBooks(stack: Stack): void {
  const { tables } = stack.database;
  const letters = tables.deadLetters.filter(({ isReplayed }) => !isReplayed);
  if (letters.length > 0)
    throw new Violation('rows', `dead letters: ${letters.map(({ reason }) => reason).join('; ')}`);
  for (const call of stack.truth.calls.values()) checkRow(stack, call, tables.usageRequests.get(call.callId));
  for (const row of tables.usageRequests.values())
    if (!stack.truth.calls.has(row.callId))
      throw new Violation('rows', `a row of a call that nobody made: ${row.callId}`);
  checkTotals(stack);
  checkCharges(stack);
  for (const workspaceId of stack.truth.mostCredited.keys()) checkRedis(stack, workspaceId);
}

/** One row a call, as it truly ended; less is known only where somebody who knew it was lost. */
function checkRow({ truth }: Stack, call: TrueCall, row: UsageRow | undefined): void {
  const { ending, isKept, chargeNanoUsd, isLetIn } = call;
  const name = `call ${call.callId.slice(-4)} of ${call.routerId}`;
  if (!row) {
    if (isLetIn && !truth.isUnheardOf(call)) throw new Violation('rows', `${name} has no row`);
    return;
  }
  const isAsItEnded = ending !== undefined && row.status === ending.status && row.chargeNanoUsd === chargeNanoUsd;
  const mayBeUnknown = !isLetIn || (ending ? truth.isForgotten(call) : truth.has('process', call));
  if (isAsItEnded || (mayBeUnknown && row.status === 'unknown' && row.chargeNanoUsd === 0n)) return;
  throw new Violation(
    'rows',
    `${name} is recorded as ${row.status}, ${row.chargeNanoUsd}; it ended as ${ending?.status ?? 'nothing'}, ${chargeNanoUsd}, ${isKept ? 'and was kept' : 'unkept'}`,
  );
}

function expectEqual(check: CheckName, what: string, found: bigint, expected: bigint): void {
  if (found !== expected) throw new Violation(check, `${what}: ${found}, and should be ${expected}`);
}

const sum = (amounts: Iterable<bigint>): bigint => [...amounts].reduce((total, amount) => total + amount, 0n);

function checkTotals({ database: { tables }, keys }: Stack): void {
  const rows = [...tables.usageRequests.values()];
  const all = sum(rows.map(({ chargeNanoUsd }) => chargeNanoUsd));
  for (const keyId of keys.keys()) {
    const ofKey = rows.filter((row) => row.keyId === keyId);
    const charge = sum(ofKey.map(({ chargeNanoUsd }) => chargeNanoUsd));
    expectEqual('totals', `total of ${keyId}`, tables.keyTotals.get(keyId)?.charge ?? 0n, charge);
    const hours = [...tables.hourTotals].filter(([name]) => name.startsWith(`${keyId} `)).map(([, total]) => total);
    expectEqual('totals', `hours of ${keyId}`, sum(hours.map((hour) => hour.charge)), charge);
    expectEqual('totals', `requests of ${keyId}`, sum(hours.map(({ requests }) => requests)), BigInt(ofKey.length));
    expectEqual(
      'totals',
      `postings of ${keyId}`,
      -sum(tables.postings.filter((each) => each.keyId === keyId).map(({ wallet }) => wallet)),
      charge,
    );
  }
  expectEqual('totals', 'workspaces', sum(tables.workspaceTotals.values()), all);
  expectEqual('totals', 'months', sum(tables.monthTotals.values()), all);
}

function checkRedis({ redis, database: { tables }, world, keys }: Stack, workspaceId: string): void {
  const hash = (name: string): Map<string, string> => {
    const flat = redis.data.run('HGETALL', [`{${workspaceId}}:${name}`]) as string[];
    return new Map(flat.flatMap((field, at) => (at % 2 ? [] : [[field, flat[at + 1] ?? '']])));
  };
  const number = (of: Map<string, string>, field: string): bigint => BigInt(of.get(field) ?? 0);
  const wallet = hash('wallet');
  const rows = [...tables.usageRequests.values()].filter((row) => row.workspaceId === workspaceId);
  const spentBy = (some: UsageRow[]): bigint => sum(some.map(({ chargeNanoUsd }) => chargeNanoUsd));
  const mark = redis.data.run('GET', [redisKeys.mark(TAG)]);
  if (wallet.get('loaded') !== mark) throw new Violation('redis', `${workspaceId} is not loaded`);
  const credited = sum(
    tables.credits.filter((credit) => credit.workspaceId === workspaceId).map(({ amountNanoUsd }) => amountNanoUsd),
  );
  expectEqual('redis', `left in ${workspaceId}`, number(wallet, 'left'), credited - spentBy(rows));
  const expectNothingPending = (what: string, of: Map<string, string>, prefix = ''): void => {
    for (const kind of ['held', 'ended']) expectEqual('redis', `${kind} ${what}`, number(of, `${prefix}${kind}`), 0n);
  };
  expectNothingPending(`in ${workspaceId}`, wallet);
  const months = hash('months');
  const current = new Date(world.wallClockMs(redis.process)).toISOString().slice(0, 7);
  const monthOf = ({ startedAtMs }: UsageRow): string => new Date(startedAtMs).toISOString().slice(0, 7);
  for (const month of new Set([current, ...rows.map(monthOf)])) {
    expectNothingPending(`in ${workspaceId} in ${month}`, months, `${month}:`);
    if (months.get(`${month}:loaded`) !== mark || month < current) continue;
    const charge = spentBy(rows.filter((row) => monthOf(row) === month));
    expectEqual('redis', `spent in ${workspaceId} in ${month}`, number(months, `${month}:spent`), charge);
  }
  for (const key of keys.values()) {
    if (key.workspace.workspaceId !== workspaceId) continue;
    const counter = hash(`key:${key.keyId}`);
    expectNothingPending(`by ${key.keyId}`, counter);
    if (counter.get('loaded') !== mark) continue;
    const charge = spentBy(rows.filter(({ keyId }) => keyId === key.keyId));
    expectEqual('redis', `spent by ${key.keyId}`, number(counter, 'spent'), charge);
    const since = counter.get('since') ?? '';
    if (counter.get('since_loaded') !== mark) continue;
    const later = rows.filter(({ keyId, startedAtMs }) => keyId === key.keyId && startedAtMs >= Date.parse(since));
    expectEqual('redis', `spent by ${key.keyId} since ${since}`, number(counter, 'since_spent'), spentBy(later));
  }
}

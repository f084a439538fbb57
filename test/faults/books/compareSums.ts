import type { Evidence } from './evidence.ts';
import type { ProblemList } from './problemList.ts';
import type { Balance } from './readBalances.ts';

const size = (amount: bigint): bigint => (amount < 0n ? -amount : amount);

/** Compares every sum that is kept anywhere with the rows it sums. Returns the nano-dollars apart, and rows counted twice. */
export function compareSums(
  evidence: Evidence,
  problems: ProblemList,
): { doubled: number; lost: number; difference: bigint } {
  const { rows, totals, balances } = evidence;
  let difference = 0n;
  const compare = (what: string, name: string, is: bigint, shouldBe: bigint): void => {
    if (is === shouldBe) return;
    difference += size(is - shouldBe);
    problems.add(`${what} is not the sum of the rows`, `${name}: ${is} instead of ${shouldBe}`);
  };
  const sums = {
    key: new Map<string, bigint>(),
    workspace: new Map<string, bigint>(),
    month: new Map<string, bigint>(),
  };
  let all = 0n;
  for (const { keyId, workspaceId, month, charge } of rows) {
    all += charge;
    add(sums.key, keyId, charge);
    add(sums.workspace, workspaceId, charge);
    add(sums.month, `${workspaceId} ${month}`, charge);
  }
  for (const [keyId, sum] of sums.key) compare("a key's total", keyId, totals.byKey.get(keyId) ?? 0n, sum);
  for (const [id, sum] of sums.workspace) compare("a workspace's total", id, totals.byWorkspace.get(id) ?? 0n, sum);
  for (const [month, sum] of sums.month) compare("a month's total", month, totals.byMonth.get(month) ?? 0n, sum);
  compare('the hourly sum', 'all', totals.hourlyCharge, all);

  for (const [workspaceId, { wallet, keys, months, pendingCalls }] of balances) {
    const held = (what: string, balance: Pick<Balance, 'held'>): void => {
      if (balance.held !== 0n) problems.add(`${what} still holds money`, `${workspaceId}: ${balance.held}`);
    };
    if (pendingCalls > 0) problems.add('calls are still pending in Redis', `${workspaceId}: ${pendingCalls}`);
    if (!wallet) continue; // nothing was spent since Redis came back empty: the next call brings it
    const { credited, sequence } = totals;
    if (wallet.sequence < (sequence.get(workspaceId) ?? 0n))
      problems.add('Redis has older sums than the ledger', `${workspaceId}: of ${wallet.sequence}`);
    const left = (credited.get(workspaceId) ?? 0n) - (sums.workspace.get(workspaceId) ?? 0n);
    compare('the wallet in Redis', workspaceId, wallet.left - wallet.ended, left);
    held('a wallet', wallet);
    for (const [keyId, balance] of keys) {
      if (balance.spent !== undefined) compare('a key in Redis', keyId, balance.spent, sums.key.get(keyId) ?? 0n);
      held('a key', balance);
    }
    for (const [month, balance] of months) {
      const spent = sums.month.get(`${workspaceId} ${month}`) ?? 0n;
      if (balance.spent !== undefined) compare('a month in Redis', month, balance.spent, spent);
      held('a month', balance);
    }
  }
  const surplus = totals.hourlyRequests - rows.length;
  if (surplus !== 0)
    problems.add(
      'the hourly sums count other calls than there are rows',
      `${totals.hourlyRequests} and ${rows.length}`,
    );
  return { doubled: Math.max(surplus, 0), lost: Math.max(-surplus, 0), difference };
}

function add(sums: Map<string, bigint>, name: string, amount: bigint): void {
  sums.set(name, (sums.get(name) ?? 0n) + amount);
}

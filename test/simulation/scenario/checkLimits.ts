import { redisKeys } from '@turnpike/holds/redis/redisKeys';
import { TAG } from '@turnpike/holds/test/aShard';
import { sinceOf } from '@turnpike/internal-api/budgetPeriod';
import { type CheckName, Violation } from '../world/violation.ts';
import type { LedgerOfTruth, TrueCall } from './ledgerOfTruth.ts';
import { readHash } from './readHash.ts';
import type { Stack } from './stack.ts';

/** Something that limits what some calls may cost together. */
export interface Limit {
  name: string;
  atMost: bigint;
}

/** First day of the period of its key's budget that a call was admitted in. */
function sinceOfCall(truth: LedgerOfTruth, { keyId, admittedAtMs }: TrueCall): string | undefined {
  const ofPeriod = truth.periodBudgetByKey.get(keyId);
  return ofPeriod && admittedAtMs !== undefined ? sinceOf(ofPeriod.period, admittedAtMs) : undefined;
}

/** The limits that a call counts against: its workspace's credit, its key's budgets, its month's cap. */
function limitsOf(truth: LedgerOfTruth, call: TrueCall, credit: bigint): Limit[] {
  const { workspaceId, keyId, month } = call;
  const [since, ofPeriod] = [sinceOfCall(truth, call), truth.periodBudgetByKey.get(keyId)];
  const [budget, cap] = [truth.budgetByKey.get(keyId), truth.capByWorkspace.get(workspaceId)];
  return [
    { name: `credit of ${workspaceId}`, atMost: credit },
    ...(budget === undefined ? [] : [{ name: `budget of ${keyId}`, atMost: budget }]),
    ...(since && ofPeriod ? [{ name: `budget of ${keyId} since ${since}`, atMost: ofPeriod.maxNanoUsd }] : []),
    ...(cap === undefined || month === undefined ? [] : [{ name: `cap of ${workspaceId} in ${month}`, atMost: cap }]),
  ];
}

/**
 * Checks by the engines' knowledge, whatever Redis counts. With this call, the cost of calls of its workspace, finished or not,
 * is within its credit, the key's budget and the month's cap. To be asked at the instant of its admission: nothing else makes it
 * more. Calls that `excuse` names, and those that no process knows any more, do not count.
 */
export function checkCommitments(stack: Stack, admitted: TrueCall): void {
  const { truth } = stack;
  const limits = limitsOf(truth, admitted, truth.creditOf(admitted.workspaceId));
  checkSums('limits', truth, {
    isAsked: ({ workspaceId }) => workspaceId === admitted.workspaceId,
    limitsOf: (call) => limitsOf(truth, call, 0n).flatMap(({ name }) => limits.filter((limit) => limit.name === name)),
    amountOf: (call) => amountOf(stack, call),
  });
}

/** Returns the cost of a call, or its possible cost while its engine runs; nothing for an exception. */
function amountOf(stack: Stack, call: TrueCall): bigint {
  const { truth } = stack;
  if (call.isExcused || call.holdNanoUsd === undefined || truth.isForgotten(call)) return 0n;
  if (call.ending) return call.chargeNanoUsd;
  return stack.isAlive(call) ? call.holdNanoUsd : 0n;
}

/**
 * Checks that Redis' counters of a workspace, of its keys and of its months are never less than the engines' knowledge. It checks
 * once sums are loaded and the gate is open. Redis may refuse too much for a moment, and never too little. At an admission the sums have to be
 * loaded.
 */
export function checkCovered(stack: Stack, workspaceId: string, admittedKeyId: string | undefined): void {
  const { truth, redis, keys, database } = stack;
  const mark = redis.data.run('GET', [redisKeys.mark(TAG)]);
  const server = database.tables.findServer(redis.data.replicationId);
  if (!server?.openedAt || mark !== `${server.redisId}:${TAG}:${server.mark}`) return;
  const sums = new Map<string, bigint>();
  const add = (name: string, amount: bigint): unknown => sums.set(name, (sums.get(name) ?? 0n) + amount);
  for (const call of truth.calls.values()) {
    if (call.workspaceId !== workspaceId) continue;
    const amount = amountOf(stack, call);
    const since = sinceOfCall(truth, call);
    // Calls whose answer is on its way count as well, as they do for `limits`.
    if (since && (call.isLetIn || call.keyId === admittedKeyId)) add(`${call.keyId} ${since}`, amount);
    if (!call.isLetIn) continue;
    add('', amount);
    add(call.keyId, amount);
    if (call.month !== undefined) add(call.month, amount);
  }
  const expect = (what: string, name: string, counted: bigint): void => {
    const known = sums.get(name) ?? 0n;
    if (counted < known)
      throw new Violation('covered', `of ${what} Redis counts ${counted}, and its calls come to ${known}`);
  };
  const read = (key: string): Map<string, string> => readHash(redis, `{${workspaceId}}:${key}`);
  const count = (fields: Map<string, string>, prefix: string, ...names: string[]): bigint =>
    names.reduce((sum, name) => sum + BigInt(fields.get(`${prefix}${name}`) ?? 0), 0n);
  const wallet = read('wallet');
  if ((wallet.get('loaded') !== mark && admittedKeyId === undefined) || !wallet.has('held')) return;
  const counted = truth.creditOf(workspaceId) - count(wallet, '', 'left') + count(wallet, '', 'held', 'ended');
  expect(workspaceId, '', counted);
  const months = read('months');
  // The spend of a past month limits nothing, and is not asked for any more.
  const current = new Date(stack.world.wallClockMs(redis.process)).toISOString().slice(0, 7);
  for (const month of new Set([...sums.keys()].filter((name) => /^\d{4}-\d\d$/.test(name) && name >= current)))
    if (months.get(`${month}:loaded`) === mark)
      expect(`${workspaceId} in ${month}`, month, count(months, `${month}:`, 'spent', 'held', 'ended'));
  for (const { keyId, workspace } of keys.values()) {
    if (workspace.workspaceId !== workspaceId) continue;
    const counter = read(`key:${keyId}`);
    if (counter.get('loaded') === mark) expect(keyId, keyId, count(counter, '', 'spent', 'held', 'ended'));
    const since = counter.get('since') ?? '';
    const place = (prefix: string) => ['timeline', 'sequence'].map((name) => Number(counter.get(`${prefix}${name}`)));
    const [[timeline = 0, sequence = 0], [ofKey = 0, sequenceOfKey = 0]] = [place('since_'), place('')];
    const isCurrent = timeline > ofKey || (timeline === ofKey && sequence >= sequenceOfKey);
    if (counter.get('since_loaded') === mark && (isCurrent || keyId === admittedKeyId))
      expect(`${keyId} since ${since}`, `${keyId} ${since}`, count(counter, '', 'since_spent', 'held', 'ended'));
  }
}

/** At the end: what was charged is within the same limits, but for calls whose holds somebody else could be given. */
export function checkCharges({ truth, database }: Stack): void {
  checkSums('charges', truth, {
    isAsked: ({ wasExcused }) => !wasExcused,
    limitsOf: (call) => limitsOf(truth, call, truth.mostCredited.get(call.workspaceId) ?? 0n),
    amountOf: ({ callId }) => database.tables.usageRequests.get(callId)?.chargeNanoUsd ?? 0n,
  });
}

function checkSums(
  check: CheckName,
  { calls }: LedgerOfTruth,
  {
    isAsked,
    limitsOf,
    amountOf,
  }: {
    isAsked: (call: TrueCall) => boolean;
    limitsOf: (call: TrueCall) => Limit[];
    amountOf: (call: TrueCall) => bigint;
  },
): void {
  const sums = new Map<string, bigint>();
  for (const call of calls.values()) {
    const amount = isAsked(call) ? amountOf(call) : 0n;
    if (amount === 0n) continue;
    for (const { name, atMost } of limitsOf(call)) {
      const sum = (sums.get(name) ?? 0n) + amount;
      if (sum > atMost) throw new Violation(check, `${name} is ${atMost}, and calls have ${sum} of it`);
      sums.set(name, sum);
    }
  }
}

import type { ScriptRun, SimulatedRedis } from '../redis/simulatedRedis.ts';
import { Violation } from '../world/violation.ts';
import type { Limit } from './checkLimits.ts';
import type { TrueCall } from './ledgerOfTruth.ts';
import type { Stack } from './stack.ts';

const tagOf = (key = ''): string => /^\{(.+?)\}/.exec(key)?.[1] ?? '';

/** After each script: what Redis counts of the workspace is what its records say, and within the limits. */
export function checkScript(stack: Stack, run: ScriptRun): void {
  const { redis } = stack;
  const workspaceId = tagOf(run.keys[0]);
  if (run.name === 'sweepCall' && Array.isArray(run.reply) && run.reply[0] === 'held') excuse(stack, run.args[0]);
  if (run.name === 'admit' && Array.isArray(run.reply) && run.reply[0] === 'admitted') checkAdmission(stack, run);
  checkSight(redis, workspaceId);
  const wallet = readHash(redis, `{${workspaceId}}:wallet`);
  const epoch = wallet.get('epoch');
  // Those of an earlier epoch are worth nothing, and nobody keeps them right.
  if (epoch !== String(stack.database.tables.epoch.number)) return;
  checkRecords(stack, workspaceId, wallet);
  checkParts(stack, workspaceId, wallet);
  if (big(wallet, 'admitted') < 0n) throw new Violation(`${workspaceId} has a negative number of calls`);
  if (big(wallet, 'uncertain') !== 0n)
    throw new Violation(`${workspaceId} counts calls that the ledger was not asked for`);
}

/** The sweeper finds whoever has a call. */
function checkSight({ data }: SimulatedRedis, workspaceId: string): void {
  if (data.run('ZCARD', [`{${workspaceId}}:calls`]) !== 0 && data.run('SISMEMBER', ['workspaces', workspaceId]) === 0)
    throw new Violation(`${workspaceId} has calls, and no sweeper would find them`);
}

function checkRecords({ redis }: Stack, workspaceId: string, wallet: Map<string, string>): void {
  let inRecords = 0n;
  for (const callId of redis.data.run('ZRANGE', [`{${workspaceId}}:calls`, '0', '-1']) as string[]) {
    const [state, ofEpoch, amount] = redis.data.run('HMGET', [
      `{${workspaceId}}:call:${callId}`,
      'state',
      'epoch',
      'amount',
    ]) as string[];
    if (state === 'held' && ofEpoch === wallet.get('epoch')) inRecords += BigInt(amount ?? 0);
  }
  const held = big(wallet, 'held');
  if (inRecords !== held)
    throw new Violation(`${workspaceId} has ${held} held in its wallet and ${inRecords} in its calls`);
}

/** The wallet is the sum of its keys, what it holds that of its months, and each is within its limit. */
function checkParts(stack: Stack, workspaceId: string, wallet: Map<string, string>): void {
  const { redis, truth, keys } = stack;
  const [held, spent] = [big(wallet, 'held'), big(wallet, 'spent')];
  const isOurs = (call: TrueCall): boolean => call.workspaceId === workspaceId;
  checkLimit(stack, { name: workspaceId, atMost: big(wallet, 'credited') }, spent + held, isOurs);
  let [ofKeys, heldByKeys, heldInMonths] = [0n, 0n, 0n];
  for (const { keyId, workspace } of keys.values()) {
    if (workspace.workspaceId !== workspaceId) continue;
    const counter = readHash(redis, `{${workspaceId}}:key:${keyId}`);
    if (counter.get('epoch') !== wallet.get('epoch')) continue;
    const [keyHeld, keySpent] = [big(counter, 'held'), big(counter, 'spent')];
    heldByKeys += keyHeld;
    ofKeys += keySpent;
    const budget = truth.budgetByKey.get(keyId);
    if (budget === undefined) continue;
    checkLimit(stack, { name: keyId, atMost: budget }, keySpent + keyHeld, (call) => call.keyId === keyId);
  }
  const months = readHash(redis, `{${workspaceId}}:months`);
  const cap = truth.capByWorkspace.get(workspaceId);
  for (const [field, amount] of months) {
    const [month = '', what] = field.split(':');
    if (what !== 'held') continue;
    heldInMonths += BigInt(amount);
    if (cap === undefined) continue;
    const committed = BigInt(amount) + big(months, `${month}:spent`);
    checkLimit(stack, { name: `${workspaceId} in ${month}`, atMost: cap }, committed, isOurs);
  }
  if (spent !== ofKeys) throw new Violation(`${workspaceId} has ${spent} spent, and ${ofKeys} by its keys`);
  if (held !== heldByKeys) throw new Violation(`${workspaceId} has ${held} held, and ${heldByKeys} by its keys`);
  if (held !== heldInMonths) throw new Violation(`${workspaceId} has ${held} held, and ${heldInMonths} in its months`);
}

/** What is committed is within the limit; calls whose holds somebody else could be given come on top. */
function checkLimit(
  { truth }: Stack,
  { name, atMost }: Limit,
  committed: bigint,
  isOf: (call: TrueCall) => boolean,
): void {
  if (committed <= atMost) return;
  let excused = 0n;
  for (const call of truth.calls.values()) if (call.isExcused && isOf(call)) excused += call.holdNanoUsd ?? 0n;
  if (committed > atMost + excused)
    throw new Violation(`${name} is committed to ${committed} in Redis, of ${atMost} and ${excused} excused`);
}

function readHash(redis: SimulatedRedis, key: string): Map<string, string> {
  const flat = redis.data.run('HGETALL', [key]) as string[];
  return new Map(flat.flatMap((name, at) => (at % 2 ? [] : [[name, flat[at + 1] ?? '']])));
}

const big = (fields: Map<string, string>, name: string): bigint => BigInt(fields.get(name) ?? 0);

/** A call whose hold was given back: its router lost its lease. */
function excuse({ truth }: Stack, callId = ''): void {
  const call = truth.calls.get(callId);
  if (call) call.isExcused = true;
}

/** Nobody is admitted into balances that are being built, or beside a call that Redis has forgotten. */
function checkAdmission(stack: Stack, { args, reply, keys }: ScriptRun): void {
  const { database, truth } = stack;
  const { number, phase } = database.tables.epoch;
  const [callId = '', admittedIn, router] = [args[0], Number(args[10]), args[13]];
  const isGivenUp = database.tables.routers.get(router ?? '')?.isExpired === true;
  if (admittedIn === number && phase !== 'open')
    throw new Violation(`a call was admitted in epoch ${number}, which is ${phase}`);
  if (admittedIn < number && phase !== 'draining' && !isGivenUp)
    throw new Violation(`a call was admitted in epoch ${admittedIn}, while epoch ${number} is ${phase}`);
  const call = truth.calls.get(callId);
  if (!call) return;
  call.month = new Date(Number((reply as string[])[1])).toISOString().slice(0, 7);
  if (admittedIn < number && isGivenUp) call.isExcused = true;
  if (admittedIn === number) checkNoneForgotten(stack, tagOf(keys[0]));
}

function checkNoneForgotten(stack: Stack, workspaceId: string): void {
  for (const call of stack.truth.calls.values()) {
    const isUnderWay = call.holdNanoUsd !== undefined && call.ending === undefined && stack.isAlive(call);
    if (!isUnderWay || call.isExcused || call.workspaceId !== workspaceId) continue;
    if (stack.redis.data.run('EXISTS', [`{${workspaceId}}:call:${call.callId}`]) === 0)
      throw new Violation(
        `${workspaceId} lets calls in while Redis has forgotten ${call.callId.slice(-4)}, which runs`,
      );
  }
}

/** Whose router is given up when balances are given out may hold what nobody counts. */
export function excuseTheGivenUp({ database, truth }: Stack): void {
  for (const call of truth.calls.values()) {
    const known = database.tables.routers.get(`router-${call.router}`);
    if (!known || known.isExpired) call.isExcused = true;
  }
}

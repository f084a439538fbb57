import type { ScriptRun, SimulatedRedis } from '../redis/simulatedRedis.ts';
import { Violation } from '../world/violation.ts';
import type { Stack } from './stack.ts';

const tagOf = (key = ''): string => /^\{(.+?)\}/.exec(key)?.[1] ?? '';

/** After each script: what Redis counts of the workspace is what its records say, and within the limits. */
export function checkScript(stack: Stack, run: ScriptRun): void {
  const { redis } = stack;
  const workspaceId = tagOf(run.keys[0]);
  if (run.name === 'sweepCall' && Array.isArray(run.reply) && run.reply.length > 0) noteSweep(stack, workspaceId, run);
  if (run.name === 'admit' && Array.isArray(run.reply) && run.reply[0] === 'admitted') checkAdmission(stack, run);
  const wallet = readHash(redis, `{${workspaceId}}:wallet`);
  const [epoch, held, spent, credited] = [
    wallet.get('epoch'),
    big(wallet, 'held'),
    big(wallet, 'spent'),
    big(wallet, 'credited'),
  ];
  // Those of an earlier epoch are worth nothing, and nobody keeps them right.
  if (epoch !== String(stack.database.tables.epoch.number)) return;
  let inRecords = 0n;
  for (const callId of redis.data.run('ZRANGE', [`{${workspaceId}}:calls`, '0', '-1']) as string[]) {
    const [state, ofEpoch, amount] = redis.data.run('HMGET', [
      `{${workspaceId}}:call:${callId}`,
      'state',
      'epoch',
      'amount',
    ]) as string[];
    if (state === 'held' && ofEpoch === epoch) inRecords += BigInt(amount ?? 0);
  }
  if (inRecords !== held)
    throw new Violation(`${workspaceId} has ${held} held in its wallet and ${inRecords} in its calls`);
  const limit = credited + excusedIn(stack, workspaceId);
  if (spent + held > limit)
    throw new Violation(
      `${workspaceId} has ${spent} spent and ${held} held in Redis, of ${credited} (${limit} with what is excused)`,
    );
  if (big(wallet, 'admitted') < 0n) throw new Violation(`${workspaceId} has a negative number of calls`);
}

function readHash(redis: SimulatedRedis, key: string): Map<string, string> {
  const flat = redis.data.run('HGETALL', [key]) as string[];
  return new Map(flat.flatMap((name, at) => (at % 2 ? [] : [[name, flat[at + 1] ?? '']])));
}

const big = (fields: Map<string, string>, name: string): bigint => BigInt(fields.get(name) ?? 0);

/**
 * Of a call from before the epoch the sweeper cannot know whether its row was written before the balances were loaded. It takes
 * one that is held for not yet counted, and one that was swept before for counted.
 */
function noteSweep({ truth, redis, database }: Stack, workspaceId: string, { args, reply }: ScriptRun): void {
  const [callId = '', , epoch = ''] = args;
  const wasHeld = Array.isArray(reply) && reply[0] === 'held';
  const call = truth.calls.get(callId);
  if (call && wasHeld) call.isExcused = true;
  const isFromBefore = redis.data.run('HGET', [`{${workspaceId}}:call:${callId}`, 'epoch']) !== epoch;
  if (!isFromBefore || truth.countedFromBefore.has(`${callId} ${epoch}`)) return;
  truth.countedFromBefore.add(`${callId} ${epoch}`);
  const isRecorded = database.tables.usageRequests.has(callId);
  const miscounted = Number(wasHeld) - Number(!isRecorded);
  const name = `${workspaceId} ${epoch}`;
  truth.miscounted.set(name, (truth.miscounted.get(name) ?? 0n) + BigInt(miscounted));
}

const excusedIn = ({ truth }: Stack, workspaceId: string): bigint =>
  [...truth.calls.values()].reduce(
    (sum, call) => (call.isExcused && call.workspaceId === workspaceId ? sum + (call.holdNanoUsd ?? 0n) : sum),
    0n,
  );

/** Nobody is admitted into balances that are being built. */
function checkAdmission({ database, truth }: Stack, { args }: ScriptRun): void {
  const { number, phase } = database.tables.epoch;
  const [callId = '', admittedIn, router] = [args[0], Number(args[10]), args[13]];
  const isGivenUp = database.tables.routers.get(router ?? '')?.isExpired === true;
  if (admittedIn === number && phase !== 'open')
    throw new Violation(`a call was admitted in epoch ${number}, which is ${phase}`);
  if (admittedIn < number && phase !== 'draining' && !isGivenUp)
    throw new Violation(`a call was admitted in epoch ${admittedIn}, while epoch ${number} is ${phase}`);
  const call = truth.calls.get(callId);
  if (admittedIn < number && isGivenUp && call) call.isExcused = true;
}

/**
 * What calls truly cost and may yet cost is within what each workspace was given. To be asked when a call was let in: nothing
 * else makes it more.
 */
export function checkTruth(stack: Stack): void {
  const { truth } = stack;
  const committed = new Map<string, bigint>();
  for (const call of truth.calls.values()) {
    if (call.isExcused || call.holdNanoUsd === undefined) continue;
    // Disk and Redis lost together: nobody is left who knows of the call.
    if (truth.has('disk', call) && truth.has('redis', call)) continue;
    const isRunning = call.ending === undefined && stack.isAlive(call);
    const amount = call.ending ? call.chargeNanoUsd : isRunning ? call.holdNanoUsd : 0n;
    committed.set(call.workspaceId, (committed.get(call.workspaceId) ?? 0n) + amount);
  }
  for (const [workspaceId, amount] of committed) {
    const credited = truth.creditedByWorkspace.get(workspaceId) ?? 0n;
    if (amount > credited) throw new Violation(`${workspaceId} is committed to ${amount}, of ${credited}`);
  }
}

/** Whose router is given up when balances are given out may hold what nobody counts. */
export function excuseTheGivenUp({ database, truth }: Stack): void {
  for (const call of truth.calls.values()) {
    const known = database.tables.routers.get(`router-${call.router}`);
    if (!known || known.isExpired) call.isExcused = true;
  }
}

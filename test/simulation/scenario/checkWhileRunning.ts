import { redisKeys } from '@turnpike/holds/redis/redisKeys';
import { TAG } from '@turnpike/holds/test/aShard';
import type { ScriptRun, SimulatedRedis } from '../redis/simulatedRedis.ts';
import { Violation } from '../world/violation.ts';
import { checkCommitments, checkCovered } from './checkLimits.ts';
import type { TrueCall } from './ledgerOfTruth.ts';
import { readHash } from './readHash.ts';
import type { Stack } from './stack.ts';

const tagOf = (key = ''): string => /^\{(.+?)\}/.exec(key)?.[1] ?? '';

/** After each script: what Redis counts of the workspace is what its pending calls say. */
export function checkScript(stack: Stack, run: ScriptRun, redis: SimulatedRedis): void {
  const workspaceId = tagOf(run.keys[0]);
  if (!workspaceId) return;
  // The content of a former Redis of the region is known to no process.
  const isRegions = redis === stack.redis;
  if (isRegions && run.name === 'admit' && isReply(run, 'admitted')) noteAdmission(stack, run);
  if (isRegions && run.name === 'settle' && run.reply === 'held') noteSettled(stack, run);
  if (isRegions && run.name === 'putBack' && (run.reply === 'back' || run.reply === 'recounted'))
    notePutBack(stack, run);
  if (isRegions && run.name === 'absorb' && isReply(run, 'absorbed')) noteAbsorbed(stack, run);
  const isAdmitted = run.name === 'admit' && isReply(run, 'admitted');
  if (isRegions) checkCovered(stack, workspaceId, isAdmitted ? run.args[11] : undefined);
  const wallet = readHash(redis, `{${workspaceId}}:wallet`);
  // One that was evicted is counted anew by the next script that changes it.
  if (!wallet.has('held')) return;
  checkPending(stack, workspaceId, redis);
  for (const kind of ['held', 'ended'])
    if (big(wallet, kind) < 0n) throw new Violation('pending', `${workspaceId} has ${big(wallet, kind)} ${kind}`);
}

const isReply = ({ reply }: ScriptRun, outcome: string): boolean => Array.isArray(reply) && reply[0] === outcome;

function noteAdmission(stack: Stack, { args, reply }: ScriptRun): void {
  const { truth, world } = stack;
  const call = truth.calls.get(args[1] ?? '');
  if (!call) return;
  call.admittedAtMs = Number((reply as string[])[1]);
  call.month = new Date(call.admittedAtMs).toISOString().slice(0, 7);
  call.session = args[9];
  call.pendingAt = world.now;
  call.isPending = true;
  // A late call was refused by then, and an admission that runs all the same is taken back.
  if (call.isRefused) return;
  call.holdNanoUsd = BigInt(args[6] ?? 0);
  checkCommitments(stack, call);
}

/**
 * A router lets calls in only once all that it runs are put back. An answer that it does not believe lets nothing in. A call that was
 * admitted before its router was given up is like those that run, if the session is still the same. To a router whose clock stood still
 * the answer came at once.
 */
export function checkLetIn({ truth, machines }: Stack, call: TrueCall): void {
  const session = machines.find(({ routerId }) => routerId === call.routerId)?.router?.session();
  if (call.isExcused && call.session === session) return;
  for (const other of truth.calls.values()) {
    const isRunning = other.isLetIn && !other.ending && other.incarnation === call.incarnation;
    if (other.isExcused && isRunning && other.routerId === call.routerId)
      throw new Violation('given up', `${call.routerId} admits, and has not put back call ${other.callId.slice(-4)}`);
  }
}

function noteSettled({ truth, world }: Stack, { args }: ScriptRun): void {
  const call = truth.calls.get(args[1] ?? '');
  if (call) call.settledAt = world.now;
}

/** Counts the calls of a put-back again. */
function notePutBack({ truth, world }: Stack, { args }: ScriptRun): void {
  for (let at = 5; at < args.length; at += 10) {
    const call = truth.calls.get(args[at] ?? '');
    if (!call) continue;
    call.isExcused = false;
    call.session = args[3];
    call.pendingAt = world.now;
    call.isPending = true;
    if (args[at + 1] === 'ended') call.settledAt = world.now;
  }
}

/**
 * Excuses calls whose hold was dropped for an unknown row, because other calls may then use it. Throws if the session of such a call has
 * not lapsed. Counts a call again once its charge is in the sums.
 */
function noteAbsorbed(stack: Stack, { args, keys }: ScriptRun): void {
  const { truth, redis } = stack;
  const [months, keySums, finals, unknowns] = args.slice(4, 8).map(Number) as [number, number, number, number];
  const beginFinals = 8 + 2 * months + 5 * keySums;
  const beginUnknowns = beginFinals + finals;
  const workspaceId = tagOf(keys[0]);
  for (const callId of args.slice(beginFinals, beginUnknowns)) {
    const call = truth.calls.get(callId);
    if (!call) continue;
    call.isExcused = false;
    call.isPending = false;
  }
  for (const call of truth.calls.values())
    if (call.isExcused && call.workspaceId === workspaceId && isContained(stack, call)) call.isExcused = false;
  for (let nth = 0; nth < unknowns; nth += 1) {
    const callId = args[beginUnknowns + 2 * nth] ?? '';
    const call = truth.calls.get(callId);
    const exists = (key: string): boolean => redis.data.run('EXISTS', [key]) === 1;
    if (!call?.isPending || exists(`{${workspaceId}}:call:${callId}`)) continue;
    call.isPending = false;
    const isRunning = call.holdNanoUsd !== undefined && !call.ending && stack.isAlive(call);
    if (isRunning && exists(redisKeys.session(TAG, call.session ?? '')))
      throw new Violation(
        'given up',
        `call ${callId.slice(-4)} of ${call.routerId} was dropped, and its session lives`,
      );
    // A charge that Redis has lost is a hold there again. It may be dropped like any hold once no session of its router lives.
    const session = stack.machines.find(({ routerId }) => routerId === call.routerId)?.router?.session();
    const isHeldAgain = truth.hasRedisLost(call.settledAt) && !exists(redisKeys.session(TAG, session ?? ''));
    const isKnown = call.settledAt !== undefined && !truth.isForgotten(call) && !isHeldAgain;
    if (call.ending && call.ending.status !== 'unknown' && isKnown)
      throw new Violation(
        'given up',
        `call ${callId.slice(-4)} of ${call.routerId} was dropped, and its charge is known`,
      );
    truth.excuse(call);
  }
}

/** Whether a call is recorded, and all sums in Redis that limit others by it are those of the ledger as it is now. */
function isContained(stack: Stack, call: TrueCall): boolean {
  const { database, redis } = stack;
  const { workspaceId, keyId, month } = call;
  if (!isRecorded(stack, call)) return false;
  const wallet = readHash(redis, `{${workspaceId}}:wallet`);
  const mark = wallet.get('loaded');
  const isCurrent = (fields: Map<string, string>, prefix = ''): boolean =>
    fields.get(`${prefix}timeline`) === String(database.timeline) &&
    fields.get(`${prefix}sequence`) === String(database.tables.sequences.get(workspaceId) ?? 0);
  const counters = [
    [readHash(redis, `{${workspaceId}}:key:${keyId}`), ''],
    [readHash(redis, `{${workspaceId}}:months`), `${month}:`],
  ] as const;
  return (
    isCurrent(wallet) &&
    counters.every(([fields, prefix]) => fields.get(`${prefix}loaded`) !== mark || isCurrent(fields, prefix))
  );
}

function isRecorded({ database }: Stack, { callId }: TrueCall): boolean {
  const row = database.tables.usageRequests.get(callId);
  return row !== undefined && row.status !== 'unknown';
}

/** The wallet, its keys and its months have what the records of its pending calls come to. */
function checkPending({ keys }: Stack, workspaceId: string, redis: SimulatedRedis): void {
  const wallet = readHash(redis, `{${workspaceId}}:wallet`);
  const months = readHash(redis, `{${workspaceId}}:months`);
  const sums = new Map<string, bigint>();
  const add = (name: string, amount: bigint): unknown => sums.set(name, (sums.get(name) ?? 0n) + amount);
  for (const callId of redis.data.run('HKEYS', [`{${workspaceId}}:calls`]) as string[]) {
    const call = readHash(redis, `{${workspaceId}}:call:${callId}`);
    const [kind, amount] = [call.get('kind') ?? '', big(call, 'amount')];
    for (const name of ['', `${call.get('key')} `, `${call.get('month')} `]) add(`${name}${kind}`, amount);
  }
  const expect = (name: string, found: bigint): void => {
    if (found !== (sums.get(name) ?? 0n))
      throw new Violation(
        'pending',
        `${workspaceId} counts ${found} ${name}, and its calls come to ${sums.get(name) ?? 0n}`,
      );
  };
  for (const kind of ['held', 'ended']) {
    expect(kind, big(wallet, kind));
    for (const { keyId, workspace } of keys.values())
      if (workspace.workspaceId === workspaceId)
        expect(`${keyId} ${kind}`, big(readHash(redis, `{${workspaceId}}:key:${keyId}`), kind));
    for (const field of months.keys()) {
      const [month, what] = field.split(':');
      if (what === kind) expect(`${month} ${kind}`, big(months, field));
    }
  }
}

const big = (fields: Map<string, string>, name: string): bigint => BigInt(fields.get(name) ?? 0);

/** A router that was heard so lately is waited for (the ledger takes it for dead after 3 s), … */
const HEARD_MS = 2_900;
/** … for so long after a mark was made (3 s), and after somebody saw another open Redis, beside which that one stayed closed (2 s). */
const WAIT_MS = 2_900;
const LEAVE_MS = 1_900;

/**
 * A gate opens: who has not put its calls back by then may hold what nobody counts. That is right only of one that was not heard, or
 * had its time; of every other it says that the gate did not wait.
 */
export function excuseTheLate(
  stack: Stack,
  { mark, raisedAt, rivalSeenAt }: { mark: string; raisedAt: number; rivalSeenAt: number },
): void {
  const { database, truth, world, machines } = stack;
  const hadItsTime = world.now - raisedAt > WAIT_MS && world.now - rivalSeenAt > LEAVE_MS;
  const hasPutBack = (routerId: string): boolean => database.tables.findRouter(routerId)?.putBackMark === mark;
  for (const { routerId, process, router } of machines) {
    // A router's silence does not count from before it could be heard.
    const listeningSince = database.tables.recovery.listeningSince - world.beganAtMs;
    const heardAt = Math.max(truth.heardAt.get(routerId) ?? Number.NEGATIVE_INFINITY, listeningSince);
    if (
      hadItsTime ||
      process.isDead ||
      !truth.heardAt.has(routerId) ||
      // The router has left, with nothing to bring, and is about to hear that it may.
      (!database.tables.findRouter(routerId) && router?.isEmpty()) ||
      hasPutBack(routerId) ||
      world.now - heardAt > HEARD_MS
    )
      continue;
    throw new Violation(
      'given up',
      `the gate has opened without ${routerId}, which was heard ${world.now - heardAt} ms ago`,
    );
  }
  for (const call of truth.calls.values()) {
    // Sums that were loaded before a record have nothing of it yet.
    const isKnown = call.isLetIn || call.pendingAt !== undefined;
    const isForgotten = !isContained(stack, call) && !hasPutBack(call.routerId) && !standsUnderSession(stack, call);
    if (isKnown && isForgotten) truth.excuse(call);
  }
}

/** Whether a call is pending under a session that lives: also where the ledger, set back, knows nothing of its router's put-back. */
function standsUnderSession({ redis }: Stack, { workspaceId, callId, session }: TrueCall): boolean {
  const record = readHash(redis, `{${workspaceId}}:call:${callId}`);
  const isAlive = redis.data.run('EXISTS', [redisKeys.session(TAG, session ?? '')]) === 1;
  return isAlive && record.get('session') === session;
}

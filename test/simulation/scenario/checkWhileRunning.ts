import type { ScriptRun, SimulatedRedis } from '../redis/simulatedRedis.ts';
import { Violation } from '../world/violation.ts';
import type { LedgerOfTruth } from './ledgerOfTruth.ts';
import type { Stack } from './stack.ts';

const tagOf = (key = ''): string => /^\{(.+?)\}/.exec(key)?.[1] ?? '';

/** After each script: what Redis counts of the workspace is what its pending calls say. */
export function checkScript(stack: Stack, run: ScriptRun): void {
  const { truth, redis } = stack;
  const workspaceId = tagOf(run.keys[1]);
  if (!workspaceId) return;
  if (run.name === 'admit' && isReply(run, 'admitted')) noteAdmission(truth, run);
  if (run.name === 'settle' && run.reply === 'held') noteSettled(truth, run.keys[5] ?? '', stack.world.now);
  if (run.name === 'putBack' && run.reply === 'back') notePutBack(stack, run);
  if (run.name === 'absorb' && isReply(run, 'absorbed')) noteAbsorbed(stack, run);
  checkPending(stack, workspaceId);
  const wallet = readHash(redis, `{${workspaceId}}:wallet`);
  for (const kind of ['held', 'ended'])
    if (big(wallet, kind) < 0n) throw new Violation(`${workspaceId} has ${big(wallet, kind)} ${kind}`);
}

const isReply = ({ reply }: ScriptRun, outcome: string): boolean => Array.isArray(reply) && reply[0] === outcome;

function noteAdmission(truth: LedgerOfTruth, { args, reply }: ScriptRun): void {
  const call = truth.calls.get(args[3] ?? '');
  if (call) call.month = new Date(Number((reply as string[])[1])).toISOString().slice(0, 7);
}

function noteSettled(truth: LedgerOfTruth, record: string, now: number): void {
  const call = truth.calls.get(record.slice(record.lastIndexOf(':') + 1));
  if (call) call.settledAt = now;
}

/** What a put-back brings is counted again. */
function notePutBack({ truth, world }: Stack, { args }: ScriptRun): void {
  for (let at = 7; at < args.length; at += 10) {
    const call = truth.calls.get(args[at] ?? '');
    if (!call) continue;
    call.isExcused = false;
    if (args[at + 1] === 'ended') call.settledAt = world.now;
  }
}

/** A hold that was dropped for an unknown row may be given to others; a call whose charge is in the sums is counted again. */
function noteAbsorbed({ truth, redis }: Stack, { args, keys }: ScriptRun): void {
  const [months, keySums, finals, unknowns] = args.slice(6, 10).map(Number) as [number, number, number, number];
  const beginFinals = 10 + 2 * months + 3 * keySums;
  const beginUnknowns = beginFinals + finals;
  for (const callId of args.slice(beginFinals, beginUnknowns)) {
    const call = truth.calls.get(callId);
    if (call) call.isExcused = false;
  }
  for (let nth = 0; nth < unknowns; nth += 1) {
    const callId = args[beginUnknowns + 2 * nth] ?? '';
    const call = truth.calls.get(callId);
    const isGone = redis.data.run('EXISTS', [`{${tagOf(keys[1])}}:call:${callId}`]) === 0;
    if (call && isGone) truth.excuse(call);
  }
}

/** The wallet, its keys and its months have what the records of its pending calls come to. */
function checkPending({ redis, keys }: Stack, workspaceId: string): void {
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
      throw new Violation(`${workspaceId} counts ${found} ${name}, and its calls come to ${sums.get(name) ?? 0n}`);
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

function readHash(redis: SimulatedRedis, key: string): Map<string, string> {
  const flat = redis.data.run('HGETALL', [key]) as string[];
  return new Map(flat.flatMap((name, at) => (at % 2 ? [] : [[name, flat[at + 1] ?? '']])));
}

const big = (fields: Map<string, string>, name: string): bigint => BigInt(fields.get(name) ?? 0);

/**
 * A gate opens: who has not put its calls back by then may hold what nobody counts, as it is dead, or was waited for long enough.
 */
export function excuseTheLate({ database, truth }: Stack, mark: string): void {
  for (const call of truth.calls.values()) {
    const row = database.tables.usageRequests.get(call.callId);
    if (row && row.status !== 'unknown') continue;
    const router = database.tables.routers.get(`router-${call.router}`);
    if (router?.putBackMark !== mark) truth.excuse(call);
  }
}

import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, expect, it } from '@jest/globals';
import { BackendFault, type BackendFaultKind, type Replica } from '../terms/backend.ts';
import { createReplicaTurns } from './replicaTurns.ts';

const aReplica = (id: string, slots = 1): Replica => ({
  id,
  url: 'http://replica.example',
  engine: 'kokoro',
  model: 'small-voice',
  slots,
  draining: false,
});
/** The outcome of each attempt of the test. */
const counted: string[] = [];
beforeEach(() => {
  counted.length = 0;
});
const turnsOf = (...replicas: Replica[]) =>
  createReplicaTurns(
    { replicasFor: (model) => replicas.filter((replica) => replica.model === model), dialectOf: () => ({}) },
    { attemptEnded: ({ id }, result) => void counted.push(`${id} ${result}`) },
  );
const idOf = async ({ id }: Replica): Promise<string> => id;
/** Each of a key of its own, unless that is named. */
const aCall = (keyId: string = randomUUID()) => ({ model: 'small-voice', keyId, signal: new AbortController().signal });
/** Fails on these replicas, by the kind that stands beside each. */
const failingOn = (kinds: Record<string, BackendFaultKind>, asked: string[]) => async (replica: Replica) => {
  asked.push(replica.id);
  const kind = kinds[replica.id];
  if (kind) throw new BackendFault(kind);
  return replica.id;
};

it('gives calls to whom it has given least for its slots, and goes round those that are alike', async () => {
  const turns = turnsOf(aReplica('a'), aReplica('b'), aReplica('wide', 4));
  const given = [];
  for (let nth = 0; nth < 6; nth += 1) given.push(await turns.ask(aCall(), idOf));
  expect(given.map(({ answer }) => answer).sort()).toEqual(['a', 'b', 'wide', 'wide', 'wide', 'wide']);
  expect(Object.fromEntries(turns.running())).toEqual({ a: 1, b: 1, wide: 4 });
  for (const { done } of given) done();
  expect(Object.fromEntries(turns.running())).toEqual({ a: 0, b: 0, wide: 0 });
  const after = [];
  for (let nth = 0; nth < 3; nth += 1) {
    const { answer, done } = await turns.ask(aCall(), idOf);
    after.push(answer);
    done();
    done();
  }
  expect(after.sort()).toEqual(['a', 'b', 'wide']);
});

it.each(['busy', 'unreachable', 'cut_off'] as const)(
  'asks one other where a replica is %s, and no third',
  async (kind) => {
    const asked: string[] = [];
    const turns = turnsOf(aReplica('a'), aReplica('b'), aReplica('c'));
    await expect(turns.ask(aCall(), failingOn({ a: kind }, asked))).resolves.toMatchObject({ answer: 'b' });
    expect(asked).toEqual(['a', 'b']);
    expect(counted).toEqual([`a ${kind}`, 'b made']);
    asked.length = 0;
    const all = { a: kind, b: kind, c: kind };
    await expect(turns.ask(aCall(), failingOn(all, asked))).rejects.toMatchObject({ kind });
    expect(asked).toHaveLength(2);
  },
);

it.each(['failed', 'answer_lost', 'refused_request', 'content_refused', 'misconfigured'] as const)(
  'asks nobody else after %s: it may have been begun, or would be said again',
  async (kind) => {
    const asked: string[] = [];
    const turns = turnsOf(aReplica('a'), aReplica('b'));
    await expect(turns.ask(aCall(), failingOn({ a: kind, b: kind }, asked))).rejects.toMatchObject({ kind });
    expect(asked).toHaveLength(1);
    // The replica is as free as before.
    await expect(turns.ask(aCall(), idOf)).resolves.toMatchObject({ answer: 'b' });
  },
);

it('is busy where no replica takes anything', async () => {
  await expect(turnsOf().ask(aCall(), idOf)).rejects.toMatchObject({ kind: 'busy' });
});

it.each([
  [1, 1],
  [8, 6],
])('one key has three quarters of %i slots, and the rest of its calls wait for their turn', async (slots, most) => {
  const turns = turnsOf(aReplica('a', slots));
  const begun: { done(): void }[] = [];
  const hoard = Array.from({ length: 9 }, () => turns.ask(aCall('hoarder'), idOf).then((given) => begun.push(given)));
  await setImmediate();
  expect(begun).toHaveLength(most);
  const newcomer = await turns.ask(aCall(), idOf);
  newcomer.done();
  while (begun.length > 0) {
    begun.shift()?.done();
    await setImmediate();
    expect(begun.length).toBeLessThanOrEqual(most);
  }
  await Promise.all(hoard);
  expect(Object.fromEntries(turns.running())).toEqual({ a: 0 });
});

it('forgets a call whose client leaves while it waits, and refuses a key that has a hundred waiting', async () => {
  const turns = turnsOf(aReplica('a'));
  const leaving = new AbortController();
  const call = { ...aCall('hoarder'), signal: leaving.signal };
  const held = await turns.ask(call, idOf);
  const waiting = Array.from({ length: 100 }, () => turns.ask(call, idOf));
  await expect(turns.ask(call, idOf)).rejects.toMatchObject({ kind: 'busy' });
  leaving.abort(new Error('left'));
  const ended = await Promise.allSettled(waiting);
  expect(ended.every((end) => end.status === 'rejected' && end.reason === leaving.signal.reason)).toBe(true);
  held.done();
  await expect(turns.ask(aCall('hoarder'), idOf)).resolves.toMatchObject({ answer: 'a' });
});

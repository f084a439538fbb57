import { expect, it } from '@jest/globals';
import { createFairSlots, type FairSlot } from './fairSlots.ts';

const LIMITS = { inAll: 256, perWorkspace: 64, waitingPerKey: 192 };

/** Slots at a time that stands still until it is set. */
function open(limits: Partial<typeof LIMITS> = {}, { givesWay = true } = {}) {
  const clock = { nowMs: 0 };
  const slots = createFairSlots({
    bound: 'image_fetches',
    limits: { ...LIMITS, ...limits },
    givesWay,
    nowMs: () => clock.nowMs,
  });
  /** Asks for slots of a key, for as long as `signal` is not aborted; `got` has those that it was given and has not lost. */
  function ask(
    workspaceId: string,
    count: number,
    { keyId = workspaceId, signal = new AbortController().signal } = {},
  ) {
    const given: FairSlot[] = [];
    const failed: unknown[] = [];
    for (let nth = 0; nth < count; nth += 1)
      slots.take({ workspaceId, keyId }, signal).then(
        (slot) => given.push(slot),
        (error: unknown) => failed.push(error),
      );
    return {
      given,
      failed,
      get got() {
        return given.filter(({ signal: lost }) => !lost.aborted);
      },
    };
  }
  return { clock, slots, ask };
}
/** Lets all promises that are settled be seen. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

it('gives a workspace what is free, up to its part', async () => {
  const { ask } = open();
  const one = ask('ws_1', 100);
  await settled();
  expect(one.got).toHaveLength(64);
});

// However many hoard, and whatever order they came in.
it.each([4, 40, 255])('gives a newcomer its even part at once while %i workspaces hoard', async (hoarders) => {
  const { ask } = open();
  const hoards = Array.from({ length: hoarders }, (_, nth) => ask(`ws_${nth}`, 64));
  await settled();
  const newcomer = ask('ws_new', 16);
  await settled();
  expect(newcomer.got.length).toBeGreaterThanOrEqual(Math.min(16, Math.floor(256 / (hoarders + 1))));
  const counts = hoards.map(({ got }) => got.length);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  expect(counts.reduce((sum, count) => sum + count, newcomer.got.length)).toBe(256);
});

it('gives another key of a workspace its even part of what the workspace has', async () => {
  const { ask } = open();
  const hoard = ask('ws_1', 200, { keyId: 'key_1' });
  await settled();
  const sibling = ask('ws_1', 40, { keyId: 'key_2' });
  await settled();
  expect([hoard.got.length, sibling.got.length]).toEqual([32, 32]);
});

it('takes the slot that has been silent for longest', async () => {
  const { clock, ask } = open({ inAll: 3 });
  const hoard = ask('ws_1', 3);
  await settled();
  clock.nowMs = 1_000;
  hoard.given[0]?.heard();
  hoard.given[2]?.heard();
  const newcomer = ask('ws_2', 1);
  await settled();
  expect(newcomer.got).toHaveLength(1);
  expect(hoard.given.map(({ signal }) => signal.aborted)).toEqual([false, true, false]);
});

it('takes nothing from work that does not give way, and gives what it leaves to whoever has least', async () => {
  const { ask } = open({ inAll: 3 }, { givesWay: false });
  const hoard = ask('ws_1', 9);
  await settled();
  const newcomer = ask('ws_2', 1);
  await settled();
  expect([hoard.got.length, newcomer.got.length]).toEqual([3, 0]);
  hoard.given[0]?.giveBack();
  await settled();
  expect([hoard.given.length, newcomer.got.length]).toEqual([3, 1]);
});

it('takes nothing from whoever has no more than one slot above the asker', async () => {
  const { ask } = open({ inAll: 3 });
  const [one, two] = [ask('ws_1', 2), ask('ws_2', 1)];
  await settled();
  const more = ask('ws_2', 1);
  await settled();
  expect([one.got.length, two.got.length, more.got.length]).toEqual([2, 1, 0]);
});

it('gives what comes free to whoever has least, in turn', async () => {
  const { ask } = open({ inAll: 2 });
  const [one, two] = [ask('ws_1', 1), ask('ws_2', 1)];
  await settled();
  const waiting = ['ws_1', 'ws_3', 'ws_4', 'ws_3'].map((workspaceId) => ask(workspaceId, 1));
  await settled();
  const served = () => waiting.map(({ given }) => given.length);
  expect(served()).toEqual([0, 0, 0, 0]);
  two.given[0]?.giveBack();
  await settled();
  expect(served()).toEqual([0, 1, 0, 0]);
  waiting[1]?.given[0]?.giveBack();
  await settled();
  expect(served()).toEqual([0, 1, 1, 0]);
  one.given[0]?.giveBack();
  await settled();
  expect(served()).toEqual([1, 1, 1, 0]);
});

it('gives a slot that was lost or given back no second time', async () => {
  const { ask } = open({ inAll: 2 });
  const hoard = ask('ws_1', 2);
  await settled();
  const newcomer = ask('ws_2', 1);
  const waiting = ask('ws_1', 5);
  await settled();
  for (const slot of hoard.given) if (slot.signal.aborted) slot.giveBack();
  await settled();
  expect(waiting.got).toHaveLength(0);
  newcomer.given[0]?.giveBack();
  newcomer.given[0]?.giveBack();
  await settled();
  expect(waiting.got).toHaveLength(1);
});

it('lets so many of a key wait, forgets those who leave, and tells the rest at once', async () => {
  const { slots, ask } = open({ perWorkspace: 1, waitingPerKey: 2 });
  const leaving = new AbortController();
  const holder = ask('ws_1', 1);
  const waiting = ask('ws_1', 2, { signal: leaving.signal });
  const refused = ask('ws_1', 1);
  await settled();
  expect(refused.failed).toMatchObject([{ fault: { kind: 'key_bound_reached', bound: 'image_fetches' } }]);
  leaving.abort(new Error('left'));
  await settled();
  expect(waiting.failed).toEqual([leaving.signal.reason, leaving.signal.reason]);
  const next = ask('ws_1', 1);
  holder.given[0]?.giveBack();
  await settled();
  expect(next.got).toHaveLength(1);
  next.given[0]?.giveBack();
  expect(slots.has('ws_1')).toBe(false);
});

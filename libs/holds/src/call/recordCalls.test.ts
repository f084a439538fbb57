import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { until } from '@turnpike/test-support/until';
import { type AnEventLog, anEventLog } from '../../test/anEventLog.ts';
import type { Question } from '../balances/absorb.ts';
import { type EndedCall, PendingCalls } from './pendingCalls.ts';
import { createRecorder, type Recorder } from './recordCalls.ts';

let eventLog: AnEventLog;
let pending: PendingCalls;
/** Ids of events that need not be kept any more. */
let released: string[];
/** Calls that the ledger has recorded and Redis has absorbed. */
let absorbed: Set<string>;
let asked: Question[][];
let isLedgerAway: boolean;
/** Workspace that Redis refuses to absorb, because its keys are being moved to another server. */
let refusedWorkspace: string | undefined;
let sessionState: { session: { mark: string; token: string } | undefined };
/** Calls that the ledger has an `unknown` row of. */
let unknown: string[];
/** Calls that lie in the ledger as dead letters. */
let deadLetters: string[];
let setAside: string[];
let recorder: Recorder;
beforeEach(() => {
  eventLog = anEventLog();
  pending = new PendingCalls();
  released = [];
  absorbed = new Set();
  unknown = [];
  deadLetters = [];
  setAside = [];
  asked = [];
  isLedgerAway = false;
  refusedWorkspace = undefined;
  sessionState = { session: { mark: 'mark', token: 'token' } };
  recorder = createRecorder({
    eventLog,
    absorber: {
      async absorbCalls(questions) {
        asked.push(questions);
        if (isLedgerAway) throw new Error('the ledger is away');
        const taken = questions.filter(({ workspaceId }) => workspaceId !== refusedWorkspace);
        if (taken.length === 0) throw new Error('Redis refuses this workspace');
        const callIds = taken.flatMap((question) => question.callIds ?? []);
        const final = new Set(callIds.filter((callId) => absorbed.has(callId)));
        return { final, unknown: new Set(unknown), deadLetters: new Set(deadLetters) };
      },
    },
    pending,
    spool: { release: (id) => void released.push(id), setAside: (id) => void setAside.push(id) },
    shards: { of: () => ({ sessionState }) },
    log: aSilentLogger(),
  });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await recorder.close(0);
});

/** Calls that have ended, as their owner hands them on. */
function endSome(count: number, fields: Parameters<typeof aUsageRecorded>[0] = {}): EndedCall[] {
  const some = Array.from({ length: count }, () => {
    const event = aUsageRecorded(fields);
    return { event, json: toUsageRecordedJson(event) };
  });
  for (const ended of some) {
    pending.end(ended);
    recorder.add(ended);
  }
  return some;
}
const isSent = (count: number) => until('the log has the events', () => eventLog.taken.length >= count);
const idsOf = (some: EndedCall[]): string[] => some.map(({ event }) => event.callId);

it('carries events to the log in their order, each under its key', async () => {
  const some = endSome(50);
  await isSent(50);
  expect(eventLog.taken).toEqual(some.map(({ event, json }) => ({ key: event.keyId, value: json })));
});

it('lets go of a call once it is in the sums in Redis, not when the log has its event', async () => {
  const [first, second] = endSome(2, { workspaceId: 'ws' });
  await isSent(2);
  await until('the ledger was asked', () => asked.length >= 2);
  expect(asked[0]).toMatchObject([{ workspaceId: 'ws', callIds: [first?.event.callId, second?.event.callId] }]);
  expect(released).toEqual([]);
  absorbed.add(first?.event.callId ?? '');
  await until('it is let go of', () => released.length > 0);
  expect(released).toEqual([first?.event.callId]);
  expect([...pending.ended]).toEqual([second]);
});

it('asks about whatever was sent of a workspace at once, as its sums may contain it', async () => {
  const [first] = endSome(1, { workspaceId: 'ws' });
  await until('the ledger was asked', () => asked.length === 1);
  const [second] = endSome(1, { workspaceId: 'ws' });
  await isSent(2);
  const before = asked.length;
  // The first is due again before the second is for the first time.
  await until('the ledger was asked again', () => asked.length > before);
  expect(asked[before]).toMatchObject([{ callIds: [first?.event.callId, second?.event.callId] }]);
});

it('lets go of a call on an unknown row only where it has ended so itself', async () => {
  const [lost] = endSome(1, { status: 'unknown', chargeNanoUsd: 0n });
  const [ended] = endSome(1);
  await isSent(2);
  unknown = [lost?.event.callId ?? '', ended?.event.callId ?? ''];
  await until('it is let go of', () => released.length > 0);
  expect(released).toEqual([lost?.event.callId]);
  const reasons = asked.flat().flatMap(({ unknownAs = new Map() }) => [...unknownAs]);
  expect(new Set(reasons.map(String))).toEqual(new Set([`${lost?.event.callId},ended`]));
});

it('asks about no call that the log has not taken', async () => {
  eventLog.isDown = true;
  const some = endSome(1);
  // Six refusals take longer than several questions to the ledger would.
  await until('the log has refused', () => eventLog.refusals >= 6);
  for (const callId of idsOf(some)) absorbed.add(callId);
  expect(asked).toEqual([]);
  eventLog.isDown = false;
  await until('it is let go of', () => released.length === 1);
});

it('loses nothing and changes no order while the log is down', async () => {
  eventLog.isDown = true;
  const some = endSome(10);
  await until('the log has refused', () => eventLog.refusals >= 3);
  some.push(...endSome(20));
  expect(eventLog.taken).toEqual([]);
  eventLog.isDown = false;
  await isSent(30);
  expect(eventLog.taken.map(({ value }) => value)).toEqual(some.map(({ json }) => json));
});

it('asks nothing without a session, and goes on with the next', async () => {
  const { session } = sessionState;
  sessionState.session = undefined;
  const [call] = endSome(1);
  absorbed.add(call?.event.callId ?? '');
  await isSent(1);
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(asked).toEqual([]);
  sessionState.session = session;
  await until('it is let go of', () => released.length === 1);
});

it('keeps what is not known to be recorded while the ledger is away', async () => {
  isLedgerAway = true;
  const some = endSome(3);
  for (const callId of idsOf(some)) absorbed.add(callId);
  await until('the ledger was asked', () => asked.length >= 2);
  expect(released).toEqual([]);
  isLedgerAway = false;
  await until('they are let go of', () => released.length === 3);
});

it('sends again what the log took and the ledger does not show, and nothing else', async () => {
  const [lost, recorded] = endSome(2);
  await isSent(2);
  absorbed.add(recorded?.event.callId ?? '');
  await until('the other one is recorded', () => released.length === 1);
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + 31_000);
  await isSent(3);
  expect(eventLog.taken.at(-1)?.value).toBe(lost?.json);
  absorbed.add(lost?.event.callId ?? '');
  await until('it is recorded', () => released.length === 2);
  expect(eventLog.taken).toHaveLength(3);
});

it('sends what the ledger has as a dead letter once, sets it aside, and lets go of it when it is replayed', async () => {
  const [call] = endSome(1);
  const callId = call?.event.callId ?? '';
  deadLetters = [callId];
  await until('it is set aside', () => setAside.includes(callId));
  const now = performance.now.bind(performance);
  let hours = 2;
  jest.spyOn(performance, 'now').mockImplementation(() => now() + hours * 3_600_000);
  const before = asked.length;
  await until('the ledger was asked again', () => asked.length > before);
  expect(eventLog.taken).toHaveLength(1);
  deadLetters = [];
  absorbed.add(callId);
  hours += 1;
  await until('it is let go of', () => released.includes(callId));
  expect(eventLog.taken).toHaveLength(1);
});

it('sends an event again whose dead letter is lost', async () => {
  const [call] = endSome(1);
  deadLetters = [call?.event.callId ?? ''];
  await until('it is set aside', () => setAside.length > 0);
  deadLetters = [];
  const now = performance.now.bind(performance);
  let minutes = 1;
  jest.spyOn(performance, 'now').mockImplementation(() => now() + minutes * 60_000);
  const before = asked.length;
  await until('the ledger was asked again', () => asked.length > before);
  minutes = 10;
  await isSent(2);
  expect(eventLog.taken.at(-1)?.value).toBe(call?.json);
});

it('asks about half as many calls after a failure, and about more again after a success', async () => {
  isLedgerAway = true;
  const some = endSome(1_000);
  await isSent(1_000);
  const sizeOf = (questions: Question[]): number =>
    questions.reduce((sum, { callIds = [] }) => sum + callIds.length, 0);
  await until('it asks about a quarter', () => asked.length > 2 && sizeOf(asked.at(-1) ?? []) <= 250);
  for (const callId of idsOf(some)) absorbed.add(callId);
  isLedgerAway = false;
  await until('all are let go of', () => released.length === 1_000);
  const more = endSome(1_000);
  for (const callId of idsOf(more)) absorbed.add(callId);
  await until('it asks about many again', () => sizeOf(asked.at(-1) ?? []) > 250);
});

it('comes to other workspaces beside one that Redis refuses, also where it asks about one call at a time', async () => {
  isLedgerAway = true;
  endSome(1, { workspaceId: 'ws_refused' });
  const some = endSome(3);
  await isSent(4);
  await until('it asks about one call', () => asked.length > 2 && asked.at(-1)?.length === 1);
  for (const callId of idsOf(some)) absorbed.add(callId);
  refusedWorkspace = 'ws_refused';
  isLedgerAway = false;
  await until('the others are let go of', () => released.length === 3);
});

it('asks about no more than 1,000 calls at once, and comes to all of them', async () => {
  const some = endSome(2_500);
  for (const callId of idsOf(some)) absorbed.add(callId);
  await until('all are let go of', () => released.length === 2_500);
  const sizes = asked.map((questions) => questions.reduce((sum, { callIds = [] }) => sum + callIds.length, 0));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000);
});

it('comes to the others beside calls that are never recorded', async () => {
  endSome(2_000);
  await until('all were asked about', () => asked.length >= 2);
  const [last] = endSome(1);
  absorbed.add(last?.event.callId ?? '');
  await until('it is let go of', () => released.length === 1);
});

it('leaves an event that nobody can read to the reader’s dead letters, and goes on', async () => {
  recorder.addUnreadable('an id', '{"version":99}');
  const [call] = endSome(1);
  await until('the log has both', () => eventLog.taken.length === 2);
  expect(eventLog.taken).toContainEqual({ key: 'unreadable', value: '{"version":99}' });
  expect(eventLog.taken).toContainEqual({ key: call?.event.keyId, value: call?.json });
  expect(released).toEqual(['an id']);
});

it('keeps an event that nobody can read until the log has it', async () => {
  eventLog.isDown = true;
  recorder.addUnreadable('an id', '{"version":99}');
  await until('the log has refused', () => eventLog.refusals >= 2);
  expect(released).toEqual([]);
});

it('brings what ended before it closes, for as long as it is given', async () => {
  const some = endSome(20);
  const closing = recorder.close(10_000);
  await isSent(20);
  for (const callId of idsOf(some)) absorbed.add(callId);
  await closing;
  expect(released.toSorted()).toEqual(idsOf(some).toSorted());
});

it('closes with calls that are not recorded once its time is up, and lets go of none', async () => {
  endSome(1);
  await isSent(1);
  await recorder.close(100);
  expect(released).toEqual([]);
  expect(pending.isEmpty).toBe(false);
});

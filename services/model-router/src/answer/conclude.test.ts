import { expect, it } from '@jest/globals';
import type { CallFault } from '../api/inferenceFault.ts';
import { conclude } from './answerCall.ts';
import type { Outcome } from './call.ts';

const usage = { promptTokens: 9, completionTokens: 3, cachedPromptTokens: 0 };
const failed = { kind: 'engine_failed' } as const;
const cut = { kind: 'cut', by: 'too_long', afterMs: 7_000 } as const;
const cutFault = { kind: 'stream_cut', by: 'too_long', afterMs: 7_000 } as const;
const tooLong = { kind: 'context_too_long', message: 'Too long.' } as const;

it.each<[string, Outcome, string[], CallFault | undefined]>([
  [
    'whole and counted',
    { kind: 'whole', usage, rest: undefined },
    ['success', 'completed'],
    { kind: 'ending_not_kept' },
  ],
  [
    'whole and not counted',
    { kind: 'whole', usage: undefined, rest: undefined },
    ['unknown', 'engine_gave_no_count'],
    failed,
  ],
  ['left by its client, counted', { kind: 'left_midway', usage }, ['success', 'client_left'], undefined],
  [
    'left before a count',
    { kind: 'left_midway', usage: undefined },
    ['unknown', 'client_left_before_first_count'],
    undefined,
  ],
  [
    'cut by us, counted',
    { ...cut, usage },
    ['success', 'cut_too_long'],
    { ...cutFault, charged: { completionTokens: 3, chargeNanoUsd: 12n } },
  ],
  [
    'cut by us before a count',
    { ...cut, usage: undefined },
    ['unknown', 'cut_too_long'],
    { ...cutFault, charged: undefined },
  ],
  ['left before an event', { kind: 'left_before_event' }, ['unknown', 'client_left_before_first_event'], undefined],
  ['left in the queue', { kind: 'left_in_queue' }, ['failure', 'client_left_in_queue'], undefined],
  ['left while its images came', { kind: 'left_before_engine' }, ['failure', 'client_left_before_engine'], undefined],
  ['refused', { kind: 'refused', fault: tooLong }, ['failure', 'context_too_long'], tooLong],
  ['broken off', { kind: 'broken_off', fault: failed, reason: 'engine_reset' }, ['failure', 'engine_reset'], failed],
  ['a mistake of ours', { kind: 'unforeseen', error: new Error('at 10.0.0.7') }, ['failure', 'unforeseen'], failed],
])('books a call that is %s, and says what its client is told', (_case, outcome, booked, told) => {
  const { ending, fault } = conclude(outcome, ({ promptTokens, completionTokens }) =>
    BigInt(promptTokens + completionTokens),
  );
  expect([ending.status, ending.reason]).toEqual(booked);
  expect(fault).toEqual(told);
  if (ending.status === 'success') expect(ending.usage).toBe(usage);
});

import { expect, it } from '@jest/globals';
import { conclude, type Outcome } from './outcome.ts';

const usage = { promptTokens: 9, completionTokens: 3, cachedPromptTokens: 0 };
const failed = { kind: 'engine_failed' } as const;
const tooLong = { kind: 'context_too_long', message: 'Too long.' } as const;

it.each<[string, Outcome, object, object | undefined]>([
  ['whole and counted', { kind: 'whole', usage, rest: undefined }, ['success', 'completed'], failed],
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
  ['left before an event', { kind: 'left_before_event' }, ['unknown', 'client_left_before_first_event'], undefined],
  ['left in the queue', { kind: 'left_in_queue' }, ['failure', 'client_left_in_queue'], undefined],
  ['left while its images came', { kind: 'left_before_engine' }, ['failure', 'client_left_before_engine'], undefined],
  ['refused', { kind: 'refused', fault: tooLong }, ['failure', 'context_too_long'], tooLong],
  ['broken off', { kind: 'broken_off', fault: failed, reason: 'engine_reset' }, ['failure', 'engine_reset'], failed],
  ['a mistake of ours', { kind: 'unforeseen', error: new Error('at 10.0.0.7') }, ['failure', 'unforeseen'], failed],
])('books a call that is %s, and says what its client is told', (_case, outcome, booked, told) => {
  const { ending, fault } = conclude(outcome);
  expect([ending.status, ending.reason]).toEqual(booked);
  expect(fault).toEqual(told);
  if (ending.status === 'success') expect(ending.usage).toBe(usage);
});

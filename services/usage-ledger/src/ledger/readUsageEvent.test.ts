import { expect, it } from '@jest/globals';
import { aMediaUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { v7 as uuidv7 } from 'uuid';
import { toValue } from '../../test/openTestLedger.ts';
import { readUsageEvent, UnreadableRecord } from './readUsageEvent.ts';

const context = { region: 'us' as const, now: new Date() };
const HOUR_MS = 60 * 60 * 1000;
const nowMs = context.now.getTime();
const changed = (fields: object): Buffer =>
  Buffer.from(JSON.stringify({ ...JSON.parse(String(toValue(aUsageRecorded()))), ...fields }));

it('reads back what the router writes', () => {
  const event = aUsageRecorded();
  expect(readUsageEvent(toValue(event), context)).toEqual(event);
});

it('reads back what is written of media', () => {
  const event = aMediaUsageRecorded();
  expect(readUsageEvent(toValue(event), context)).toEqual(event);
});

it('takes events whose clock is up to an hour ahead', () => {
  const event = aUsageRecorded({ startedAtMs: nowMs + HOUR_MS - 5_000 });
  expect(readUsageEvent(toValue(event), context)).toEqual(event);
});

it.each<[string, Buffer]>([
  ['nothing', Buffer.alloc(0)],
  ['something that is not JSON', Buffer.from('{"version": 1')],
  ['JSON that is not an event', Buffer.from('[]')],
  ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ['an unknown version', changed({ version: 3 })],
  ['a missing field', changed({ keyId: undefined })],
  ['a NUL', changed({ keyId: 'key_\u0000' })],
  ['half a surrogate pair', changed({ model: '\ud800' })],
  ['2^70 tokens', changed({ promptTokens: 2 ** 70 })],
  ['a negative count', changed({ completionTokens: -1 })],
  ['a negative amount', changed({ chargeNanoUsd: '-1' })],
  ['an amount beyond BIGINT', changed({ formulaNanoUsd: '9223372036854775808' })],
  ['an amount as a number', changed({ chargeNanoUsd: 1 })],
  ['a charge above the hold', changed({ chargeNanoUsd: '900001' })],
  ['a failure that is charged', changed({ status: 'failure' })],
  ['a failure that consumed units', toValue(aMediaUsageRecorded({ status: 'failure', chargeNanoUsd: 0n }))],
  ['media of the version before', toValue(aMediaUsageRecorded({ version: 1 }))],
  ['more cached prompt tokens than prompt tokens', changed({ cachedPromptTokens: 121 })],
  ['a call id that is no UUIDv7', changed({ callId: 'c0ffee00-0000-4000-8000-000000000000' })],
  ['a call id from before 2025', changed({ callId: uuidv7({ msecs: Date.UTC(2024, 11, 31) }) })],
  ['a call id more than an hour ahead', changed({ callId: uuidv7({ msecs: nowMs + HOUR_MS + 60_000 }) })],
  ['an absurd start', changed({ startedAtMs: 8.64e15 })],
  ['an absurd end', changed({ endedAtMs: 0 })],
  ['a call of the other region', changed({ region: 'eu' })],
])('does not read %s', (_what, value) => {
  expect(() => readUsageEvent(value, context)).toThrow(UnreadableRecord);
});

it('says why without quoting the record', () => {
  expect(() => readUsageEvent(Buffer.from('sk-secret'), context)).toThrow(/^not JSON$/);
});

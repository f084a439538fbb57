import { expect, it } from '@jest/globals';
import { parseUsageRecorded, toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { MEDIA_OPERATIONS } from '@turnpike/public-api/operations';
import { searchOf } from '@turnpike/test-support/searchOf';
import fc from 'fast-check';
import { v7 as uuidv7 } from 'uuid';
import type { PriceText } from '../catalog/mediaCatalog.ts';
import type { MediaOperation, MediaRequest } from '../terms/mediaRequest.ts';
import { boundUnits, chargeOf, type MediaCall } from './mediaCall.ts';
import { type MediaEnding, toMediaEvent, toUnknownEventJson } from './toMediaEvent.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_123 });

const price = fc
  .tuple(fc.nat(999), fc.bigInt({ min: 0n, max: 10n ** 18n - 1n }))
  .map(([whole, decimals]) => `${whole}.${decimals.toString().padStart(18, '0')}`);
const units = fc.integer({ min: 0, max: 200_000 });
const BILLED: [MediaOperation, PriceText['billingUnit']][] = [
  ['images.generations', 'image'],
  ['videos', 'second'],
  ['videos', 'minute'],
  ['audio.speech', 'character'],
  ['audio.transcriptions', 'minute'],
  ['audio.translations', 'second'],
];
const aCall = fc.record({ billed: fc.constantFrom(...BILLED), unitPrice: price, unitsBound: units }).map(
  ({ billed: [operation, billingUnit], unitPrice, unitsBound }): MediaCall => ({
    callId: uuidv7(),
    workspaceId: 'ws_1',
    keyId: 'key_1',
    operation,
    model: 'maker',
    priceVersion: 7,
    billingUnit,
    unitPrice,
    unitsBound,
    holdNanoUsd: chargeOf(unitsBound, { billingUnit, unitPrice }),
  }),
);
const fields = { region: 'us', isStream: false } as const;
const endOf = (call: MediaCall, ending: MediaEnding) =>
  toMediaEvent(call, ending, { ...fields, admittedAtMs: 1_000, endedAtMs: 900 });

it('charges what was measured to the nano-dollar, and nothing else: one product, one division, one rounding half-up', () => {
  fc.assert(
    fc.property(aCall, units, (call, measured) => {
      const { formulaNanoUsd, units: recorded } = endOf(call, { status: 'success', units: measured });
      const [whole = '', decimals = ''] = call.unitPrice.split('.');
      const atto = BigInt(whole) * 10n ** 18n + BigInt(decimals);
      // In doubled nano-dollars, so that half of one is a whole number.
      const divisor = 10n ** 9n * (call.billingUnit === 'minute' ? 60n : 1n);
      const twiceOver = 2n * (formulaNanoUsd * divisor - BigInt(measured) * atto);
      expect(-divisor < twiceOver && twiceOver <= divisor).toBe(true);
      expect(recorded).toBe(measured);
    }),
    searchOf(2_000),
  );
});

it('never charges above the hold, and exactly the formula for whatever was bounded', () => {
  fc.assert(
    fc.property(aCall, units, (call, measured) => {
      const event = endOf(call, { status: 'success', units: measured });
      expect(event.chargeNanoUsd <= event.holdNanoUsd).toBe(true);
      if (measured <= call.unitsBound) expect(event.chargeNanoUsd).toBe(event.formulaNanoUsd);
    }),
    searchOf(2_000),
  );
});

it('makes events that are read as they were written, of the modality of their operation', () => {
  fc.assert(
    fc.property(aCall, units, (call, measured) => {
      for (const ending of [
        { status: 'success', units: measured },
        { status: 'success', reason: 'client_left', units: measured },
        { status: 'failure', reason: 'generation_failed' },
      ] as const) {
        const event = endOf(call, ending);
        expect(parseUsageRecorded(toUsageRecordedJson(event))).toEqual(
          JSON.parse(JSON.stringify(event, toBigints), fromBigints),
        );
        expect(event).toMatchObject({ version: 2, modality: MEDIA_OPERATIONS[call.operation], endedAtMs: 1_000 });
      }
    }),
  );
});
const toBigints = (_name: string, value: unknown) => (typeof value === 'bigint' ? `n${value}` : value);
const fromBigints = (_name: string, value: unknown) =>
  typeof value === 'string' && /^n\d+$/.test(value) ? BigInt(value.slice(1)) : value;

it('costs nothing where it failed or nobody knows, and has no units then', () => {
  fc.assert(
    fc.property(aCall, (call) => {
      const nothing = { units: 0, chargeNanoUsd: 0n, formulaNanoUsd: 0n, holdNanoUsd: call.holdNanoUsd };
      expect(endOf(call, { status: 'failure', reason: 'timed_out' })).toMatchObject(nothing);
      const unknown = parseUsageRecorded(toUnknownEventJson(call, fields));
      expect(unknown).toMatchObject({ ...nothing, status: 'unknown', startedAtMs: 0 });
    }),
  );
});

it.each<[string, Partial<MediaRequest> & Pick<MediaRequest, 'operation'>, number | undefined, number]>([
  ['images as many as were asked for', { operation: 'images.generations', n: 3 }, undefined, 3],
  ['a clip by the seconds asked', { operation: 'videos', seconds: 5 }, undefined, 5],
  ['speech by its code points', { operation: 'audio.speech', characters: 4_096 }, undefined, 4_096],
  ['a recording by its decoded seconds, rounded up', { operation: 'audio.transcriptions' }, 60.001, 61],
  ['a translation alike', { operation: 'audio.translations' }, 60, 60],
])('bounds %s', (_what, request, heardSeconds, bound) => {
  const options = heardSeconds === undefined ? {} : { heardSeconds };
  expect(boundUnits(request as MediaRequest, options)).toBe(bound);
});

it('admits no recording that nobody has measured', () => {
  expect(() => boundUnits({ operation: 'audio.transcriptions' } as MediaRequest)).toThrow('measured');
});

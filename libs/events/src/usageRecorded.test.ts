import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { aMediaUsageRecorded, aUsageRecorded } from './aUsageRecorded.ts';
import { parseUsageRecorded, toUsageRecordedJson, usageRecorded } from './usageRecorded.ts';

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const requestId = '019ab2c4-7777-7aaa-8bbb-0123456789ab';

it('reads the event that the operators’ page has as an example', async () => {
  const page = await readFile(new URL('../../../docs/alerts.md', import.meta.url), 'utf8');
  const [, json = ''] = /^## DeadLetters$[^#]*?^```json\n([^`]*)^```$/m.exec(page) ?? [];
  const event = parseUsageRecorded(json);
  expect(JSON.parse(toUsageRecordedJson(event))).toEqual(JSON.parse(json));
});

it('keeps the request of a call, and the trace of one that is traced', () => {
  const event = aUsageRecorded({ traceparent, requestId });
  expect(parseUsageRecorded(toUsageRecordedJson(event))).toEqual(event);
});

it('reads an event from before there were traces', () => {
  const event = aUsageRecorded();
  const json = toUsageRecordedJson(event);
  expect(JSON.parse(json)).not.toHaveProperty('traceparent');
  expect(parseUsageRecorded(json)).toEqual(event);
});

it('reads an event of a later version that has only gained a field, and leaves that', () => {
  for (const event of [aUsageRecorded(), aMediaUsageRecorded()]) {
    const later = JSON.stringify({ ...JSON.parse(toUsageRecordedJson(event)), gainedLater: { a: 1 } });
    expect(parseUsageRecorded(later)).toEqual(event);
  }
});

it.each(['', 'x', 'request-1', randomUUID(), 7, null])(
  'reads the event and drops a request of another form: %p',
  (value) => {
    const event = { ...aUsageRecorded(), requestId: value as string };
    expect(parseUsageRecorded(toUsageRecordedJson(event)).requestId).toBeUndefined();
  },
);

it.each(['', 'x', traceparent.toUpperCase(), `${traceparent}-x`, 7, null, { a: 1 }])(
  'reads the event and drops a trace of another form: %p',
  (value) => {
    const event = { ...aUsageRecorded(), traceparent: value as string };
    expect(parseUsageRecorded(toUsageRecordedJson(event)).traceparent).toBeUndefined();
  },
);

it('reads media as they are written, and text of either version', () => {
  for (const event of [aMediaUsageRecorded(), aUsageRecorded({ version: 2 }), aUsageRecorded()])
    expect(parseUsageRecorded(toUsageRecordedJson(event))).toEqual(event);
});

it.each<[string, Parameters<typeof aMediaUsageRecorded>[0]]>([
  ['version', { version: 1 }],
  ['modality', { modality: 'video' }],
  ['modality', { operation: 'chat' }],
  ['modality', { promptTokens: 1 }],
  ['modality', { images: 1 }],
  ['billingUnit', { billingUnit: 'token' }],
  ['billingUnit', { billingUnit: 'second' }],
  ['units', { units: undefined }],
  ['units', { units: 1.5 }],
  ['units', { units: -1 }],
  ['units', { operation: 'chat', modality: 'text', billingUnit: 'token' }],
])('names %s of media that are not whole: %p', (field, fields) => {
  expect(() => parseUsageRecorded(toUsageRecordedJson(aMediaUsageRecorded(fields)))).toThrow(new RegExp(`^${field}: `));
});

const ODD = [
  undefined,
  null,
  '',
  'x',
  'chat',
  'us',
  'unknown',
  '7',
  '-7',
  '1.5',
  '007',
  '9'.repeat(19),
  'y'.repeat(129),
];
const NUMBERS = [
  0,
  -0,
  1,
  2,
  -1,
  1.5,
  2 ** 31 - 1,
  2 ** 31,
  8.64e15,
  8.64e15 + 1,
  1e308,
  true,
  false,
  [],
  {},
  ['chat'],
];
const texts = [...'aä\0"\ud800'].flatMap((letter) => [1, 64, 65, 128].map((length) => letter.repeat(length)));

it.each(Object.keys({ ...aMediaUsageRecorded({ traceparent, requestId }), unheardOf: 1 }))(
  'takes of %s what the schema takes, and as the same',
  (field) => {
    const ids = [requestId, requestId.toUpperCase(), randomUUID(), traceparent, traceparent.slice(0, -1)];
    for (const event of [aUsageRecorded({ traceparent, requestId }), aUsageRecorded(), aMediaUsageRecorded()])
      for (const odd of [...ODD, ...NUMBERS, ...texts, ...ids]) {
        const text = JSON.stringify({ ...JSON.parse(toUsageRecordedJson(event)), [field]: odd });
        const { data } = usageRecorded.schema.safeParse(JSON.parse(text));
        if (data) expect(parseUsageRecorded(text)).toStrictEqual(data);
        else expect(() => parseUsageRecorded(text)).toThrow();
      }
  },
);

it.each(['null', '[]', '7', '"x"', '{}'])('refuses %s', (text) => {
  expect(() => parseUsageRecorded(text)).toThrow();
});

import { describe, expect, it } from '@jest/globals';
import {
  transcriptEventSchema,
  transcriptionSchema,
  verboseTranscriptionSchema,
} from '@turnpike/public-api/audioAnswer';
import fc from 'fast-check';
import type { TranscriptFormat, TranscriptRequest } from '../../terms/mediaRequest.ts';
import type { Transcript } from '../../terms/transcript.ts';
import { toTranscriptAnswer, toTranscriptEvents } from './transcriptAnswer.ts';
import { toSrt, toVtt } from './transcriptText.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_123 });

/** Fields of a segment that an engine may leave out. */
const SAID = {
  seek: 0,
  tokens: [50_364],
  temperature: 0.2,
  avg_logprob: -0.25,
  compression_ratio: 1.25,
  no_speech_prob: 0.01,
};
const UNSAID = { seek: 0, tokens: [], temperature: 0, avg_logprob: 0, compression_ratio: 0, no_speech_prob: 0 };
const TRANSCRIPT: Transcript = {
  text: ' Hello there. Bye & <b>good</b> luck.',
  language: 'en',
  segments: [
    { start: 0, end: 1.5, text: ' Hello there.', ...SAID },
    { start: 3661.0004, end: 3662.9996, text: ' Bye & <b>good</b> luck.' },
  ],
  words: [{ word: ' Hello', start: 0, end: 0.4 }],
};
const SECONDS = 3_662.4;
const HEARD = { seconds: SECONDS, chargeNanoUsd: 91_575_000n };
const answerOf = (
  responseFormat: TranscriptFormat,
  transcript = TRANSCRIPT,
  form: Partial<Pick<TranscriptRequest, 'operation' | 'granularities'>> = {},
) =>
  toTranscriptAnswer(
    transcript,
    { operation: 'audio.transcriptions', granularities: ['segment'], ...form, responseFormat },
    HEARD,
  );

it('is JSON with the seconds that are billed', () => {
  const { type, body } = answerOf('json');
  expect(type).toBe('application/json; charset=utf-8');
  expect(transcriptionSchema.parse(JSON.parse(body))).toEqual({
    text: 'Hello there. Bye & <b>good</b> luck.',
    usage: { type: 'duration', seconds: 3_663, total_spend: 0.091575 },
  });
});

it('is text by a type that is no JSON, or clients would parse it', () => {
  expect(answerOf('text')).toEqual({
    type: 'text/plain; charset=utf-8',
    body: 'Hello there. Bye & <b>good</b> luck.\n',
  });
});

it('is SubRip', () => {
  expect(answerOf('srt')).toEqual({
    type: 'application/x-subrip; charset=utf-8',
    body: '1\n00:00:00,000 --> 00:00:01,500\nHello there.\n\n2\n01:01:01,000 --> 01:01:03,000\nBye & <b>good</b> luck.\n\n',
  });
});

it('is WebVTT, in which nothing of the text is markup', () => {
  expect(answerOf('vtt')).toEqual({
    type: 'text/vtt; charset=utf-8',
    body: 'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello there.\n\n01:01:01.000 --> 01:01:03.000\nBye &amp; &lt;b>good&lt;/b> luck.\n\n',
  });
});

it('is verbose JSON with the times that were asked for', () => {
  const segments = verboseTranscriptionSchema.parse(JSON.parse(answerOf('verbose_json').body));
  expect(segments).toEqual({
    task: 'transcribe',
    language: 'english',
    duration: SECONDS,
    text: 'Hello there. Bye & <b>good</b> luck.',
    segments: [
      { id: 0, start: 0, end: 1.5, text: ' Hello there.', ...SAID },
      { id: 1, start: 3661.0004, end: 3662.9996, text: ' Bye & <b>good</b> luck.', ...UNSAID },
    ],
    usage: { type: 'duration', seconds: 3_663, total_spend: 0.091575 },
  });
  const words = JSON.parse(answerOf('verbose_json', TRANSCRIPT, { granularities: ['word'] }).body);
  expect(words).toMatchObject({ words: [{ word: 'Hello', start: 0, end: 0.4 }] });
  expect(words).not.toHaveProperty('segments');
});

it.each([
  ['de', 'german'],
  ['deu', 'german'],
  ['German', 'german'],
  ['zh-TW', 'chinese'],
  ['yue', 'cantonese'],
  ['jw', 'javanese'],
  ['bn', 'bengali'],
  ['tl', 'tagalog'],
  ['not a language', 'not a language'],
  [null, ''],
])('names the language %s of its engine as the convention does: %s', (language, expected) => {
  expect(JSON.parse(answerOf('verbose_json', { ...TRANSCRIPT, language }).body)).toMatchObject({ language: expected });
});

it('is English where it is a translation, and has no usage', () => {
  const verbose = JSON.parse(answerOf('verbose_json', TRANSCRIPT, { operation: 'audio.translations' }).body);
  expect(verboseTranscriptionSchema.parse(verbose)).toMatchObject({ task: 'translate', language: 'english' });
  expect(verbose).not.toHaveProperty('usage');
  expect(JSON.parse(answerOf('json', TRANSCRIPT, { operation: 'audio.translations' }).body)).not.toHaveProperty(
    'usage',
  );
});

it.each<[TranscriptFormat, Partial<Transcript>]>([
  ['srt', { segments: null }],
  ['vtt', { segments: null }],
  ['verbose_json', { segments: null }],
])('is refused as %s where the engine gave no times', (format, missing) => {
  const refused = expect.objectContaining({ fault: { kind: 'times_unavailable' } });
  expect(() => answerOf(format, { ...TRANSCRIPT, ...missing })).toThrow(refused);
  expect(() => answerOf('verbose_json', { ...TRANSCRIPT, words: null }, { granularities: ['word'] })).toThrow(refused);
});

describe('as events', () => {
  const eventsOf = (transcript: Transcript) =>
    toTranscriptEvents(transcript, HEARD)
      .body.split('\n\n')
      .filter((frame) => frame !== '')
      .map((frame) => transcriptEventSchema.parse(JSON.parse(frame.replace(/^data: /, ''))));

  it('has a part for each segment, and at the end all of it', () => {
    expect(eventsOf(TRANSCRIPT)).toEqual([
      { type: 'transcript.text.delta', delta: 'Hello there.' },
      { type: 'transcript.text.delta', delta: ' Bye & <b>good</b> luck.' },
      {
        type: 'transcript.text.done',
        text: 'Hello there. Bye & <b>good</b> luck.',
        usage: { type: 'duration', seconds: 3_663, total_spend: 0.091575 },
      },
    ]);
  });

  it('has parts that give the whole, whatever segments the engine gave', () => {
    const aText = fc.string({ unit: 'grapheme', maxLength: 12 });
    fc.assert(
      fc.property(fc.array(aText, { maxLength: 5 }), aText, fc.boolean(), (parts, other, isOther) => {
        const segments = parts.map((text, index) => ({ start: index, end: index + 1, text }));
        const events = eventsOf({ ...TRANSCRIPT, text: isOther ? other : parts.join(''), segments });
        const whole = events.flatMap((event) => (event.type === 'transcript.text.delta' ? [event.delta] : [])).join('');
        expect(events.at(-1)).toMatchObject({ type: 'transcript.text.done', text: whole });
      }),
    );
  });
});

describe('subtitles of any segments', () => {
  const aTime = fc.double({ min: -5, max: 400_000, noNaN: true });
  const aSegment = fc.record({
    start: aTime,
    end: aTime,
    text: fc.string({ unit: fc.constantFrom('a', '\n', '\r', '-', '>', ' ', '<', '&'), maxLength: 12 }),
  });

  it('come in the order in which they are heard, each with its end behind its beginning and no empty line within', () => {
    const toMs = (time: string): number => {
      const [hours = 0, minutes = 0, seconds = 0, ms = 0] = time.split(/[:.,]/).map(Number);
      return ((hours * 60 + minutes) * 60 + seconds) * 1_000 + ms;
    };
    fc.assert(
      fc.property(fc.array(aSegment, { maxLength: 6 }), (segments) => {
        for (const text of [toSrt(segments), toVtt(segments)]) {
          const times = [...text.matchAll(/^(\d{2,}:\d\d:\d\d[.,]\d{3}) --> (\d{2,}:\d\d:\d\d[.,]\d{3})$/gm)];
          expect(times).toHaveLength(segments.length);
          expect(text.split('-->')).toHaveLength(segments.length + 1);
          let last = 0;
          for (const [, start = '', end = ''] of times) {
            expect(toMs(start)).toBeGreaterThanOrEqual(last);
            expect(toMs(end)).toBeGreaterThanOrEqual(toMs(start));
            last = toMs(start);
          }
        }
      }),
    );
  });
});

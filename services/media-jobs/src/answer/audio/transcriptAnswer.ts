import type { ServerResponse } from 'node:http';
import { type NanoUsd, toUsdNumber, toUsdText } from '@turnpike/money/nanoUsd';
import { ApiError } from '@turnpike/public-api/apiError';
import type { TranscriptEvent, Transcription, VerboseTranscription } from '@turnpike/public-api/audioAnswer';
import { findLanguage } from '@turnpike/public-api/transcriptionRequest';
import type { BackendFault } from '../../api/mediaFault.ts';
import type { TranscriptRequest } from '../../terms/mediaRequest.ts';
import { lacksTimes, type Segment, type Transcript } from '../../terms/transcript.ts';
import { OF_ONE_KEY } from '../content/sendContent.ts';
import { EVENT_STREAM, toEvent } from '../writeToClient.ts';
import { toSrt, toVtt } from './transcriptText.ts';

/** Fields of a request for the form of its transcript. */
export type TranscriptForm = Pick<TranscriptRequest, 'operation' | 'responseFormat' | 'granularities'>;

/** Sends a transcript whole. */
export function sendTranscript(
  res: ServerResponse,
  { type, body }: TranscriptAnswer,
  { chargeNanoUsd }: Pick<Heard, 'chargeNanoUsd'>,
): void {
  const bytes = Buffer.from(body);
  res.writeHead(200, {
    ...OF_ONE_KEY,
    'x-total-spend': toUsdText(chargeNanoUsd),
    'content-type': type,
    'content-length': bytes.length,
  });
  res.end(bytes);
}

/** The measures of a decoded recording, and the charge of its transcript. */
export interface Heard {
  seconds: number;
  chargeNanoUsd: NanoUsd;
}

/** A transcript as clients get it. */
export interface TranscriptAnswer {
  type: string;
  body: string;
}

const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Writes a transcript in the requested format. Throws `times_unavailable` if the format has times and the engine gave
 * none.
 */
export function toTranscriptAnswer(transcript: Transcript, form: TranscriptForm, heard: Heard): TranscriptAnswer {
  if (lacksTimes(transcript, form)) throw new ApiError<BackendFault>({ kind: 'times_unavailable' });
  const { operation, responseFormat, granularities } = form;
  switch (responseFormat) {
    case 'json':
      return { type: JSON_TYPE, body: JSON.stringify(toJsonBody(transcript, operation, heard)) };
    case 'text':
      return { type: 'text/plain; charset=utf-8', body: `${transcript.text.trim()}\n` };
    case 'srt':
      return { type: 'application/x-subrip; charset=utf-8', body: toSrt(transcript.segments ?? []) };
    case 'vtt':
      return { type: 'text/vtt; charset=utf-8', body: toVtt(transcript.segments ?? []) };
    case 'verbose_json': {
      const body = toVerboseBody(transcript, { operation, granularities, heard });
      return { type: JSON_TYPE, body: JSON.stringify(body) };
    }
  }
}

/** Returns the billed duration. The convention has none on translations. */
const toDuration = ({ seconds, chargeNanoUsd }: Heard) => ({
  type: 'duration' as const,
  seconds: Math.ceil(seconds),
  total_spend: toUsdNumber(chargeNanoUsd),
});
const toUsage = (operation: TranscriptForm['operation'], heard: Heard) =>
  operation === 'audio.transcriptions' ? { usage: toDuration(heard) } : {};

const toJsonBody = ({ text }: Transcript, operation: TranscriptForm['operation'], heard: Heard): Transcription => ({
  text: text.trim(),
  ...toUsage(operation, heard),
});

/** Languages that the convention calls otherwise than the names of `Intl`, by their codes there. */
const NAMES: Readonly<Record<string, string>> = {
  bn: 'bengali',
  fil: 'tagalog',
  mi: 'maori',
  my: 'myanmar',
  nn: 'nynorsk',
};

/** A language as the convention writes it, `english`, of whichever code or name the engine has. */
function toLanguageName(language: string): string {
  const { code, name } = findLanguage(language) ?? { code: '', name: language };
  return NAMES[code] ?? name.toLowerCase();
}

function toVerboseBody(
  { text, language, segments, words }: Transcript,
  { operation, granularities, heard }: Omit<TranscriptForm, 'responseFormat'> & { heard: Heard },
): VerboseTranscription {
  const isTranslation = operation === 'audio.translations';
  return {
    task: isTranslation ? 'translate' : 'transcribe',
    language: isTranslation ? 'english' : toLanguageName(language ?? ''),
    duration: heard.seconds,
    text: text.trim(),
    ...(granularities.includes('segment') && {
      segments: (segments ?? []).map(toVerboseSegment),
    }),
    ...(granularities.includes('word') && {
      // Engines leave the space before a word on it.
      words: (words ?? []).map(({ word, start, end }) => ({ word: word.trim(), start, end })),
    }),
    ...toUsage(operation, heard),
  };
}

/**
 * Writes all fields of the convention, because clients refuse a segment without one. Missing tokens are an empty list,
 * missing numbers 0.
 */
const toVerboseSegment = (segment: Segment, id: number) => ({
  id,
  seek: segment.seek ?? 0,
  start: segment.start,
  end: segment.end,
  text: segment.text,
  tokens: segment.tokens ?? [],
  temperature: segment.temperature ?? 0,
  avg_logprob: segment.avg_logprob ?? 0,
  compression_ratio: segment.compression_ratio ?? 0,
  no_speech_prob: segment.no_speech_prob ?? 0,
});

/** The same as server-sent events, a part for each segment. */
export function toTranscriptEvents({ text, segments }: Transcript, heard: Heard): TranscriptAnswer {
  const whole = text.trim();
  const events: TranscriptEvent[] = [
    ...toParts(whole, segments).map((delta) => ({ type: 'transcript.text.delta' as const, delta })),
    { type: 'transcript.text.done', text: whole, usage: toDuration(heard) },
  ];
  return { type: EVENT_STREAM['content-type'], body: events.map(toEvent).join('') };
}

/** The text in parts that give it together: by segments where these do, else in one. */
function toParts(whole: string, segments: Transcript['segments']): string[] {
  const parts = (segments ?? []).map(({ text }) => text).filter((text) => text !== '');
  const [first = '', ...rest] = parts;
  const trimmed = [first.trimStart(), ...rest];
  return trimmed.join('').trimEnd() === whole ? trimmed : [whole];
}

import { openAsBlob } from 'node:fs';
import { FormData } from 'undici';
import { z } from 'zod';
import type { Dialect, Replica } from '../../terms/backend.ts';
import type { TranscriptRequest } from '../../terms/mediaRequest.ts';
import type { Transcript } from '../../terms/transcript.ts';
import type { Answer } from '../exchange/askBackend.ts';
import { parseJson, readText } from '../exchange/readText.ts';
import { MAX_ERROR_BYTES, MAX_TRANSCRIPT_BYTES, WORK_ANSWER_MS } from '../limits.ts';
import { readEngineError } from '../verdict/readEngineError.ts';
import { isSuccess, type Wire } from './wire.ts';

/** Differences between the engines. */
export interface HearingEngine {
  /** Whether the engine returns a time for each word. */
  hasWords: boolean;
  /** Whether an answer with times lacks a part of the text. */
  timesCostText: boolean;
}

const PATHS = { 'audio.transcriptions': '/v1/audio/transcriptions', 'audio.translations': '/v1/audio/translations' };
const NO_TIMES = /verbose_json|response_format|timestamp/;
/** Message of vLLM 0.32, with 500, for a transcript with times of 30 s without speech. */
const SILENCE = 'tuple index out of range';

/**
 * Transcribes on every engine with speech-to-text. An engine that returns no times is asked for text only from then on.
 */
export function hear(wire: Wire, { hasWords, timesCostText }: HearingEngine): NonNullable<Dialect['transcribe']> {
  const withoutTimes = new Set<string>();

  async function ask(
    replica: Replica,
    request: TranscriptRequest,
    {
      path,
      type,
      format,
      signal,
    }: { path: string; type: string; format: 'verbose_json' | 'json'; signal: AbortSignal },
  ): Promise<Answer> {
    const form = toForm(request, { model: wire.servedNameOf(replica), format, hasWords });
    // The file is read from the disk while it is sent.
    form.set('file', await openAsBlob(path, { type }), type === 'audio/ogg' ? 'audio.ogg' : 'audio.flac');
    return wire.ask(replica, {
      method: 'POST',
      path: PATHS[request.operation],
      body: form,
      begins: 'work',
      answerWithinMs: WORK_ANSWER_MS,
      signal,
    });
  }

  return async (replica, request, audio, signal) => {
    const wantsText = timesCostText && isTextAlone(request);
    const format = wantsText || withoutTimes.has(replica.id) ? 'json' : 'verbose_json';
    let answer = await ask(replica, request, { ...audio, format, signal });
    let hasSilence = false;
    if (!isSuccess(answer)) {
      const text = await readText(answer, MAX_ERROR_BYTES);
      const error = readEngineError(text);
      const isAboutTimes = NO_TIMES.test(Object.values(error).join(' '));
      const mayDoWithout =
        format === 'verbose_json' && isAboutTimes && (answer.status === 400 || answer.status === 422);
      hasSilence = format === 'verbose_json' && answer.status === 500 && error.message === SILENCE;
      if (!mayDoWithout && !hasSilence) throw await wire.refusalOf(replica, { answer, text, begins: 'work' });
      if (mayDoWithout) withoutTimes.add(replica.id);
      answer = await ask(replica, request, { ...audio, format: 'json', signal });
      if (!isSuccess(answer)) throw await wire.refusalOf(replica, { answer, begins: 'work' });
    }
    const transcript = readTranscript(parseJson(await readText(answer, MAX_TRANSCRIPT_BYTES)), audio.seconds);
    if (!transcript) throw answer.broken(new Error('the answer is no transcript'));
    const isNothing = hasSilence && transcript.text.trim() === '';
    return isNothing ? { ...transcript, segments: [] } : transcript;
  };
}

const isTextAlone = ({ responseFormat }: TranscriptRequest): boolean =>
  responseFormat === 'json' || responseFormat === 'text';

function toForm(
  { operation, language, prompt, temperature, granularities }: TranscriptRequest,
  { model, format, hasWords }: { model: string; format: string; hasWords: boolean },
): FormData {
  const form = new FormData();
  form.set('model', model);
  form.set('response_format', format);
  if (language !== undefined && operation === 'audio.transcriptions') form.set('language', language);
  if (prompt !== undefined) form.set('prompt', prompt);
  if (temperature !== undefined) form.set('temperature', String(temperature));
  if (format === 'verbose_json' && hasWords && granularities.includes('word')) {
    form.append('timestamp_granularities[]', 'segment');
    form.append('timestamp_granularities[]', 'word');
  }
  return form;
}

const times = { start: z.number().nonnegative(), end: z.number() };
const wordSchema = z.object({ ...times, word: z.string() });
const count = z.int().nonnegative();
const optionalNumber = z.number().optional().catch(undefined);
const segmentSchema = z.object({
  ...times,
  text: z.string(),
  seek: count.optional().catch(undefined),
  tokens: z.array(count).optional().catch(undefined),
  temperature: optionalNumber,
  avg_logprob: optionalNumber,
  compression_ratio: optionalNumber,
  no_speech_prob: optionalNumber,
  words: z.array(wordSchema).nullish().catch(null),
});
const transcriptSchema = z.object({
  text: z.string(),
  language: z.string().nullish().catch(null),
  segments: z.array(segmentSchema).nullish().catch(null),
  words: z.array(wordSchema).nullish().catch(null),
});

/** Tolerance for times beyond the end of a recording, because engines round, and pad their last window with silence. */
const SLACK_SECONDS = 2;

/** Sorts parts by time and cuts them at the end of the recording. Returns null if any time is impossible. */
function toTimed<Part extends { start: number; end: number }>(
  parts: readonly Part[] | null | undefined,
  seconds: number,
): Part[] | null {
  if (!parts?.every(({ start, end }) => start <= end && end <= seconds + SLACK_SECONDS)) return null;
  return parts
    .map((part) => ({ ...part, start: Math.min(part.start, seconds), end: Math.min(part.end, seconds) }))
    .sort((a, b) => a.start - b.start || a.end - b.end);
}

/**
 * Reads a transcript of any engine. Returns undefined if the body is none. The engine's durations are ignored, because
 * `seconds` were measured here. Impossible times are dropped.
 */
function readTranscript(body: unknown, seconds: number): Transcript | undefined {
  const { success, data } = transcriptSchema.safeParse(body);
  if (!success) return undefined;
  const segments = toTimed(data.segments, seconds);
  const ofSegments = segments?.flatMap(({ words }) => words ?? []) ?? [];
  const words = data.words ?? (ofSegments.length > 0 ? ofSegments : null);
  return {
    // vLLM puts a second space between parts that begin with one.
    text: data.text.replaceAll(/ {2,}/g, ' '),
    language: data.language ?? null,
    segments: segments?.map(({ words: _, ...segment }) => segment) ?? null,
    words: toTimed(words, seconds),
  };
}

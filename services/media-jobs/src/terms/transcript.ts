import type { TranscriptRequest } from './mediaRequest.ts';

/** A part of a recording's text, with the fields of the engine by their public names. */
export interface Segment {
  start: number;
  end: number;
  text: string;
  seek?: number | undefined;
  tokens?: number[] | undefined;
  temperature?: number | undefined;
  avg_logprob?: number | undefined;
  compression_ratio?: number | undefined;
  no_speech_prob?: number | undefined;
}

/** Text of a recording. Times are seconds from its start. */
export interface Transcript {
  text: string;
  language: string | null;
  /** Null where the engine gives none. */
  segments: Segment[] | null;
  words: { start: number; end: number; word: string }[] | null;
}

/** Returns whether the engine gave none of the times that the format of a transcript has. */
export function lacksTimes(
  { segments, words }: Pick<Transcript, 'segments' | 'words'>,
  { responseFormat, granularities }: Pick<TranscriptRequest, 'responseFormat' | 'granularities'>,
): boolean {
  switch (responseFormat) {
    case 'json':
    case 'text':
      return false;
    case 'srt':
    case 'vtt':
      return segments === null;
    case 'verbose_json':
      return granularities.some((granularity) => (granularity === 'word' ? words : segments) === null);
  }
}

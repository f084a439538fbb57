import type { Segment } from '../../terms/transcript.ts';

/** `hh:mm:ss` and milliseconds, after a comma or a point. */
function toTime(seconds: number, separator: ',' | '.'): string {
  const ms = Math.max(0, Math.round(seconds * 1_000));
  const part = (value: number, digits: number): string => String(value).padStart(digits, '0');
  const [hours, minutes, rest] = [
    Math.floor(ms / 3_600_000),
    Math.floor(ms / 60_000) % 60,
    Math.floor(ms / 1_000) % 60,
  ];
  return `${part(hours, 2)}:${part(minutes, 2)}:${part(rest, 2)}${separator}${part(ms % 1_000, 3)}`;
}

/** The text of a cue: one without empty lines, which would end it, and without what would be read as a time. */
const toCueText = (text: string): string =>
  text
    .trim()
    .replace(/\s*\n\s*/g, '\n')
    .replaceAll('-->', '->');

/** Returns segments in the order of their times, as players need them. No end is before its start. */
const inOrder = (segments: readonly Segment[]): Segment[] =>
  segments
    .map(({ start, end, text }) => ({ start, end: Math.max(start, end), text }))
    .sort((a, b) => a.start - b.start || a.end - b.end);

/** SubRip: numbered cues, with a comma before the milliseconds. */
export const toSrt = (segments: readonly Segment[]): string =>
  inOrder(segments)
    .map(
      ({ start, end, text }, index) =>
        `${index + 1}\n${toTime(start, ',')} --> ${toTime(end, ',')}\n${toCueText(text)}\n\n`,
    )
    .join('');

/** WebVTT, in which `<` and `&` begin something of its own. */
export const toVtt = (segments: readonly Segment[]): string =>
  `WEBVTT\n\n${inOrder(segments)
    .map(({ start, end, text }) => {
      const escaped = toCueText(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
      return `${toTime(start, '.')} --> ${toTime(end, '.')}\n${escaped}\n\n`;
    })
    .join('')}`;

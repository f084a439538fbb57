/** What was said in a recording. Times are seconds from its start. */
export interface Transcript {
  text: string;
  language: string | null;
  /** Null where the engine gives none. */
  segments: { start: number; end: number; text: string }[] | null;
  words: { start: number; end: number; word: string }[] | null;
}

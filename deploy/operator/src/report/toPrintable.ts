/** Characters that steer a terminal or turn the direction of what follows. */
const STEERING = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** A text of somebody else's, such as the name of a key, that can do nothing to the terminal it is shown on. */
export const toPrintable = (text: string): string => text.replace(STEERING, '\ufffd');

const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}]/u;
const graphemes = new Intl.Segmenter();

/** Columns that a printable text takes on a terminal. */
export function toWidth(text: string): number {
  return [...graphemes.segment(text)].reduce((width, { segment }) => width + (WIDE.test(segment) ? 2 : 1), 0);
}

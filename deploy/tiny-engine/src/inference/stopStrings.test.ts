import { describe, expect, it } from '@jest/globals';
import { StopStrings } from './stopStrings.ts';

/** What is shown of `pieces`, and the stop string that ended it. */
function cut(pieces: string[], stops: string[]): { shown: string; stop: string | undefined } {
  const stopStrings = new StopStrings(stops);
  let text = '';
  for (const piece of pieces) {
    const { shown, stop } = stopStrings.push(piece);
    text += shown;
    if (stop !== undefined) return { shown: text, stop };
  }
  return { shown: text + stopStrings.flush(), stop: undefined };
}

describe('StopStrings', () => {
  it.each([
    ['a whole one', ['one END two'], ['END'], { shown: 'one ', stop: 'END' }],
    ['one split over pieces', ['one E', 'N', 'D two'], ['END'], { shown: 'one ', stop: 'END' }],
    ['one that begins anew', ['aab', 'aab', 'c'], ['aabc'], { shown: 'aab', stop: 'aabc' }],
    ['the first of several', ['x b a'], ['a', 'b'], { shown: 'x ', stop: 'b' }],
    ['one that never becomes whole', ['one EN', 'x EN'], ['END'], { shown: 'one ENx EN', stop: undefined }],
    ['none', ['one', ' two'], [], { shown: 'one two', stop: undefined }],
  ])('cuts at %s', (_case, pieces, stops, expected) => {
    expect(cut(pieces, stops)).toEqual(expected);
  });

  it('never shows the beginning of a stop string before it knows', () => {
    const stopStrings = new StopStrings(['END']);
    expect(stopStrings.push('one EN').shown).toBe('one ');
    expect(stopStrings.push('x').shown).toBe('ENx');
  });
});

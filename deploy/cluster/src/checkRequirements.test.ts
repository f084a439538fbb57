import { expect, it } from '@jest/globals';
import { findLack } from './checkRequirements.ts';

const good = { platform: 'linux', uid: 0, isCompiled: false, goVersion: 'go1.26.2' };

it.each([
  ['no Linux', { platform: 'darwin' }, /^The cluster needs Linux/],
  ['no root', { uid: 1_000 }, /sudo npm run cluster\.$/],
  ['no Go', { goVersion: undefined }, /^Go is missing.*install Go 1\.26 or newer/],
  ['an old Go', { goVersion: 'go1.25.9' }, /^Go is go1\.25\.9, which is too old.*install 1\.26/],
])('says what to do about %s', (_what, lack, words) => {
  expect(findLack({ ...good, ...lack })).toMatch(words);
});

it.each([
  ['a Go that is new enough', {}],
  ['a newer Go', { goVersion: 'go1.30' }],
  ['no Go, once it is compiled', { goVersion: undefined, isCompiled: true }],
])('is content with %s', (_what, machine) => {
  expect(findLack({ ...good, ...machine })).toBeUndefined();
});

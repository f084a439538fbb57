import { expect, it } from '@jest/globals';
import { parseFuzzArguments } from './parseFuzzArguments.ts';

it('takes 200,000 cases and a seed of its own where nothing is said', () => {
  expect(parseFuzzArguments([])).toEqual({
    of: 'all',
    cases: 200_000,
    seed: expect.any(Number),
    replay: undefined,
    help: false,
  });
});

it('reads what is said', () => {
  const read = parseFuzzArguments(['--of', 'forms', '--cases', '10', '--seed', '7', '--replay', '3']);
  expect(read).toEqual({ of: 'forms', cases: 10, seed: 7, replay: 3, help: false });
});

it.each([
  [['--cases', '0'], '--cases is "0", but it has to be a whole number from 1 to 100000000.'],
  [['--cases', 'many'], '--cases is "many", but it has to be a whole number from 1 to 100000000.'],
  [['--of', 'audio'], '--of is "audio", but it has to be one of all, text, media, forms.'],
  [['--seed', '-1'], "'--seed' argument is ambiguous"],
  [['--seed', '3000000000'], '--seed is "3000000000"'],
  [['--replay', '3'], '--replay needs the --seed'],
  [['--fast'], 'There is --of KIND, --cases N, --seed N, --replay CASE and --help.'],
  [['everything'], 'There is --of KIND, --cases N, --seed N, --replay CASE and --help.'],
])('refuses %j and says what to write', (args, message) => {
  expect(() => parseFuzzArguments(args)).toThrow(message);
});

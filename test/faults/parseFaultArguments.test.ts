import { describe, expect, it } from '@jest/globals';
import type { Cell } from './cell.ts';
import { CELLS, chooseCells } from './findCells.ts';
import { parseFaultArguments } from './parseFaultArguments.ts';

describe('npm run faults', () => {
  it('reads what is to be run', () => {
    expect(parseFaultArguments(['redis', 'broker-*', '--full', '--cluster', '--seed', '7'])).toEqual({
      patterns: ['redis', 'broker-*'],
      full: true,
      seed: 7,
      cluster: true,
      from: undefined,
      list: false,
      help: false,
    });
  });

  it.each([
    ['an unknown option', ['--fast'], /--full, --seed N, --cluster, --from REF, --list and --help/],
    ['a seed that is no number', ['--seed', 'x'], /--seed is "x"/],
    ['a seed that is too large', ['--seed', '4294967296'], /whole number from 0 to 4294967295/],
  ])('refuses %s and says what to write instead', (_case, args, message) => {
    expect(() => parseFaultArguments(args)).toThrow(message);
  });

  const cells = [
    { group: 'redis', name: 'redis-kill' },
    { group: 'redis', name: 'redis-slow' },
    { group: 'edge', name: 'edge-kill' },
  ] as Cell[];
  const namesOf = (patterns: string[]): string[] => chooseCells(cells, patterns).map(({ name }) => name);

  it('chooses by group, by cell and by pattern, each cell once', () => {
    expect(namesOf([])).toHaveLength(3);
    expect(namesOf(['redis'])).toEqual(['redis-kill', 'redis-slow']);
    expect(namesOf(['edge-kill'])).toEqual(['edge-kill']);
    expect(namesOf(['*-kill', 'redis-kill'])).toEqual(['redis-kill', 'edge-kill']);
  });

  it('refuses a name that nothing has, and lists the groups', () => {
    expect(() => namesOf(['postgress'])).toThrow(/called "postgress". Groups: redis, edge/);
  });

  it('has cells that are told apart by their names and say what they are about', () => {
    expect(new Set(CELLS.map(({ name }) => name)).size).toBe(CELLS.length);
    for (const { breaks, holds } of CELLS) expect(breaks.length > 0 && holds.length > 0).toBe(true);
  });
});

import { expect, it } from '@jest/globals';
import { listReached, type Measured } from './listReached.ts';

const NOTHING: Measured = {
  ...{ spends: [], credits: 1, balanceNanoUsd: 100n },
  ...{ budgetNanoUsd: null, capNanoUsd: null, balanceBelowNanoUsd: null },
};
const spent = (nanoUsd: bigint) => [{ month: '2026-11', nanoUsd }];
const reach = (measured: Partial<Measured>) =>
  listReached({ ...NOTHING, ...measured }).map(({ kind, percent }) => `${kind} ${percent}`);

it.each([
  [49n, []],
  [50n, ['budget 50']],
  [79n, ['budget 50']],
  [80n, ['budget 50', 'budget 80']],
  [99n, ['budget 50', 'budget 80']],
  [100n, ['budget 50', 'budget 80', 'budget 100']],
])('reaches the thresholds of a budget of 100 by a spend of %s', (nanoUsd, reached) => {
  expect(reach({ spends: spent(nanoUsd), budgetNanoUsd: 100n })).toEqual(reached);
});

it('rounds no threshold down', () => {
  expect(reach({ spends: spent(1n), capNanoUsd: 3n })).toEqual([]);
  expect(reach({ spends: spent(2n), capNanoUsd: 3n })).toEqual(['cap 50']);
});

it('has a balance reach its threshold below it alone, and no limit of 0', () => {
  expect(reach({ balanceNanoUsd: 10n, balanceBelowNanoUsd: 10n })).toEqual([]);
  expect(reach({ balanceNanoUsd: 9n, balanceBelowNanoUsd: 10n })).toEqual(['balance 0']);
  expect(reach({ spends: spent(5n), capNanoUsd: 0n })).toEqual([]);
});

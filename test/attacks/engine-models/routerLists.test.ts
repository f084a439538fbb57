import { describe, expect, it } from '@jest/globals';
import { engines, findTopLevelKeys, OPERATIONS } from './engineModels.ts';
import { findJudgement, judgedKeysOf, type Verdict } from './judgedKeys.ts';
import { routerLists } from './routerLists.ts';

/** On the router’s list, and known to no engine that is kept here: to older releases, or to other gateways. */
const OF_OTHERS = ['logits_processors', 'api_base'];

describe.each(OPERATIONS)('the router, for %s', (operation) => {
  const known = new Set(engines.flatMap((engine) => findTopLevelKeys(engine, operation)));
  const judged = (verdict: Verdict) =>
    judgedKeysOf(operation).filter((key) => known.has(key) && findJudgement(operation, key)?.verdict === verdict);

  it('refuses every key that is judged so', () => {
    expect(judged('refused').filter((key) => !routerLists.refused.includes(key))).toEqual([]);
  });

  it('checks every key that is judged so', () => {
    expect(judged('checked').filter((key) => !routerLists.checked[operation].includes(key))).toEqual([]);
  });

  it('refuses no key that is judged otherwise', () => {
    const others = [...judged('ours'), ...judged('checked'), ...judged('forwarded')];
    expect(others.filter((key) => routerLists.refused.includes(key))).toEqual([]);
  });
});

it('the router refuses nothing that nobody has judged', () => {
  const judged = new Set(
    OPERATIONS.flatMap((operation) =>
      judgedKeysOf(operation).filter((key) => findJudgement(operation, key)?.verdict === 'refused'),
    ),
  );
  expect(routerLists.refused.filter((key) => !judged.has(key) && !OF_OTHERS.includes(key))).toEqual([]);
});

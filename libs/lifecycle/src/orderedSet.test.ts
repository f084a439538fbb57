import { expect, it } from '@jest/globals';
import { OrderedSet } from './orderedSet.ts';

it('tells who is here, in the order in which they came', () => {
  const set = new OrderedSet<string>();
  expect([set.size, ...set]).toEqual([0]);
  const leave = ['a', 'b', 'c', 'd'].map((member) => set.add(member));
  expect([set.size, ...set]).toEqual([4, 'a', 'b', 'c', 'd']);
  leave[1]?.();
  expect([set.size, ...set]).toEqual([3, 'a', 'c', 'd']);
  leave[0]?.();
  leave[3]?.();
  expect([set.size, ...set]).toEqual([1, 'c']);
  set.add('e');
  leave[2]?.();
  expect([set.size, ...set]).toEqual([1, 'e']);
});

it('lets a member go once, however often that is said, and leaves its like alone', () => {
  const set = new OrderedSet<string>();
  const leave = set.add('a');
  set.add('a');
  leave();
  leave();
  expect([set.size, ...set]).toEqual([1, 'a']);
});

it('tells of those that were here when it was asked, whoever comes and goes meanwhile', () => {
  const set = new OrderedSet<string>();
  const leave = ['a', 'b', 'c'].map((member) => set.add(member));
  const told: string[] = [];
  for (const member of set) {
    told.push(member);
    for (const each of leave) each();
    set.add('d');
  }
  expect(told).toEqual(['a', 'b', 'c']);
  expect(set.size).toBe(3);
});

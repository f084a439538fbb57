import { expect, it } from '@jest/globals';
import { Roster } from './roster.ts';

it('tells who is here, in the order in which they came', () => {
  const roster = new Roster<string>();
  expect([roster.size, ...roster]).toEqual([0]);
  const leave = ['a', 'b', 'c', 'd'].map((member) => roster.add(member));
  expect([roster.size, ...roster]).toEqual([4, 'a', 'b', 'c', 'd']);
  leave[1]?.();
  expect([roster.size, ...roster]).toEqual([3, 'a', 'c', 'd']);
  leave[0]?.();
  leave[3]?.();
  expect([roster.size, ...roster]).toEqual([1, 'c']);
  roster.add('e');
  leave[2]?.();
  expect([roster.size, ...roster]).toEqual([1, 'e']);
});

it('lets a member go once, however often that is said, and leaves its like alone', () => {
  const roster = new Roster<string>();
  const leave = roster.add('a');
  roster.add('a');
  leave();
  leave();
  expect([roster.size, ...roster]).toEqual([1, 'a']);
});

it('tells of those that were here when it was asked, whoever comes and goes meanwhile', () => {
  const roster = new Roster<string>();
  const leave = ['a', 'b', 'c'].map((member) => roster.add(member));
  const told: string[] = [];
  for (const member of roster) {
    told.push(member);
    for (const each of leave) each();
    roster.add('d');
  }
  expect(told).toEqual(['a', 'b', 'c']);
  expect(roster.size).toBe(3);
});

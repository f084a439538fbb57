import { expect, it } from '@jest/globals';
import { parseClusterArguments } from './parseClusterArguments.ts';

it.each([
  [[], { command: 'up', nodes: 1 }],
  [['--nodes', '3'], { command: 'up', nodes: 3 }],
  [['build'], { command: 'build' }],
  [['down'], { command: 'down' }],
  [['--help'], { command: 'help' }],
  [['test', 'hpa', '--seed', '7'], { command: 'test', args: ['hpa', '--seed', '7'] }],
])('reads %j', (args, expected) => {
  expect(parseClusterArguments(args)).toEqual(expected);
});

it.each([
  [['dwon'], 'There is no command "dwon".'],
  [['up', 'down'], 'One command at a time'],
  [['--nodes', '0'], '--nodes is "0", but it has to be a number from 1 to 9.'],
  [['--nodes', 'two'], '--nodes is "two"'],
  [['down', '--nodes', '2'], '--nodes is for the start of a cluster, not for down.'],
  [['--node', '2'], "Unknown option '--node'"],
])('refuses %j in one line', (args, words) => {
  expect(() => parseClusterArguments(args)).toThrow(words);
  expect(() => parseClusterArguments(args)).toThrow(/^[^\n]+$/);
});

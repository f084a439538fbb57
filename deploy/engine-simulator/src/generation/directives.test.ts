import { describe, expect, it } from '@jest/globals';
import { parseDirectives } from './directives.ts';

const none = { toolCalls: [], forbidsToolCall: false };

describe('directives', () => {
  it.each([
    ['plain text with [brackets] and sim:', none],
    ['before [[sim: tokens=20]] after', { ...none, tokens: 20 }],
    ['[[sim:ttft_ms=5 itl_ms=0]]', { ...none, timeToFirstTokenMs: 5, interTokenMs: 0 }],
    ['[[sim: text="a \\"b\\" \\\\ ]] \\n c"]]', { ...none, text: 'a "b" \\ ]] \n c' }],
    ['[[sim: text=""]]', { ...none, text: '' }],
    ['[[sim: tokens=1]] and [[sim: tokens=2]]', { ...none, tokens: 2 }],
    ['[[sim: tool_call=a tool_call=b]]', { ...none, toolCalls: [{ name: 'a' }, { name: 'b' }] }],
    [
      '[[sim: tool_call=a tool_arguments="{\\"x\\":1}" tool_call=b]]',
      { ...none, toolCalls: [{ name: 'a', argumentsText: '{"x":1}' }, { name: 'b' }] },
    ],
    ['[[sim: no_tool_call]]', { ...none, forbidsToolCall: true }],
    ['[[sim: fault=stall]]', { ...none, fault: { kind: 'stall', afterTokens: 1 } }],
    ['[[sim: after=7 fault=abort]]', { ...none, fault: { kind: 'abort', afterTokens: 7 } }],
  ])('reads %j', (message, directives) => expect(parseDirectives(message)).toEqual(directives));

  it.each([
    '[[sim: tokens=20',
    '[[sim: tokens=many]]',
    '[[sim: colour=red]]',
    '[[sim: fault=meteor]]',
    '[[sim: tool_arguments="{}"]]',
    '[[sim: ="x"]]',
  ])('refuses %j', (message) => expect(() => parseDirectives(message)).toThrow(/^simulator/));
});

it.each([
  [1, { toolCalls: [{ name: 'read' }] }],
  [2, { text: 'done', toolCalls: [] }],
  [3, { toolCalls: [] }],
])('reads a script of turns: in turn %d', (turn, directives) => {
  const script = 'Read it. [[sim: turn=1 tool_call=read]] [[sim: turn=2 text="done"]] [[sim: itl_ms=0]]';
  expect(parseDirectives(script, turn)).toEqual({ forbidsToolCall: false, interTokenMs: 0, ...directives });
});

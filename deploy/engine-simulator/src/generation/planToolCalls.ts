import { encode } from '../tokenizer/tokenizer.ts';
import type { ChatRequest } from '../wire/chatRequest.ts';
import { deriveKey, draw, type RandomKey } from './counterRandom.ts';
import type { Directives } from './directives.ts';
import { jsonValueOf } from './jsonValue.ts';
import { fixedTokens, type Segment } from './outputPlan.ts';

/**
 * The functions a request makes the model call, two segments each: those its directives name, else the one a forced
 * `tool_choice` demands. None where the choice is `none` or a directive makes the model misbehave.
 */
export function planToolCalls(request: ChatRequest, directives: Directives, key: RandomKey): Segment[] {
  const { tools = [], tool_choice: choice } = request;
  if (choice === 'none' || directives.forbidsToolCall) return [];
  const called = wantedCalls(request, directives).flatMap(({ name, argumentsText }) => {
    const tool = tools.find((candidate) => candidate.function.name === name)?.function;
    return tool ? [{ tool, argumentsText }] : [];
  });
  const atOnce = request.parallel_tool_calls === false ? called.slice(0, 1) : called;
  return atOnce.flatMap(({ tool: { name, parameters }, argumentsText }, toolIndex): Segment[] => {
    const callKey = deriveKey(key, [toolIndex]);
    const toolCallId = `chatcmpl-tool-${[0, 1, 2, 3].map((counter) => hex(draw(callKey, counter))).join('')}`;
    // The arguments of a directive may be valid JSON or not.
    const json = argumentsText ?? JSON.stringify(jsonValueOf(parameters ?? { type: 'object' }, callKey));
    return [
      { kind: 'tool_name', toolIndex, toolCallId, name, tokens: fixedTokens(encode(name)) },
      { kind: 'tool_arguments', toolIndex, tokens: fixedTokens(encode(json)) },
    ];
  });
}

function wantedCalls(
  { tools = [], tool_choice: choice }: ChatRequest,
  { toolCalls }: Directives,
): Directives['toolCalls'] {
  if (typeof choice === 'object') {
    const { name } = choice.function;
    return [toolCalls.find((call) => call.name === name) ?? { name }];
  }
  if (toolCalls.length > 0) return toolCalls;
  return choice === 'required' ? tools.slice(0, 1).map((tool) => ({ name: tool.function.name })) : [];
}

const hex = (bits: number): string => bits.toString(16).padStart(8, '0');

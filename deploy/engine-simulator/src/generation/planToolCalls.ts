import { encode } from '../tokenizer/tokenizer.ts';
import type { ChatRequest, ToolDefinition } from '../wire/chatRequest.ts';
import { deriveKey, draw, type RandomKey } from './counterRandom.ts';
import type { Directives } from './directives.ts';
import { jsonValueOf } from './jsonValue.ts';
import { fixedTokens, type Segment } from './outputPlan.ts';

/** A function to call; `argumentsText` replaces the arguments that its schema would give, and may be anything. */
export interface CalledTool {
  tool: ToolDefinition;
  argumentsText?: string | undefined;
}

/**
 * The functions a request makes the model call: those its directives name, else the one a forced `tool_choice` demands.
 * None where the choice is `none` or a directive makes the model misbehave.
 */
export function findCalledTools(request: ChatRequest, directives: Directives): CalledTool[] {
  const { tools = [], tool_choice: choice } = request;
  if (choice === 'none' || directives.forbidsToolCall) return [];
  const called = wantedCalls(request, directives).flatMap(({ name, argumentsText }) => {
    const tool = tools.find((candidate) => candidate.function.name === name);
    return tool ? [{ tool, argumentsText }] : [];
  });
  return request.parallel_tool_calls === false ? called.slice(0, 1) : called;
}

function wantedCalls(
  { tools = [], tool_choice: choice }: ChatRequest,
  { toolCalls }: Directives,
): Directives['toolCalls'] {
  if (typeof choice === 'object' && choice !== null) {
    const { name } = choice.function;
    return [toolCalls.find((call) => call.name === name) ?? { name }];
  }
  if (toolCalls.length > 0) return toolCalls;
  return choice === 'required' ? tools.slice(0, 1).map((tool) => ({ name: tool.function.name })) : [];
}

/** Two segments a call, its name and its arguments. */
export function planToolCalls(called: readonly CalledTool[], key: RandomKey): Segment[] {
  return called.flatMap(({ tool, argumentsText }, toolIndex): Segment[] => {
    const callKey = deriveKey(key, [toolIndex]);
    const { name, parameters } = tool.function;
    const toolCallId = `chatcmpl-tool-${[0, 1, 2, 3].map((counter) => hex(draw(callKey, counter))).join('')}`;
    const json = argumentsText ?? JSON.stringify(jsonValueOf(parameters ?? { type: 'object' }, callKey));
    return [
      { kind: 'tool_name', toolIndex, toolCallId, name, tokens: fixedTokens(encode(name)) },
      { kind: 'tool_arguments', toolIndex, tokens: fixedTokens(encode(json)) },
    ];
  });
}

const hex = (bits: number): string => bits.toString(16).padStart(8, '0');

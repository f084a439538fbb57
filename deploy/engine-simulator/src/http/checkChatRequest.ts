import type { ChatRequest } from '../wire/chatRequest.ts';
import { badRequest } from '../wire/engineError.ts';

const MAX_LOGPROBS = 20;

/** Rules between fields of a chat, held before the model is looked at. */
export function checkChatFields(request: ChatRequest): void {
  const refuse = (sentence: string, param: string) => badRequest(`${sentence} (parameter=${param})`, param);
  const { tools, tool_choice: choice, top_logprobs: topLogprobs } = request;
  if (tools?.length === 0) {
    throw refuse(
      '`tools` must not be an empty array. Either provide at least one tool or omit the field entirely.',
      'tools',
    );
  }
  if (choice !== undefined && choice !== 'none' && !tools) {
    throw refuse('When using `tool_choice`, `tools` must be set.', 'tool_choice');
  }
  if (typeof choice === 'object' && !tools?.some((tool) => tool.function.name === choice.function.name)) {
    throw refuse('The tool specified in `tool_choice` does not match any of the specified `tools`', 'tool_choice');
  }
  if (topLogprobs !== undefined && !request.logprobs) {
    throw refuse('when using `top_logprobs`, `logprobs` must be set to true.', 'top_logprobs');
  }
  checkResponseFormat(request);
}

function checkResponseFormat({ response_format: format }: ChatRequest): void {
  if (format?.type !== 'json_schema') return;
  if (!format.json_schema) {
    throw badRequest(
      "When response_format type is 'json_schema', the 'json_schema' field must be provided. (parameter=response_format)",
      'response_format',
    );
  }
  if (format.json_schema.schema === undefined)
    throw badRequest('You must use one kind of structured outputs constraint but none are specified');
}

/** More of the likeliest tokens than the engine tells; looked at when the prompt is known to fit. */
export function checkLogprobs({ top_logprobs: wanted = 0 }: ChatRequest): void {
  if (wanted <= MAX_LOGPROBS) return;
  throw badRequest(
    `Requested sample logprobs of ${wanted}, which is greater than max allowed: ${MAX_LOGPROBS} (parameter=logprobs, value=${wanted})`,
    'logprobs',
  );
}

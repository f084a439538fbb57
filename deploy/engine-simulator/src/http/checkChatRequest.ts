import type { EngineConfig } from '../config.ts';
import type { ChatRequest } from '../wire/chatRequest.ts';
import { badRequest, malformedRequest } from '../wire/engineError.ts';

const MAX_LOGPROBS = 20;

/** Rules between fields of a chat. They answer like schema violations, before the model is looked at. */
export function checkChatFields(request: ChatRequest): void {
  const refuse = (sentence: string, param: string) => malformedRequest(`${sentence} (parameter=${param})`, param);
  const { tools, tool_choice: choice, top_logprobs: topLogprobs } = request;
  if (tools?.length === 0) throw refuse('`tools` must not be an empty list.', 'tools');
  if (choice !== undefined && choice !== 'none' && !tools) {
    throw refuse('When using `tool_choice`, `tools` must be set.', 'tool_choice');
  }
  if (typeof choice === 'object' && !tools?.some((tool) => tool.function.name === choice.function.name)) {
    throw refuse('The tool specified in `tool_choice` does not match any of the specified `tools`.', 'tool_choice');
  }
  if (topLogprobs !== undefined && (!request.logprobs || topLogprobs < 0 || topLogprobs > MAX_LOGPROBS)) {
    throw refuse(`\`top_logprobs\` needs \`logprobs\` and must be from 0 to ${MAX_LOGPROBS}.`, 'top_logprobs');
  }
  if (request.response_format?.type === 'json_schema' && !request.response_format.json_schema) {
    throw refuse('response_format type `json_schema` needs `json_schema`.', 'response_format');
  }
}

/** Throws where a model would have to choose tools by itself and was not started for it. */
export function checkAutoTools(
  { tools, tool_choice: choice }: ChatRequest,
  { enableAutoToolChoice }: EngineConfig,
): void {
  if (tools && (choice ?? 'auto') === 'auto' && !enableAutoToolChoice) {
    throw badRequest('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set');
  }
}

const event = (body: object): string => `data: ${JSON.stringify(body)}\n\n`;

/** Without `completionTokens` the chunk carries no count. */
const aChunk = (choice: object, completionTokens?: number): string =>
  event({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_790_000_000,
    model: 'engine-name',
    choices: [{ index: 0, logprobs: null, finish_reason: null, ...choice }],
    ...(completionTokens !== undefined && {
      usage: { prompt_tokens: 9, total_tokens: 9 + completionTokens, completion_tokens: completionTokens },
    }),
  });

/** Events of an engine's chat stream, with the running count that each of them but `uncounted` carries. */
export const engineChunks = {
  text: (content: string, completionTokens = 1): string => aChunk({ delta: { content } }, completionTokens),
  uncounted: (content: string): string => aChunk({ delta: { content } }),
  toolCall: (name: string): string =>
    aChunk({ delta: { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name } }] } }, 1),
  /** A chunk with any other delta. */
  rest: (delta: object, completionTokens: number): string => aChunk({ delta }, completionTokens),
  /** The last chunk, the count of the whole, and the end. */
  ending: (completionTokens: number): string =>
    `${aChunk({ delta: {}, finish_reason: 'stop' }, completionTokens)}data: [DONE]\n\n`,
};

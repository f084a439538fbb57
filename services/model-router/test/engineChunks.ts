const event = (body: object): string => `data: ${JSON.stringify(body)}\n\n`;

const aChunk = (choice: object, completionTokens: number): string =>
  event({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_790_000_000,
    model: 'engine-name',
    choices: [{ index: 0, logprobs: null, finish_reason: null, ...choice }],
    usage: { prompt_tokens: 9, total_tokens: 9 + completionTokens, completion_tokens: completionTokens },
  });

/** Events of an engine's chat stream, with the running count each of them carries. */
export const engineChunks = {
  text: (content: string, completionTokens = 1): string => aChunk({ delta: { content } }, completionTokens),
  toolCall: (name: string): string =>
    aChunk({ delta: { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name } }] } }, 1),
  /** The last chunk, the count of the whole, and the end. */
  ending: (completionTokens: number): string =>
    `${aChunk({ delta: {}, finish_reason: 'stop' }, completionTokens)}data: [DONE]\n\n`,
};

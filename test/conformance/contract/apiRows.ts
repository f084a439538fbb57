/** The Responses API and the Messages API: other ways to say a chat. */
export const apiRows = {
  'apis.one-price':
    'one conversation by three APIs has the same tokens, the same charge and the same answer of the engine',
  'apis.one-request': 'one conversation with a call of a tool by three APIs is one request of the engine, and one row',
  'apis.streams': 'each API streams the same text, in events of its own, to an end of its own',
  'apis.cut': 'an answer that is not streamed is cut at 2,048 tokens, and each API says so in its own words',
  'apis.messages-length': 'max_tokens of the Messages API may be more than the model can, and is lowered',
  'apis.messages-usage': 'input_tokens of the Messages API are those that were not read from the cache',
  'apis.messages-errors':
    'an error of the Messages API has its form, and the status and the sentence that it has on chat',
  'apis.messages-key': 'the key of the Messages API may stand in x-api-key, which is no key on any other path',
  'apis.tool-digits': 'the arguments of a call have the digits that the model wrote, in each API, whole and streamed',
  'apis.messages-request-id':
    'request-id of the Messages API names each answer, error and stream, as x-request-id does, and no other API has it',
  'apis.count-tokens': 'POST /v1/messages/count_tokens counts a prompt as the engine does, and charges nothing',
  'apis.responses-errors': 'an error of the Responses API is an envelope whose message is the sentence',
  'apis.responses-kept': 'nothing is kept: a request that builds on a kept response is 400, and says what to send',
  'apis.engine-fails': 'a stream that its engine breaks off ends in an error of its API, and costs nothing',
  'apis.forced-tool': 'a forced tool that is not called is 400 in each API',
} as const;

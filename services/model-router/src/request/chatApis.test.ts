import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import { type JsonBody, toJsonBody } from '@turnpike/request-reading/body/readBody';
import { aPricedModel } from '../../test/aPricedModel.ts';
import { toEngineBody } from '../engines/vllm/vllm.ts';
import { CHAT } from './chatRequest.ts';
import type { InferenceRequest, Operation } from './inferenceRequest.ts';
import { MESSAGES } from './messagesRequest.ts';
import { RESPONSES } from './responsesRequest.ts';
import { inWordsOf } from './rewriteBody.ts';

// The Responses API and the Messages API are other ways to say a chat: the same conversation makes the same request to an engine.

const bodyOf = (text: string, { limits }: Operation): JsonBody =>
  toJsonBody(Buffer.from(text), { maxTextBytes: limits.maxTextBytes, ...(limits.kept && { kept: limits.kept }) });

const parse = async (operation: Operation, body: object | string): Promise<InferenceRequest> =>
  operation.parse(bodyOf(typeof body === 'string' ? body : JSON.stringify(body), operation));

/** The text that an engine gets. */
async function sentFor(operation: Operation, body: object | string): Promise<string> {
  const fields = {
    model: aPricedModel({ supportedFeatures: ['tools', 'json_mode', 'json_schema'] }),
    servedName: 'served',
    maxOutputTokens: 64,
    cacheSalt: 'salt',
  };
  return Buffer.concat(toEngineBody(await parse(operation, body), fields)).toString();
}
const engineSees = async (operation: Operation, body: object | string): Promise<Record<string, unknown>> =>
  JSON.parse(await sentFor(operation, body)) as Record<string, unknown>;

async function faultOf(operation: Operation, body: object): Promise<unknown> {
  try {
    await parse(operation, body);
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.fault;
    throw error;
  }
}

function faultIn(action: () => void): unknown {
  try {
    action();
    return undefined;
  } catch (error) {
    return (error as ApiError).fault;
  }
}

const LONG = 'Ünïcode “long” text\n'.repeat(200);
const PNG = 'iVBORw0KGgo='.repeat(400);
/** A schema with digits that a double would lose. */
const SCHEMA = '{"type":"object","properties":{"path":{"type":"string","const":12345678901234567890}}}';

const chat = `{"model":"small-chat","stream":true,"max_tokens":64,"temperature":0.5,
  "messages":[{"role":"system","content":"Be brief."},
    {"role":"user","content":[{"type":"text","text":${JSON.stringify(LONG)}},
      {"type":"image_url","image_url":{"url":"data:image/png;base64,${PNG}"}}]},
    {"role":"assistant","content":[{"type":"text","text":"I look."}],"reasoning":"It wants a file.",
      "tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\\"path\\":\\"a\\"}"}},
        {"id":"c2","type":"function","function":{"name":"read","arguments":"{\\"path\\":\\"b\\"}"}}]},
    {"role":"tool","tool_call_id":"c1","content":"A"},
    {"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"B"}]},
    {"role":"user","content":"Go on."}],
  "tools":[{"type":"function","function":{"name":"read","description":"Reads.","parameters":${SCHEMA}}}],
  "tool_choice":{"type":"function","function":{"name":"read"}},"parallel_tool_calls":false,"reasoning_effort":"high"}`;

const response = `{"model":"small-chat","stream":true,"max_output_tokens":64,"temperature":0.5,"instructions":"Be brief.",
  "input":[{"role":"user","content":[{"type":"input_text","text":${JSON.stringify(LONG)}},
      {"type":"input_image","image_url":"data:image/png;base64,${PNG}"}]},
    {"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"It wants a file."}]},
    {"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I look.","annotations":[]}]},
    {"type":"function_call","id":"fc_1","call_id":"c1","name":"read","arguments":"{\\"path\\":\\"a\\"}"},
    {"type":"function_call","id":"fc_2","call_id":"c2","name":"read","arguments":"{\\"path\\":\\"b\\"}"},
    {"type":"function_call_output","call_id":"c1","output":"A"},
    {"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"B"}]},
    {"role":"user","content":"Go on."}],
  "tools":[{"type":"function","name":"read","description":"Reads.","parameters":${SCHEMA}}],
  "tool_choice":{"type":"function","name":"read"},"parallel_tool_calls":false,"reasoning":{"effort":"xhigh","summary":"auto"},
  "store":true,"include":["reasoning.encrypted_content"],"prompt_cache_key":"k","client_metadata":{"a":"b"}}`;

const message = `{"model":"small-chat","stream":true,"max_tokens":64,"temperature":0.5,"system":"Be brief.",
  "messages":[{"role":"user","content":[{"type":"text","text":${JSON.stringify(LONG)},"cache_control":{"type":"ephemeral"}},
      {"type":"image","source":{"type":"base64","media_type":"image/png","data":"${PNG}"}}]},
    {"role":"assistant","content":[{"type":"thinking","thinking":"It wants a file.","signature":"unsigned"},
      {"type":"text","text":"I look."},{"type":"tool_use","id":"c1","name":"read","input":{"path":"a"}},
      {"type":"tool_use","id":"c2","name":"read","input":{"path":"b"}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"A"},
      {"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"B"}]}]},
    {"role":"user","content":"Go on."}],
  "tools":[{"name":"read","description":"Reads.","input_schema":${SCHEMA}}],
  "tool_choice":{"type":"tool","name":"read","disable_parallel_tool_use":true},"output_config":{"effort":"max"},
  "metadata":{"user_id":"u"},"context_management":{"edits":[]}}`;

describe('one conversation makes the same request to an engine', () => {
  it('by the Responses API', async () => {
    expect(await engineSees(RESPONSES, response)).toEqual(await engineSees(CHAT, chat));
  });

  it('by the Messages API', async () => {
    expect(await engineSees(MESSAGES, message)).toEqual(await engineSees(CHAT, chat));
  });

  it.each([
    ['chat', CHAT, chat],
    ['Responses', RESPONSES, response],
    ['Messages', MESSAGES, message],
  ])('with the digits that the client wrote in a schema: %s', async (_api, operation, body) => {
    expect(await sentFor(operation, body)).toContain('"const":12345678901234567890');
  });

  it('with the digits that the client wrote in a call, by the Messages API', async () => {
    const use = '{"type":"tool_use","id":"c","name":"add","input":{"n":12345678901234567890,"x":1.0}}';
    const sent = await engineSees(
      MESSAGES,
      `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[${use}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}]}`,
    );
    expect(sent.messages).toMatchObject([
      {},
      { tool_calls: [{ function: { arguments: '{"n":12345678901234567890,"x":1.0}' } }] },
      { role: 'tool', content: '' },
    ]);
  });
});

const ask = (fields: object) => ({ model: 'small-chat', input: 'Hello', ...fields });
const say = (fields: object) => ({
  model: 'small-chat',
  max_tokens: 8,
  messages: [{ role: 'user', content: 'Hello' }],
  ...fields,
});
const aFunction = (name: string) => ({ type: 'function', name, parameters: {} });

describe('the Responses API', () => {
  it.each<[string, object, object]>([
    ['a text', {}, { messages: [{ role: 'user', content: 'Hello' }] }],
    [
      'calls and outputs in turns',
      {
        input: [
          { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'a', output: '1' },
          { type: 'function_call', call_id: 'b', name: 'f' },
          { type: 'function_call_output', call_id: 'b', output: '2' },
        ],
      },
      {
        messages: [
          { role: 'assistant', content: null, tool_calls: [{ id: 'a', function: { name: 'f' } }] },
          { role: 'tool', tool_call_id: 'a', content: '1' },
          { role: 'assistant', content: null, tool_calls: [{ id: 'b', function: { name: 'f', arguments: '{}' } }] },
          { role: 'tool', tool_call_id: 'b', content: '2' },
        ],
      },
    ],
    [
      'functions of a namespace, by one name',
      {
        tools: [{ type: 'namespace', name: 'mcp__files__', description: 'd', tools: [aFunction('read')] }],
        input: [{ type: 'function_call', call_id: 'a', namespace: 'mcp__files__', name: 'read', arguments: '{}' }],
      },
      {
        tools: [{ type: 'function', function: { name: 'mcp__files__read' } }],
        messages: [{ tool_calls: [{ function: { name: 'mcp__files__read' } }] }],
      },
    ],
    [
      'some tools of those that are offered',
      {
        tools: [aFunction('a'), aFunction('b')],
        tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'b' }] },
      },
      { tools: [{ function: { name: 'b' } }], tool_choice: 'required' },
    ],
    [
      'a function of a namespace that has to be called',
      {
        tools: [aFunction('f'), { type: 'namespace', name: 'mcp__a', tools: [aFunction('g')] }],
        tool_choice: { type: 'function', namespace: 'mcp__a', name: 'g' },
      },
      { tool_choice: { type: 'function', function: { name: 'mcp__a__g' } } },
    ],
    [
      'functions of namespaces among those that are offered',
      {
        tools: [aFunction('f'), { type: 'namespace', name: 'mcp__a', tools: [aFunction('g'), aFunction('h')] }],
        tool_choice: {
          type: 'allowed_tools',
          mode: 'auto',
          tools: [{ type: 'function', namespace: 'mcp__a', name: 'h' }],
        },
      },
      { tools: [{ function: { name: 'mcp__a__h' } }], tool_choice: 'auto' },
    ],
    [
      'a form of the answer',
      { text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true } } },
      {
        response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } },
      },
    ],
    ['no thinking', { reasoning: { effort: 'none' } }, { chat_template_kwargs: { enable_thinking: false } }],
    ['developers', { input: [{ role: 'developer', content: 'x' }] }, { messages: [{ role: 'system', content: 'x' }] }],
    [
      'an item whose type is null, as one without a type',
      { input: [{ type: null, role: 'user', content: 'x' }] },
      { messages: [{ role: 'user', content: 'x' }] },
    ],
    ['fields that are null', { tools: null, text: null, reasoning: null, instructions: null }, { model: 'served' }],
  ])('takes %s', async (_case, fields, seen) => {
    expect(await engineSees(RESPONSES, ask(fields))).toMatchObject(seen);
  });

  it.each<[string, object, string]>([
    ['a response that was kept', { previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['a conversation', { conversation: 'conv_1' }, 'conversation'],
    ['work in the background', { background: true }, 'background'],
    ['truncation', { truncation: 'auto' }, 'truncation'],
    ['a tool that a server would run', { tools: [aFunction('f'), { type: 'web_search' }] }, 'tools[1].type'],
    ['a kept item', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0].type'],
    [
      'a file',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
      'input[0].content[0].type',
    ],
    [
      'an image by id',
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
      'input[0].content[0].image_url',
    ],
    ['no input', { input: [] }, 'input'],
    ['a choice without tools', { tool_choice: 'required' }, 'tool_choice'],
    ['metadata that is no object', { metadata: 'x' }, 'metadata'],
    [
      'allowed tools that are not offered',
      {
        tools: [aFunction('a')],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'z' }] },
      },
      'tool_choice.tools[0].name',
    ],
    [
      'a function whose name is too long with its namespace',
      { tools: [aFunction('f'), { type: 'namespace', name: 'n'.repeat(128), tools: [aFunction('g'.repeat(127))] }] },
      'tools[1].tools[0].name',
    ],
    ['log probabilities', { include: ['message.output_text.logprobs'] }, 'include[0]'],
  ])('refuses %s with its name', async (_case, fields, param) => {
    expect(await faultOf(RESPONSES, ask(fields))).toMatchObject({ kind: 'invalid_request', param });
  });

  it('calls a field of a chat by its own name', async () => {
    const images = { role: 'user', content: [{ type: 'input_image', image_url: `data:image/png;base64,${PNG}` }] };
    const seeing = await parse(RESPONSES, ask({ input: [images] }));
    expect(faultIn(() => seeing.checkModel(aPricedModel(), () => []))).toMatchObject({ param: 'input' });
  });
});

describe('the Messages API', () => {
  it.each<[string, object, object]>([
    [
      'words of the system as blocks and as a role',
      { system: [{ type: 'text', text: 'a' }], messages: [{ role: 'system', content: 'b' }] },
      {
        messages: [
          { role: 'system', content: [{ type: 'text', text: 'a' }] },
          { role: 'system', content: 'b' },
        ],
      },
    ],
    [
      'what a tool gave before what was said, and its failure',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'and?' },
              { type: 'tool_result', tool_use_id: 'a', content: 'no such file', is_error: true },
            ],
          },
        ],
      },
      {
        messages: [
          { role: 'tool', tool_call_id: 'a', content: 'Error: no such file' },
          { role: 'user', content: [{ type: 'text', text: 'and?' }] },
        ],
      },
    ],
    ['ends of its choice', { stop_sequences: ['END'], top_k: 5 }, { stop: ['END'], top_k: 5 }],
    [
      'any tool',
      { tools: [{ name: 'f', input_schema: {} }], tool_choice: { type: 'any' } },
      { tool_choice: 'required' },
    ],
    ['no other server', { mcp_servers: [] }, { messages: [{ role: 'user', content: 'Hello' }] }],
    ['no thinking', { thinking: { type: 'disabled' } }, { chat_template_kwargs: { enable_thinking: false } }],
    [
      'a form of the answer',
      { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
      { response_format: { type: 'json_schema', json_schema: { schema: { type: 'object' } } } },
    ],
    [
      'an image by its address',
      {
        messages: [
          { role: 'user', content: [{ type: 'image', source: { type: 'url', url: 'https://a.example/x.png' } }] },
        ],
      },
      {},
    ],
  ])('takes %s', async (_case, fields, seen) => {
    const body = say(fields);
    if (Object.keys(seen).length === 0)
      expect((await parse(MESSAGES, body)).images.urls).toEqual(['https://a.example/x.png']);
    else expect(await engineSees(MESSAGES, body)).toMatchObject(seen);
  });

  it.each<[string, object, string]>([
    ['no limit of the output', { max_tokens: undefined }, 'max_tokens'],
    [
      'a tool that a server would run',
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      'tools[0].type',
    ],
    [
      'a document',
      { messages: [{ role: 'user', content: [{ type: 'document', source: {} }] }] },
      'messages[0].content[0].type',
    ],
    [
      'a kept file',
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }] },
      'messages[0].content[0].source.type',
    ],
    ['five stop sequences', { stop_sequences: ['a', 'b', 'c', 'd', 'e'] }, 'stop_sequences'],
    ['another server’s tools', { mcp_servers: [{}] }, 'mcp_servers[0]'],
    ['a container', { container: 'c' }, 'container'],
    ['a choice without tools', { tool_choice: { type: 'any' } }, 'tool_choice'],
  ])('refuses %s with its name', async (_case, fields, param) => {
    expect(await faultOf(MESSAGES, say(fields))).toMatchObject({ kind: 'invalid_request', param });
  });

  it('lowers a longer output than fits, and does not refuse it', async () => {
    expect(await parse(MESSAGES, say({ max_tokens: 32_000 }))).toMatchObject({
      requestedOutputTokens: 32_000,
      isOutputFitted: true,
    });
  });
});

describe('a fault of a chat names the field that the client sent', () => {
  const NOTHING = 'data:text/plain,nothing';
  const source = { type: 'url', url: NOTHING };
  it.each<[string, Operation, object, object]>([
    [
      'an image that is none, by Responses',
      RESPONSES,
      ask({ input: [{ role: 'user', content: [{ type: 'input_image', image_url: NOTHING }] }] }),
      { kind: 'image_unusable', param: 'input' },
    ],
    [
      'an image that is none, by Messages',
      MESSAGES,
      say({ messages: [{ role: 'user', content: [{ type: 'image', source }] }] }),
      { kind: 'image_unusable', param: 'messages' },
    ],
    [
      'too many parts, by Responses',
      RESPONSES,
      ask({
        input: [{ role: 'user', content: Array.from({ length: 4_097 }, () => ({ type: 'input_text', text: 'x' })) }],
      }),
      { kind: 'invalid_request', param: 'input', message: 'input may hold at most 4096 content parts in all' },
    ],
    [
      'too many parts, by Messages with a system',
      MESSAGES,
      say({
        system: 's',
        messages: [{ role: 'user', content: Array.from({ length: 4_097 }, () => ({ type: 'text', text: 'x' })) }],
      }),
      { kind: 'invalid_request', param: 'messages', message: 'messages may hold at most 4096 content parts in all' },
    ],
  ])('%s', async (_case, operation, body, fault) => {
    expect(await faultOf(operation, body)).toMatchObject(fault);
  });

  it.each<[string, Operation, string, string]>([
    ['a message', RESPONSES, 'messages[2].content', 'input'],
    ['a message', MESSAGES, 'messages[2].content', 'messages'],
    ['a message', CHAT, 'messages[2].content', 'messages[2].content'],
    ['a tool', RESPONSES, 'tools[1].function.parameters', 'tools'],
    ['the length', RESPONSES, 'max_tokens', 'max_output_tokens'],
    ['the length', MESSAGES, 'max_completion_tokens', 'max_tokens'],
    ['the effort', RESPONSES, 'reasoning_effort', 'reasoning.effort'],
    ['the effort', MESSAGES, 'reasoning_effort', 'output_config.effort'],
    ['a field of one name', MESSAGES, 'temperature', 'temperature'],
  ])('that an engine refuses: %s, %#', (_case, operation, param, name) => {
    const message = (field: string) => `${field} is too much.`;
    expect(inWordsOf(operation, { kind: 'engine_refused', message: message(param), param })).toEqual({
      kind: 'engine_refused',
      message: message(name),
      param: name,
    });
  });
});

it.each<[string, Operation, object, string]>([
  [
    'a hosted tool that is chosen',
    RESPONSES,
    ask({ tools: [aFunction('f')], tool_choice: { type: 'web_search' } }),
    'Offer the tool as a function',
  ],
  [
    'a call of a custom tool',
    RESPONSES,
    ask({ input: [{ type: 'custom_tool_call', call_id: 'a', name: 'f', input: 'x' }] }),
    'send the call of another tool as a function_call',
  ],
  [
    'a document',
    MESSAGES,
    say({ messages: [{ role: 'user', content: [{ type: 'document', source: {} }] }] }),
    'send the text of a document as text',
  ],
  ['a container', MESSAGES, say({ container: 'c' }), 'Describe what you run as tools'],
  ['another server’s tools', MESSAGES, say({ mcp_servers: [{}] }), 'describe their tools as tools'],
])('says what to send in place of %s', async (_case, operation, body, instead) => {
  expect(await faultOf(operation, body)).toMatchObject({ message: expect.stringContaining(instead) });
});

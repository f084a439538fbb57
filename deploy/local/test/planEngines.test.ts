import { afterEach, expect, it } from '@jest/globals';
import { parseEngineChoice } from '../src/engines/engineChoice.ts';
import { planEngines } from '../src/engines/planEngines.ts';
import { aModelList, answering, type FakeEngine, startFakeEngine } from './fakeEngine.ts';

let engine: FakeEngine | undefined;
afterEach(() => engine?.close());

interface Chat {
  messages: { content: object[] | string }[];
  tool_choice?: string;
  response_format?: object;
}
interface Reply {
  status?: number;
  content?: string | null;
  tool_calls?: object[];
  prompt_tokens?: number;
}

/** Plans an engine that lists its models and answers chats. Returns the plan, and the chats that it was asked. */
async function plan(
  reply: (chat: Chat) => Reply,
  { models = [{ id: 'm' }], words = '', props }: { models?: object[]; words?: string; props?: object } = {},
) {
  const list = answering({ models: aModelList(...models) });
  const chats: Chat[] = [];
  engine = await startFakeEngine(async (req, res) => {
    if (req.url === '/props' && props) return res.end(JSON.stringify(props));
    if (req.url !== '/v1/chat/completions') return list(req, res);
    const chat: Chat = JSON.parse(Buffer.concat(await req.toArray()).toString());
    chats.push(chat);
    const { status = 200, content = 'Hello.', tool_calls, prompt_tokens = 9 } = reply(chat);
    const choices = [{ message: { role: 'assistant', content, tool_calls }, finish_reason: 'stop' }];
    res.writeHead(status).end(JSON.stringify({ choices, usage: { prompt_tokens } }));
  });
  const choice = parseEngineChoice(engine.url + words);
  const planned = await planEngines({ region: 'us', engines: [choice], catalogFile: undefined, signal: undefined });
  if (planned.kind !== 'real') throw new Error('The plan is of simulated engines.');
  return { ...planned, chats, found: planned.engines[0]?.models };
}

const hasPicture = ({ messages: [message] }: Chat) => message?.content.length === 2;
const aCall = { id: 'c', type: 'function', function: { name: 'greet', arguments: '{"name":"Ada"}' } };

it('lists what an engine shows: a tool call, an answer by a schema, a picture that is counted', async () => {
  const { found } = await plan((chat) => {
    if (chat.tool_choice) return { content: null, tool_calls: [aCall] };
    if (chat.response_format) return { content: '{"is_odd":true}' };
    return hasPicture(chat) ? { prompt_tokens: 80 } : {};
  });
  expect(found).toMatchObject([{ category: 'multimodal', features: ['tools', 'json_mode', 'json_schema'] }]);
});

it('lists nothing of a server that ignores what it does not know', async () => {
  const { found } = await plan(() => ({}));
  expect(found).toMatchObject([{ category: 'text', features: [] }]);
});

it.each([400, 500])('lists nothing of a server that refuses it with %p', async (status) => {
  const { found } = await plan((chat) =>
    chat.tool_choice || chat.response_format || hasPicture(chat) ? { status } : {},
  );
  expect(found).toMatchObject([{ category: 'text', features: [] }]);
});

it('lists no tools of an engine that takes only a demanded call, as a vLLM without a parser of calls does', async () => {
  const { found } = await plan(({ tool_choice: choice }) =>
    choice === 'auto' ? { status: 400 } : choice ? { content: null, tool_calls: [aCall] } : {},
  );
  expect(found).toMatchObject([{ features: [] }]);
});

it('lists tools of an engine whose model calls none unless it has to', async () => {
  const { found } = await plan(({ tool_choice: choice }) => (choice === 'required' ? { tool_calls: [aCall] } : {}));
  expect(found).toMatchObject([{ features: ['tools'] }]);
});

it('adds what the command line says to what the engine shows', async () => {
  const { found } = await plan(() => ({ status: 500 }), { words: ',tools,images,window=4096' });
  expect(found).toMatchObject([{ category: 'multimodal', features: ['tools'], contextLength: 4_096 }]);
});

it('reads the window of a llama.cpp', async () => {
  const { found } = await plan(() => ({}), { props: { default_generation_settings: { n_ctx: 16_384 } } });
  expect(found).toMatchObject([{ contextLength: 16_384 }]);
});

it('asks no server of several models, which might load each of them', async () => {
  const { found, chats } = await plan(() => ({ tool_calls: [aCall] }), {
    models: [{ id: 'a' }, { id: 'b' }],
    words: ',tools',
  });
  expect(chats).toEqual([]);
  expect(found).toMatchObject([{ features: ['tools'] }, { features: ['tools'] }]);
});

it('simulates the media models of the catalog beside it', async () => {
  const { mediaModels } = await plan(() => ({}));
  expect(mediaModels.map(({ id }) => id)).toContain('flux.1-schnell');
});

it('takes a bare address at the word of its list of models', async () => {
  engine = await startFakeEngine(answering({ models: aModelList({ id: 'm' }) }));
  const planned = await planEngines({ region: 'us', engines: [engine.url], catalogFile: undefined, signal: undefined });
  expect(planned).toMatchObject({ engines: [{ models: [{ servedName: 'm' }] }], mediaModels: [] });
});

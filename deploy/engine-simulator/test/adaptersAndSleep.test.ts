import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chat, post, servedRequest, startTestSimulator, type TestSimulator } from './support/testSimulator.ts';

let simulator: TestSimulator;
beforeEach(async () => {
  simulator = await startTestSimulator([
    {
      loraModules: [{ name: 'tuned', path: '/adapters/tuned' }],
      allowRuntimeLoraUpdating: true,
      enableSleepMode: true,
    },
    {},
  ]);
});
afterEach(() => simulator.close());

const ask = (content: string, fields: object = {}) =>
  post(`${simulator.url}/v1/chat/completions`, chat(content, fields));
const bodyOf = async (response: Response) =>
  (await response.json()) as {
    model: string;
    choices: { message: { content: string }; finish_reason: string }[];
    usage: { prompt_tokens_details: { cached_tokens: number } };
  };
const models = async () => {
  const answer = await fetch(`${simulator.url}/v1/models`);
  return ((await answer.json()) as { data: { id: string; parent: string | null }[] }).data;
};

describe('adapters', () => {
  const load = (fields: object) => post(`${simulator.url}/v1/load_lora_adapter`, fields);
  const unload = (fields: object) => post(`${simulator.url}/v1/unload_lora_adapter`, fields);

  it('are listed after the base, with their path and parent and without a window', async () => {
    expect(await models()).toEqual([
      expect.objectContaining({ id: 'test-model', parent: null, max_model_len: 8_192 }),
      expect.objectContaining({ id: 'tuned', root: '/adapters/tuned', parent: 'test-model', max_model_len: null }),
    ]);
  });

  it('answer under their own name, with their own text and their own cached prefixes', async () => {
    const content = `${'river '.repeat(40)}[[sim: tokens=20]]`;
    const base = await bodyOf(await ask(content));
    const tuned = await bodyOf(await ask(content, { model: 'tuned' }));
    expect([base.model, tuned.model]).toEqual(['test-model', 'tuned']);
    expect(tuned.choices[0]?.message.content).not.toBe(base.choices[0]?.message.content);
    expect(tuned.usage.prompt_tokens_details.cached_tokens).toBe(0);
    const again = await bodyOf(await ask(content, { model: 'tuned' }));
    expect(again.usage.prompt_tokens_details.cached_tokens).toBeGreaterThan(0);
  });

  it('are loaded and unloaded at run time', async () => {
    expect((await ask('x', { model: 'new' })).status).toBe(404);
    const loaded = await load({ lora_name: 'new', lora_path: '/adapters/new' });
    expect([loaded.status, await loaded.text()]).toEqual([200, "Success: LoRA adapter 'new' added successfully."]);
    expect((await bodyOf(await ask('x', { model: 'new' }))).model).toBe('new');
    const unloaded = await unload({ lora_name: 'new' });
    expect([unloaded.status, await unloaded.text()]).toEqual([
      200,
      "Success: LoRA adapter 'new' removed successfully.",
    ]);
    expect((await ask('x', { model: 'new' })).status).toBe(404);
  });

  it.each([
    ['loaded twice', () => load({ lora_name: 'tuned', lora_path: '/x' }), 400, 'InvalidUserInput'],
    ['without a path', () => load({ lora_name: 'x' }), 400, 'InvalidUserInput'],
    ['unloaded but not there', () => unload({ lora_name: 'x' }), 404, 'NotFoundError'],
  ])('%s are refused', async (_case, order, status, type) => {
    const response = await order();
    expect([response.status, await response.json()]).toEqual([
      status,
      { error: expect.objectContaining({ type, code: status }) },
    ]);
  });

  it('may be loaded in place of themselves', async () => {
    expect((await load({ lora_name: 'tuned', lora_path: '/newer', load_inplace: true })).status).toBe(200);
    expect(await models()).toContainEqual(expect.objectContaining({ id: 'tuned', root: '/newer' }));
  });

  it('show in the metrics while they run', async () => {
    const abort = new AbortController();
    void fetch(`${simulator.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': 'running' },
      body: JSON.stringify(chat('[[sim: ttft_ms=600000]]', { model: 'tuned', stream: true })),
      signal: abort.signal,
    }).catch(() => {});
    await servedRequest(simulator, 'running', ({ model }) => model === 'tuned');
    expect(await (await fetch(`${simulator.url}/load`)).json()).toEqual({ server_load: 1 });
    const metrics = await (await fetch(`${simulator.url}/metrics`)).text();
    expect(metrics).toMatch(
      /vllm:lora_requests_info\{max_lora="1",running_lora_adapters="tuned",waiting_lora_adapters=""\} \d/,
    );
    abort.abort();
  });
});

describe('sleep', () => {
  const isSleeping = async () => (await fetch(`${simulator.url}/is_sleeping`)).json();
  const order = (path: string) => fetch(simulator.url + path, { method: 'POST' });

  it('aborts what runs, stays healthy and lets new requests wait until it is woken', async () => {
    const running = ask('[[sim: ttft_ms=600000]]');
    while (((await (await fetch(`${simulator.url}/load`)).json()) as { server_load: number }).server_load === 0);
    expect((await order('/sleep?level=1')).status).toBe(200);
    expect((await bodyOf(await running)).choices[0]?.finish_reason).toBe('abort');
    expect(await isSleeping()).toEqual({ is_sleeping: true });
    expect((await fetch(`${simulator.url}/health`)).status).toBe(200);
    expect(await (await fetch(`${simulator.url}/metrics`)).text()).toMatch(
      /vllm:engine_sleep_state\{[^}]*sleep_state="weights_offloaded"\} 1\n/,
    );

    const waiting = post(`${simulator.url}/v1/chat/completions`, chat('x'), { 'x-request-id': 'waiting' });
    expect(await servedRequest(simulator, 'waiting', () => true)).toMatchObject({
      state: 'running',
      completionTokens: 0,
    });
    await order('/wake_up');
    expect((await waiting).status).toBe(200);
    expect(await isSleeping()).toEqual({ is_sleeping: false });
  });

  it('forgets the prefixes', async () => {
    const content = 'river '.repeat(40);
    await ask(content);
    await order('/sleep?level=1');
    await order('/wake_up');
    expect((await bodyOf(await ask(content))).usage.prompt_tokens_details.cached_tokens).toBe(0);
  });
});

it('none of these routes is there unless the engine was started for it', async () => {
  const [, plain] = simulator.urls;
  for (const path of ['/sleep', '/wake_up', '/v1/load_lora_adapter', '/v1/unload_lora_adapter']) {
    expect((await post(plain + path, {})).status).toBe(404);
  }
});

import { beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { expectBilled } from '../support/expectBilled.ts';
import { type Account, makeAccount } from '../support/makeAccount.ts';
import { splitEvents } from '../support/splitEvents.ts';
import { FLOOD, FLOOD_USAGE, floodTextOf } from '../support/startFloodingEngine.ts';
import { FLOODING_MODEL, flooding, PLAIN_MODEL, plain, stack } from './stack.ts';

const MESSAGES = '[{"role":"user","content":"Où ? 天気 😀"}]';

let account: Account;
describe('traffic between router and engine', () => {
  beforeEach(async () => {
    account = await makeAccount(stack);
  });

  /** The body that an engine gets for a chat with these members, as it came. */
  async function forward(members: string, by = account): Promise<string> {
    const response = await by.post('/chat/completions', `{"model":"${PLAIN_MODEL}","messages":${MESSAGES},${members}}`);
    expect(response.status).toBe(200);
    return plain.bodies.at(-1) ?? '';
  }

  it.each(['9223372036854775807', '-9223372036854775808', '9007199254740993', '0'])(
    'the seed %s arrives at the engine digit for digit',
    async (seed) => {
      expect(await forward(`"seed":${seed}`)).toMatch(new RegExp(`"seed":${seed}[,}]`));
    },
  );

  it('a json_schema arrives as json_object where the model does not know schemas', async () => {
    const format = { type: 'json_schema', json_schema: { name: 'any', schema: { type: 'object' } } };

    const body = JSON.parse(await forward(`"response_format":${JSON.stringify(format)}`));

    expect(body.response_format).toEqual({ type: 'json_object' });
  });

  it('what the router does not know arrives as it came, and null as nothing', async () => {
    const body = await forward('"a_new_knob": {"value":0.10},"top_p":null');

    expect(body).toContain('"a_new_knob": {"value":0.10}');
    expect(body).toContain(MESSAGES);
    expect(body).not.toContain('top_p');
  });

  it('a whole answer may have 2,048 tokens at most, whatever is asked for', async () => {
    expect(JSON.parse(await forward('"max_tokens":4000'))).toMatchObject({ max_tokens: 2_048 });
    expect(JSON.parse(await forward('"max_tokens":40'))).toMatchObject({ max_tokens: 40 });
  });

  it('the prompt cache is one for all keys of a workspace, and another for every workspace', async () => {
    const saltFor = async (by: Account): Promise<string> => JSON.parse(await forward('"seed":1', by)).cache_salt;

    const salt = await saltFor(account);
    expect(salt).toMatch(/^[\w-]{40,}$/);
    expect(await saltFor(await makeAccount(stack, { workspaceId: account.workspaceId }))).toBe(salt);
    expect(await saltFor(await makeAccount(stack))).not.toBe(salt);
  });

  it('nothing of who calls arrives', async () => {
    const body = await forward('"user":"somebody@example.org"');

    expect(body).not.toContain('somebody');
    expect(body).not.toContain(account.workspaceId);
    expect(body).not.toContain('sk-');
  });

  it('a reader that is slow holds its engine back, and gets the whole stream', async () => {
    const body = { model: FLOODING_MODEL, prompt: 'Go on.', max_tokens: FLOOD.chunks, stream: true };
    const unread = await account.postUnread('/completions', body);
    let sent = 0;
    let stillPolls = 0;
    await until('the engine to stand still', async () => {
      stillPolls = flooding.sentChunks() === sent ? stillPolls + 1 : 0;
      sent = flooding.sentChunks();
      return stillPolls === 6 ? true : undefined;
    });
    expect(sent).toBeLessThan(FLOOD.chunks);

    const events = splitEvents((await Array.fromAsync(unread.setEncoding('utf8'))).join(''));
    expect(events.pop()).toBe('[DONE]');
    const texts = events.map((event) => JSON.parse(event).choices[0].text);
    // The finish reason has a chunk of its own.
    expect(texts.pop()).toBe('');
    expect(texts).toHaveLength(FLOOD.chunks);
    expect(texts.findIndex((text, index) => text !== floodTextOf(index))).toBe(-1);
    const headers = new Headers({ 'x-router-call-id': String(unread.headers['x-router-call-id']) });
    await expectBilled(account, { headers, model: FLOODING_MODEL, usage: FLOOD_USAGE });
  });
});

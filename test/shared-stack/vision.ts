import { beforeEach, describe, expect, it } from '@jest/globals';
import { aPng } from '@turnpike/test-support/anImage';
import { until } from '@turnpike/test-support/until';
import { expectBilled, expectUnbilled } from '../support/expectBilled.ts';
import { findServed } from '../support/findServed.ts';
import { type Account, makeAccount } from '../support/makeAccount.ts';
import { readLogLines } from '../support/readLogLines.ts';
import { splitEvents } from '../support/splitEvents.ts';
import { stack } from './stack.ts';
import { canary, PNG, web } from './web.ts';

const VISION_MODEL = 'qwen2.5-vl-7b-instruct';
const IMAGE_TOKENS = 256;
const UNUSABLE = {
  error: {
    message:
      'An image cannot be fetched or decoded. Send a public http(s) URL or a base64 data URL of a PNG, JPEG, WebP or GIF.',
    type: 'invalid_request_error',
    param: 'messages',
    code: null,
  },
};

let account: Account;
const image = (url: string) => ({ type: 'image_url', image_url: { url } });
const inline = (bytes: Buffer) => `data:image/png;base64,${bytes.toString('base64')}`;
const bodyOf = (parts: object[], fields: object = {}) => ({
  model: VISION_MODEL,
  max_tokens: 8,
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'What is this? [[sim: ttft_ms=0 itl_ms=0]]' }, ...parts] },
  ],
  ...fields,
});
const ask = (parts: object[], fields: object = {}) => account.post('/chat/completions', bodyOf(parts, fields));

interface Answer {
  choices: { message: { content: string } }[];
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

describe('an image', () => {
  beforeEach(async () => {
    account = await makeAccount(stack);
    web.paths.length = 0;
  });

  describe('at an http address', () => {
    it('reaches the engine as a data URL, and is answered and billed as one sent inline', async () => {
      const inlined = await ask([image(inline(PNG))]);
      const { usage: expected } = (await inlined.json()) as Answer;
      const other = await makeAccount(stack);
      const response = await other.post('/chat/completions', bodyOf([image(`${web.url}/cat.png`)]));
      const { choices, usage } = (await response.json()) as Answer;

      expect(response.status).toBe(200);
      expect(choices[0]?.message.content).toEqual(expect.stringMatching(/./));
      expect(usage).toEqual(expected);
      expect(usage.prompt_tokens).toBeGreaterThan(IMAGE_TOKENS);
      expect(web.paths).toEqual(['/cat.png']);
      await expectBilled(other, { headers: response.headers, model: VISION_MODEL, usage });
    });

    it('is to the engine the very image it would be inline: what is cached of the one serves the other', async () => {
      // Calls that begin alike for long are sent to the same engine.
      const beginning = { type: 'text', text: 'Look at it for long. '.repeat(200) };
      await (await ask([beginning, image(inline(PNG))])).text();
      const response = await ask([beginning, image(`${web.url}/cat.png`)]);
      await response.text();
      const { promptTokens = 0, cachedTokens } = (await findServed(stack, response.headers)) ?? {};
      expect(cachedTokens).toBeGreaterThan(promptTokens - IMAGE_TOKENS);
    });

    it.each(['/cat.jpeg', '/cat.gif', '/cat.webp', '/hops/2'])('is taken from %s', async (path) => {
      const response = await ask([image(`${web.url}${path}`)]);
      expect(response.status).toBe(200);
      await response.text();
    });

    it('is fetched once where it stands twice, beside inline ones and as a text, and each counts', async () => {
      const url = `${web.url}/cat.png`;
      const first = await ask([{ type: 'text', text: url }]);
      const { usage: blind } = (await first.json()) as Answer;
      const spentBefore = await expectBilled(account, { headers: first.headers, model: VISION_MODEL, usage: blind });
      const parts = [
        image(url),
        { type: 'text', text: url },
        image(inline(PNG)),
        { type: 'image_url', image_url: { url } },
      ];
      const response = await ask(parts);
      const { usage } = (await response.json()) as Answer;

      expect(web.paths).toEqual(['/cat.png']);
      expect(usage.prompt_tokens).toBe(blind.prompt_tokens + 3 * IMAGE_TOKENS);
      await expectBilled(account, { headers: response.headers, model: VISION_MODEL, usage, spentBefore });
    });

    it('is streamed about', async () => {
      const response = await ask([image(`${web.url}/cat.png`)], { stream: true });
      expect(splitEvents(await response.text()).at(-1)).toBe('[DONE]');
      expect(await account.untilUsage(response.headers)).toMatchObject({ status: 'success' });
    });

    it('is taken from a message that engines know by another role', async () => {
      const parts = [{ type: 'text', text: 'Look.' }, image(`${web.url}/cat.png`)];
      const response = await account.post('/chat/completions', {
        ...bodyOf([]),
        messages: [
          { role: 'developer', content: 'Be brief.' },
          { role: 'user', content: parts },
        ],
      });
      expect(response.status).toBe(200);
      await response.text();
    });

    it('is not fetched for a call that is refused', async () => {
      const poor = await makeAccount(stack, { maxBudgetUsd: '0.000000001' });
      const response = await poor.post('/chat/completions', bodyOf([image(`${web.url}/cat.png`)]));
      expect(response.status).toBe(402);
      const unknown = await ask([image(`${web.url}/cat.png`)], { model: 'no-such-model' });
      expect(unknown.status).toBe(404);
      expect(web.paths).toEqual([]);
    });
  });

  describe('that cannot be used', () => {
    const urls: [string, () => string][] = [
      ['that is missing', () => `${web.url}/missing.png`],
      ['that is a page', () => `${web.url}/page`],
      ['that is a drawing', () => `${web.url}/drawing`],
      ['of 50,000 × 50,000', () => `${web.url}/huge.png`],
      ['that is cut off', () => `${web.url}/half.png`],
      ['that is compressed', () => `${web.url}/compressed`],
      ['that does not come in time', () => `${web.url}/slow`],
      ['behind four redirects', () => `${web.url}/hops/3`],
      ['behind a redirect to a machine of ours', () => `${web.url}/inside`],
      ['on a machine of ours', () => `${canary.url}/cat.png`],
      ['on a machine of ours, written otherwise', () => canary.url.replace('127.0.0.1', '2130706433')],
      ['at the address of a cloud’s secrets', () => 'http://169.254.169.254/latest/meta-data/'],
      ['at a port where nobody listens', () => 'http://127.0.0.1:9/cat.png'],
      ['at a name that nobody has', () => 'https://no-such-host.invalid/cat.png'],
      ['sent inline, of too many pixels', () => inline(aPng({ width: 50_000, height: 50_000 }))],
      ['sent inline, and cut off', () => inline(aPng({ width: 8, height: 8 }).subarray(0, 20))],
    ];

    it.each(urls)('%s is 400 in the same bytes, costs nothing, and leaves a row that says so', async (_which, url) => {
      const response = await ask([image(url())]);
      expect(response.status).toBe(400);
      expect(await response.text()).toBe(JSON.stringify(UNUSABLE));
      await expectUnbilled(account, response.headers);
      expect(canary.connections).toBe(0);
    });

    it('sent inline, whose bytes begin as no image, is 400 in the same bytes before it is admitted: no row', async () => {
      const response = await ask([image(inline(Buffer.from('no image')))]);
      expect(response.status).toBe(400);
      expect(await response.text()).toBe(JSON.stringify(UNUSABLE));
      expect(response.headers.has('x-ratelimit-limit-requests')).toBe(false);
    });

    it('is 400 with its status in a stream too', async () => {
      const response = await ask([image(`${web.url}/page`)], { stream: true });
      expect(response.status).toBe(400);
      expect(await response.text()).toBe(JSON.stringify(UNUSABLE));
      await expectUnbilled(account, response.headers);
    });

    it('is logged by its call and a reason alone', async () => {
      const { headers } = await ask([image(`${web.url}/secret-page?token=secret-token`)]);
      const callId = headers.get('x-router-call-id');
      const line = await until('the line of the call', async () => {
        const lines = await readLogLines(stack.stateDir, 'model-router');
        return lines.find((each) => each.callId === callId);
      });
      expect(line).toMatchObject({ level: 'info', reason: 'unexpected_status' });
      const lines = JSON.stringify(await readLogLines(stack.stateDir, 'model-router'));
      for (const text of ['secret-', 'no-such-host', '169.254.169.254', 'meta-data', '.png', new URL(web.url).host])
        expect(lines).not.toContain(text);
    });
  });

  it('is let go of when its client leaves, and nothing is charged', async () => {
    const leaving = new AbortController();
    const asked = fetch(`${stack.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf([image(`${web.url}/slow`)])),
      signal: leaving.signal,
    }).catch(() => undefined);
    await until('the fetch to begin', async () => (web.paths.length === 1 ? true : undefined));
    const openBefore = web.openConnections;
    leaving.abort();
    await asked;
    await until('the fetch to be dropped', async () => (web.openConnections < openBefore ? true : undefined));
    expect(await account.findSpend()).toBe(0n);
  });
});

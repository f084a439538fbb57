import { afterEach, describe, expect, it } from '@jest/globals';
import { scrapeMetrics } from '@turnpike/test-support/readMetrics';
import { until } from '@turnpike/test-support/until';
import { type Account, makeAccount } from '../../support/makeAccount.ts';
import { host, open, stack } from './stack.ts';

// Several workspaces at once send addresses that never answer. They once held every slot for fetching images. All other calls
// were 503 until the timeout of a fetch.

const VISION_MODEL = 'qwen2.5-vl-7b-instruct';
const IMAGES_PER_CALL = 16;
const SLOTS = 256;

let leaving = new AbortController();

const bodyOf = (urls: string[]) =>
  JSON.stringify({
    model: VISION_MODEL,
    max_tokens: 2,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this? [[sim: ttft_ms=0 itl_ms=0]]' },
          ...urls.map((url) => ({ type: 'image_url', image_url: { url } })),
        ],
      },
    ],
  });
const urlsOf = (path: string, count: number) => Array.from({ length: count }, (_, nth) => `${host.url}${path}?${nth}`);
const ask = async ({ apiKey }: Account, urls: string[]): Promise<{ status: number; text: string }> => {
  const response = await fetch(`${stack.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: bodyOf(urls),
    signal: leaving.signal,
  });
  return { status: response.status, text: await response.text() };
};

/** Fills the slots from so many workspaces with calls that fetch from `path`; what becomes of the calls is nobody's concern. */
async function hoard(workspaces: number, { calls, path }: { calls: number; path: string }): Promise<Account[]> {
  const hoarders = await Promise.all(Array.from({ length: workspaces }, () => makeAccount(stack)));
  for (const hoarder of hoarders)
    for (let call = 0; call < calls; call += 1) ask(hoarder, urlsOf(path, IMAGES_PER_CALL)).catch(() => undefined);
  await until('every slot to be taken', () => open.size >= SLOTS);
  return hoarders;
}

describe('fetches of images', () => {
  afterEach(async () => {
    leaving.abort();
    leaving = new AbortController();
    await until('all fetches to be dropped', () => open.size === 0);
  });

  it.each([
    [4, 4, 'never answer', '/silent'],
    [4, 4, 'send a byte now and then', '/drip'],
    [40, 1, 'never answer', '/silent'],
  ])(
    '%i workspaces, %i calls each, whose images’ hosts %s: no other key’s image call is refused',
    async (workspaces, calls, _what, path) => {
      await hoard(workspaces, { calls, path });
      const others = await Promise.all(Array.from({ length: 5 }, () => makeAccount(stack)));
      const statuses: number[] = [];
      for (const other of others) {
        statuses.push((await ask(other, [`${host.url}/cat.png`])).status);
        const many = Array.from({ length: IMAGES_PER_CALL }, (_, nth) => `${host.url}/cat.png#${nth}`);
        statuses.push((await ask(other, many)).status);
      }
      expect(statuses).toEqual(Array.from({ length: 10 }, () => 200));
    },
  );

  it('another key of the workspace that hoards is served too, and the hoarder’s next call is told why it is not', async () => {
    const [hoarder] = await hoard(4, { calls: 4, path: '/silent' });
    if (!hoarder) throw new Error('nobody hoards');
    const sibling = await makeAccount(stack, { workspaceId: hoarder.workspaceId });
    expect((await ask(sibling, [`${host.url}/cat.png`])).status).toBe(200);

    const { status, text } = await ask(hoarder, [`${host.url}/cat.png`]);
    expect(status).toBe(503);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'service_unavailable' } });
    expect(text).toContain('images on their way');
    const metrics = await scrapeMetrics(
      `${stack.running.stack.regions.us.services['model-router'].internal_url}/metrics`,
    );
    const hits = [...metrics.keys()].filter((name) =>
      name.startsWith('turnpike_key_bounds_total{bound="image_fetches"'),
    );
    expect(hits).toEqual([expect.stringMatching(/key="key_/)]);
  });
});

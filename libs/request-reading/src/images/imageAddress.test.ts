import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { privateAddressForms } from '../../test/privateAddressForms.ts';
import { findDialledAddresses, followRedirect, parseHosts, parseImageUrl } from './imageAddress.ts';
import { ImageError } from './imageError.ts';
import { isPublicAddress } from './isPublicAddress.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const signal = new AbortController().signal;
const NOWHERE = new Set<string>();

/** The addresses that would be dialled for a URL, or why none is. */
async function verdictOn(
  text: string,
  { answers = [], privateHosts = NOWHERE }: { answers?: string[]; privateHosts?: ReadonlySet<string> } = {},
): Promise<string[] | string> {
  try {
    const resolve = async () => answers;
    return await findDialledAddresses(parseImageUrl(text), { privateHosts, resolve, signal });
  } catch (error) {
    if (error instanceof ImageError) return error.reason;
    throw error;
  }
}

it('no spelling of an address that is not public is dialled', async () => {
  const forms = privateAddressForms();
  expect(new Set(forms).size).toBeGreaterThanOrEqual(200);
  for (const form of forms) {
    const verdict = await verdictOn(form, { answers: ['127.0.0.1'] });
    expect([form, verdict]).toEqual([form, expect.stringMatching(/^(?:address_not_public|url_not_allowed)$/)]);
  }
});

it.each(['http://8.8.8.8/a.png', 'https://8.8.8.8:443/a.png', 'http://134744072/a.png', 'http://８.８.８.８/a.png'])(
  '%s is dialled at its address',
  async (url) => {
    expect(await verdictOn(url)).toEqual(['8.8.8.8']);
  },
);

it.each(['http://8.8.8.8:8080/', 'https://8.8.8.8:80/', 'http://8.8.8.8:443/', 'http://example.org:22/'])(
  '%s is refused for its port',
  async (url) => {
    expect(await verdictOn(url, { answers: ['8.8.8.8'] })).toBe('url_not_allowed');
  },
);

it('an address longer than 8,192 characters is refused', async () => {
  const url = 'http://8.8.8.8/';
  expect(await verdictOn(url.padEnd(8_192, 'a'))).toEqual(['8.8.8.8']);
  expect(await verdictOn(url.padEnd(8_193, 'a'))).toBe('url_not_allowed');
});

it('a name whose answers change is dialled at those that were checked, and never if one of them is not public', async () => {
  const anAddress = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('127.0.0.1', '::1', '10.0.0.1', '8.8.8.8'));
  await fc.assert(
    fc.asyncProperty(fc.array(anAddress, { minLength: 1, maxLength: 4 }), async (answers) => {
      const verdict = await verdictOn('https://rebinding.example/a.png', { answers });
      expect(verdict).toEqual(answers.every(isPublicAddress) ? answers : 'address_not_public');
    }),
    { numRuns: 1_000 },
  );
});

it('a name is looked up once for each dial', async () => {
  const answers = [['8.8.8.8'], ['127.0.0.1']];
  const resolve = async () => answers.shift() ?? [];
  const options = { privateHosts: NOWHERE, resolve, signal };
  const url = new URL('https://rebinding.example/');
  expect(await findDialledAddresses(url, options)).toEqual(['8.8.8.8']);
  expect(answers).toHaveLength(1);
  await expect(findDialledAddresses(url, options)).rejects.toThrow('address_not_public');
});

it('only the very host and port that are exempt may be private', async () => {
  const privateHosts = z.string().transform(parseHosts).parse('127.0.0.1:9000,images.test:80,[::1]:443');
  const verdicts = [
    ['http://127.0.0.1:9000/', ['127.0.0.1']],
    ['http://127.1:9000/', ['127.0.0.1']],
    ['http://images.test/', ['127.0.0.1']],
    ['https://[::1]/', ['::1']],
    ['http://127.0.0.1:9001/', 'url_not_allowed'],
    ['http://127.0.0.2:9000/', 'url_not_allowed'],
    ['http://127.0.0.1/', 'address_not_public'],
    ['https://images.test/', 'address_not_public'],
    ['http://x.images.test/', 'address_not_public'],
    ['ftp://127.0.0.1:9000/', 'url_not_allowed'],
    ['http://user@127.0.0.1:9000/', 'url_not_allowed'],
  ] as const;
  for (const [url, expected] of verdicts)
    expect([url, await verdictOn(url, { answers: ['127.0.0.1'], privateHosts })]).toEqual([url, expected]);
});

it.each([
  'localhost',
  'localhost:',
  'a b:80',
  'http://localhost:80',
  'user@localhost:80',
  'localhost:99999',
  'a:1,,b:2',
])('%j names no exempt hosts, and the router does not start', (text) => {
  expect(z.string().transform(parseHosts).safeParse(text).success).toBe(false);
});

it('no host is exempt unless one is named', () => {
  expect(z.string().transform(parseHosts).parse('')).toEqual(new Set());
});

it.each([
  ['http://a.example/x/y', 'z.png', 'http://a.example/x/z.png'],
  ['http://a.example/', 'https://b.example/z', 'https://b.example/z'],
  ['https://a.example/', '//b.example/z', 'https://b.example/z'],
  ['https://a.example/', 'http://a.example/z', 'url_not_allowed'],
  ['https://a.example/', 'file:///etc/passwd', 'url_not_allowed'],
  ['http://a.example/', 'http://user:pass@b.example/', 'url_not_allowed'],
  ['http://a.example/', 'data:image/png;base64,AAAA', 'url_not_allowed'],
  ['http://a.example/', 'http://[', 'url_not_allowed'],
])('a redirect from %s to %s leads to %s', (from, location, expected) => {
  const follow = () => followRedirect(new URL(from), location).href;
  if (expected === 'url_not_allowed') expect(follow).toThrow(expected);
  else expect(follow()).toBe(expected);
});

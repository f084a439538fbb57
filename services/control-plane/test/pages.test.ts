import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NONCE_PLACEHOLDER, PAGES } from '@turnpike/console-api/pages';
import { readPages } from '../src/pages/pages.ts';
import { startAccount, type TestAccount } from './startAccount.ts';

describe('the pages', () => {
  let account: TestAccount;
  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turnpike-pages-'));
    await mkdir(join(folder, 'assets'));
    const html = `<head><script nonce="${NONCE_PLACEHOLDER}" src="/assets/a-1.js"></script></head>`;
    await writeFile(join(folder, 'index.html'), html);
    await writeFile(join(folder, 'files.json'), JSON.stringify({ [PAGES.usage]: ['assets/b-1.js', 'assets/b-1.css'] }));
    await writeFile(join(folder, 'assets/a-1.js'), 'start()');
    account = await startAccount({ pages: await readPages(folder) });
  });
  afterAll(() => account.stop());

  it.each(Object.values(PAGES))('GET %s answers with index.html under a policy without unsafe-inline', async (path) => {
    const { status, headers, body } = await account.openBrowser().get(path.replaceAll('$', ''));

    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-cache');
    const policy = headers.get('content-security-policy') ?? '';
    const [, nonce] = /'nonce-([\w-]{22})'/.exec(policy) ?? [];
    expect(body).toContain(`<script nonce="${nonce}" src="/assets/a-1.js"></script>`);
    const files = [...body.matchAll(/<link rel="(\w+)" crossorigin href="([^"]+)">/g)].map(([, rel, file]) => [
      rel,
      file,
    ]);
    const ofUsage = [
      ['modulepreload', '/assets/b-1.js'],
      ['stylesheet', '/assets/b-1.css'],
    ];
    expect(files).toEqual(path === PAGES.usage ? ofUsage : []);
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("; connect-src 'self' https://console.eu.example;");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
  });

  it('gives every answer a nonce of its own', async () => {
    const browser = account.openBrowser();
    expect((await browser.get('/sign-in')).body).not.toBe((await browser.get('/sign-in')).body);
  });

  it('answers with an asset for good', async () => {
    const { status, headers, body } = await account.openBrowser().get('/assets/a-1.js');

    expect({ status, body }).toEqual({ status: 200, body: 'start()' });
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(headers.get('content-encoding')).toBe('gzip');
  });

  it.each([
    '/assets/a-2.js',
    '/assets/..%2findex.html',
    '/index.html',
    '/nowhere',
    '/organizations/o/nowhere',
    '/account',
  ])('GET %s answers 404 in JSON', async (path) => {
    const { status, body } = await account.openBrowser().get(path);
    expect({ status, error: body.error }).toEqual({ status: 404, error: 'not_found' });
  });

  it('leaves the routes of the account layer as they are', async () => {
    const { status, headers, body } = await account.openBrowser().get('/account/user');
    expect({ status, error: body.error }).toEqual({ status: 401, error: 'no_session' });
    expect(headers.get('cache-control')).toBe('no-store');
  });
});

it('answers no path with a page if there is no dashboard', async () => {
  const account = await startAccount();
  try {
    expect((await account.openBrowser().get('/sign-in')).status).toBe(404);
  } finally {
    await account.stop();
  }
});

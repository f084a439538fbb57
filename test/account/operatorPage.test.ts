import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { INTERNAL_SERVICES } from '@turnpike/config/services';
import { Eyes } from '../../dashboard/test/eyes.ts';
import { inBrowser } from '../../dashboard/test/inBrowser.ts';
import { launchBrowser } from '../../dashboard/test/startDashboard.ts';
import { startAccount, type TestAccount } from '../../services/control-plane/test/startAccount.ts';
import {
  type OperatorListener,
  startOperatorListener,
} from '../../services/control-plane/test/startOperatorListener.ts';
import { runTurnpikeHere } from '../support/runTurnpike.ts';
import { openOperatorPage, type RunningPage, startOperatorPage } from '../support/startOperatorPage.ts';

// The account layer, and two regions that are away.

const REGION_PARTS = ['fleet', 'queues', 'recovery', 'reconciliation', 'dead-letters', 'overdue-jobs'];
let account: TestAccount;
let listener: OperatorListener;
let folder: string;
let stackFile: string;
let organizationId: string;
const pages: RunningPage[] = [];
beforeAll(async () => {
  account = await startAccount();
  listener = await startOperatorListener(account);
  folder = await mkdtemp(join(tmpdir(), 'turnpike-operator-'));
  stackFile = join(folder, 'stack.json');
  const secretsFile = join(folder, 'secrets.json');
  await writeFile(secretsFile, JSON.stringify({ internalKeys: listener.region.signingKeys }));
  const away = { internal_url: 'http://127.0.0.1:1', pid: process.pid };
  const region = {
    services: Object.fromEntries(INTERNAL_SERVICES.map((name) => [name, away])),
    secrets_file: secretsFile,
  };
  const services = { 'control-plane': { internal_url: listener.url, pid: process.pid } };
  await writeFile(stackFile, JSON.stringify({ port_base: 'test', services, regions: { us: region, eu: region } }));
  const owner = await account.signIn('owner@example.com');
  organizationId = (await owner.post('/account/organizations', { name: 'Acme' })).body.organization_id;
  const hold = ['holds', 'open', organizationId, '--reason', 'fraud_review', '--note', '<b>Look</b>'];
  expect((await runTurnpikeHere([...hold, '--region', 'us'], { stackFile })).code).toBe(0);
});
afterAll(async () => {
  for (const page of pages) await page.stop();
  await listener?.stop();
  await account?.stop();
  await rm(folder, { recursive: true });
});

async function aPage(): Promise<RunningPage> {
  const page = await startOperatorPage({ stackFile });
  pages.push(page);
  return page;
}

it('shows open holds, and says of each part of a region that the region gives no answer', async () => {
  const { url } = await aPage();
  const read = await openOperatorPage(url);
  const listed = JSON.parse((await read('/parts')).text) as { path: string; region: string }[];
  expect(listed.map(({ path }) => path)).toEqual([
    ...['us', 'eu'].flatMap((region) => REGION_PARTS.map((name) => `/parts/${region}/${name}`)),
    '/parts/account/holds',
  ]);
  const holds = await read('/parts/account/holds');
  expect(holds.text).toContain(organizationId);
  expect(holds.text).toContain('&lt;b&gt;Look&lt;/b&gt;');
  for (const { path, region } of listed.slice(0, -1)) {
    const { status, text } = await read(path);
    expect(status).toBe(200);
    expect(text).toMatch(path.endsWith('/fleet') ? /no answer/ : new RegExp(`^<p>${region} gives no answer`));
  }
});

it('gives one session for its address, and nothing without the session', async () => {
  const { url } = await aPage();
  const { origin, hash } = new URL(url);
  await openOperatorPage(url);
  await expect(openOperatorPage(url)).rejects.toThrow('401');
  const statusOf = async (path: string, init?: RequestInit) => (await fetch(origin + path, init)).status;
  for (const path of ['/parts', '/parts/us/fleet', '/parts/account/holds', '/none']) {
    expect(await statusOf(path)).toBe(401);
    expect(await statusOf(path, { headers: { authorization: `Bearer ${hash.slice(1)}` } })).toBe(401);
    expect(await statusOf(path, { method: 'POST' })).toBe(405);
  }
  const page = await fetch(origin);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(await page.text()).not.toContain('/parts');
});

it('answers no request that names another host, as a page of another site can make a browser send', async () => {
  const { url } = await aPage();
  const { hostname, port } = new URL(url);
  const status = await new Promise((resolve) => {
    request({ hostname, port, path: '/', headers: { host: `evil.example:${port}` } }, (res) => {
      res.resume();
      resolve(res.statusCode);
    }).end();
  });
  expect(status).toBe(404);
});

it('ends with Ctrl-C', async () => {
  const page = await aPage();
  expect(await page.stop()).toBe(0);
  await expect(fetch(new URL(page.url).origin)).rejects.toThrow();
});

inBrowser('the operator’s page in Chromium', () => {
  it('is accessible, live, and says when its command has ended', async () => {
    const { url, stop } = await aPage();
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      page.setDefaultTimeout(60_000);
      const complaints: string[] = [];
      page.on('pageerror', (error) => complaints.push(error.message));
      await page.goto(url);
      await page.getByRole('cell', { name: organizationId }).waitFor();
      await page.getByText('Region eu gives no answer').first().waitFor();
      expect(page.url()).not.toContain('#');
      await new Eyes().check(page, 'operator');
      await page.reload();
      await page.getByRole('cell', { name: organizationId }).waitFor();
      const other = await browser.newPage();
      await other.goto(url);
      await other.getByText('The address works once').waitFor();
      await stop();
      await page.getByText('has ended').waitFor();
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});

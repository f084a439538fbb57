import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { beforeEach, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { isWellFormedApiKey } from '../../../libs/api-keys/src/apiKey.ts';
import {
  envelope,
  gateRejection,
  throttled,
  unavailable,
  type WireError,
} from '../../../libs/public-api/src/wireError.ts';
import { until } from '../../../libs/test-support/src/until.ts';
import { ask, CHAT_MODELS, end, LIVE_CHAT_MODELS, refuse, say } from '../chats.ts';
import { inBrowser } from '../inBrowser.ts';
import { goTo, press } from '../startDashboard.ts';
import { dashboard } from './dashboard.ts';

const CALL_ID = '0198c2f0-1111-7222-8333-444455556666';

inBrowser('the playground of a workspace in Chromium', () => {
  /** The calls at the router, each with its body once that was read. */
  let calls: { req: IncomingMessage; res: ServerResponse; body: Record<string, unknown> }[];
  let begin: (res: ServerResponse) => void;
  beforeEach(() => {
    calls = [];
    begin = (res) => {
      say(res, { content: 'Hello' });
      end(res);
    };
    dashboard.catalog.show(CHAT_MODELS, LIVE_CHAT_MODELS);
    dashboard.answerChats(async (req, res) => {
      calls.push({ req, res, body: (await json(req)) as Record<string, unknown> });
      res.setHeader('x-router-call-id', CALL_ID);
      begin(res);
    });
  });

  const refuseWith = (refusal: WireError) => (begin = (res) => refuse(res, refusal));

  async function open(address: string): Promise<{ page: Page; path: string; workspaceId: string }> {
    const opened = await dashboard.prepareWorkspace(address);
    await opened.page.goto(`${opened.path}/playground`);
    await opened.page.getByLabel('Message').waitFor();
    return opened;
  }
  const listKeys = (workspaceId: string) => dashboard.auth.db.apiKey.findMany({ where: { workspaceId } });

  it('streams an answer with its reasoning, its cost and its call, by a short key that is revoked afterwards', async () => {
    const { page, workspaceId } = await open('ann@playground.example');
    begin = (res) => say(res, { reasoning: 'They greet.' });
    await page.getByLabel('System text').fill('Be short.');
    await page.getByLabel('Temperature').fill('0.5');
    await ask(page);
    await page.getByText('They greet.').waitFor();
    await page.getByText('Estimate of the output so far: $0.0000004.').waitFor();
    const [first] = calls;
    if (!first) throw new Error('no call came');
    say(first.res, { content: 'Hel' });
    await page.getByText('Hel', { exact: true }).waitFor();
    await page.getByText('Estimate of the output so far: $0.0000008.').waitFor();
    say(first.res, { content: 'lo' }, 'length');
    end(first.res);
    await page.getByText('Hello', { exact: true }).waitFor();
    await page.getByText('max tokens allows no more. Cost: $0.00012.').waitFor();
    expect(first.body).toEqual({
      model: 'large-chat',
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: 'Hi' },
      ],
      max_tokens: 1024,
      temperature: 0.5,
      stream: true,
      stream_options: { include_usage: true },
    });
    await ask(page, 'More');
    await until('the second call', () => calls.length === 2);
    expect(calls[1]?.body.messages).toEqual([
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello' },
      { role: 'user', content: 'More' },
    ]);

    const secret = String(first.req.headers.authorization).replace('Bearer ', '');
    expect(isWellFormedApiKey(secret)).toBe(true);
    expect(calls[1]?.req.headers.authorization).toBe(`Bearer ${secret}`);
    const [key, ...others] = await listKeys(workspaceId);
    expect(others).toEqual([]);
    expect(key).toMatchObject({ name: 'Playground', maxBudgetNanoUsd: 1_000_000_000n, lastFour: secret.slice(-4) });
    expect((key?.expiresAt?.getTime() ?? 0) - Date.now()).toBeLessThanOrEqual(600_000);
    const stored = [await page.content(), JSON.stringify(await page.context().storageState({ indexedDB: true }))];
    expect(stored.join()).not.toContain(secret.slice(3, -6));

    await page.getByRole('link', { name: CALL_ID }).first().click();
    await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
    await until('the key is revoked', async () => (await listKeys(workspaceId))[0]?.status === 'revoked');
    await goTo(page, 'Keys');
    await page.getByText('ended keys of the playground (1)').waitFor();
    expect(await page.getByRole('row', { name: /^Playground/ }).count()).toBe(0);
    await page.getByLabel('Status').selectOption('Revoked');
    await page
      .getByRole('row', { name: /^Playground/ })
      .getByText('Revoked')
      .waitFor();
  });

  it('stops an answer, whose call ends at the router, by keyboard alone', async () => {
    const { page } = await open('ben@playground.example');
    begin = (res) => say(res, { content: 'On and on' });
    await page.getByLabel('Message').focus();
    await page.keyboard.type('Tell me');
    await press(page, 'Send');
    await page.getByText('On and on').waitFor();
    await press(page, 'Stop');
    await page.getByText('You stopped the answer').waitFor();
    await until('the end of the call', () => calls[0]?.res.destroyed);
    expect(calls).toHaveLength(1);
    await page.getByRole('button', { name: 'Start over' }).click();
    await page.getByText('On and on').waitFor({ state: 'detached' });
  });

  it('shows an event of an error and a stream that breaks off as errors, beside the text so far', async () => {
    const { page } = await open('cleo@playground.example');
    begin = (res) => {
      say(res, { content: 'So far' });
      const { body } = envelope(500, { message: 'The server shuts down.', type: 'server_error', code: 'stream_cut' });
      res.end(`data: ${JSON.stringify(body)}\n\n`);
    };
    await ask(page);
    await page.getByRole('alert').getByText('The server shuts down.').waitFor();
    await page.getByText('So far', { exact: true }).waitFor();
    for (const breakOff of [(res: ServerResponse) => res.end(), (res: ServerResponse) => res.destroy()]) {
      await page.getByRole('button', { name: 'Start over' }).click();
      begin = (res) => say(res, { content: 'So far' });
      await ask(page);
      await page.getByText('So far', { exact: true }).waitFor();
      const call = calls.at(-1);
      if (call) breakOff(call.res);
      await page.getByRole('alert').getByText('broke off before its end').waitFor();
      await page.getByText('So far', { exact: true }).waitFor();
    }
  });

  it('shows refusals with their message and a link to help', async () => {
    const { page } = await open('dora@playground.example');
    for (const [refusal, text] of [
      [gateRejection(402, { error: 'account_on_hold', message: 'Add credit first.' }), 'Add credit first.'],
      [throttled('Rate limit reached. Retry in 20 s.', {}), 'Retry in 20 s.'],
      [unavailable('No engine answers right now.'), 'No engine answers right now.'],
    ] as const) {
      refuseWith(refusal);
      await ask(page);
      await page.getByRole('alert').getByText(text).waitFor();
      await page.getByRole('link', { name: 'Why are calls refused?' }).waitFor();
      await page.getByText('The call was refused and costs nothing.').waitFor();
      expect(await page.getByRole('link', { name: CALL_ID }).count()).toBe(0);
      await page.getByRole('button', { name: 'Start over' }).click();
    }
    await page.route('**/console/chat/**', (route) => route.abort());
    await ask(page);
    await page.getByRole('alert').getByText('The region does not answer').waitFor();
    await page.getByLabel('Max tokens').fill('none');
    await ask(page);
    await page.getByText('This field must be a whole number.').waitFor();
  });

  it('is not for a billing viewer, and says so where a region has no chat model', async () => {
    const { page, path, organizationId } = await dashboard.prepareWorkspace('ida@playground.example');
    dashboard.catalog.show(CHAT_MODELS, { 'small-embed': { engines: 1, healthy: 1 } });
    // A page with a route has no cache.
    await page.route('**/console/models', (route) => route.continue());
    await page.goto(`${path}/playground`);
    await page.getByText('has no ready chat model').waitFor();
    const { page: viewer } = await dashboard.openSession('jon@playground.example');
    const { userId } = await dashboard.account.db.email.findUniqueOrThrow({
      where: { address: 'jon@playground.example' },
    });
    await dashboard.account.db.member.create({ data: { organizationId, userId, role: 'billing_viewer' } });
    await viewer.goto(`${path}/playground`);
    await viewer.getByText('Your role does not show this').waitFor();
    expect(await viewer.getByRole('link', { name: 'Playground' }).count()).toBe(0);
  });
});

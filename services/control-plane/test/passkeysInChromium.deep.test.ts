import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import { ACCOUNT_ORIGIN, startAccount, type TestAccount } from './startAccount.ts';

const { TURNPIKE_TEST_BROWSER: channel } = process.env;
const AUTHENTICATOR = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const;

/** Runs in the page: `send` posts as the dashboard does, `create` and `get` are the two ceremonies of the browser. */
const HELPERS = `
  const send = async (path, body) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(path, { method: 'POST', ...(body && { headers, body: JSON.stringify(body) }) });
    return { status: response.status, body: await response.json() };
  };
  const create = async (path) => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON((await send(path)).body.options);
    return (await navigator.credentials.create({ publicKey })).toJSON();
  };
  const get = async (path) => {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON((await send(path)).body.options);
    return (await navigator.credentials.get({ publicKey })).toJSON();
  };`;

(channel === undefined ? describe.skip : describe)('passkeys in Chromium', () => {
  let account: TestAccount;
  let browser: Browser;
  let page: Page;
  let devTools: CDPSession;
  let authenticatorId: string;
  beforeAll(async () => {
    account = await startAccount();
    const rules = `MAP ${new URL(ACCOUNT_ORIGIN).host} ${new URL(account.url).host}`;
    const args = ['--no-sandbox', `--host-resolver-rules=${rules}`];
    browser = await chromium.launch({ executablePath: `/usr/bin/${channel}`, args });
    // The answers of the API allow no script. The bypass lets the test run some in their place.
    const context = await browser.newContext({ bypassCSP: true });
    page = await context.newPage();
    devTools = await context.newCDPSession(page);
    await devTools.send('WebAuthn.enable');
    ({ authenticatorId } = await devTools.send('WebAuthn.addVirtualAuthenticator', { options: AUTHENTICATOR }));
    await page.goto(`${ACCOUNT_ORIGIN}/account/health`);
    await run(`send('/account/sign-in/link', { address: 'ada@example.com' })`);
    const token = await account.readToken('ada@example.com');
    expect((await run(`send('/account/sign-in/link/complete', { token: '${token}' })`)).status).toBe(200);
  });
  afterAll(async () => {
    await browser?.close();
    await account?.stop();
  });

  const run = (expression: string): Promise<{ status: number; body: Record<string, unknown> }> =>
    page.evaluate(`(async () => { ${HELPERS}; return ${expression}; })()`);
  const add = () =>
    run(`send('/account/passkeys', { name: 'Laptop', credential: await create('/account/passkeys/options') })`);

  it('adds a passkey, signs in by it and proves the session by it', async () => {
    expect((await add()).status).toBe(201);
    await run(`send('/account/sign-out')`);
    const complete = (path: string) => run(`send('${path}/complete', { credential: await get('${path}') })`);
    expect(await complete('/account/sign-in/passkey')).toMatchObject({
      status: 200,
      body: { addresses: ['ada@example.com'] },
    });
    expect((await complete('/account/step-up/passkey')).status).toBe(200);
  });

  it('makes no second passkey of one authenticator, and none without verifying the user', async () => {
    await expect(add()).rejects.toThrow('InvalidStateError');
    await devTools.send('WebAuthn.clearCredentials', { authenticatorId });
    await devTools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await expect(add()).rejects.toThrow('NotAllowedError');
  });
});

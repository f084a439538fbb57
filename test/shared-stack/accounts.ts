import { expect, it } from '@jest/globals';
import { signInAt } from '@turnpike/test-support/signInAt';
import { until } from '@turnpike/test-support/until';
import { untilMail } from '@turnpike/test-support/untilMail';
import { runTurnpikeHere } from '../support/runTurnpike.ts';
import { stack } from './stack.ts';

// Sign-in at the account layer of a stack: by its identity provider, and by a mail that its catcher keeps.

export const account = () => stack.running.stack.account;
export const toCookie = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');

/** Sends what the account layer's own page sends. */
export const post = (path: string, body: object, cookie = '', method = 'POST'): Promise<Response> =>
  fetch(account().origin + path, {
    method,
    headers: { 'content-type': 'application/json', origin: account().origin, 'sec-fetch-site': 'same-origin', cookie },
    body: JSON.stringify(body),
  });

/** Signs a user in at the identity provider. Returns the cookies of the browser. */
async function signIn(user: 'ada' | 'cleo'): Promise<string> {
  const begun = await post('/account/sign-in/oidc', { provider_id: 'local' });
  const { url } = (await begun.json()) as { url: string };
  expect(new URL(url).origin).toBe(account().identity_provider_url);
  const back = await signInAt(url, { user });
  return toCookie(await fetch(back, { redirect: 'manual', headers: { cookie: toCookie(begun) } }));
}

it('signs a user in at the identity provider, by one click', async () => {
  const user = await fetch(`${account().origin}/account/user`, { headers: { cookie: await signIn('cleo') } });
  expect(await user.json()).toMatchObject({ addresses: ['cleo@example.com'] });
});

/** Runs a command of the operator. Returns its JSON. */
async function run(...args: string[]) {
  const { code, stdout, stderr } = await runTurnpikeHere([...args, '--json'], stack);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

it('shows organizations to the operator, who holds one by the command line', async () => {
  const made = await post('/account/organizations', { name: 'Acme' }, await signIn('ada'));
  const { organization_id: id } = (await made.json()) as { organization_id: string };
  expect((await run('organizations', 'list')).organizations).toContainEqual(
    expect.objectContaining({ organization_id: id, is_on_hold: false }),
  );
  expect(await run('organizations', 'automatic-limit', id, '7500')).toMatchObject({
    ...{ organization_id: id, month_limit_cents: 750_000, was_cents: 500_000 },
  });
  expect((await run('audit', 'list', id)).lines).toContainEqual(
    expect.objectContaining({ action: 'automatic_top_up.limit_set', actor: expect.stringMatching(/^operator:/) }),
  );
  const hold = await run('holds', 'open', id, '--reason', 'operator');
  expect(await run('organizations', 'show', id)).toMatchObject({ is_on_hold: true });
  expect(await run('holds', 'end', hold.hold_id)).toMatchObject({ organization_is_on_hold: false });
});

it('signs in nobody whose address the identity provider has not verified', async () => {
  const begun = await post('/account/sign-in/oidc', { provider_id: 'local' });
  const { url } = (await begun.json()) as { url: string };
  const back = await signInAt(url, { user: 'ben' });
  const returned = await fetch(back, { redirect: 'manual', headers: { cookie: toCookie(begun) } });
  expect(toCookie(returned)).not.toContain('__Host-session');
});

it('mails a link that leads to the account layer', async () => {
  expect((await post('/account/sign-in/link', { address: 'mailed@example.com' })).status).toBe(202);
  const { from, text } = await untilMail(account().mail_catcher_url, { to: 'mailed@example.com' });
  expect(from).toEqual({ name: 'Turnpike', address: 'no-reply@turnpike.localhost' });
  expect(text).toContain(account().origin);
});

/** The time in which a change of the account layer is in force at the gate of its region. */
const IN_FORCE_MS = 5_000;
/** Times that each change is made where a busy machine takes longer. */
const TRIES = 3;

it('tells the four 402s apart on keys of the account layer, and each ends within 5 s of its remedy', async () => {
  const address = 'founder@example.com';
  await post('/account/sign-in/link', { address });
  const { text } = await untilMail(account().mail_catcher_url, { to: address });
  const [, token = ''] = /#([A-Za-z0-9_-]{43})/.exec(text) ?? [];
  const cookie = toCookie(await post('/account/sign-in/link/complete', { token }));
  async function make(name: string) {
    const made = await post('/account/organizations', { name }, cookie);
    const { organization_id: id } = (await made.json()) as { organization_id: string };
    const path = `/account/organizations/${id}/workspaces`;
    const answer = await post(path, { region: 'us', name }, cookie);
    const { workspace_id: workspaceId } = (await answer.json()) as { workspace_id: string };
    const makeKey = () => stack.operator.makeKey(workspaceId).catch(() => undefined);
    const apiKey = await until(`the workspace ${name}`, makeKey);
    return { id, workspaceId, apiKey, path: `${path}/${workspaceId}` };
  }
  async function chat(apiKey: string): Promise<string> {
    const response = await fetch(`${stack.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'llama-3.3-70b-instruct',
        messages: [{ role: 'user', content: 'hi' }],
        max_tokens: 2,
      }),
    });
    return `${response.status} ${await response.text()}`;
  }
  const untilChat = (apiKey: string, answer: RegExp) =>
    until(`a chat with ${answer}`, async () => answer.test(await chat(apiKey)));
  const setCap = async (path: string, nanoUsd: string | null) =>
    expect((await post(path, { monthly_cap_nano_usd: nanoUsd }, cookie, 'PATCH')).status).toBe(200);

  // A user gets the credit to begin with once: the second workspace waits for a payment.
  const [funded, bare] = [await make('Funded'), await make('Bare')];
  await untilChat(funded.apiKey, /^200/);
  expect(await chat(bare.apiKey)).toMatch(/^402 .*billing_not_provisioned/s);

  const [, page = ''] = /"doc_url":"([^"]+)"/.exec(await chat(bare.apiKey)) ?? [];
  expect(page).toBe(`${account().origin}/help/refused-calls`);
  expect((await fetch(page)).status).toBe(200);

  /** The shortest time that each kind of change took. */
  const shortestMs = new Map<string, number>();
  async function untilInForce(change: string, answer: RegExp): Promise<void> {
    const changedAt = performance.now();
    await untilChat(funded.apiKey, answer);
    shortestMs.set(change, Math.min(shortestMs.get(change) ?? Number.POSITIVE_INFINITY, performance.now() - changedAt));
  }
  const tooLate = () => [...shortestMs].filter(([, ms]) => ms > IN_FORCE_MS);
  for (let time = 0; time < TRIES && (time === 0 || tooLate().length > 0); time += 1) {
    const hold = await run('holds', 'open', funded.id, '--reason', 'operator');
    await untilInForce('a hold', /^402 .*account_on_hold/s);
    await run('holds', 'end', hold.hold_id);
    await untilInForce('the end of a hold', /^200/);

    // The call above is more than one nano-dollar.
    await setCap(funded.path, '1');
    await untilInForce('a cap', /^402 .*spend_cap_reached/s);
    await setCap(funded.path, null);
    await untilInForce('the end of a cap', /^200/);

    const { workspaceId } = funded;
    await run('credit', 'take', workspaceId, '1000', '--id', `taken-${workspaceId}-${time}`, '--yes');
    await untilInForce('credit that is taken', /^402 .*insufficient_balance/s);
    await run('credit', 'add', workspaceId, '1001', '--id', `given-${workspaceId}-${time}`);
    await untilInForce('credit that is added', /^200/);
  }
  const { transfers } = await run('wallet', 'show', funded.workspaceId);
  expect(transfers.map(({ source }: { source: string }) => source)).toEqual(
    expect.arrayContaining(['taken', 'given'].map((what) => `${what}-${funded.workspaceId}-0`)),
  );
  expect(tooLate()).toEqual([]);
});

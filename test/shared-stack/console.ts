import { expect, it } from '@jest/globals';
import { signInAt } from '@turnpike/test-support/signInAt';
import { account, post, toCookie } from './accounts.ts';
import { stack } from './stack.ts';

// The console host of the region, called as a page of the account layer does: with a token that the account layer signed.

const console = () => stack.running.stack.regions.us.console_url;

/** Asks the console host as the account layer's page does, with a token in place of cookies. */
const ask = (path: string, token: string, origin = account().origin): Promise<Response> =>
  fetch(console() + path, { headers: { origin, authorization: `Bearer ${token}` } });

/** Signs Ada in and makes an organization with a workspace here. Returns the workspace and a token for it. */
async function openConsole(): Promise<{ token: string; workspaceId: string; organizationId: string }> {
  const begun = await post('/account/sign-in/oidc', { provider_id: 'local' });
  const { url } = (await begun.json()) as { url: string };
  const back = await signInAt(url, { user: 'ada' });
  const returned = await fetch(back, { redirect: 'manual', headers: { cookie: toCookie(begun) } });
  const create = async (path: string, body: object) => {
    const answer = await post(path, body, toCookie(returned));
    expect(answer.status).toBe(201);
    return (await answer.json()) as Record<string, string>;
  };
  const { organization_id: organizationId = '' } = await create('/account/organizations', { name: 'Console' });
  const path = `/account/organizations/${organizationId}/workspaces`;
  const { workspace_id: workspaceId = '' } = await create(path, { region: 'us', name: 'States' });
  const { token = '' } = await create(`${path}/${workspaceId}/console-token`, {});
  return { token, workspaceId, organizationId };
}

it('lists the keys of a workspace for a member with a token of the account layer', async () => {
  const { token } = await openConsole();
  const answer = await ask('/console/keys', token);
  expect([answer.status, await answer.json()]).toEqual([200, { keys: [], next_after: null }]);
  expect(answer.headers.get('access-control-allow-origin')).toBe(account().origin);
  expect((await ask('/console/keys', token, 'https://evil.example')).status).toBe(403);
  expect((await ask('/console/keys', `${token}x`)).status).toBe(401);
  expect((await fetch(`${stack.running.stack.regions.us.base_url}/../console/keys`)).status).toBe(404);
});

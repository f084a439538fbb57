import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { accountApi } from './accountApi.ts';
import { callHost, callRoute, Refused } from './callRoute.ts';
import { keysConsoleApi } from './console/keys.ts';

const { routes } = accountApi;
const realFetch = globalThis.fetch;
afterEach(() => {
  jest.restoreAllMocks();
  globalThis.fetch = realFetch;
});

/** Answers each call of `fetch`, and returns what was asked. */
function answerWith(status: number, body: unknown) {
  const asked = jest.fn<typeof fetch>(async () => new Response(JSON.stringify(body), { status }));
  globalThis.fetch = asked;
  return asked;
}

/** Calls that have to fail to compile: the check of types runs over them, no test does. */
export const wrongCalls = {
  // @ts-expect-error: a path parameter is missing
  withoutParams: () => callRoute(routes.listMembers),
  // @ts-expect-error: a field of the body is missing
  withoutRole: () => callRoute(routes.invite, { params: { organization_id: 'o' }, body: { address: 'a@example.com' } }),
  withoutUser: () =>
    callRoute(routes.changeRole, {
      // @ts-expect-error: one of the path parameters is missing
      params: { organization_id: 'o' },
      body: { role: 'admin' },
    }),
  wrongRole: () =>
    callRoute(routes.invite, {
      params: { organization_id: 'o' },
      // @ts-expect-error: no role is called so
      body: { address: 'a@example.com', role: 'emperor' },
    }),
  // @ts-expect-error: the route takes nothing
  withSomething: () => callRoute(routes.getUser, { body: {} }),
};

describe('callRoute', () => {
  it('puts parameters into the path and the query, escaped', async () => {
    const asked = answerWith(200, { lines: [], next: null });

    const answer = await callRoute(routes.listAudit, { params: { organization_id: 'a/b', before: '12' } });

    expect(answer).toEqual({ lines: [], next: null });
    expect(asked.mock.calls[0]?.[0]).toBe('/account/organizations/a%2Fb/audit?before=12');
    expect(asked.mock.calls[0]?.[1]).toMatchObject({ method: 'GET' });
  });

  it('leaves out a query parameter that is not given, and sends no content type without a body', async () => {
    const asked = answerWith(200, { lines: [], next: null });

    await callRoute(routes.listAudit, { params: { organization_id: 'o' } });

    expect(asked.mock.calls[0]?.[0]).toBe('/account/organizations/o/audit');
    expect(asked.mock.calls[0]?.[1]?.headers).toEqual({});
  });

  it('sends a body as JSON, and passes over fields of the answer that it does not know', async () => {
    const user = { user_id: 'u', name: 'Ann', addresses: ['ann@example.com'] };
    const asked = answerWith(200, { ...user, colour: 'red' });

    expect(await callRoute(routes.signInByLink, { body: { token: 't' } })).toEqual(user);

    expect(asked.mock.calls[0]?.[1]).toMatchObject({
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"token":"t"}',
    });
  });

  it.each([
    ['a refusal', 400, { error: 'invalid_request', message: 'address must be an e-mail address', param: 'address' }],
    ['a refusal without a field', 409, { error: 'last_owner', message: 'An organization has an owner.' }],
  ])('throws %s as it was worded', async (_case, status, body) => {
    answerWith(status, body);

    await expect(callRoute(routes.getUser)).rejects.toMatchObject({ status, param: undefined, ...body });
  });

  it.each([
    ['a refusal that is not of the account layer', 502, 'Bad gateway'],
    ['an answer of another shape', 200, { user: 'Ann' }],
  ])('throws unreadable_answer for %s', async (_case, status, body) => {
    answerWith(status, body);

    await expect(callRoute(routes.getUser)).rejects.toMatchObject({ status, error: 'unreadable_answer' });
  });

  it('sends a token in place of cookies to a console host, whose words are of the region', async () => {
    const host = { url: 'https://console.us.example', token: 'secret' };
    const asked = answerWith(200, { keys: [], next_after: null });

    await callHost(host, keysConsoleApi.routes.listKeys, { params: { after: 'key_1' } });

    expect(asked.mock.calls[0]).toMatchObject([
      'https://console.us.example/console/keys?after=key_1',
      { method: 'GET', credentials: 'same-origin', headers: { authorization: 'Bearer secret' } },
    ]);
    globalThis.fetch = jest.fn<typeof fetch>(() => Promise.reject(new TypeError('fetch failed')));
    await expect(callHost(host, keysConsoleApi.routes.listKeys, { params: {} })).rejects.toThrow('The region');
  });

  it('throws unreachable, of status 0, where no answer comes', async () => {
    globalThis.fetch = jest.fn<typeof fetch>(() => Promise.reject(new TypeError('fetch failed')));

    const error = await callRoute(routes.getUser).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(Refused);
    expect(error).toMatchObject({ status: 0, error: 'unreachable' });
  });

  it('throws timed_out, of status 0, where an answer takes more than 12 s', async () => {
    const timeout = jest
      .spyOn(AbortSignal, 'timeout')
      .mockReturnValue(AbortSignal.abort(new DOMException('', 'TimeoutError')));
    globalThis.fetch = jest.fn<typeof fetch>(async (_url, init) => {
      init?.signal?.throwIfAborted();
      return new Response();
    });

    await expect(callRoute(routes.getUser)).rejects.toMatchObject({ status: 0, error: 'timed_out' });
    expect(timeout).toHaveBeenCalledWith(12_000);
  });
});

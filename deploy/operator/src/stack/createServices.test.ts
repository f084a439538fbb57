import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { InternalCallError } from '@turnpike/internal-api/transport/createClient';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { createTokenVerifier, INTERNAL_TOKEN_HEADER } from '@turnpike/internal-auth/internalToken';
import { createServices } from './createServices.ts';
import { toProblem } from './toProblem.ts';

const fleet = aFleet();
const signingKey = fleet.keyOf('operator');

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Stands a service up that answers as the test says, in the place of each. */
async function serve(listener: RequestListener) {
  server = createServer(listener);
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const urls = { auth: url, catalog: url, 'model-router': url, 'usage-ledger': url, 'media-jobs': url };
  const changes: string[] = [];
  const services = createServices({ urls, signingKey }, { user: 'alice', onChange: () => void changes.push('change') });
  return { services, urls, changes };
}

const answering =
  (status: number, body: object | string): RequestListener =>
  (_req, res) => {
    res.writeHead(status, { 'x-request-id': 'request-7' });
    res.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

it('calls as the operator, in the name of whoever it is, with a token for the service alone', async () => {
  let token: unknown;
  const { services } = await serve((req, res) => {
    token = req.headers[INTERNAL_TOKEN_HEADER];
    res.end('{"key_id": "key_1", "status": "blocked"}');
  });
  await services.auth.blockKey({ params: { key_id: 'key_1' } });
  const verifyFor = (audience: string) => createTokenVerifier({ audience, keys: fleet.publicKeys });
  const route = 'POST /internal/keys/:key_id/block';
  expect(await verifyFor('us/auth')(token, route)).toEqual({ service: 'operator', scope: 'us', user: 'alice' });
  expect(await verifyFor('us/catalog')(token, route)).toBeUndefined();
});

it('says that a change is asked for, also where its answer is lost, and of a question nothing', async () => {
  const { services, changes } = await serve((req) => void req.socket.destroy());
  await services.auth.listWorkspaces({ params: {} }).catch(() => undefined);
  expect(changes).toEqual([]);
  await services.auth.revokeKey({ params: { key_id: 'key_1' } }).catch(() => undefined);
  expect(changes).toEqual(['change']);
});

it.each<[string, RequestListener, RegExp]>([
  ['a refusal', answering(409, { error: 'key_revoked', message: 'It is revoked.' }), /^It is revoked\.$/],
  [
    'a wrong field',
    answering(400, { error: 'invalid_request', message: 'rpm is too large', param: 'rpm' }),
    /^rpm is too large$/,
  ],
  ['an unknown key', answering(404, { error: 'unknown_key', message: 'No key.' }), /^No key\. "turnpike keys list/],
  ['a refused token', answering(401, { error: 'x', message: 'y' }), /INTERNAL_SIGNING_KEY/],
  ['a failure', answering(500, { error: { code: 'internal_error', message: 'x' } }), /status 500: .* request-7\.$/],
  ['a failure that was foreseen', answering(503, { error: 'gate_not_told', message: 'Repeat it.' }), /^Repeat it\.$/],
  ['an answer that is no JSON', answering(200, '<html>'), /does not understand/],
  ['an answer of another shape', answering(200, { lost: true }), /does not understand/],
  ['a connection that breaks', (req) => void req.socket.destroy(), /^auth cannot be reached at http:/],
  [
    'words that would steer the terminal',
    answering(409, { error: 'x', message: 'a\u001b[2Jb\nc' }),
    /^a\ufffd\[2Jb\ufffdc$/,
  ],
])('says in one line what is to be done about %s', async (_what, listener, words) => {
  const { services, urls } = await serve(listener);
  const error = await services.auth.getKey({ params: { key_id: 'key_1' } }).catch((thrown: unknown) => thrown);
  if (!(error instanceof InternalCallError)) throw error;
  const problem = toProblem(error, urls);
  expect(problem).toMatch(words);
  expect(problem).not.toMatch(/\n/);
});

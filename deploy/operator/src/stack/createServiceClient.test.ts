import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { INTERNAL_TOKEN_HEADER, verifyInternalToken } from '@turnpike/internal-auth/internalToken';
import { z } from 'zod';
import { RefusedError } from '../cli/operatorError.ts';
import { createServiceClient } from './createServiceClient.ts';

const tokenKeys = [{ id: 'k1', secret: 'a secret of more than thirty-two characters' }];

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Calls a service that answers as the test says. */
async function callOne(listener: RequestListener) {
  server = createServer(listener);
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const urls = { auth: url, catalog: url, 'model-router': url, 'usage-ledger': url };
  const services = createServiceClient({ urls, tokenKeys }, { user: 'alice' });
  return services.call({ service: 'auth', method: 'GET', path: '/internal/x' }, z.object({ found: z.boolean() }));
}

const answering =
  (status: number, body: object | string): RequestListener =>
  (_req, res) => {
    res.writeHead(status, { 'x-request-id': 'request-7' });
    res.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

it('calls as the operator, in the name of whoever it is, with a token for the service alone', async () => {
  let caller: string | undefined;
  await callOne((req, res) => {
    caller = verifyInternalToken(req.headers[INTERNAL_TOKEN_HEADER], { audience: 'auth', keys: tokenKeys });
    res.end('{"found": true}');
  });
  expect(caller).toBe('operator:alice');
});

it.each<[string, RequestListener, RegExp]>([
  ['a refusal', answering(409, { error: 'key_revoked', message: 'It is revoked.' }), /^It is revoked\.$/],
  [
    'a wrong field',
    answering(400, { error: 'invalid_request', message: 'rpm is too large', param: 'rpm' }),
    /^rpm is too large$/,
  ],
  ['an unknown key', answering(404, { error: 'unknown_key', message: 'No key.' }), /^No key\. "turnpike keys list/],
  ['a refused token', answering(401, { error: 'x', message: 'y' }), /INTERNAL_TOKEN_KEYS/],
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
  const failing = callOne(listener);
  await expect(failing).rejects.toThrow(RefusedError);
  await expect(failing).rejects.toThrow(words);
  await expect(failing).rejects.not.toThrow(/\n/);
});

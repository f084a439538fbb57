import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { listenAnywhere } from '../../../test/listenAnywhere.ts';
import { createEndpointLister, type EndpointLister } from './listEndpoints.ts';

const SERVICE = { namespace: 'models', service: 'small-chat', port: 'http' };

let answer: (req: IncomingMessage, res: ServerResponse) => void;
let asked: { url: URL; authorization: string | undefined }[];
let accountDir: string;
let server: Server;
let lister: EndpointLister;
beforeEach(async () => {
  asked = [];
  server = createServer((req, res) => {
    asked.push({ url: new URL(req.url ?? '', 'http://api'), authorization: req.headers.authorization });
    answer(req, res);
  });
  accountDir = await aTemporaryFolder();
  await writeFile(join(accountDir, 'token'), 'token-1\n');
  lister = createEndpointLister({ url: await listenAnywhere(server), accountDir });
});
afterEach(async () => {
  await lister.close();
  server.closeAllConnections();
  server.close();
});

const slice = (endpoints: object[], fields: object = {}) => ({
  addressType: 'IPv4',
  ports: [
    { name: 'metrics', port: 9_000 },
    { name: 'http', port: 8_000 },
  ],
  endpoints,
  ...fields,
});
const endpoint = (address: string, conditions: object | undefined, name?: string) => ({
  addresses: [address],
  conditions,
  ...(name !== undefined && { targetRef: { kind: 'Pod', name } }),
});
const sends = (...items: object[]) => {
  answer = (_req, res) => void res.end(JSON.stringify({ kind: 'EndpointSliceList', metadata: {}, items }));
};

it('lists a service’s ready endpoints by their pods, and those that terminate as draining', async () => {
  sends(
    slice([
      endpoint('10.0.0.1', { ready: true, serving: true, terminating: false }, 'pod-1'),
      endpoint('10.0.0.2', { ready: false, serving: true, terminating: true }, 'pod-2'),
      endpoint('10.0.0.3', { ready: false, serving: false, terminating: false }, 'pod-3'),
      endpoint('10.0.0.4', undefined, 'pod-4'),
    ]),
    slice([endpoint('fd00::5', { ready: true }, 'pod-5')], { addressType: 'IPv6' }),
    slice([endpoint('engines.example', { ready: true })], { addressType: 'FQDN' }),
  );
  expect(await lister.list(SERVICE)).toEqual([
    { name: 'pod-1', origin: 'http://10.0.0.1:8000', isDraining: false },
    { name: 'pod-2', origin: 'http://10.0.0.2:8000', isDraining: true },
    { name: 'pod-4', origin: 'http://10.0.0.4:8000', isDraining: false },
    { name: 'pod-5', origin: 'http://[fd00::5]:8000', isDraining: false },
  ]);
  const [{ url, authorization } = { url: undefined, authorization: undefined }] = asked;
  expect(url?.pathname).toBe('/apis/discovery.k8s.io/v1/namespaces/models/endpointslices');
  expect(url?.searchParams.get('labelSelector')).toBe('kubernetes.io/service-name=small-chat');
  expect(authorization).toBe('Bearer token-1');
});

it('reads all pages, takes an endpoint that stands twice once, and the token that is there now', async () => {
  answer = (_req, res) => {
    const isFirst = asked.length === 1;
    const conditions = { terminating: isFirst };
    const items = [slice([endpoint('10.0.0.1', conditions, 'pod-1'), endpoint(`10.0.1.${asked.length}`, {})])];
    res.end(JSON.stringify({ metadata: isFirst ? { continue: 'next' } : {}, items }));
  };
  const found = await lister.list({ ...SERVICE, port: '8080' });
  expect(found.map(({ origin, isDraining }) => [origin, isDraining])).toEqual([
    ['http://10.0.0.1:8080', false],
    ['http://10.0.1.1:8080', false],
    ['http://10.0.1.2:8080', false],
  ]);
  expect(asked.map(({ url }) => url.searchParams.get('continue'))).toEqual([null, 'next']);
  await writeFile(join(accountDir, 'token'), 'token-2');
  await lister.list(SERVICE);
  expect(asked.at(-1)?.authorization).toBe('Bearer token-2');
});

it.each<[string, typeof answer]>([
  ['refuses', (_req, res) => res.writeHead(403).end('{"kind":"Status"}')],
  ['answers something else', (_req, res) => res.end('{"kind":"Status"}')],
  ['breaks off', (_req, res) => res.socket?.destroy()],
])('rejects when the API %s', async (_case, misbehave) => {
  answer = misbehave;
  await expect(lister.list(SERVICE)).rejects.toThrow();
});

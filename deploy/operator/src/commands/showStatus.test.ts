import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { forEachOf } from '@turnpike/config/services';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import type { Context } from '../cli/command.ts';
import { formatTable } from '../report/formatTable.ts';
import type { EdgeCall } from '../stack/callEdge.ts';
import { createServices } from '../stack/createServices.ts';
import { OPERATED_SERVICES } from '../stack/findStack.ts';
import { readHealth } from '../stack/readHealth.ts';
import { showStatus } from './showStatus.ts';

/** Answers of the services, by name and path. A path without an answer breaks off. */
let answers: Record<string, [status: number, body: string]>;
let server: Server;
let base: string;
beforeAll(async () => {
  server = createServer((req, res) => {
    const answer = answers[req.url ?? ''];
    if (answer) res.writeHead(answer[0]).end(answer[1]);
    else req.socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** A call of a client, as the edge passes it on. */
let edgeCall: EdgeCall;
beforeEach(() => {
  edgeCall = { status: 401, milliseconds: 7 };
});

function status() {
  const urls = forEachOf(OPERATED_SERVICES, (service) => `${base}/${service}`);
  const signingKey = aFleet().keyOf('operator');
  const addressOf = (service: string) => `${base}/${service}`;
  const context: Context = {
    services: createServices({ urls, signingKey }, { user: 'alice', onChange: () => {} }),
    readHealth: (service) => readHealth(addressOf(service)),
    callEdge: async () => edgeCall,
    addressOf,
    table: (columns, rows) => formatTable(rows, { columns }),
    confirm: async () => {},
    region: 'us',
    regions: [],
    explain: () => undefined,
    announce: () => {},
  };
  return showStatus.run({}, context);
}

const READY: [number, string] = [200, '{"status":"ready"}'];
const allReady = (): typeof answers =>
  Object.fromEntries(['edge', ...OPERATED_SERVICES].map((service) => [`/${service}/ready`, READY]));
const toBody = (body: object): [number, string] => [200, JSON.stringify(body)];

const SINCE = '2026-11-29T17:00:05.000Z';

it('says of each service whether it is ready, else what it lacks, and what wants a look', async () => {
  answers = {
    '/edge/ready': READY,
    '/auth/ready': [503, `{"status":"not ready","missing":["postgres"],"since":"${SINCE}"}`],
    '/catalog/ready': [503, '{"status":"ending"}'],
    '/catalog/internal/catalog': [200, '{"version":7,"region":"us","models":[]}'],
    '/catalog/metrics': [200, 'turnpike_build_info{version="1.4.0",revision="3be89760d1abcdef"} 1\n'],
    '/usage-ledger/ready': READY,
    '/usage-ledger/metrics': [
      200,
      '# TYPE x gauge\nturnpike_event_lag_records{partition="0"} 3\nturnpike_event_lag_records{partition="1"} 4\nturnpike_ledger_dead_letters 2\n',
    ],
    '/media-jobs/ready': READY,
    '/media-jobs/metrics': [200, 'turnpike_spool_bytes 7\nturnpike_spool_limit_bytes NaN\n'],
    '/control-plane/ready': READY,
    '/media-jobs/internal/jobs/overdue': [
      200,
      '{"jobs":[{"id":"video_1","modality":"video","ended_at":null,"lacks":"end"}]}',
    ],
    '/media-jobs/internal/models/live': toBody({ models: { clip: { engines: 2, healthy: 1 } } }),
  };
  const { document, text, isFailure, wantsLook } = await status();
  const well = { missing: [], build: null, problems: [], looks: [] };
  const media = { backends: 2, backends_in: 1, overdue_jobs: 1, spool_bytes: 7, spool_limit_bytes: null, alerts: 0 };
  expect(document).toEqual({
    services: {
      edge: { ...well, state: 'ready', status_of_a_call: 401, milliseconds: 7 },
      auth: { ...well, state: 'not_ready', missing: ['postgres'], since: SINCE },
      catalog: { ...well, state: 'ending', build: '1.4.0 3be89760d1ab', version: 7, live_models: 0 },
      'model-router': { ...well, state: 'no_answer' },
      'usage-ledger': {
        ...well,
        state: 'ready',
        looks: ['2 dead letters wait: "turnpike dead-letters list"'],
        ...{ event_lag_records: 7, dead_letters: 2, mismatches: 0 },
      },
      'media-jobs': { ...well, state: 'ready', looks: ['1 jobs are overdue: "turnpike media overdue"'], ...media },
      'control-plane': { ...well, state: 'ready' },
    },
  });
  const at = (service: string) => `${base}/${service}`;
  const [table = '', ...lists] = text.split('\n\n');
  expect(table.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['service', 'state', 'address', 'build', 'what it says of itself'],
    ['edge', 'ready', at('edge'), '-', 'status of a call 401, milliseconds 7'],
    ['auth', `not ready, without: postgres, since ${SINCE}`, at('auth'), '-'],
    ['catalog', 'ending', at('catalog'), '1.4.0 3be89760d1ab', 'version 7, live models 0'],
    ['model-router', expect.stringMatching(/^no answer: the connection fails/), at('model-router'), '-'],
    ['usage-ledger', 'ready', at('usage-ledger'), '-', 'event lag records 7, dead letters 2, mismatches 0'],
    [
      ...['media-jobs', 'ready', at('media-jobs'), '-'],
      'backends 2, backends in 1, overdue jobs 1, spool bytes 7, spool limit bytes ?, alerts 0',
    ],
    ['control-plane', 'ready', at('control-plane'), '-'],
  ]);
  expect(lists.join()).toBe(`  Wants a look:
    usage-ledger: 2 dead letters wait: "turnpike dead-letters list".
    media-jobs: 1 jobs are overdue: "turnpike media overdue".`);
  expect({ isFailure, wantsLook }).toEqual({ isFailure: true, wantsLook: true });
});

it('is no failure where all are ready, though one has no word for the rest', async () => {
  answers = allReady();
  const { document, isFailure, wantsLook } = await status();
  expect({ isFailure, wantsLook }).toEqual({ isFailure: false, wantsLook: false });
  expect(document).toMatchObject({
    services: {
      catalog: { state: 'ready', version: null },
      'model-router': { state: 'ready', engines: null, open_calls: null, alerts: null },
    },
  });
});

const engine = (fields: object) => ({
  ...{ id: 'a', target: 'a', url: 'http://a', model: 'm', is_healthy: true, state: 'ready', reason: null },
  ...{ since: '2026-11-28T10:00:00.000Z', breaker: 'closed', weight: 1, hardware: null, quantization: null },
  ...{ version: null, window_tokens: null, cache_tokens: null, open_calls: 0, running: null, waiting: null },
  ...{ cache_usage: null, cache_hit_rate: null, tokens_in_flight: 0, is_slow: false, ...fields },
});
const out = engine({ is_healthy: false, state: 'out', reason: 'refused' });
const REFUSED = { error: 'invalid_token', message: 'no' };
const warn = (warning: string): [number, string] => toBody({ status: 'ready', warnings: [warning] });

// Each fault by which a region fails its clients while every process answers, and what names it.
it.each<[string, typeof answers, Partial<EdgeCall>, { isFailure: boolean; names: string }]>([
  [
    'the edge is dead',
    {},
    { status: null, problem: 'GET /v1/models gets no answer: nothing listens there' },
    {
      isFailure: true,
      names: 'edge: GET /v1/models gets no answer: nothing listens there.',
    },
  ],
  [
    'the service behind the edge is away',
    {},
    { status: 502, problem: 'GET /v1/models gets 502' },
    {
      isFailure: true,
      names: 'edge: GET /v1/models gets 502.',
    },
  ],
  [
    'the token is another stack’s',
    { '/catalog/internal/catalog': [401, JSON.stringify(REFUSED)] },
    {},
    {
      isFailure: true,
      names: 'catalog: does not accept the operator’s token: see whether INTERNAL_SIGNING_KEY is that of this stack',
    },
  ],
  [
    'no engine is in',
    {
      '/model-router/internal/models/live': toBody({ models: { m: { engines: 0, healthy: 0 } } }),
      '/model-router/internal/engines': toBody({ engines: [], retries_left: 0 }),
    },
    {},
    { isFailure: true, names: 'model-router: no engine takes calls of any model.' },
  ],
  [
    'all media backends are dead',
    { '/media-jobs/internal/models/live': toBody({ models: { v: { engines: 8, healthy: 0 } } }) },
    {},
    {
      isFailure: true,
      names: 'media-jobs: no backend takes work of any model.',
    },
  ],
  [
    'one engine of two is out',
    {
      '/model-router/internal/models/live': toBody({ models: { m: { engines: 2, healthy: 1 } } }),
      '/model-router/internal/engines': toBody({ engines: [out, engine({ id: 'b' })], retries_left: 0 }),
    },
    {},
    { isFailure: false, names: 'model-router: engine a is out: refused, since 2026-11-28T10:00:00.000Z.' },
  ],
  [
    'the event log is away',
    { '/usage-ledger/metrics': [200, 'turnpike_event_lag_records NaN\nturnpike_ledger_dead_letters 0\n'] },
    {},
    { isFailure: true, names: 'usage-ledger: the event log does not answer: calls go on while spools have room' },
  ],
  [
    'a spool is full',
    { '/model-router/metrics': [200, 'turnpike_spool_bytes 95\nturnpike_spool_limit_bytes 100\n'] },
    {},
    { isFailure: true, names: 'model-router: its spool is full (95 %), so calls get 503' },
  ],
  [
    'a spool fills',
    { '/media-jobs/metrics': [200, 'turnpike_spool_bytes 51\nturnpike_spool_limit_bytes 100\n'] },
    {},
    { isFailure: false, names: 'media-jobs: its spool is 51 % full' },
  ],
  [
    'a file is refused',
    { '/catalog/ready': warn('the catalog file is refused: us.yaml:34: "x" is not a price') },
    {},
    {
      isFailure: false,
      names: 'catalog: the catalog file is refused: us.yaml:34: "x" is not a price.',
    },
  ],
])('names what is wrong where %s', async (_case, changed, called, { isFailure, names }) => {
  answers = { ...allReady(), ...changed };
  edgeCall = { ...edgeCall, ...called };
  const report = await status();
  expect(report.text).toContain(names);
  expect({ isFailure: report.isFailure, wantsLook: report.wantsLook }).toEqual({ isFailure, wantsLook: !isFailure });
});

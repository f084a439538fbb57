import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { forEachOf } from '@turnpike/config/services';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import type { Context } from '../cli/command.ts';
import { formatTable } from '../report/formatTable.ts';
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

function status() {
  const urls = forEachOf(OPERATED_SERVICES, (service) => `${base}/${service}`);
  const signingKey = aFleet().keyOf('operator');
  const context: Context = {
    services: createServices({ urls, signingKey }, { user: 'alice', onChange: () => {} }),
    readHealth: (service) => readHealth(urls[service]),
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

it('says of each service whether it is ready, else what it lacks, and what wants a look', async () => {
  answers = {
    '/auth/ready': [503, '{"status":"not ready","missing":["postgres"]}'],
    '/catalog/ready': [503, '{"status":"ending"}'],
    '/catalog/internal/catalog': [200, '{"version":7,"region":"us","models":[]}'],
    '/usage-ledger/ready': READY,
    '/usage-ledger/metrics': [
      200,
      '# TYPE x gauge\nturnpike_event_lag_records{partition="0"} 3\nturnpike_event_lag_records{partition="1"} 4\nturnpike_ledger_dead_letters 2\n',
    ],
    '/media-jobs/ready': READY,
    '/control-plane/ready': READY,
    '/media-jobs/internal/jobs/overdue': [
      200,
      '{"jobs":[{"id":"video_1","modality":"video","ended_at":null,"lacks":"end"}]}',
    ],
  };
  const { document, text, isFailure } = await status();
  expect(document).toEqual({
    services: {
      auth: { state: 'not_ready', missing: ['postgres'] },
      catalog: { state: 'ending', missing: [], version: 7, live_models: 0 },
      'model-router': { state: 'no_answer', missing: [] },
      'usage-ledger': { state: 'ready', missing: [], event_lag_records: 7, dead_letters: 2, mismatches: 0 },
      'media-jobs': { state: 'ready', missing: [], overdue_jobs: 1, spool_bytes: null, alerts: null },
      'control-plane': { state: 'ready', missing: [] },
    },
  });
  expect(text.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['service', 'state', 'what it says of itself'],
    ['auth', 'not ready, without: postgres'],
    ['catalog', 'ending', 'version 7, live models 0'],
    ['model-router', 'no answer'],
    ['usage-ledger', 'ready', 'event lag records 7, dead letters 2, mismatches 0'],
    ['media-jobs', 'ready', 'overdue jobs 1, spool bytes ?, alerts ?'],
    ['control-plane', 'ready'],
  ]);
  expect(isFailure).toBe(true);
});

it('is no failure where all are ready, though one has no word for the rest', async () => {
  answers = Object.fromEntries(OPERATED_SERVICES.map((service) => [`/${service}/ready`, READY]));
  const { document, isFailure } = await status();
  expect(isFailure).toBe(false);
  expect(document).toMatchObject({
    services: {
      catalog: { state: 'ready', version: null },
      'model-router': { state: 'ready', engines: null, open_calls: null, alerts: null },
    },
  });
});

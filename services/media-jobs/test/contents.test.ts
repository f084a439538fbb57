import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createKeyGuard } from '@turnpike/authentication/keyGuard';
import { createHttpApp } from '@turnpike/http-service/createHttpApp';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { createFairSlots } from '@turnpike/request-reading/shares/fairSlots';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';

import { type HttpStandIn, serveHttp } from '@turnpike/test-support/serveHttp';
import { until } from '@turnpike/test-support/until';
import { createToWireError } from '../src/api/mediaError.ts';
import type { Jobs } from '../src/jobs/openJobs.ts';
import { getContent } from '../src/routes/getContent.ts';
import { readOutputs } from '../src/routes/lookUp.ts';
import { aShownJob, aStoredOutput } from './aShownJob.ts';

const CONNECTIONS = 4;
/** More than all buffers on the way to a client hold. */
const BYTES = 64 * 1_048_576;

let server: HttpStandIn;
/** Contents that are read of the store now. */
let reading = 0;

beforeAll(async () => {
  const jobs: Pick<Jobs, 'find' | 'content'> = {
    find: async () => aShownJob({ outputs: [aStoredOutput({ bytes: BYTES })] }),
    async content(_output, { start, end } = { start: 0, end: BYTES - 1 }) {
      reading += 1;
      const content = Readable.from(zeros(end - start + 1), { objectMode: false });
      return { bytes: BYTES, contentBytes: BYTES, contentType: '', etag: '', content: content.once('close', close) };
    },
  };
  const close = (): void => {
    reading -= 1;
  };
  const lookUps = { inAll: 9, perWorkspace: 9, waitingPerKey: 9 };
  const contents = { inAll: CONNECTIONS, perWorkspace: CONNECTIONS, waitingPerKey: 0 };
  const dependencies = {
    jobs: jobs as Jobs,
    lookUps: createFairSlots({ bound: 'job_look_ups', limits: lookUps, givesWay: false }),
    contents: createFairSlots({ bound: 'contents', limits: contents, givesWay: true }),
  };
  const authenticator = {
    authenticate: async (header = '') => aKeyRecord({ keyId: header, workspace: { workspaceId: `ws ${header}` } }),
  };
  server = await serveHttp(
    createHttpApp({
      log: aSilentLogger(),
      telemetry: noTelemetry,
      toWireError: createToWireError({ keysPageUrl: '' }),
      routes: [
        {
          method: 'get',
          path: '/content/:id',
          guard: createKeyGuard({ authenticator, tokenKeys: [] }),
          handler: getContent('image', dependencies),
        },
        {
          method: 'get',
          path: '/unread',
          guard: createKeyGuard({ authenticator, tokenKeys: [] }),
          async handler(_req, res) {
            await readOutputs(dependencies, res, aShownJob({ outputs: [aStoredOutput({ bytes: BYTES })] }));
          },
        },
      ],
    }),
  );
});
afterAll(() => server.close());

async function* zeros(bytes: number): AsyncGenerator<Buffer> {
  for (let left = bytes; left > 0; left -= 65_536) yield Buffer.alloc(Math.min(left, 65_536));
}

/** Asks for a content, and reads nothing of it. */
async function ask(key: string, range?: string): Promise<{ call: ClientRequest; answer: IncomingMessage }> {
  const call = request(`${server.url}/content/job_1`, { headers: { authorization: key, ...(range && { range }) } });
  call.on('error', () => {}).end();
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  return { call, answer: answer.on('error', () => {}) };
}

it('a key that reads slowly leaves connections to the store to other keys, and its own are bounded', async () => {
  const slow = await Promise.all(Array.from({ length: CONNECTIONS }, () => ask('slow')));
  expect(slow.map(({ answer }) => answer.statusCode)).toEqual([200, 200, 200, 200]);
  expect((await ask('slow')).answer.statusCode).toBe(503);
  const { answer } = await ask('another', 'bytes=0-9');
  expect([answer.statusCode, (await answer.toArray()).join('').length]).toEqual([206, 10]);
  await until('one content of the slow key to be cut', () => reading === CONNECTIONS - 1);
  for (const { call } of slow) call.destroy();
  await until('all contents to be closed', () => reading === 0);
});

it('an output that is opened and not read is closed when its client leaves, and its turn is free', async () => {
  const calls = Array.from({ length: CONNECTIONS }, () =>
    request(`${server.url}/unread`, { headers: { authorization: 'gone' } }).on('error', () => {}),
  );
  for (const call of calls) call.end();
  await until('all outputs to be opened', () => reading === CONNECTIONS);
  for (const call of calls) call.destroy();
  await until('all of them to be closed', () => reading === 0);
  const { answer } = await ask('gone', 'bytes=0-9');
  expect([answer.statusCode, (await answer.toArray()).join('').length]).toEqual([206, 10]);
});

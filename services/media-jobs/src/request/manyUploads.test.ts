import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { BOUNDARY, FORM_TYPE } from '../../test/aFormBody.ts';

const MIB = 1_048_576;
const UPLOADS = 200;
/** Each has as much on its way as it would have of 25 MiB; what it is in all changes only how long that takes. */
const UPLOAD_BYTES = Number(process.env.UPLOAD_MIB ?? 2) * MIB;
const MOST_BYTES = 128 * MIB;
const SAMPLE_MS = 20;

/** A process that reads uploads and forgets them. */
const READER = `
import { openRequests } from ${JSON.stringify(new URL('./openRequests.ts', import.meta.url).href)};
import { createToWireError } from ${JSON.stringify(new URL('../api/mediaError.ts', import.meta.url).href)};
import { listen } from '@turnpike/http-service/listen';
import { sendWireError } from '@turnpike/http-service/sendWireError';
const [folder, port] = process.argv.slice(1);
const requests = await openRequests({
  folder, memoryMaxBytes: ${MOST_BYTES}, diskMaxBytes: 8 * 2 ** 30, imagesTimeoutMs: 1_000, imagePrivateHosts: new Set(),
});
const toWireError = createToWireError({ keysPageUrl: '' });
await listen(async (req, res) => {
  try {
    const draft = await requests.readTranscriptRequest('audio.transcriptions', { req, res }, req.headers['x-key']);
    res.end();
    await draft.discard();
  } catch (error) {
    sendWireError(res, toWireError(error) ?? { status: 500, body: { detail: String(error) } });
  }
}, { host: '127.0.0.1', port: Number(port) });
process.send('ready');
`;

let reader: ChildProcess;
let port: number;
beforeAll(async () => {
  port = await findFreePort();
  const args = ['--input-type=module', '-e', READER, join(await aTemporaryFolder(), 'parts'), String(port)];
  reader = spawn(process.execPath, args, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { PATH: process.env.PATH },
  });
  await once(reader, 'message');
  // One upload first, because a new process spends memory on its first work.
  await uploadAtOnce({ uploads: 16, keys: 16 });
});
afterAll(() => {
  reader.kill();
});

/** The memory of the process that reads. */
async function memoryBytes(): Promise<number> {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${reader.pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1_024;
}

const HEAD = Buffer.from(
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n\r\n`,
);
const TAIL = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
const PIECE = Buffer.alloc(65_536, 'x');

interface UploadUnderWay {
  /** All but the end of it has been sent, or it was answered before. */
  sent: Promise<void>;
  status: Promise<number>;
  /** Sends the end. */
  end(): void;
}

function beginUpload(keyId: string): UploadUnderWay {
  const length = HEAD.length + UPLOAD_BYTES + TAIL.length;
  const headers = { 'content-type': FORM_TYPE, 'x-key': keyId, 'content-length': length };
  const req = request({ host: '127.0.0.1', port, method: 'POST', headers, agent: false });
  // One that is refused is cut off while it sends.
  req.on('error', () => {});
  const answered = Promise.withResolvers<number>();
  let isAnswered = false;
  req.on('response', (res) => {
    isAnswered = true;
    res.resume();
    answered.resolve(res.statusCode ?? 0);
  });
  async function send(): Promise<void> {
    req.write(HEAD);
    for (let sent = 0; sent < UPLOAD_BYTES && !isAnswered; sent += PIECE.length)
      if (!req.write(PIECE))
        await Promise.race([new Promise((resolve) => req.once('drain', resolve)), answered.promise]);
  }
  return { sent: send(), status: answered.promise, end: () => req.end(TAIL) };
}

/** How many uploads at once, of so many keys, came to which status, and what they took of memory at most. */
async function uploadAtOnce({
  uploads: count,
  keys,
}: {
  uploads: number;
  keys: number;
}): Promise<{ statuses: Record<number, number>; costBytes: number }> {
  const before = await memoryBytes();
  let most = before;
  let isOver = false;
  const sampling = (async () => {
    for (; !isOver; await pause(SAMPLE_MS)) most = Math.max(most, await memoryBytes());
  })();
  const uploads = Array.from({ length: count }, (_upload, index) => beginUpload(`key_${index % keys}`));
  await Promise.all(uploads.map(({ sent }) => sent));
  for (const upload of uploads) upload.end();
  const statuses: Record<number, number> = {};
  for (const status of await Promise.all(uploads.map((upload) => upload.status)))
    statuses[status] = (statuses[status] ?? 0) + 1;
  isOver = true;
  // Sampling ends here, because a read of a process that has ended would fail a test of another file.
  await sampling;
  return { statuses, costBytes: most - before };
}

it('takes at most 128 MiB of memory for 200 uploads at once, and refuses clearly those that would take more', async () => {
  const { statuses, costBytes } = await uploadAtOnce({ uploads: UPLOADS, keys: 20 });
  const { 200: read = 0, 503: refused = 0 } = statuses;
  expect(read + refused).toBe(UPLOADS);
  expect(read).toBeGreaterThan(UPLOADS / 2);
  expect(costBytes).toBeLessThan(MOST_BYTES);
});

it('refuses those of one key that would take more than its part, and still has room for others', async () => {
  const ofOne = uploadAtOnce({ uploads: UPLOADS, keys: 1 });
  const other = beginUpload('key_other');
  await other.sent;
  other.end();
  expect(await other.status).toBe(200);
  const { statuses, costBytes } = await ofOne;
  const { 200: read = 0, 503: refused = 0 } = statuses;
  expect(read + refused).toBe(UPLOADS);
  expect(read).toBeGreaterThan(UPLOADS / 4);
  expect(costBytes).toBeLessThan(MOST_BYTES);
});

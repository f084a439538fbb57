import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { bareScripts } from '../../money/bareScripts.ts';

/**
 * A bare `node:http` server that reads a request, has Redis read the data of an admission, and refuses the request. Its cost is a lower
 * bound for a refusal for lack of credit in Node.
 */
const body = JSON.stringify({ error: { message: 'No.', type: 'invalid_request_error', code: 'none', param: null } });
const head = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
// Commands of one tick go out as one pipeline.
const redis = new Redis(process.env.REDIS_URL ?? '', { enableAutoPipelining: true });
const { refuse } = bareScripts(redis, { withReads: true });
const call = { callId: 'a-call', keyId: 'a-key', workspaceId: 'bare-refused', amount: '1000000', json: '{}' };

const server = createServer((req, res) => {
  req.resume().once('end', async () => {
    await refuse(call);
    res.writeHead(401, head).end(body);
  });
});
redis.once('ready', () =>
  server.listen({ port: 0, host: '127.0.0.1', backlog: 8_192 }, () => {
    process.send?.((server.address() as AddressInfo).port);
  }),
);
process.on('disconnect', () => process.exit());

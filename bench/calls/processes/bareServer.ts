import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A bare `node:http` server, which reads what comes and answers everything with one status: the least that an answer costs in Node. */
const status = Number(process.env.ANSWER_STATUS);
const body = JSON.stringify({ error: { message: 'No.', type: 'invalid_request_error', code: 'none', param: null } });

const server = createServer((req, res) => {
  req.resume().once('end', () => {
    res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body);
  });
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 8_192 }, () => {
  process.send?.((server.address() as AddressInfo).port);
});
process.on('disconnect', () => process.exit());

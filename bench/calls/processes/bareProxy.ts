import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A bare Node pipe: what a proxy in Node costs at least by Node's own client. `UPSTREAM_PORT` is where requests go. */
const port = Number(process.env.UPSTREAM_PORT);
const agent = new Agent({ keepAlive: true });

const server = createServer((req, res) => {
  const { method, url: path, headers } = req;
  const passed = request({ host: '127.0.0.1', port, agent, method, path, headers }, (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(res);
  });
  passed.on('error', () => res.destroy());
  res.once('close', () => passed.destroy());
  req.pipe(passed);
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 8_192 }, () => {
  process.send?.((server.address() as AddressInfo).port);
});
process.on('disconnect', () => process.exit());

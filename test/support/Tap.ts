import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { pipeline } from 'node:stream';
import type { Evidence } from './evidence/evidence.ts';

/** A request as it was sent. */
interface SentRequest {
  method: string;
  url: string;
  /** Names of the headers, in lower case. */
  headers: string[];
  body: string;
}

const HEAD_END = '\r\n\r\n';

/** Passes connections on to ports of this machine, and keeps what is sent to them. */
export class Tap {
  readonly #servers: Server[] = [];
  /** The bytes of each connection. */
  readonly #sent: Buffer[][] = [];

  /** The ports that lead through the tap. */
  get ports(): number[] {
    return this.#servers.map((server) => (server.address() as AddressInfo).port);
  }

  /** Returns a port that leads to another one. */
  async open(port: number): Promise<number> {
    const server = createServer((from) => {
      const sent: Buffer[] = [];
      this.#sent.push(sent);
      from.on('data', (bytes) => sent.push(bytes));
      const to = connect(port, '127.0.0.1');
      // The end of one side ends the other one, with whatever error.
      pipeline(from, to, () => from.destroy());
      pipeline(to, from, () => to.destroy());
    });
    this.#servers.push(server);
    return new Promise((resolve) =>
      server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
    );
  }

  /** All bytes of each connection so far. */
  async *read(): AsyncGenerator<Evidence> {
    for (const sent of this.#sent) yield { place: 'wire', bytes: Buffer.concat(sent) };
  }

  /** The requests so far, whose bodies have a length. */
  listRequests(): SentRequest[] {
    return this.#sent.flatMap((sent) => readRequests(Buffer.concat(sent)));
  }

  close(): void {
    for (const server of this.#servers) server.close();
  }
}

function readRequests(bytes: Buffer): SentRequest[] {
  const requests: SentRequest[] = [];
  for (let at = 0; ; ) {
    const headEnd = bytes.indexOf(HEAD_END, at);
    if (headEnd < 0) return requests;
    const [line = '', ...headers] = bytes.toString('latin1', at, headEnd).split('\r\n');
    const [method = '', url = ''] = line.split(' ');
    const [, length = 0] = /^content-length: (\d+)$/im.exec(headers.join('\n')) ?? [];
    at = headEnd + HEAD_END.length + Number(length);
    requests.push({
      method,
      url,
      headers: headers.map((header) => header.slice(0, header.indexOf(':')).toLowerCase()),
      body: bytes.toString('utf8', headEnd + HEAD_END.length, at),
    });
  }
}

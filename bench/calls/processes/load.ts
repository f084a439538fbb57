import { connect, type Socket } from 'node:net';

/** Requests to send, and their target. */
export interface LoadOrder {
  port: number;
  /** Ports that connections go to in turn, if given. */
  ports?: number[];
  /** Whole requests, as bytes: connections take them in turn, and keep theirs. */
  requests: string[];
  /** Whether the next request is whichever is next of all, on whatever connection. */
  isInTurn?: boolean;
  /** Interval at which events of a stream are due. If given, the report has how late each event comes. */
  eventsEveryMs?: number;
  /** Times after its first byte at which each connection is cut, if given. */
  cutAfterMs?: number[];
  /** `closed`: each connection sends the next request when the answer before it has ended. `open`: requests leave by the clock. */
  kind: 'closed' | 'open' | 'once';
  connections: number;
  /** Length of `closed` and `open`. */
  seconds: number;
  /** Requests a second of `open`. */
  rate: number;
  /** Time within which all requests of `once` begin. It sends one request on each connection. */
  withinMs: number;
}

export interface LoadReport {
  /** Answers by status; `broken` where a connection broke. */
  statuses: Record<string, number>;
  /** The first bytes of the first body of each status other than 200. */
  bodies: Record<string, string>;
  /** Events of streams. */
  events: number;
  seconds: number;
  /** From when the request was due to the first byte after the head, and to the end; ms, sorted. */
  firstByteMs: number[];
  wholeMs: number[];
  /** How much later than due events came, with the earliest of their stream as the measure; ms, sorted. */
  lateMs: number[];
  /** When each connection was cut, by the text that names it in its request; ms of the system's clock. */
  cuts: [string, number][];
  /** The most that the generator was late with a request that was due by the clock, ms. */
  latestMs: number;
}

const CLOSES = /\r\nconnection: *close/;
const HEAD_END = Buffer.from('\r\n\r\n');
const EVENT = Buffer.from('data: ');
/** Pattern of the name that distinguishes a request from others. */
const NAME = /cut-\d+/;
/** The stop, the usage and the word that it is done. */
const EVENTS_OF_THE_END = 3;
const MOST_SHOWN_BYTES = 300;
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/** One connection, which reads answers only as far as it has to. */
class Client {
  readonly #order: LoadOrder;
  readonly #port: number;
  readonly #request: () => Buffer;
  readonly #cutAfterMs: number | undefined;
  readonly #report: LoadReport;
  readonly #onEnd: (client: Client) => void;
  #socket: Socket | undefined;
  #head: Buffer | undefined;
  #status = '';
  #isBody = false;
  #isChunked = false;
  #closes = false;
  #left = 0;
  #tail: Buffer = Buffer.alloc(0);
  #sent: Buffer = Buffer.alloc(0);
  #dueAt = 0;
  #hasByte = false;
  #arrivals: number[] = [];
  isBusy = false;

  constructor(
    order: LoadOrder,
    { port, request, cutAfterMs }: { port: number; request: () => Buffer; cutAfterMs: number | undefined },
    { report, onEnd }: { report: LoadReport; onEnd: (client: Client) => void },
  ) {
    this.#order = order;
    this.#port = port;
    this.#request = request;
    this.#cutAfterMs = cutAfterMs;
    this.#report = report;
    this.#onEnd = onEnd;
  }

  send(dueAt: number): void {
    this.isBusy = true;
    this.#dueAt = dueAt;
    this.#isBody = false;
    this.#head = undefined;
    this.#closes = false;
    this.#hasByte = false;
    this.#socket ??= this.#open();
    this.#sent = this.#request();
    this.#socket.write(this.#sent);
  }

  close(): void {
    this.#socket?.destroy();
  }

  #open(): Socket {
    const socket = connect(this.#port, '127.0.0.1');
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      if (this.isBusy) this.#end('broken');
    });
    return socket;
  }

  #take(given: Buffer): void {
    let chunk = given;
    if (!this.#isBody) {
      const bytes = this.#head ? Buffer.concat([this.#head, chunk]) : chunk;
      const headEnd = bytes.indexOf(HEAD_END);
      if (headEnd === -1) {
        this.#head = bytes;
        return;
      }
      this.#head = undefined;
      const head = bytes.subarray(0, headEnd).toString('latin1').toLowerCase();
      this.#status = head.slice(9, 12);
      const length = head.indexOf('content-length:');
      this.#isChunked = length === -1;
      this.#left = this.#isChunked ? Number.POSITIVE_INFINITY : Number.parseInt(head.slice(length + 15), 10);
      this.#closes = CLOSES.test(head);
      this.#isBody = true;
      this.#tail = Buffer.alloc(0);
      chunk = bytes.subarray(headEnd + HEAD_END.length);
    }
    if (chunk.length > 0 && !this.#hasByte) {
      this.#hasByte = true;
      this.#report.firstByteMs.push(performance.now() - this.#dueAt);
      if (this.#cutAfterMs !== undefined) setTimeout(() => this.#cut(), this.#cutAfterMs);
    }
    if (this.#status !== '200') this.#report.bodies[this.#status] ??= chunk.toString('latin1', 0, MOST_SHOWN_BYTES);
    if (!this.#isChunked) {
      this.#left -= chunk.length;
      if (this.#left <= 0) this.#end(this.#status);
      return;
    }
    for (let at = chunk.indexOf(EVENT); at !== -1; at = chunk.indexOf(EVENT, at + EVENT.length)) {
      this.#report.events += 1;
      if (this.#order.eventsEveryMs !== undefined) this.#arrivals.push(performance.now());
    }
    const end = chunk.length >= LAST_CHUNK.length ? chunk : Buffer.concat([this.#tail, chunk]);
    if (end.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)) this.#end(this.#status);
    else this.#tail = end.subarray(-LAST_CHUNK.length);
  }

  #cut(): void {
    if (!this.isBusy) return;
    const name = NAME.exec(this.#sent.toString('latin1'))?.[0] ?? '';
    this.#report.cuts.push([name, performance.timeOrigin + performance.now()]);
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#end('cut');
  }

  /** The last events of a stream come together, so they tell nothing. */
  #addLateness(everyMs: number): void {
    const paced = this.#arrivals.slice(1, -EVENTS_OF_THE_END).map((at, index) => at - index * everyMs);
    const earliest = Math.min(...paced);
    for (const at of paced) this.#report.lateMs.push(at - earliest);
    this.#arrivals = [];
  }

  #end(status: string): void {
    if (this.#order.eventsEveryMs !== undefined) this.#addLateness(this.#order.eventsEveryMs);
    this.isBusy = false;
    // The server said that it closes this connection: the next request goes on another one.
    if (this.#closes) {
      this.#socket?.destroy();
      this.#socket = undefined;
      this.#closes = false;
    }
    this.#report.statuses[status] = (this.#report.statuses[status] ?? 0) + 1;
    if (status !== 'broken') this.#report.wholeMs.push(performance.now() - this.#dueAt);
    this.#onEnd(this);
  }
}

function run(order: LoadOrder): Promise<LoadReport> {
  const report: LoadReport = {
    statuses: {},
    bodies: {},
    events: 0,
    seconds: 0,
    firstByteMs: [],
    wholeMs: [],
    lateMs: [],
    cuts: [],
    latestMs: 0,
  };
  const requests = order.requests.map((request) => Buffer.from(request, 'latin1'));
  const empty = Buffer.alloc(0);
  const startedAt = performance.now();
  const endsAt = startedAt + order.seconds * 1_000;
  return new Promise((resolve) => {
    let busy = 0;
    const idle: Client[] = [];
    let isOver = false;
    const finish = (): void => {
      if (!isOver || busy > 0) return;
      report.seconds = (performance.now() - startedAt) / 1_000;
      report.firstByteMs.sort((a, b) => a - b);
      report.wholeMs.sort((a, b) => a - b);
      report.lateMs.sort((a, b) => a - b);
      for (const client of clients) client.close();
      resolve(report);
    };
    const onEnd = (client: Client): void => {
      busy -= 1;
      if (order.kind === 'closed' && performance.now() < endsAt) send(client, performance.now());
      else {
        // With `once`, each connection has sent its request.
        if (order.kind === 'open') idle.push(client);
        if (order.kind === 'closed') isOver = true;
        finish();
      }
    };
    const send = (client: Client, dueAt: number): void => {
      busy += 1;
      report.latestMs = Math.max(report.latestMs, performance.now() - dueAt);
      client.send(dueAt);
    };
    const { ports = [order.port] } = order;
    let turn = 0;
    const makeClient = (index: number): Client => {
      const port = ports[index % ports.length] ?? order.port;
      const request = () => requests[(order.isInTurn ? turn++ : index) % requests.length] ?? empty;
      return new Client(order, { port, request, cutAfterMs: order.cutAfterMs?.[index] }, { report, onEnd });
    };
    const clients = Array.from({ length: order.connections }, (_, index) => makeClient(index));
    if (order.kind === 'closed') {
      for (const client of clients) send(client, performance.now());
      return;
    }
    // At a fixed rate: each due request is sent at once, on a free connection.
    idle.push(...[...clients].reverse());
    const rate = order.kind === 'open' ? order.rate : order.connections / (Math.max(order.withinMs, 1) / 1_000);
    const total = order.kind === 'open' ? Math.round(order.rate * order.seconds) : order.connections;
    let sent = 0;
    const timer = setInterval(() => {
      const due = Math.min(total, Math.floor(((performance.now() - startedAt) / 1_000) * rate) + 1);
      for (; sent < due; sent += 1) {
        let client = idle.pop();
        if (!client) {
          client = makeClient(clients.length);
          clients.push(client);
        }
        send(client, startedAt + (sent / rate) * 1_000);
      }
      if (sent < total) return;
      clearInterval(timer);
      isOver = true;
      finish();
    }, 1);
  });
}

process.on('message', (order: LoadOrder) => {
  void run(order).then((report) => process.send?.(report));
});
process.on('disconnect', () => process.exit());
process.send?.('ready');

import fc from 'fast-check';

/** One request of a pipeline, as it stands on the wire. */
export interface Item {
  /** The kind, for the reader of a finding. */
  what: string;
  text: string;
  /** The answer that is due; the name of a call that is served stands in its answer. */
  due: { name: string } | 'refusal';
  /** The connection closes with its answer: what comes after it is answered by nobody and reaches no service. */
  isLast: boolean;
}

export interface Pipeline {
  index: number;
  items: Item[];
  /** How the bytes leave: so many of a hundred in each write, and the pause before it. */
  writes: { share: number; pauseMs: number }[];
}

const REFUSED: Record<string, string> = {
  'no HTTP': 'hello\r\n\r\n',
  'a TLS greeting': '\x16\x03\x01\x02\x00\x01\x00\r\n\r\n',
  'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'HTTP/2.0 in words': 'GET /v1/svc/key HTTP/2.0\r\nHost: a\r\n\r\n',
  'HTTP/1.2': 'GET /v1/svc/key HTTP/1.2\r\nHost: a\r\n\r\n',
  'HTTP/0.9': 'GET /v1/svc/key HTTP/0.9\r\nHost: a\r\n\r\n',
  'chunks of HTTP/1.0':
    'POST /v1/chat/completions HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'another expectation': 'GET /v1/svc/key HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n',
  'another expectation of a body':
    'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nExpect: x\r\nContent-Length: 2\r\n\r\n{}',
  'a tunnel': 'CONNECT /v1/svc/key HTTP/1.1\r\nHost: a\r\n\r\n',
  'a huge head': `GET /v1/svc/key HTTP/1.1\r\nHost: a\r\nx: ${'1'.repeat(20_000)}\r\n\r\n`,
  'a NUL in a header': 'GET /v1/svc/key HTTP/1.1\r\nHost: a\r\nx: 1\0\r\n\r\n',
  'bare line feeds': 'GET /v1/svc/key HTTP/1.1\nHost: a\n\n',
  'two framings':
    'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'a body that breaks':
    'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nno size\r\n',
  'a chunk with a huge extension': `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;${'x'.repeat(20_000)}\r\n{}\r\n`,
};

const refused: fc.Arbitrary<Omit<Item, 'due'>> = fc
  .constantFrom(...Object.entries(REFUSED))
  .map(([what, text]) => ({ what, text, isLast: true }));

/** How a call says that its connection closes, if it does. */
const ending = fc.constantFrom('', '', '', '', '', '', 'Connection: close\r\n', 'HTTP/1.0');

/** Orders for the service behind, in the call's `User-Agent`: its name, events in a stream or 0, ms before each. */
const behaviour = fc.tuple(fc.constantFrom(0, 0, 1, 3), fc.constantFrom(0, 1, 4, 15));

const call = fc
  .tuple(fc.constantFrom('look-up', 'post', 'chunked post', 'expectant post', 'upgrade'), ending, behaviour)
  .map(([kind, end, [events, everyMs]]) => (name: string): Omit<Item, 'due'> => {
    const version = end === 'HTTP/1.0' ? '1.0' : '1.1';
    // A stream of HTTP/1.0 ends with its connection, so where it ends could not be seen.
    const agent = `User-Agent: ${name} ${version === '1.0' ? 0 : events} ${everyMs}\r\n`;
    const head = `HTTP/${version}\r\nHost: a\r\n${agent}${version === '1.0' ? '' : end}`;
    const body = JSON.stringify({ padding: 'x'.repeat(name.length * 7) });
    const what = `${kind} ${name}${end === '' ? '' : `, ${end.trim()}`}, ${events} events every ${everyMs} ms`;
    const isLast = end !== '';
    if (kind === 'look-up') return { what, isLast, text: `GET /v1/svc/key ${head}\r\n` };
    if (kind === 'upgrade')
      return { what, isLast: true, text: `GET /v1/svc/key ${head}Connection: upgrade\r\nUpgrade: h2c\r\n\r\n` };
    if (kind === 'chunked post' && version === '1.1')
      return {
        what,
        isLast,
        text: `POST /v1/chat/completions ${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      };
    const expect = kind === 'expectant post' ? 'Expect: 100-continue\r\n' : '';
    return {
      what,
      isLast,
      text: `POST /v1/chat/completions ${head}${expect}Content-Length: ${body.length}\r\n\r\n${body}`,
    };
  });

/** Its calls have its index in their names. */
const pipeline: fc.Arbitrary<(index: number) => Pipeline> = fc
  .record({
    calls: fc.array(call, { minLength: 0, maxLength: 6 }),
    breaking: refused,
    later: fc.array(fc.oneof(refused, call), { maxLength: 3 }),
    writes: fc.array(fc.record({ share: fc.integer({ min: 1, max: 60 }), pauseMs: fc.constantFrom(0, 0, 1, 5, 20) }), {
      maxLength: 5,
    }),
  })
  .map(({ calls, breaking, later, writes }) => (index) => {
    const items = [...calls, breaking, ...later].map((drawn, place): Item => {
      const name = `${index}-${place}`;
      return typeof drawn === 'function' ? { ...drawn(name), due: { name } } : { ...drawn, due: 'refusal' };
    });
    return { index, items, writes };
  });

/** The same pipelines for the same seed. */
export const drawPipelines = (seed: number, count: number): Pipeline[] =>
  fc.sample(pipeline, { seed, numRuns: count }).map((name, index) => name(index));

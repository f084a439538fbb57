import fc from 'fast-check';

/** Bytes that no HTTP client would write. */
export interface RawCase {
  kind: 'raw';
  bytes: Buffer;
  /** The allowed statuses of the one answer. */
  statuses: readonly number[];
  /** Whether a second request is hidden in it, which must never be answered. */
  hidesAnother: boolean;
}

const BODY = '{"model":"llama-3.1-8b-instruct","messages":[{"role":"user","content":"hi"}],"max_tokens":1}';
/** A request hidden in what could be another's body: it must never be answered. */
const HIDDEN = 'GET /v1/models HTTP/1.1\r\nHost: a\r\nx-hidden: 1\r\n\r\n';

const KEY_LINE = 'Authorization: Bearer $TURNPIKE_API_KEY';
const JSON_LINE = 'Content-Type: application/json';

const toBytes = (lines: readonly string[], rest: string): Buffer =>
  Buffer.from(`${lines.join('\r\n')}\r\n\r\n${rest}`, 'latin1');

const post = (...lines: string[]): string[] => [
  'POST /v1/chat/completions HTTP/1.1',
  'Host: a',
  KEY_LINE,
  JSON_LINE,
  ...lines,
];
const LENGTH = BODY.length;
const CHUNKED = `${LENGTH.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

/** Framings that two readers could read differently. */
const AMBIGUOUS: readonly (readonly [lines: readonly string[], rest: string])[] = [
  [[`Content-Length: ${LENGTH}`, 'Transfer-Encoding: chunked'], `0\r\n\r\n${HIDDEN}`],
  [['Transfer-Encoding: chunked', `Content-Length: ${LENGTH}`], CHUNKED + HIDDEN],
  [[`Content-Length: ${LENGTH}`, 'Content-Length: 0'], BODY + HIDDEN],
  [['Content-Length: 0', `Content-Length: ${LENGTH}`], BODY + HIDDEN],
  [[`Content-Length: ${LENGTH}, ${LENGTH}`], BODY],
  [[`Content-Length: +${LENGTH}`], BODY],
  [['Content-Length: -1'], BODY],
  [[`Content-Length: 0x${LENGTH.toString(16)}`], BODY],
  [['Content-Length: 1e2'], BODY],
  [['Content-Length:'], BODY],
  [['Content-Length: 99999999999999999999'], BODY],
  [['Transfer-Encoding: xchunked'], CHUNKED],
  [['Transfer-Encoding: chunked, identity'], CHUNKED],
  [['Transfer-Encoding: gzip, chunked'], CHUNKED],
  [['Transfer-Encoding: identity'], CHUNKED],
  [['Transfer-Encoding : chunked'], CHUNKED],
  [['Transfer-Encoding:\x0bchunked'], CHUNKED],
  [['Transfer-Encoding: "chunked"'], CHUNKED],
  [['Transfer-Encoding: chunked', 'Transfer-Encoding: x'], CHUNKED],
  [['x: 1', ' Transfer-Encoding: chunked', `Content-Length: ${LENGTH}`], BODY],
  [['x: 1\n', `Content-Length: ${LENGTH}`], BODY],
  [['x: 1\rTransfer-Encoding: chunked', `Content-Length: ${LENGTH}`], BODY],
  [['x\0: 1', `Content-Length: ${LENGTH}`], BODY],
  [['x: \x01', `Content-Length: ${LENGTH}`], BODY],
  [['x y: 1', `Content-Length: ${LENGTH}`], BODY],
  [[': 1', `Content-Length: ${LENGTH}`], BODY],
  [['Transfer-Encoding: chunked'], `${LENGTH.toString(16)} \r\n${BODY}\r\n0\r\n\r\n`],
  [['Transfer-Encoding: chunked'], `+${LENGTH.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`],
  [['Transfer-Encoding: chunked'], `0x${LENGTH.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`],
  [['Transfer-Encoding: chunked'], `${LENGTH.toString(16)};a=\n${BODY}\r\n0\r\n\r\n`],
  [['Transfer-Encoding: chunked'], `${LENGTH.toString(16)}\n${BODY}\n0\n\n`],
  [['Transfer-Encoding: chunked'], `ffffffffffffffff1\r\n${BODY}\r\n0\r\n\r\n`],
  [['Transfer-Encoding: chunked'], `1\r\n${BODY}\r\n0\r\n\r\n`],
  [['Expect: 200-ok', `Content-Length: ${LENGTH}`], BODY],
  [['Host: b', `Content-Length: ${LENGTH}`, 'Connection: close'], BODY],
];

const toAmbiguous = ([lines, rest]: (typeof AMBIGUOUS)[number]): RawCase => ({
  kind: 'raw',
  bytes: toBytes(post(...lines), rest),
  statuses: [400],
  hidesAnother: true,
});

/** Framings that are unusual, and mean one thing only. */
const UNUSUAL: readonly (readonly [lines: readonly string[], rest: string])[] = [
  [['Transfer-Encoding: chunked'], `${LENGTH.toString(16)};name=value;other="a b"\r\n${BODY}\r\n0\r\n\r\n`],
  [['Transfer-Encoding: CHUNKED'], CHUNKED],
  [['Transfer-Encoding: chunked'], `000${LENGTH.toString(16)}\r\n${BODY}\r\n000\r\n\r\n`],
  [['Transfer-Encoding: chunked'], `${LENGTH.toString(16)}\r\n${BODY}\r\n0\r\nAuthorization: Bearer x\r\n\r\n`],
  [['Transfer-Encoding: chunked'], `${Array.from(BODY, (byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`],
  [['Expect: 100-continue', `Content-Length: ${LENGTH}`], BODY],
  [[`content-LENGTH:\t${LENGTH}\t`], BODY],
  [['Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__', `Content-Length: ${LENGTH}`], BODY],
];
const toUnusual = ([lines, rest]: (typeof UNUSUAL)[number]): RawCase => ({
  kind: 'raw',
  bytes: toBytes(post(...lines, 'Connection: close'), rest),
  statuses: [200],
  hidesAnother: false,
});

const TARGETS = [
  ...[
    '//v1/models',
    '/v1//models',
    '/v1/models/',
    '/v1/../v1/models',
    '/v1/./models',
    '/v1/%2e%2e/internal',
    '/v1%2fmodels',
  ],
  ...['/v1/..;/internal', '/v1/models;a=b', '/V1/models', '/v1/MODELS', '/v1\\models', '/v1/models%00', '/v1/mod%65ls'],
  ...[
    '//evil.example/v1/models',
    '/internal/catalog',
    '/metrics',
    '/health',
    '/ready',
    '/',
    '/v1',
    '/v1/',
    '/v2/models',
  ],
  ...['http://evil.example/v1/models', 'http://a/v1/models', 'https:v1/models', '*', '/v1/chat/completions/../models'],
  ...[
    '/invocations',
    '/tokenize',
    '/pause',
    '/v1/load_lora_adapter',
    '/v1/models/%2e%2e%2fx',
    '/v1/models/%ff',
    '/v1/models/a%2fb',
  ],
  ...['/v1/models#a', '/v1/svc', '/v1/svc/usage/request/', '/v1/svc/internal/workspaces', '/v1/models/a//b', '/.env'],
];
const toStrangeTarget = (method: string, target: string): RawCase => ({
  kind: 'raw',
  bytes: toBytes([`${method} ${target} HTTP/1.1`, 'Host: a', KEY_LINE, 'Content-Length: 0', 'Connection: close'], ''),
  statuses: [404, 400],
  hidesAnother: false,
});
const strangeTarget = fc
  .tuple(
    fc.constantFrom('GET', 'POST', 'PUT', 'DELETE'),
    fc.constantFrom(...TARGETS),
    fc.constantFrom('', '?a=1', '?%zz', '?a=/v1/models'),
  )
  .map(([method, target, query]) => toStrangeTarget(method, `${target}${query}`));

const startLine = fc
  .constantFrom(
    ...[
      'hello',
      '',
      'GET',
      'GET /v1/models',
      'GET /v1/models HTTP/9.9',

      ' GET /v1/models HTTP/1.1',
    ],
    ...[
      'get /v1/models HTTP/1.1',
      'BREW /v1/models HTTP/1.1',
      'CONNECT a:1 HTTP/1.1',
      'PRI * HTTP/2.0',
      '\x16\x03\x01\x02\x00\x01',
    ],
    ...[
      'GET /v1/mo\x01dels HTTP/1.1',
      'GET /v1/mödels HTTP/1.1',
      `GET /${'a'.repeat(20_000)} HTTP/1.1`,
      'GET /v1/models HTTP/1.1 x',
    ],
  )
  .map(
    (line): RawCase => ({
      kind: 'raw',
      bytes: toBytes([line, 'Host: a', 'Connection: close'], ''),
      statuses: [400, 401, 404],
      hidesAnother: false,
    }),
  );

/** Random bytes within the head of a request, before the line that has its connection closed. */
const damagedHead = fc
  .tuple(fc.nat(200), fc.uint8Array({ minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([at, bytes, isOver]): RawCase => {
    const head = Buffer.from('GET /v1/svc/key HTTP/1.1\r\nHost: a\r\nx: 1\r\n');
    const place = at % (head.length - bytes.length);
    const rest = head.subarray(isOver ? place + bytes.length : place);
    const damaged = Buffer.concat([head.subarray(0, place), bytes, rest, Buffer.from('Connection: close\r\n\r\n')]);
    return { kind: 'raw', bytes: damaged, statuses: [400, 401, 404, 405], hidesAnother: false };
  });

/** Smuggling forms, path tricks and damaged heads, by a socket of their own. */
export const rawCase: fc.Arbitrary<RawCase> = fc.oneof(
  fc.constantFrom(...AMBIGUOUS).map(toAmbiguous),
  fc.constantFrom(...UNUSUAL).map(toUnusual),
  strangeTarget,
  startLine,
  damagedHead,
);

/** Each of the known ones, once. */
export const listRawCases = (): RawCase[] => [
  ...AMBIGUOUS.map(toAmbiguous),
  ...UNUSUAL.map(toUnusual),
  ...TARGETS.flatMap((target) => [toStrangeTarget('GET', target), toStrangeTarget('POST', target)]),
];

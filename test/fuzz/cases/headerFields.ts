import fc from 'fast-check';
import { KEY } from './fuzzCase.ts';

type Header = readonly [name: string, value: string];

const GOOD_KEY: Header = ['authorization', `Bearer ${KEY}`];

/** Headers without a key, or with several: 401. */
const authorization: fc.Arbitrary<readonly Header[]> = fc.oneof(
  fc.constant([]),
  fc
    .constantFrom(
      ...[
        '',
        'Bearer',
        'Bearer ',
        'Bearer undefined',
        'Bearer null',
        'Basic dXNlcjpwYXNz',
        'Token x',
        KEY,
        `bearer: ${KEY}`,
      ],
      ...[
        `Bearer ${KEY}x`,
        `Bearer x${KEY}`,
        `Bearer ${KEY},${KEY}`,
        `Bearer ${KEY} ${KEY}`,
        `Bearer sk-${'a'.repeat(10_000)}`,
      ],
      ...[
        "Bearer ' OR '1'='1",
        "Bearer ' OR (SELECT pg_sleep(10)) IS NULL --",
        'Bearer {"startsWith":""}',
        'Bearer sk-\xe9',
      ],
    )
    .map((value): readonly Header[] => [['authorization', value]]),
  fc.constant([GOOD_KEY, GOOD_KEY]),
  fc.constant([GOOD_KEY, ['Authorization', 'Bearer sk-other'] as const]),
  fc.constant([['x-api-key', KEY] as const]),
  fc.constant([['cookie', `authorization=Bearer ${KEY}`] as const]),
);

const CONTENT_TYPES = [
  ...[
    'application/json; charset=utf-8',
    'application/json;charset=utf-16',
    'APPLICATION/JSON',
    'application/vnd.api+json',
  ],
  ...[
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=a',
    'application/xml',
    'json',
    '',
  ],
  ...[
    'application/json5',
    'application/jsonx',
    'text/json',
    'application/json, text/plain',
    'application/json;;;',
    '*/*',
    '\xe9',
  ],
];
const CODINGS = ['gzip', 'br', 'deflate', 'gzip, gzip', 'identity', 'IDENTITY', 'zstd', 'x', 'identity, gzip', ''];

/** Headers that only the edge and the services set, and that some servers heed. */
const FORGED: readonly Header[] = [
  ...(
    [
      'x-turnpike-internal',
      'x-turnpike-client',
      'x_turnpike_internal',
      'X-Internal-Auth',
      'x-key-id',
      'x-auth-key-id',
    ] as const
  ).map((name): Header => [name, 'edge']),
  ['x-request-id', '00000000-0000-0000-0000-000000000000'],
  ['x-router-call-id', '00000000-0000-0000-0000-000000000000'],
  ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
  ['traceparent', 'x'],
  ['x-forwarded-for', '127.0.0.1, 10.0.0.1, \xe9'],
  ['forwarded', 'for=127.0.0.1;host="/'],
  ['x-forwarded-host', 'evil.example'],
  ['x-original-url', '/internal/catalog'],
  ['x-http-method-override', 'DELETE'],
  ['range', 'bytes=0-1'],
  ['if-none-match', '*'],
  ['accept', 'text/html;q=1, */*;q=0'],
  ['accept-encoding', 'gzip, br'],
  ['origin', 'https://evil.example'],
  ['access-control-request-method', 'POST'],
  ['prefer', 'respond-async'],
  ['openai-organization', 'org_x'],
  ['te', 'trailers'],
];

const token = fc.string({ unit: fc.constantFrom(..."abz09-_.!#$%&'*+^`|~"), minLength: 1, maxLength: 12 });
const value = fc.string({ unit: fc.constantFrom(...'a \t"\\,;=()<>@:/[]?{}\x7e\x80\xa0\xe9\xff'), maxLength: 24 });

const extra: fc.Arbitrary<readonly Header[]> = fc.oneof(
  fc.array(fc.constantFrom(...FORGED), { minLength: 1, maxLength: 3 }),
  fc.array(
    fc.tuple(
      token.map((name) => `x-${name}`),
      value,
    ),
    { minLength: 1, maxLength: 5 },
  ),
  fc
    .constantFrom(60, 110, 300)
    .map((count) => Array.from({ length: count }, (_, index): Header => [`x-f${index}`, '1'])),
  fc.constantFrom(4_000, 12_000).map((length): readonly Header[] => [['x-long', 'a'.repeat(length)]]),
);

/** The key as clients may write it: after one or more spaces. */
const SPACED_KEY: Header = ['authorization', `Bearer   ${KEY}`];

/** Most requests have a good key and no header that nobody needs. */
export const headerFields: fc.Arbitrary<readonly Header[]> = fc
  .tuple(
    fc.oneof(
      { weight: 30, arbitrary: fc.constant([GOOD_KEY]) },
      { weight: 1, arbitrary: fc.constant([SPACED_KEY]) },
      { weight: 1, arbitrary: authorization },
    ),
    fc.oneof({ weight: 20, arbitrary: fc.constant('application/json') }, fc.option(fc.constantFrom(...CONTENT_TYPES))),
    fc.oneof({ weight: 30, arbitrary: fc.constant(null) }, fc.constantFrom(...CODINGS)),
    fc.oneof({ weight: 12, arbitrary: fc.constant([]) }, extra),
  )
  .map(([key, type, coding, others]): readonly Header[] => [
    ...key,
    ...(type === null ? [] : [['content-type', type] as const]),
    ...(coding === null ? [] : [['content-encoding', coding] as const]),
    ...others,
  ]);

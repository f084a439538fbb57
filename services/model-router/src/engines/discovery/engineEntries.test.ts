import { expect, it } from '@jest/globals';
import { engineEntriesSchema } from './engineEntries.ts';

const parse = (...engines: object[]) => engineEntriesSchema.parse({ engines });

it('reads addresses, names and services of a cluster, each a routing target', () => {
  const entries = parse(
    {
      id: 'a',
      url: 'http://10.0.0.7:8000/v1/',
      model: 'm',
      weight: 2,
      hardware: 'h200',
      quantization: 'fp8',
      version: 'v1',
    },
    { id: 'b', discover: 'dns://engines.example.internal:8000' },
    { id: 'c', discover: 'k8s://models/small-chat:http', draining: true },
  );
  expect(entries).toMatchObject([
    { id: 'a', url: 'http://10.0.0.7:8000', model: 'm', weight: 2, draining: false },
    { id: 'b', discover: { kind: 'dns', host: 'engines.example.internal', port: 8_000 }, weight: 1 },
    { id: 'c', discover: { kind: 'k8s', namespace: 'models', service: 'small-chat', port: 'http' }, draining: true },
  ]);
});

it('names an entry without an id alike every time, and never by its address', () => {
  const [first] = parse({ url: 'http://10.0.0.7:8000' });
  const [again] = parse({ url: 'http://10.0.0.7:8000/' });
  expect(first?.id).toMatch(/^engine-[0-9a-f]{8}$/);
  expect(again?.id).toBe(first?.id);
});

it.each([
  ['neither address nor name', [{ id: 'a' }], 'engines.0: must have either url or discover'],
  ['both', [{ url: 'http://e', discover: 'dns://e:1' }], 'engines.0: must have either url or discover'],
  ['another kind of name', [{ discover: 'srv://e' }], 'engines.0.discover: must be dns://host:port or k8s://'],
  ['no http', [{ url: 'ftp://e' }], 'engines.0.url: must be an address'],
  ['a weight of nothing', [{ url: 'http://e', weight: 0 }], 'engines.0.weight: '],
  ['a field nobody knows', [{ url: 'http://e', wieght: 2 }], 'engines.0: '],
  [
    'an id twice',
    [
      { id: 'a', url: 'http://e' },
      { id: 'a', url: 'http://f' },
    ],
    'engines: an engine id stands twice',
  ],
])('says where a file is wrong, and why: %s', (_case, engines, reason) => {
  const { error } = engineEntriesSchema.safeParse({ engines });
  const reasons = error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  expect(reasons).toEqual([expect.stringContaining(reason)]);
});

import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { type EngineEntry, engineEntriesSchema } from './engineEntries.ts';
import { type Addresses, followAddresses } from './followAddresses.ts';

const NO_DATA = Object.assign(new Error('no data'), { code: 'ENODATA' });
const REFRESH_MS = 3_000;

let v4: string[] | Error;
let v6: string[] | Error;
let changes: number;
let followed: Addresses;
beforeEach(() => {
  jest.useFakeTimers();
  [v4, v6, changes] = [[], NO_DATA, 0];
});
afterEach(() => {
  followed.close();
  jest.useRealTimers();
});

const entriesOf = (...engines: object[]): EngineEntry[] => engineEntriesSchema.parse({ engines });
const answer = async (addresses: string[] | Error): Promise<string[]> => {
  if (addresses instanceof Error) throw addresses;
  return addresses;
};

async function follow(entries: () => EngineEntry[]): Promise<() => string[]> {
  followed = followAddresses({
    entries,
    nameServer: { resolve4: () => answer(v4), resolve6: () => answer(v6) } as never,
    endpoints: undefined,
    onChange: () => {
      changes += 1;
    },
    log: aSilentLogger(),
  });
  await refresh(0);
  return () => followed.list().map(({ origin }) => origin);
}
const refresh = (ms = REFRESH_MS) => jest.advanceTimersByTimeAsync(ms);

it('makes an engine of every address of a name, of both families, and follows the name', async () => {
  const entries = entriesOf({ id: 'pool', discover: 'dns://engines.example:8000', model: 'm' });
  [v4, v6] = [['10.0.0.2', '10.0.0.1'], ['fd00::1']];
  const origins = await follow(() => entries);
  expect(origins()).toEqual(['http://10.0.0.1:8000', 'http://10.0.0.2:8000', 'http://[fd00::1]:8000']);
  const ids = followed.list().map(({ id }) => id);
  expect(new Set(ids).size).toBe(3);
  expect(ids.every((id) => /^pool\/[0-9a-f]{8}$/.test(id))).toBe(true);
  [v4, v6] = [['10.0.0.2'], NO_DATA];
  await refresh();
  expect(origins()).toEqual(['http://10.0.0.2:8000']);
  expect(changes).toBe(2);
  await refresh();
  expect(changes).toBe(2);
});

it.each<[string, string[] | Error]>([
  ['do not answer', Object.assign(new Error('timeout'), { code: 'ETIMEOUT' })],
  ['know no address any more', NO_DATA],
])('keeps the last good list when name servers %s', async (_case, bad) => {
  const entries = entriesOf({ id: 'pool', discover: 'dns://engines.example:8000' });
  v4 = ['10.0.0.1'];
  const origins = await follow(() => entries);
  v4 = bad;
  await refresh();
  expect(origins()).toEqual(['http://10.0.0.1:8000']);
  const [fault] = followed.listFaults();
  expect(fault).toEqual({ target: 'pool', reason: expect.any(String), since: expect.any(Date) });
  await refresh();
  expect(followed.listFaults()[0]?.since).toEqual(fault?.since);
  v4 = ['10.0.0.9'];
  await refresh();
  expect(followed.listFaults()).toEqual([]);
  expect(origins()).toEqual(['http://10.0.0.9:8000']);
});

it('forgets the addresses of a name that is no longer listed, and says so of a service outside a cluster', async () => {
  v4 = ['10.0.0.1'];
  let entries = entriesOf({ id: 'pool', discover: 'dns://engines.example:8000' }, { id: 'one', url: 'http://e:1' });
  const origins = await follow(() => entries);
  expect(origins()).toEqual(['http://10.0.0.1:8000', 'http://e:1']);
  entries = entriesOf({ id: 'one', url: 'http://e:1' }, { id: 'pods', discover: 'k8s://models/small-chat:http' });
  await refresh();
  expect(origins()).toEqual(['http://e:1']);
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { hastenPauses } from '@turnpike/lifecycle/test/hastenPauses';
import { MODEL, startTestReplica, type TestReplica } from '@turnpike/media-simulator/test/support/testReplica';
import { until } from '@turnpike/test-support/until';
import type { Backends } from '../src/backends/createBackends.ts';
import type { BackendsFile } from './support/openBackends.ts';

hastenPauses(10);
const { createBackends } = await import('../src/backends/createBackends.ts');
const { createReplicaTurns } = await import('../src/backends/replicaTurns.ts');
const { aBackendsFile, silentLog } = await import('./support/openBackends.ts');
const { aCall, anImageRequest, eventually, openTestJobs } = await import('./openTestJobs.ts');

const IMAGES = 'POST /v1/images/generations';
const MINUTE_MS = 60_000;

let test: Awaited<ReturnType<typeof openTestJobs>>;
let jobs: Awaited<ReturnType<typeof test.open>>;
/** The first of the file, which is given the first job, and another one. */
let hanging: TestReplica;
let other: TestReplica;
let file: BackendsFile;
let backends: Backends;
/** Minutes that this process has seen pass at its replicas. */
let passedMs = 0;

beforeAll(async () => {
  test = await openTestJobs();
  [hanging, other] = await Promise.all([startTestReplica('vllm-omni-2026'), startTestReplica('vllm-omni-2026')]);
  const entry = { engine: 'vllm-omni', model: MODEL, slots: 2 };
  file = await aBackendsFile([
    { id: 'hanging', url: hanging.url, ...entry },
    { id: 'other', url: other.url, ...entry },
  ]);
  const metrics = { alerted: () => {} };
  backends = createBackends({ file: file.path, metrics, log: silentLog, nowMs: () => performance.now() + passedMs });
  await until('both replicas', () => backends.replicasFor(MODEL).length === 2);
  jobs = await test.open({ backends: { list: backends.listForJobs, dialectOf: backends.dialectOf } });
});
afterAll(async () => {
  await jobs.close();
  await backends.close();
  await Promise.all([hanging.close(), other.close(), file.remove(), test.close()]);
});

const make = async (): Promise<string> => {
  const { id } = await jobs.make(aCall({ request: anImageRequest({ model: MODEL, size: { width: 16, height: 16 } }) }));
  return id;
};
const ended = (id: string, state: string) =>
  eventually(
    () => test.read(id),
    (row) => row.state === state,
  );
/** Makes jobs, one after the other, until the replica has one of them. */
async function makeAtHanging(): Promise<string> {
  for (;;) {
    const id = await make();
    const { replica } = await eventually(
      () => test.read(id),
      (row) => row.replica !== null,
    );
    if (replica === 'hanging') return id;
    await ended(id, 'completed');
  }
}
/** Ends a job that hangs at its deadline. */
async function runOut(id: string): Promise<void> {
  await test.age(id, 11 * MINUTE_MS);
  await ended(id, 'failed');
  await until('the end of its request', async () => (await hanging.lastRequest(IMAGES)).state === 'aborted');
}
const askedOf = async (replica: TestReplica): Promise<number> =>
  (await replica.log()).requests.filter(({ route }) => route === IMAGES).length;
const hungOnes = () => backends.list().flatMap(({ replica: { id }, isHung }) => (isHung ? [id] : []));
/** A call that is answered as it runs. */
const ask = async (): Promise<string> => {
  const turns = createReplicaTurns(backends, { attemptEnded: () => {} });
  const call = { model: MODEL, keyId: 'key', signal: new AbortController().signal };
  const { answer, done } = await turns.ask(call, async ({ id }) => id);
  done();
  return answer;
};

it('that takes work and gives nothing is passed over for another one, until one job has shown that it works', async () => {
  await hanging.addFaults({ match: { route: IMAGES }, fault: 'never_answers' });
  const lost = await makeAtHanging();
  await until('its request', async () => (await askedOf(hanging)) === 1);
  expect(hungOnes()).toEqual([]);
  passedMs += MINUTE_MS;
  expect(hungOnes()).toEqual(['hanging']);
  expect(backends.list()).toMatchObject([{ state: 'ready' }, { state: 'ready' }]);

  // One of its slots is free, and once the job has ended both are.
  for (const id of [await make(), await make()])
    expect(await ended(id, 'completed')).toMatchObject({ replica: 'other' });
  await runOut(lost);
  for (const id of [await make(), await make()])
    expect(await ended(id, 'completed')).toMatchObject({ replica: 'other' });
  expect([await ask(), await ask()]).toEqual(['other', 'other']);

  // After a pause one job tries it, and no second.
  passedMs += MINUTE_MS;
  const tried = await makeAtHanging();
  await until('its request', async () => (await askedOf(hanging)) === 2);
  for (const id of [await make(), await make()])
    expect(await ended(id, 'completed')).toMatchObject({ replica: 'other' });
  await runOut(tried);
  expect(await askedOf(hanging)).toBe(2);

  await hanging.clearFaults();
  passedMs += 2 * MINUTE_MS;
  await ended(await makeAtHanging(), 'completed');
  expect(hungOnes()).toEqual([]);
});

it('that takes work and gives nothing has it all the same where no other replica of its model works', async () => {
  const before = await askedOf(hanging);
  await hanging.addFaults({ match: { route: IMAGES }, fault: 'never_answers', times: 1 });
  await makeAtHanging();
  await until('its request', async () => (await askedOf(hanging)) > before);
  passedMs += MINUTE_MS;
  expect(backends.replicasFor(MODEL)).toMatchObject([{ id: 'other' }]);
  await other.admin('port', { port: 'closed' });
  await until('the other one is out', () => backends.list()[1]?.state === 'out');
  expect(await ended(await make(), 'completed')).toMatchObject({ replica: 'hanging' });
});

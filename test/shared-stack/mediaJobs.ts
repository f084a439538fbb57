import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import pg from 'pg';
import { daysAroundNow } from '../support/daysAroundNow.ts';
import { makeAccount } from '../support/makeAccount.ts';
import { stack } from './stack.ts';

const IMAGES = { model: 'flux.1-schnell', prompt: 'a fox', size: '512x512', n: 2, async: true };
const CLIP = { model: 'wan2.2-t2v-a14b', prompt: 'a fox runs', seconds: '3' };
const JOBS = 8;
const KILLS = 3;
const REMOVED_MS = 300_000;

interface Job {
  id: string;
  status: string;
  error: { code: string } | null;
  usage: { units_consumed: number; total_spend: number } | null;
}

/** The state of a backend, by its admin port. */
interface BackendState {
  jobs: { id: string }[];
}

it('has answers that it gave as they ran for retries of their calls, charged once, though the process was killed then', async () => {
  const account = await makeAccount(stack, { rpm: 100_000, tpm: 1_000_000 });
  const body = JSON.stringify({ model: 'kokoro-82m', voice: 'af_heart', input: 'the quick brown fox' });
  const speak = async (headers: Record<string, string> = {}): Promise<Buffer> => {
    const response = await fetch(`${stack.baseUrl}/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.apiKey}`, 'content-type': 'application/json', ...headers },
      body,
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return Buffer.from(await response.arrayBuffer());
  };
  const spoken = await speak();
  process.kill(stack.running.parts.services['media-jobs'].pid, 'SIGKILL');
  stack.running.parts.services['media-jobs'] = await stack.running.restart('media-jobs');
  const again = await until('the retry to be answered', () =>
    speak({ 'x-stainless-retry-count': '1' }).catch(() => undefined),
  );
  expect(again.equals(spoken)).toBe(true);
  const spendOf = async () => (await account.get<{ spend_usd: number }>('/svc/key')).body.spend_usd;
  const spend = await until('the charge', async () => (await spendOf()) || undefined);
  // A second charge would come within a lease.
  await pause(2_000);
  expect(await spendOf()).toBe(spend);
  const { body: used } = await account.get<{ totals: { requests: number } }>(`/svc/usage?${daysAroundNow()}`);
  expect(used.totals.requests).toBe(1);
});

it('ends and charges every job once, though the process that works on them is killed again and again', async () => {
  const account = await makeAccount(stack, { rpm: 100_000, tpm: 1_000_000 });
  const call = async <Answer>(method: string, path: string, body?: object): Promise<Answer> => {
    const response = await fetch(`${stack.baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${account.apiKey}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Answer;
  };

  const made: string[] = [];
  for (let index = 0; index < JOBS; index += 1) {
    const { id: images } = await call<Job>('POST', '/images/generations', { ...IMAGES, prompt: `a fox ${index}` });
    const { id: clip } = await call<Job>('POST', '/videos', { ...CLIP, prompt: `a fox runs ${index}` });
    made.push(`/images/jobs/${images}`, `/videos/${clip}`);
  }
  for (let kill = 0; kill < KILLS; kill += 1) {
    await pause(1_500);
    process.kill(stack.running.parts.services['media-jobs'].pid, 'SIGKILL');
    stack.running.parts.services['media-jobs'] = await stack.running.restart('media-jobs');
  }

  const jobs = await Promise.all(
    made.map((path) =>
      until(
        `the end of ${path}`,
        async () => {
          const job = await call<Job>('GET', path).catch(() => undefined);
          await pause(500);
          return job && ['completed', 'failed'].includes(job.status) ? { path, ...job } : undefined;
        },
        120_000,
      ),
    ),
  );
  // A render that dies with its worker is an attempt, and so is a clip whose beginning was not noted yet. There are two attempts: who was
  // killed in both has failed, at no charge. Clips that were noted go on.
  for (const { path, status, usage, error } of jobs)
    if (status === 'failed')
      expect({ error, spend: usage?.total_spend }).toMatchObject({ error: { code: 'backend_lost' }, spend: 0 });
    else expect(usage?.units_consumed).toBe(path.startsWith('/videos') ? 3 : 2);
  const completed = jobs.filter(({ path, status }) => path.startsWith('/videos') && status === 'completed');
  expect(completed.length).toBeGreaterThan(JOBS / 2);
  const spent = jobs.reduce((sum, { usage }) => sum + Math.round((usage?.total_spend ?? 0) * 1e9), 0);
  await until('the ledger to have each job once', async () => {
    const { spend_usd: recorded } = await call<{ spend_usd: number }>('GET', '/svc/key');
    const { totals } = await call<{ totals: { requests: number } }>('GET', `/svc/usage?${daysAroundNow()}`);
    return Math.round(recorded * 1e9) === spent && totals.requests === jobs.length;
  });
});

it(
  'leaves nothing of them at the backends',
  async () => {
    const { media_backends: all, postgres_url: url } = stack.running.stack.regions.us;
    const backends = all.filter(({ model }) => model === CLIP.model);
    const listClips = async (): Promise<string[]> => {
      const states = backends.map(async ({ admin_url: admin }) => (await fetch(`${admin}/admin/state`)).json());
      return (await Promise.all(states)).flatMap((state) => (state as BackendState).jobs.map(({ id }) => id));
    };
    const table = new pg.Client({ connectionString: Object.assign(new URL(url), { pathname: '/media' }).href });
    await table.connect();
    await until('the backends to have nothing that a row names', async () => {
      const { rowCount } = await table.query('SELECT 1 FROM job WHERE backend_id = ANY($1)', [await listClips()]);
      return rowCount === 0;
    });
    await table.end();
    // A clip whose beginning was not noted has no row. Looks a minute apart remove it after two minutes.
    await until('the backends to have nothing at all', async () => (await listClips()).length === 0, REMOVED_MS);
  },
  2 * REMOVED_MS,
);

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunningStack } from '@turnpike/local-stack/startStack';
import { startStackSomewhere } from '@turnpike/local-stack/startStackSomewhere';
import { mergeSettings } from '@turnpike/local-stack/toServiceEnvironments';
import { createOperator } from '../../support/operator.ts';
import { PATIENT } from '../../support/patience.ts';
import { createJudge } from '../oracle/createJudge.ts';
import { type Books, openBooks } from './books.ts';
import { createLoopProbe } from './loopProbe.ts';
import type { FuzzTarget } from './runFuzz.ts';
import { createSender } from './sendCase.ts';

/** A region of its own with keys that no limit holds back. */
export interface FuzzStack extends FuzzTarget {
  books: Books;
  stop(): Promise<void>;
}

const NO_LIMIT = 1_000_000_000;
/** Limits out of the way, so that they hide nothing; and deadlines that a busy machine keeps. */
const SERVICE_SETTINGS = mergeSettings(PATIENT, {
  edge: { LIMITS: { FLOOD_REQUESTS_PER_MINUTE: NO_LIMIT, FLOOD_BURST: NO_LIMIT } },
  auth: { LIMITS: { LOOK_UPS_PER_SECOND: NO_LIMIT } },
  catalog: {
    LIMITS: {
      MODEL_LIST_PER_IP_PER_MINUTE: NO_LIMIT,
      MODEL_LIST_PER_MINUTE: NO_LIMIT,
      LOOK_UPS_PER_SECOND: NO_LIMIT,
    },
  },
  'usage-ledger': { LIMITS: { LOOK_UPS_PER_SECOND: NO_LIMIT } },
  'media-jobs': { LIMITS: { LOOK_UPS_PER_SECOND: NO_LIMIT } },
  'model-router': { LIMITS: { REFUSED_BODIES_BYTES_PER_SECOND: NO_LIMIT } },
});
const QUICK_ENGINE = { timeToFirstTokenMs: 0, interTokenMs: 0 };
const QUICK_MEDIA_ENGINE = { renderBaseMs: 1, msPerFrame: 0 };
/** So many that their shares of decoding in vain, which no setting widens, are enough for any pace: 10 s a minute each. */
const KEYS = 32;
const TIMEOUT_MS = 30_000;

export async function startFuzzStack({ inFlight }: { inFlight: number }): Promise<FuzzStack> {
  const stateDir = await mkdtemp(join(tmpdir(), 'turnpike-fuzz-'));
  const removeStateDir = () => rm(stateDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  try {
    const running = await startStackSomewhere({
      stateDir,
      isScratch: true,
      kafka: false,
      serviceSettings: SERVICE_SETTINGS,
    });
    try {
      return await describe(running, { stateDir, inFlight, removeStateDir });
    } catch (error) {
      await running.stop();
      throw error;
    }
  } catch (error) {
    await removeStateDir();
    throw error;
  }
}

async function describe(
  running: RunningStack,
  { stateDir, inFlight, removeStateDir }: { stateDir: string; inFlight: number; removeStateDir: () => Promise<void> },
): Promise<FuzzStack> {
  const {
    services,
    base_url: baseUrl,
    engines,
    simulator_admin_urls: admins,
    media_backends: mediaBackends,
    postgres_url,
    redis_url,
  } = running.stack.regions.us;
  const secrets = JSON.parse(await readFile(join(stateDir, 'secrets.json'), 'utf8')) as {
    internalKeys: { operator: string };
  };
  const operator = createOperator({ services, operatorKey: secrets.internalKeys.operator });
  const workspaceId = await operator.makeWorkspace({ creditUsd: '1000000' });
  const apiKeys = await Promise.all(
    Array.from({ length: KEYS }, () => operator.makeKey(workspaceId, { rpm: NO_LIMIT, tpm: NO_LIMIT })),
  );
  const quicken = (admin: string, knobs: object) =>
    fetch(`${admin}/admin/config`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(knobs),
    });
  await Promise.all([
    ...admins.map((admin) => quicken(admin, QUICK_ENGINE)),
    ...mediaBackends.map(({ admin_url: admin }) => quicken(admin, QUICK_MEDIA_ENGINE)),
  ]);
  const { origin } = new URL(baseUrl);
  const inside = [
    ...Object.values(services).map(({ internal_url: url }) => url),
    ...[...engines, ...mediaBackends].map(({ url }) => url),
  ];
  const sender = createSender({ origin, apiKeys, connections: inFlight, timeoutMs: TIMEOUT_MS });
  const books = openBooks({ postgresUrl: postgres_url, redisUrl: redis_url, baseUrl, workspaceId, apiKeys });
  return {
    sender,
    judge: createJudge({ secrets: [...apiKeys, workspaceId, stateDir, ...inside.map((url) => new URL(url).host)] }),
    loops: createLoopProbe(
      [services.edge, services['model-router'], services['media-jobs']].map(
        ({ internal_url: url }) => `${url}/metrics`,
      ),
    ),
    books,
    async stop() {
      await Promise.all([sender.close(), books.close()]);
      await running.stop();
      await removeStateDir();
    },
  };
}

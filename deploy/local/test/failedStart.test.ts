import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { SERVICE_NAMES } from '@turnpike/config/services';
import { findBusyPort } from '../src/findFreePorts.ts';
import { loadLocalSecrets } from '../src/localSecrets.ts';
import { repositoryRoot } from '../src/repositoryRoot.ts';
import { listPorts, toStackPorts } from '../src/stackPorts.ts';
import { startStack } from '../src/startStack.ts';
import { findFreePortBase } from './findFreePortBase.ts';

const START_TIMEOUT_MS = 180_000;

let portBase: number;
let stateDir: string;
beforeEach(async () => {
  portBase = await findFreePortBase(26_000);
  stateDir = await mkdtemp(join(tmpdir(), 'turnpike-failed-start-'));
});
afterEach(() => rm(stateDir, { recursive: true }));

async function expectNothingLeft(): Promise<void> {
  expect(
    await findBusyPort(
      listPorts(toStackPorts(portBase, { simulatedModels: 20, mediaModels: 5 }), {
        kafka: true,
        s3: true,
      }),
    ),
  ).toBeUndefined();
  expect(existsSync(join(stateDir, 'launcher.json'))).toBe(false);
  expect(existsSync(join(stateDir, 'stack.json'))).toBe(false);
}

it('names file, line and reason of a mistake in the catalog, and starts nothing', async () => {
  const catalog = await readFile(join(repositoryRoot, 'deploy/catalog/us/catalog.yaml'), 'utf8');
  const catalogFile = join(stateDir, 'us.yaml');
  await writeFile(catalogFile, catalog.replace(/prompt: "[\d.]+"/, 'prompt: "-1"'));

  await expect(startStack({ portBase, stateDir, kafka: false, catalogFile })).rejects.toThrow(
    /^The catalog file has a mistake; .*us\.yaml:\d+: models\[0\]\.pricing\.prompt: "-1" is not a price.*$/,
  );
  expect(existsSync(join(stateDir, 'logs'))).toBe(false);
  await expectNothingLeft();
});

it(
  'says what Postgres said when it does not come up, and stops what had started',
  async () => {
    await loadLocalSecrets(join(stateDir, 'secrets.json'), { scope: 'us', services: SERVICE_NAMES, dataDirs: [] });
    await mkdir(join(stateDir, 'data-embedded', 'postgres'), { recursive: true }); // data that something has emptied

    await expect(startStack({ portBase, stateDir, kafka: false })).rejects.toThrow(
      /^postgres ended with code \d+\. The end of its log, .*postgres\.log:\n/,
    );
    await expectNothingLeft();
  },
  START_TIMEOUT_MS,
);

it(
  'stops what had started when it is told to stop in the middle',
  async () => {
    const controller = new AbortController();
    const reason = new Error('told to stop');
    const onProgress = () => controller.abort(reason);

    await expect(startStack({ portBase, stateDir, kafka: false, signal: controller.signal, onProgress })).rejects.toBe(
      reason,
    );
    await expectNothingLeft();
  },
  START_TIMEOUT_MS,
);

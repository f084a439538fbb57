import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { startTestS3, type TestS3 } from '@turnpike/local-stack/startTestServers';
import { createLogger } from '@turnpike/logging/createLogger';
import { openFolderStore } from '@turnpike/object-store/folder/openFolderStore';
import { openS3Store } from '@turnpike/object-store/s3/openS3Store';
import { describeFullStore } from '@turnpike/object-store/test/objectStoreContract';
import { accessTo, PATIENT, settingsOf } from './support/s3Access.ts';

/** More objects than a page of S3 has, and a clip that no process may hold in memory. */
const MUCH = { objects: 1_100, mib: 200 };

const isS3Here = process.env.TURNPIKE_TEST_S3 === 'available';

(isS3Here ? describe : describe.skip)('a real S3 server', () => {
  const log = createLogger({ service: 'object-store-test', level: 'silent' });
  let s3: TestS3;
  beforeAll(async () => {
    s3 = await startTestS3((line) => void process.stderr.write(`${line}\n`));
  });
  afterAll(() => s3?.stop());

  describeFullStore(
    'S3',
    () => ({
      settings: settingsOf(s3),
      open: (limits) => openS3Store({ ...accessTo(s3, s3.port), ...PATIENT, ...limits, log }),
    }),
    MUCH,
  );
});

describe('a folder', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnpike-objects-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  describeFullStore(
    'folder',
    () => ({
      settings: { OBJECT_STORE_FOLDER: folder },
      open: ({ idleTimeoutMs }) => openFolderStore({ folder, idleTimeoutMs }),
    }),
    MUCH,
  );
});

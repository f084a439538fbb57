import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An empty folder of its own. */
export const aTemporaryFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'turnpike-router-'));

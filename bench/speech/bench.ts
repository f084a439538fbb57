import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStackSomewhere } from '@turnpike/local-stack/startStackSomewhere';
import type { Bench } from '../bench.ts';
import type { Figure } from '../figure.ts';
import { measureFirstByte } from './measureFirstByte.ts';
import { measureUpload } from './measureUpload.ts';

const PARTS = { 'first-byte': measureFirstByte, upload: measureUpload };

/** Speech both ways, on a stack with simulated backends. */
export const bench: Bench = {
  measures:
    'time to the first byte of streamed speech by the edge, and what a recording to be written down costs beside nginx and bare Node',
  parts: Object.keys(PARTS),
  async run({ parts, isLong, progress, timed, measure }) {
    const stateDir = await mkdtemp(join(tmpdir(), 'turnpike-bench-'));
    try {
      progress('starting a stack');
      const running = await timed('start', () => startStackSomewhere({ stateDir, kafka: false }));
      try {
        const figures: Figure[] = [];
        for (const [name, run] of Object.entries(PARTS))
          if (parts.length === 0 || parts.includes(name))
            figures.push(...(await measure(name, () => run(running, { dir: stateDir, isLong, progress }))));
        return figures;
      } finally {
        await running.stop();
      }
    } finally {
      await rm(stateDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    }
  },
};

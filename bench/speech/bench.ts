import type { Bench } from '../bench.ts';
import type { Figure } from '../figure.ts';
import { withStack } from '../inFolder.ts';
import { measureFirstByte } from './measureFirstByte.ts';
import { measureUpload } from './measureUpload.ts';

const PARTS = { 'first-byte': measureFirstByte, upload: measureUpload };

/** Speech both ways, on a stack with simulated backends. */
export const bench: Bench = {
  measures:
    'time to the first byte of streamed speech by the edge, and what a recording to be written down costs beside nginx and bare Node',
  parts: Object.keys(PARTS),
  async run({ parts, isLong, progress, timed, measure }) {
    return withStack({ timed }, async (running, dir) => {
      const figures: Figure[] = [];
      for (const [name, run] of Object.entries(PARTS))
        if (parts.length === 0 || parts.includes(name))
          figures.push(...(await measure(name, () => run(running, { dir, isLong, progress }))));
      return figures;
    });
  },
};

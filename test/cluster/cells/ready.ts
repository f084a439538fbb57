import { bringUp, build, takeDown } from '@turnpike/cluster/cluster';
import type { Cell } from '../cell.ts';

const READY_WITHIN_MS = 180_000;
/** Nodes that later cells need. */
const NODES = 2;

export const ready: Cell = {
  name: 'ready',
  does: `ends the cluster and starts it anew, with ${NODES} nodes, both regions and the account layer, from images that are built`,
  holds: 'every service is ready within 180 s',
  async run({ note, check, doing }) {
    const output = {
      print: (line: string): void => doing(`ready: ${line.trim()}`),
      heading: (text: string): string => text,
    };
    await takeDown(output);
    await build(output);
    const startedAt = performance.now();
    await bringUp({ ...output, nodes: NODES });
    const tookMs = performance.now() - startedAt;
    note(`all ready after ${(tookMs / 1_000).toFixed(1)} s`);
    check(tookMs <= READY_WITHIN_MS, `all is ready only after ${Math.round(tookMs / 1_000)} s`);
  },
};

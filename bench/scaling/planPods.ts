import { type Costs, LOOP_SHARE, type PartCosts } from './costs.ts';
import type { Load } from './load.ts';

/** What a pod's event loop, or a shard of Redis, is planned to be busy. */
export const BUSY = 0.6;
/** Two of each, so that one can be replaced. */
const LEAST = 2;

export interface Pods {
  edge: number;
  router: number;
}

/** The arithmetic of docs/scaling.md: so many pods that their loops are as busy as is planned. */
export const planPods = ({ edge, router }: Costs, load: Load): Pods => ({
  edge: toPods(coresOf(edge, load)),
  router: toPods(coresOf(router, load)),
});

/** Cores that a part needs for a load. */
export const coresOf = ({ callUs, chunkUs }: PartCosts, { callsPerSecond, chunks }: Load): number =>
  (callsPerSecond * (callUs + chunks * chunkUs)) / 1e6;

const toPods = (cores: number): number => Math.max(LEAST, Math.ceil((cores * LOOP_SHARE) / BUSY));

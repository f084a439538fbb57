import { setTimeout as pause } from 'node:timers/promises';
import type { Region } from '@turnpike/config/region';
import type { ServiceName } from '@turnpike/config/services';
import type { Suite } from '../cell.ts';
import { getWorkload } from './rollout.ts';

const FOLLOWS_WITHIN_MS = 60_000;
const POLL_MS = 1_000;

export interface Awaited {
  /** The cell that waits. */
  cell: string;
  region: Region;
  service: ServiceName;
}

/**
 * Waits until an autoscaler has given a service as many replicas as `isIt` says, and checks that this took a minute at most, or
 * `withinMs`. Throws after four times that.
 */
export async function untilReplicas(
  suite: Suite,
  { cell, region, service }: Awaited,
  {
    what,
    isIt,
    withinMs = FOLLOWS_WITHIN_MS,
  }: { what: string; isIt: (replicas: number) => boolean; withinMs?: number },
): Promise<void> {
  suite.doing(`${cell}: waiting for ${what} replicas`);
  const startedAt = performance.now();
  while (!isIt((await getWorkload(region, service)).spec.replicas ?? 1)) {
    if (performance.now() - startedAt > 4 * withinMs)
      throw new Error(`no ${what} replicas within ${(4 * withinMs) / 60_000} min`);
    await pause(POLL_MS);
  }
  const tookMs = performance.now() - startedAt;
  suite.note(`${what} replicas after ${(tookMs / 1_000).toFixed(1)} s`);
  suite.check(tookMs <= withinMs, `${what} replicas only after ${Math.round(tookMs / 1_000)} s`);
}

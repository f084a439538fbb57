import type { LoadOptions } from '../../faults/load/startLoad.ts';
import type { RegionContext, Suite } from '../cell.ts';
import { untilRolledOut } from './rollout.ts';
import { type Awaited, untilReplicas } from './untilReplicas.ts';

export interface Wave extends Awaited {
  /** Replicas before and after it, and at its height. */
  least: number;
  most: number;
  load: Omit<LoadOptions, 'calls'>;
}

/** Puts a wave of load on an autoscaler. Checks that replicas go from the minimum to the maximum and back, each within a minute. */
export async function rideWave(suite: Suite, context: RegionContext, wave: Wave): Promise<void> {
  const { region, service, least, most, load } = wave;
  const busy = context.startLoad({ calls: Number.POSITIVE_INFINITY, ...load });
  await untilReplicas(suite, wave, { what: 'more', isIt: (replicas) => replicas > least });
  await untilReplicas(suite, wave, { what: `${most}`, isIt: (replicas) => replicas === most });
  await untilRolledOut(region, service);
  busy.stop();
  await busy.done;
  await untilReplicas(suite, wave, { what: 'fewer', isIt: (replicas) => replicas < most });
  await untilReplicas(suite, wave, { what: `${least}`, isIt: (replicas) => replicas === least });
  await untilRolledOut(region, service);
}

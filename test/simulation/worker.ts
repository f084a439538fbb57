import type { SeedTask } from './openSimulators.ts';
import { registerStandIns } from './stand-ins/registerStandIns.ts';
import { installClock } from './world/installClock.ts';

// A process of its own, since clock, timers and chance are the simulation's in all of it. Started by openSimulators, which
// sends it one seed after the other.
const { MUTATIONS } = await import('./mutations.ts');
const { source } = MUTATIONS[process.argv[2] ?? ''] ?? {};
registerStandIns(source);
const { runSeed } = await import('./runSeed.ts');
installClock();
process.on('message', async ({ seed, mutation, hasStacks }: SeedTask) => {
  // Signals that are aborted make an error each, and where that was made is a tenth of the work.
  Error.stackTraceLimit = hasStacks ? 10 : 0;
  process.send?.(await runSeed(seed, mutation === undefined ? undefined : MUTATIONS[mutation]));
});
process.on('disconnect', () => process.exit());

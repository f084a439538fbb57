import { registerStandIns } from './stand-ins/registerStandIns.ts';
import { installClock } from './world/installClock.ts';

// A process of its own, since clock, timers and chance are the simulation's in all of it. Started by simulateSeeds.
// Arguments: first seed, how many, step between them, name of a mutation or nothing.
registerStandIns();
const [first = 1, count = 1, step = 1] = process.argv.slice(2, 5).map(Number);
const { runSeed } = await import('./runSeed.ts');
const { MUTATIONS } = await import('./mutations.ts');
const mutation = MUTATIONS[process.argv[5] ?? ''];
installClock();
const send = (result: unknown): Promise<void> => new Promise((resolve) => process.send?.(result, () => resolve()));
for (let nth = 0; nth < count && process.connected; nth += 1) await send(await runSeed(first + nth * step, mutation));
if (process.connected) process.disconnect();

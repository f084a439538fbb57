import { openSimulators, type SimulateOptions } from './openSimulators.ts';

/** Runs seeds in so many processes of their own, which end with it. */
export async function simulateSeeds(processes: number, options: SimulateOptions): Promise<void> {
  const simulators = openSimulators(processes, options.mutation);
  await simulators.simulate(options).finally(() => simulators.close());
}

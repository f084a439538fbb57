import type { StoredOutput } from '../../terms/job.ts';
import { countAttempt } from './countAttempt.ts';
import { toEnd } from './endJob.ts';
import type { HeldJob } from './heldJob.ts';
import type { House } from './house.ts';

/** Ends a job whose outputs are all stored. */
export async function complete(
  held: HeldJob,
  { units, outputs }: { units: number; outputs: StoredOutput[] },
  house: Pick<House, 'money' | 'metrics'>,
): Promise<void> {
  const { row } = held;
  await held.step(toEnd(row, { state: 'completed', units, outputs }, house.money));
  countAttempt(row, 'made', house);
}

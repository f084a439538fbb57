import { findBusyPort } from '../src/findFreePorts.ts';
import { listPorts, toStackPorts } from '../src/stackPorts.ts';

/** More than any catalog has. */
const MODELS = 20;
const MEDIA_MODELS = 4;

/**
 * The first of a hundred free ports from `from` on. Below those that the system hands out by itself, so that no other
 * test gets one of them by chance; each test file looks from another number, so that two do not find the same.
 */
export async function findFreePortBase(from: number): Promise<number> {
  for (let base = from; base < from + 1_000; base += 100) {
    if (
      !(await findBusyPort(
        listPorts(toStackPorts(base, { simulatedModels: MODELS, mediaModels: MEDIA_MODELS }), {
          kafka: true,
          s3: true,
        }),
      ))
    )
      return base;
  }
  throw new Error(`no hundred free ports from ${from} on`);
}

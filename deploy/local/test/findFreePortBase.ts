import { findBusyPort } from '../src/findFreePorts.ts';
import { listPorts, toStackPorts } from '../src/stackPorts.ts';

/** Above the number of models in any catalog. */
const MODELS = 20;
const MEDIA_MODELS = 4;

/**
 * Returns the first of a hundred free ports from `from` on. They are below those that the system assigns, so that no
 * other test gets one by chance. Each test file begins at another number, so that two do not find the same ports.
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

import type { TestStack } from './startTestStack.ts';

/**
 * Pauses all generation of a stack's simulated engines, while they still accept calls, or resumes it as if no time had passed.
 */
export async function orderEngines({ running }: TestStack, order: 'pause' | 'resume'): Promise<void> {
  const orders = running.stack.regions.us.simulator_admin_urls.map(async (admin) => {
    const response = await fetch(`${admin}/admin/${order}`, { method: 'POST' });
    if (!response.ok) throw new Error(`the simulator answered ${response.status}: ${await response.text()}`);
  });
  await Promise.all(orders);
}

/** Does something while the engines hold all generation, and lets them go on whatever comes of it. */
export async function whileHeld<T>(stack: TestStack, act: () => Promise<T>): Promise<T> {
  await orderEngines(stack, 'pause');
  return act().finally(() => orderEngines(stack, 'resume'));
}

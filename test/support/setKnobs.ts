import type { TestStack } from './startTestStack.ts';

/** Turns knobs of every simulated engine of a stack (the simulator's README, Knobs). */
export async function setKnobs({ running }: TestStack, knobs: object): Promise<void> {
  const { simulator_admin_urls: admins } = running.stack.regions.us;
  const orders = admins.map(async (admin) => {
    const response = await fetch(`${admin}/admin/config`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(knobs),
    });
    if (!response.ok) throw new Error(`the simulator answered ${response.status}: ${await response.text()}`);
  });
  await Promise.all(orders);
}

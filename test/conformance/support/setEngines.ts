import type { TestStack } from '../../support/startTestStack.ts';

/** The state of a simulated engine's port, in the simulator's words. */
export type EngineState = 'serving' | 'refusing' | 'cutting';

/** Changes the state of the engines of one model: of every simulator, or of the first few. */
export async function setEngines(
  { running }: TestStack,
  model: string,
  { state, simulators }: { state: EngineState; simulators?: number },
): Promise<void> {
  const { simulator_admin_urls: admins, engines } = running.stack.regions.us;
  const { models } = running.parts;
  const place = models.findIndex(({ id }) => id === model);
  const orders = admins.slice(0, simulators).map(async (admin, simulator) => {
    const port = Number(new URL(engines[simulator * models.length + place]?.url ?? '').port);
    const response = await fetch(`${admin}/admin/state`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ port, state }),
    });
    if (!response.ok) throw new Error(`the simulator answered ${response.status}: ${await response.text()}`);
  });
  await Promise.all(orders);
}

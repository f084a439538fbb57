import type { TestStack } from './startTestStack.ts';

/** A piece of work of a simulated media backend, as its own log has it: what a provider pays for (the simulator's README). */
export interface Render {
  operation: 'image' | 'video' | 'speech' | 'transcription' | 'translation';
  /** The prompt, or the text to be spoken. */
  prompt: string;
  state: 'waiting' | 'running' | 'finished' | 'aborted' | 'failed' | 'lost';
  units: Record<string, number>;
}

interface BackendLog {
  renders: Render[];
  requests: { route: string | null; fields: Record<string, string> }[];
}

/** Sends an order to the simulated backends of one model, or of all (the simulator's README, Admin port). */
export async function orderMediaBackends(
  { running }: TestStack,
  order: 'config' | 'faults' | 'pause' | 'resume' | 'port',
  { model, body = {}, method = 'POST' }: { model?: string; body?: object; method?: 'POST' | 'DELETE' } = {},
): Promise<void> {
  const backends = running.stack.regions.us.media_backends.filter(
    (backend) => model === undefined || backend.model === model,
  );
  if (backends.length === 0) throw new Error(`there is no backend of ${model}`);
  const orders = backends.map(async ({ admin_url: admin }) => {
    const headers = { 'content-type': 'application/json' };
    const content = method === 'POST' ? { headers, body: JSON.stringify(body) } : {};
    const response = await fetch(`${admin}/admin/${order}`, { method, ...content });
    if (!response.ok) throw new Error(`the simulator answered ${response.status}: ${await response.text()}`);
  });
  await Promise.all(orders);
}

/** Does something while the backends of a model begin no render, and lets them go on whatever comes of it. */
export async function whileBackendsPause<T>(stack: TestStack, model: string, act: () => Promise<T>): Promise<T> {
  await orderMediaBackends(stack, 'pause', { model });
  return act().finally(() => orderMediaBackends(stack, 'resume', { model }));
}

/**
 * Does something while the backends of a model fail in a way (the simulator's README, Faults), at one route or wherever the fault can strike.
 * Without a route a refusal strikes the checks of their health too, and they are out after three.
 */
export async function whileBackendsFail<T>(
  stack: TestStack,
  model: string,
  fault: string | { fault: string; route: string },
  act: () => Promise<T>,
): Promise<T> {
  const rule = typeof fault === 'string' ? { match: {}, fault } : { match: { route: fault.route }, fault: fault.fault };
  await orderMediaBackends(stack, 'faults', { model, body: [rule] });
  return act().finally(() => orderMediaBackends(stack, 'faults', { model, method: 'DELETE' }));
}

/** Reads the logs of all simulated media backends of a stack. */
async function readLogs({ running }: TestStack): Promise<BackendLog[]> {
  const logs = running.stack.regions.us.media_backends.map(async ({ admin_url: admin }) => {
    const response = await fetch(`${admin}/admin/log`);
    return (await response.json()) as BackendLog;
  });
  return Promise.all(logs);
}

/** Everything that was ever rendered, or is waited for. */
export const listRenders = async (stack: TestStack): Promise<Render[]> =>
  (await readLogs(stack)).flatMap(({ renders }) => renders);

/** The fields of every request that backends got, by name. */
export const listSentFields = async (stack: TestStack): Promise<Record<string, string>[]> =>
  (await readLogs(stack)).flatMap(({ requests }) => requests.map(({ fields }) => fields));

import type { TestStack } from './startTestStack.ts';

/** A simulated engine's own record of a call, exact to the token. */
export interface ServedCall {
  state: 'running' | 'finished' | 'aborted' | 'failed';
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
}

/** Finds the record of a call at the engine that served it; undefined until an engine has it. */
export async function findServed({ running }: TestStack, headers: Headers): Promise<ServedCall | undefined> {
  const callId = headers.get('x-router-call-id');
  const answers = running.stack.regions.us.simulator_admin_urls.map(async (admin) => {
    const response = await fetch(`${admin}/admin/requests?requestId=${callId}`);
    return ((await response.json()) as { requests: ServedCall[] }).requests;
  });
  return (await Promise.all(answers)).flat()[0];
}

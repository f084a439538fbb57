import type { TestStack } from './startTestStack.ts';

interface LoggedCall {
  requestId: string | null;
  state: string;
}

/** The ids of the clients' calls that a stack's simulators have under way now, for each simulator. */
export function listRunning({ running }: TestStack): Promise<string[][]> {
  const lists = running.stack.regions.us.simulator_admin_urls.map(async (admin) => {
    const { requests } = (await (await fetch(`${admin}/admin/requests`)).json()) as { requests: LoggedCall[] };
    const callIds = requests.flatMap(({ requestId, state }) => (state === 'running' && requestId ? [requestId] : []));
    return callIds.filter((callId) => !callId.startsWith('probe-'));
  });
  return Promise.all(lists);
}

import type { ServiceName } from '@turnpike/config/services';
import type { RunningStack } from '@turnpike/local-stack/startStack';
import { waitFor } from '@turnpike/local-stack/waitFor';
import { findFreePort } from '@turnpike/test-support/findFreePort';

const READY_TIMEOUT_MS = 60_000;

/** Starts a further process of a service, and resolves when it is ready. */
export async function startReplica(
  running: RunningStack,
  service: ServiceName,
  { name, env = {} }: { name: string; env?: Record<string, string> },
): Promise<{ pid: number; port: number }> {
  const [port, internalPort] = [await findFreePort(), await findFreePort()];
  const own = { PORT: String(port), INTERNAL_PORT: String(internalPort), ...env };
  const { pid } = running.startLike(service, { name, env: own });
  const isReady = await waitFor(
    async () => {
      const response = await fetch(`http://127.0.0.1:${internalPort}/ready`).catch(() => undefined);
      return response?.ok || undefined;
    },
    { timeoutMs: READY_TIMEOUT_MS, intervalMs: 250 },
  );
  if (!isReady) throw new Error(`${name} did not become ready`);
  return { pid, port };
}

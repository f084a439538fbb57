import { request } from 'undici';

const TIMEOUT_MS = 1_000;

/** Whether the engine on this port of the loopback address says that it is healthy. Rejects where nothing answers. */
export async function isHealthy(port: number): Promise<boolean> {
  const { statusCode, body } = await request(`http://127.0.0.1:${port}/health`, {
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  await body.dump();
  return statusCode === 200;
}

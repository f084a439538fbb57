import { request } from 'undici';

/** Longer than any deadline of the services. */
const PATIENCE_MS = 15_000;

/** One of a client's reads, for instance `/svc/key`; status 0 where no answer came. */
export async function askEdge(
  baseUrl: string,
  { path, apiKey }: { path: string; apiKey: string },
): Promise<{ status: number; text: string; tookMs: number }> {
  const since = performance.now();
  try {
    const { statusCode, body } = await request(`${baseUrl}${path}`, {
      headers: { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return { status: statusCode, text: await body.text(), tookMs: performance.now() - since };
  } catch {
    return { status: 0, text: '', tookMs: performance.now() - since };
  }
}

import { LOOK_TIMEOUT_MS, toSilence } from './readHealth.ts';

/** Answered by the catalog behind the edge: 401 to a call without a key. */
const PATH = '/v1/models';

/** How the edge answered one call of a client. */
export interface EdgeCall {
  /** Null without an answer. */
  status: number | null;
  milliseconds: number;
  /** Undefined if the call went through the edge to the service behind. */
  problem?: string;
}

/** Makes one call through the edge, as a client without a key. Never rejects. */
export async function callEdge(publicUrl: string): Promise<EdgeCall> {
  const startedAtMs = performance.now();
  const took = () => Math.round(performance.now() - startedAtMs);
  try {
    const { status, body } = await fetch(publicUrl + PATH, {
      redirect: 'manual',
      signal: AbortSignal.timeout(LOOK_TIMEOUT_MS),
    });
    await body?.cancel();
    const problem = `GET ${PATH} gets ${status}`;
    return { status, milliseconds: took(), ...(status >= 500 && { problem }) };
  } catch (error) {
    return { status: null, milliseconds: took(), problem: `GET ${PATH} gets no answer: ${toSilence(error)}` };
  }
}

import type { Fault } from '../faults/fault.ts';
import type { ReadContext } from '../personalities/personality.ts';
import type { Render } from '../replica/renderQueue.ts';
import type { Replica } from '../replica/replica.ts';
import type { RequestEntry } from '../replica/replicaLog.ts';
import { EngineError } from '../wire/engineError.ts';
import type { RequestBody } from './readBody.ts';

/** One request that found its route, and all that its handler works with. */
export interface Call {
  replica: Replica;
  entry: RequestEntry;
  fault: Fault | undefined;
  /** The id in the path. */
  id: string;
  query: URLSearchParams;
  body: RequestBody;
  /** Aborted once the client has left before its answer was whole. */
  left: AbortSignal;
}

export const readContext = ({ replica }: Call): ReadContext => ({ model: replica.model, knobs: replica.knobs });

/** The part of the personality that a route is for. Throws the 404 of a path that this engine does not have. */
export function dialectOf<Dialect>(dialect: Dialect | undefined): Dialect {
  if (dialect === undefined) throw new EngineError(404, 'Not Found');
  return dialect;
}

/** Stops the render once its client has left, where the engine notices. */
export function stopWhenLeft({ replica, left }: Call, render: Render): void {
  left.addEventListener('abort', () => replica.queue.abort(render), { once: true });
}

/** Waits until a render has ended. Rejects with what made it fail, or with 500 where it was stopped or lost. */
export async function untilRendered(render: Render): Promise<void> {
  const state = await render.ended.promise;
  if (state === 'finished') return;
  throw render.error ?? new EngineError(500, 'The request was aborted.');
}

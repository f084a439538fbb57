import type { ServerResponse } from 'node:http';

/** Work that stops when its client leaves. */
export interface Leaving {
  readonly signal: AbortSignal;
  /** The connection may close from here on. */
  forget(): void;
}

/** Aborts the signal when the client's connection closes before `forget`. */
export function abortOnClose(res: Pick<ServerResponse, 'destroyed' | 'once' | 'off'>): Leaving {
  const leaving = new AbortController();
  const leave = (): void => leaving.abort(new Error('the client has left'));
  if (res.destroyed) leave();
  res.once('close', leave);
  return { signal: leaving.signal, forget: () => void res.off('close', leave) };
}

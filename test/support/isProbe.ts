import type { IncomingMessage } from 'node:http';

/** Whether a request to an engine is the router's own, which asks for a token now and then to see whether the engine is well. */
export const isProbe = ({ headers }: IncomingMessage): boolean => String(headers['x-request-id']).startsWith('probe-');

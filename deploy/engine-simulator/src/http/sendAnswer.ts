import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { type EngineError, toErrorBody } from '../wire/engineError.ts';

export function sendJson(res: ServerResponse, body: object, status = 200): void {
  sendText(res, JSON.stringify(body), { status, contentType: 'application/json' });
}

export function sendText(
  res: ServerResponse,
  text: string,
  { status = 200, contentType }: { status?: number; contentType: string },
): void {
  writeHead(res, status, { 'content-type': contentType, 'content-length': Buffer.byteLength(text) });
  res.end(text);
}

/** No body, as a health check answers. */
export function sendEmpty(res: ServerResponse, status = 200): void {
  writeHead(res, status, { 'content-length': 0 });
  res.end();
}

/** Writes status and headers like vLLM's server: with its name, for every origin, and without a keep-alive header. */
export function writeHead(res: ServerResponse, status: number, headers: OutgoingHttpHeaders): void {
  res.removeHeader('connection');
  res.writeHead(status, { server: 'uvicorn', vary: 'Origin', ...headers });
}

/** A path that is not there, or not with this method: the words of the framework below vLLM, not its own. */
export function sendWrongRoute(res: ServerResponse, methods: readonly string[] | undefined): void {
  if (methods) res.setHeader('allow', methods.join(', '));
  sendJson(res, { detail: methods ? 'Method Not Allowed' : 'Not Found' }, methods ? 405 : 404);
}

export const sendError = (res: ServerResponse, error: EngineError): void =>
  sendJson(res, toErrorBody(error), error.status);

import type { ServerResponse } from 'node:http';
import type { Fault } from '../faults/fault.ts';
import { internalError, notFound, serverBusy, toErrorBody, tooManyRequests } from '../wire/engineError.ts';
import { sendEmpty, sendError, sendJson, sendText } from './sendAnswer.ts';

const HTML_PAGE =
  '<html><head><title>500 Internal Server Error</title></head><body>Internal Server Error</body></html>';
/** The error of releases before 0.10.1. */
const FLAT_ERROR = { object: 'error', message: 'Internal server error', type: 'InternalServerError', param: null };

const refusals: Partial<Record<Fault['kind'], (res: ServerResponse) => void>> = {
  http_500: (res) => sendError(res, internalError()),
  http_500_flat: (res) => sendJson(res, { ...FLAT_ERROR, code: 500 }, 500),
  http_500_empty: (res) => sendEmpty(res, 500),
  http_500_html: (res) => sendText(res, HTML_PAGE, { status: 500, contentType: 'text/html; charset=utf-8' }),
  http_503: (res) => sendError(res, serverBusy()),
  http_429: (res) => sendError(res, tooManyRequests()),
  http_404: (res) => sendError(res, notFound('The model does not exist.')),
  http_401: (res) => sendJson(res, { error: 'Unauthorized' }, 401),
  http_200_error: (res) => sendJson(res, toErrorBody(internalError())),
  reset_before_headers: (res) => res.socket?.resetAndDestroy(),
};

/** Answers instead of the engine where the fault is a refusal. False for every other fault. */
export function refuseByFault(res: ServerResponse, { kind }: Fault): boolean {
  refusals[kind]?.(res);
  return kind in refusals;
}

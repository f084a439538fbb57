import type { ServerResponse } from 'node:http';
import type { Fault } from '../faults/fault.ts';
import type { Knobs } from '../knobs.ts';
import { EngineError, internalError, notFound, serverBusy, toErrorBody } from '../wire/engineError.ts';
import { sendEmpty, sendError, sendJson, sendText } from './sendAnswer.ts';

const HTML_PAGE =
  '<html><head><title>500 Internal Server Error</title></head><body>Internal Server Error</body></html>';

/** Answers instead of the engine where the fault is a refusal. False for every other fault. */
export function refuseByFault(res: ServerResponse, { kind }: Fault, shape: Knobs['errorShape']): boolean {
  switch (kind) {
    case 'http_500':
      sendError(res, internalError(), shape);
      return true;
    case 'http_500_flat':
      sendError(res, internalError(), 'flat');
      return true;
    case 'http_500_empty':
      sendEmpty(res, 500);
      return true;
    case 'http_500_html':
      sendText(res, HTML_PAGE, { status: 500, contentType: 'text/html; charset=utf-8' });
      return true;
    case 'http_503':
      sendError(res, serverBusy(), shape);
      return true;
    case 'http_429':
      sendError(res, tooManyRequests(), shape);
      return true;
    case 'http_404':
      sendError(res, notFound('The model does not exist.'), shape);
      return true;
    case 'http_401':
      sendJson(res, { error: 'Unauthorized' }, 401);
      return true;
    case 'http_200_error':
      sendJson(res, toErrorBody(internalError(), shape), 200);
      return true;
    case 'reset_before_headers':
      res.socket?.resetAndDestroy();
      return true;
    default:
      return false;
  }
}

const tooManyRequests = (): EngineError =>
  new EngineError({ status: 429, type: 'Too Many Requests', message: 'Too many requests, please try again later.' });

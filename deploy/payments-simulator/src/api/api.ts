import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '@turnpike/logging/createLogger';
import { type ApiFaultRule, createApiFaults } from '../faults/apiFaultRules.ts';
import type { Rules } from '../faults/rules.ts';
import type { Processor } from '../state/processor.ts';
import { API_VERSION } from '../state/processor.ts';
import { newId } from '../state/values.ts';
import { ApiFault, invalid } from './apiFault.ts';
import { CHECKOUT_ROUTES } from './checkoutSessions.ts';
import { CUSTOMER_ROUTES } from './customers.ts';
import { EVENT_ROUTES } from './events.ts';
import { expandObject } from './expand.ts';
import { Idempotency, type KeyedRequest } from './idempotency.ts';
import { INVOICE_ROUTES } from './invoices.ts';
import { parseForm, readParams } from './params.ts';
import { PAYMENT_ROUTES } from './payments.ts';
import { PORTAL_ROUTES } from './portal.ts';
import { RequestLog } from './requestLog.ts';
import { REVERSAL_ROUTES } from './reversals.ts';
import type { Route } from './route.ts';
import { TAX_ROUTES } from './taxSettings.ts';

const ROUTES = [
  ...CUSTOMER_ROUTES,
  ...CHECKOUT_ROUTES,
  ...PAYMENT_ROUTES,
  ...INVOICE_ROUTES,
  ...REVERSAL_ROUTES,
  ...PORTAL_ROUTES,
  ...EVENT_ROUTES,
  ...TAX_ROUTES,
].map((route) => ({ route, pattern: toPattern(route.name) }));
export const ROUTE_NAMES: readonly string[] = ROUTES.map(({ route }) => route.name);

function toPattern(name: string): RegExp {
  return new RegExp(`^${name.replaceAll('{id}', '([A-Za-z0-9_]+)')}$`);
}

interface Answer {
  status: number;
  body: object;
  headers?: Record<string, string>;
  /** Whether this request took its idempotency key. */
  isOwn?: boolean;
}

interface Call {
  route: Route | undefined;
  name: string;
  form: string;
  ids: string[];
  keyed: KeyedRequest | undefined;
  requestId: string;
}

/** The API of the processor: keys, versions, parameters, idempotency, and the faults that the admin port asked for. */
export class Api {
  readonly faults: Rules<ApiFaultRule> = createApiFaults();
  readonly requests = new RequestLog();
  readonly #processor: Processor;
  readonly #secretKey: string;
  readonly #log: Logger;
  readonly #idempotency: Idempotency;

  constructor(processor: Processor, { secretKey, log }: { secretKey: string; log: Logger }) {
    this.#idempotency = new Idempotency(processor);
    this.#processor = processor;
    this.#secretKey = secretKey;
    this.#log = log;
  }

  readonly listener: RequestListener = (req, res) => {
    this.#serve(req, res).catch((error: unknown) => {
      this.#log.error({ err: error }, 'request failed');
      if (!res.headersSent)
        this.#send(res, { status: 500, body: { error: { type: 'api_error', message: String(error) } } });
    });
  };

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = req;
    const { pathname: path, search } = new URL(url, 'http://localhost');
    const name = `${method} ${path}`;
    const found = ROUTES.find(({ pattern }) => pattern.test(name));
    const form = method === 'POST' ? await text(req) : search.slice(1);
    const [fault] = this.faults.take(found?.route.name ?? name);
    const requestId = newId('req');
    const key = method === 'POST' ? (req.headers['idempotency-key']?.toString() ?? null) : null;
    const entry = this.requests.begin({
      route: found?.route.name ?? name,
      path,
      key,
      requestId,
      fault: fault?.fault ?? null,
    });
    res.setHeader('request-id', requestId);
    res.setHeader('stripe-version', API_VERSION);
    if (key !== null) res.setHeader('idempotency-key', key);
    if (fault?.fault === 'never_answers') return;
    if (fault?.fault === 'reset_before') {
      req.socket.resetAndDestroy();
      return;
    }

    const keyed = key === null ? undefined : { key, path, form, requestId };
    const ids = found?.pattern.exec(name)?.slice(1) ?? [];
    const answer = toRefusal(fault) ?? this.#answer(req, { route: found?.route, name, form, ids, keyed, requestId });
    try {
      const slowMs = (fault?.fault === 'slow' ? fault.delayMs : 0) + this.#processor.knobs.latencyMs;
      if (slowMs > 0) await pause(slowMs);
    } finally {
      if (keyed && answer.isOwn) this.#idempotency.release(keyed);
    }
    entry.isReplayed = answer.headers?.['idempotent-replayed'] === 'true';
    entry.object = (answer.body as { id?: string }).id ?? null;
    if (fault?.fault === 'reset_after') {
      req.socket.resetAndDestroy();
      return;
    }
    const sent = fault?.fault === 'answer_500_after' ? serverError() : answer;
    entry.status = sent.status;
    this.#send(res, sent);
  }

  #answer(req: IncomingMessage, call: Call): Answer {
    const { route, name, form, keyed } = call;
    try {
      this.#checkCaller(req);
      if (route === undefined) throw invalid(`Unrecognized request URL (${name}).`, { status: 404, isKept: false });
      const { params, expand } = readParams(route.params, parseForm(form));
      if (keyed === undefined) return this.#act(route, params, expand, call);
      const kept = this.#idempotency.take(keyed);
      if (kept !== undefined)
        return {
          status: kept.status,
          body: kept.body,
          headers: { 'idempotent-replayed': 'true', 'original-request': kept.requestId },
        };
      return this.#actOnce(route, params, expand, { ...call, keyed });
    } catch (error) {
      return toAnswer(error);
    }
  }

  /** Does what a keyed request asks for, and keeps its answer before it is sent. */
  #actOnce(route: Route, params: unknown, expand: string[], call: Call & { keyed: KeyedRequest }): Answer {
    try {
      const answer = this.#act(route, params, expand, call);
      this.#idempotency.keep(call.keyed, answer);
      return { ...answer, isOwn: true };
    } catch (error) {
      if (!(error instanceof ApiFault)) {
        this.#idempotency.release(call.keyed);
        throw error;
      }
      const answer = toAnswer(error);
      if (error.isKept) this.#idempotency.keep(call.keyed, answer);
      return { ...answer, isOwn: true };
    }
  }

  #act({ handle }: Route, params: unknown, expand: string[], { ids, keyed, requestId }: Call): Answer {
    const processor = this.#processor;
    processor.request = { id: requestId, idempotency_key: keyed?.key ?? null };
    try {
      return { status: 200, body: expandObject(processor, handle(processor, params as never, ids), expand) };
    } finally {
      processor.request = null;
    }
  }

  #checkCaller(req: IncomingMessage): void {
    const [scheme, token = ''] = (req.headers.authorization ?? '').split(' ');
    const [fromBasic] = scheme === 'Basic' ? Buffer.from(token, 'base64').toString().split(':') : [token];
    if (!fromBasic)
      throw invalid('You did not provide an API key. You need to provide your API key in the Authorization header.', {
        status: 401,
        isKept: false,
      });
    if (fromBasic !== this.#secretKey)
      throw invalid(`Invalid API Key provided: ${fromBasic.slice(0, 8)}****`, { status: 401, isKept: false });
    const version = req.headers['stripe-version'];
    if (version !== undefined && version !== API_VERSION)
      throw invalid(`Invalid Stripe API version: ${String(version)}. The simulator plays ${API_VERSION} alone.`, {
        isKept: false,
      });
  }

  #send(res: ServerResponse, { status, body, headers }: Answer): void {
    res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body, null, 2));
  }
}

function toAnswer(error: unknown): Answer {
  if (error instanceof ApiFault) return { status: error.status, body: { error: error.body } };
  throw error;
}

const serverError = (): Answer => ({
  status: 500,
  body: { error: { type: 'api_error', message: 'An error occurred with our connection to the card network.' } },
});

function toRefusal(rule: ApiFaultRule | undefined): Answer | undefined {
  switch (rule?.fault) {
    case 'refuse_429':
      return {
        status: 429,
        body: { error: { type: 'invalid_request_error', code: 'rate_limit', message: 'Request rate limit exceeded.' } },
      };
    case 'refuse_500':
      return serverError();
    case 'refuse_503':
      return { status: 503, body: { error: { type: 'api_error', message: 'Service unavailable.' } } };
    default:
      return undefined;
  }
}

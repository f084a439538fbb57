import { Agent, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { toKeySha256 } from '@turnpike/api-keys/apiKey';
import type { PublicKey, SigningKey } from '@turnpike/config/internalKeys';
import type { Region } from '@turnpike/config/region';
import { CHAT_REFUSALS, CHAT_ROUTE, KEY_HEADER } from '@turnpike/console-api/chatRoute';
import { type AnyConsoleRoute, HOST_REFUSALS, MEMBER_REFUSALS } from '@turnpike/console-api/console/consoleRoute';
import { CONSOLE_APIS, type ConsoleService } from '@turnpike/console-api/consoleApi';
import { hasRight, type Role } from '@turnpike/console-api/roles';
import { toInternalError } from '@turnpike/http-service/createHttpApp';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import {
  createRequestMetrics,
  cutAnswer,
  enterRoute,
  observeRequest,
  routeOf,
} from '@turnpike/http-service/observeRequests';
import { sendWireError } from '@turnpike/http-service/sendWireError';
import { authApi } from '@turnpike/internal-api/auth';
import { createClient } from '@turnpike/internal-api/transport/createClient';
import { CLIENT_ADDRESS_HEADER, createClientAddressSigner } from '@turnpike/internal-auth/clientAddress';
import {
  CONSOLE_CALLER_HEADER,
  type ConsoleCaller,
  signConsoleCaller,
  verifyConsoleToken,
} from '@turnpike/internal-auth/consoleToken';
import type { InternalHeaders } from '@turnpike/internal-auth/internalToken';
import type { Logger } from '@turnpike/logging/createLogger';
import { CALL_ID_HEADER, REQUEST_ID_HEADER, retryAfter } from '@turnpike/public-api/headers';
import { flat, type WireError } from '@turnpike/public-api/wireError';
import type { Throttle } from '@turnpike/request-throttle/createThrottle';
import { noSpan } from '@turnpike/telemetry/callSpan';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { type EdgeFault, toEdgeError } from '../api/edgeError.ts';
import { findClientAddress } from '../flood/findClientAddress.ts';
import { countHeaders, isAmbiguous, toHeaderLine, toUpstreamHeaders } from '../headers/requestHeaders.ts';
import type { UpstreamProxy } from '../proxy/createUpstreamProxy.ts';
import { InFlight, type InFlightBounds } from './inFlight.ts';

export interface ConsoleDependencies {
  log: Logger;
  telemetry: Pick<Telemetry, 'meter' | 'tracer'>;
  region: Region;
  /** The one origin whose pages may call the console host. */
  allowedOrigin: string;
  /** The internal listener of each service behind. */
  urls: Record<ConsoleService, string>;
  /** The router's public listener, which takes chat calls. */
  router: Pick<UpstreamProxy, 'forward'>;
  /** Public keys, the control plane's among them. */
  publicKeys: PublicKey[];
  signingKey: SigningKey;
  internalHeaders: InternalHeaders;
  /** Longest wait of auth for its database over a verdict on a key. Its answer is waited for twice as long. */
  authTimeoutMs: number;
  trustedHops: number;
  floodThrottle: Pick<Throttle, 'takeRequest'>;
  /** 64 of a block of addresses and 512 in all unless given. */
  inFlightBounds?: InFlightBounds;
}

/** The only headers of a browser that the services behind read. */
const PASSED_ON = ['accept', 'content-length', 'content-type', 'transfer-encoding'] as const;
/** The only headers of a service's answer that browsers see, beside those of the edge. */
const SHOWN = ['cache-control', 'content-length', 'content-type', 'retry-after', 'x-error-message', 'x-error-param'];
/** Ten browsers of an office with six connections each. */
const IN_FLIGHT_BOUNDS = { ofBlock: 64, inAll: 512 };
/** The longest silence of a service behind, ms. */
const PROXY_TIMEOUT_MS = 10_000;
/** No cache keeps an answer unless the service behind allows it, and no page shows it in a frame. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  vary: 'origin',
};
const BEARER = /^Bearer ([\w.-]{1,2048})$/i;

interface ListedRoute {
  method: AnyConsoleRoute['method'];
  /** Method and path, as the service behind declares it. */
  route: string;
  pattern: RegExp;
  isPublic: boolean;
  service: ConsoleService | 'model-router';
}

/** Path of a chat call at the router. */
const CHAT_PATH = '/v1/chat/completions';

/** The routes, each with a pattern for the raw path. A pattern matches no dot, no percent sign and no empty segment. */
const ROUTES = [
  ...CONSOLE_APIS.flatMap(({ service, routes }) =>
    Object.values<AnyConsoleRoute>(routes).map((route) => toListed(service, route)),
  ),
  toListed('model-router', CHAT_ROUTE),
];

function toListed(service: ListedRoute['service'], { method, path, access }: AnyConsoleRoute): ListedRoute {
  const pattern = new RegExp(`^${path.replaceAll(/:\w+/g, '[\\w-]+')}$`);
  return { method, route: `${method} ${path}`, pattern, isPublic: access === 'public', service };
}

/**
 * Makes the console host of a region, for browsers with a console token. Public routes take none. A service behind reads the caller from
 * one signed header. Beside that it gets the body and the headers in `PASSED_ON`, and nothing else of the browser. A chat call goes to
 * the router as on the host of the API, with a key of the caller's workspace.
 */
export function createConsole(dependencies: ConsoleDependencies): {
  listener: RequestListener;
  /** The refusal of bytes that are no request. */
  malformed: WireError;
  close(): void;
} {
  const { log, telemetry, allowedOrigin, trustedHops, floodThrottle, inFlightBounds = IN_FLIGHT_BOUNDS } = dependencies;
  const metrics = createRequestMetrics(telemetry.meter);
  const agent = new Agent({ keepAlive: true });
  const inFlight = new InFlight(inFlightBounds);
  const auth = createClient(authApi, {
    url: dependencies.urls.auth,
    internalHeaders: dependencies.internalHeaders,
    timeoutMs: 2 * dependencies.authTimeoutMs,
  });
  const signClientAddress = createClientAddressSigner({ key: dependencies.signingKey });
  const proxies = new Map<ListedRoute['service'], ReturnType<typeof createProxy>>(
    CONSOLE_APIS.map(({ service }) => [service, createProxy(service, { agent, refuse, ...dependencies })]),
  );

  /** Sends and counts a refusal of the host itself. */
  function refuse(res: ServerResponse, kind: HostRefusal, values?: RefusalValues): void {
    metrics.faulted({ route: routeOf(res), fault: kind });
    sendWireError(res, toRefusal(kind, values));
  }

  /** Answers a request, or passes it on. */
  async function serve(req: IncomingMessage, res: ServerResponse, requestId: string): Promise<void> {
    const isAllowedOrigin = req.headers.origin === allowedOrigin;
    if (isAllowedOrigin) allowOrigin(res, allowedOrigin);
    const { block, address } = findClientAddress(req, trustedHops);
    const { isAllowed, waitMs } = floodThrottle.takeRequest(block);
    if (!isAllowed) return refuse(res, 'too_many_requests', { seconds: Math.ceil(waitMs / 1_000) });
    const full = inFlight.enter(block, res);
    if (full) return refuse(res, full === 'block' ? 'too_many_requests' : 'service_unavailable');
    if (isAmbiguous(req)) return refuse(res, 'malformed_request');

    const [path = ''] = req.url?.split('?', 1) ?? [];
    const listed = ROUTES.filter(({ pattern }) => pattern.test(path));
    // A browser that opens a page sends no origin.
    if (listed.length === 0 || req.headers.origin === undefined) return refuse(res, 'not_found');
    if (!isAllowedOrigin) return refuse(res, 'foreign_origin');
    if (req.method === 'OPTIONS') return answerPreflight(res, listed);
    const called = listed.find(({ method }) => method === req.method);
    if (!called) return refuse(res, 'method_not_allowed', { allow: listMethods(listed) });
    const caller = called.isPublic ? undefined : await findCaller(req, dependencies);
    if (!caller && !called.isPublic) return refuse(res, 'invalid_console_token');

    const span = telemetry.tracer.startTrace(called.route);
    enterRoute(res, { route: called.route, span });
    if (caller && called.service === 'model-router') {
      const refusal = await refuseChat(req, caller);
      if (refusal) return refuse(res, refusal, { role: caller.role });
      let headers = toUpstreamHeaders(req);
      headers += toHeaderLine(REQUEST_ID_HEADER, requestId);
      headers += toHeaderLine(CLIENT_ADDRESS_HEADER, signClientAddress(address));
      if (span.traceparent !== undefined) headers += toHeaderLine('traceparent', span.traceparent);
      const answerFault = (fault: EdgeFault) => {
        metrics.faulted({ route: routeOf(res), fault: fault.kind });
        sendWireError(res, toEdgeError(fault));
      };
      const call = { requestId, keepsHeaders: span !== noSpan, refuse: answerFault };
      return dependencies.router.forward({ req, res, headers, call });
    }
    await nameCaller(req, { called, caller, requestId, ...dependencies });
    if (span.traceparent !== undefined) req.headers.traceparent = span.traceparent;
    // The proxy answers for its failures itself.
    await proxies.get(called.service)?.(req, res, () => undefined);
  }

  /** Returns the refusal of a chat call. A call without one gets the path and the key with which the router takes it. */
  async function refuseChat(
    req: IncomingMessage,
    { role, workspaceId }: ConsoleCaller,
  ): Promise<HostRefusal | undefined> {
    if (!hasRight(role as Role, CHAT_ROUTE.right)) return 'right_missing';
    const key = req.headers[KEY_HEADER];
    if (typeof key !== 'string' || countHeaders(req, KEY_HEADER) > 1) return 'foreign_key';
    const found = await auth.verifyKey({ body: { key_sha256: toKeySha256(key) } }).catch((error: unknown) => {
      log.warn({ err: error }, 'a key of a chat call could not be looked up');
    });
    if (found === undefined) return 'service_unavailable';
    if (found.key?.workspace.workspaceId !== workspaceId) return 'foreign_key';
    req.headers.authorization = `Bearer ${key}`;
    req.url = CHAT_PATH;
    return undefined;
  }

  return {
    async listener(req, res) {
      const requestId = newUuidV7();
      observeRequest(res, metrics);
      for (const [name, value] of Object.entries({ ...HEADERS, [REQUEST_ID_HEADER]: requestId }))
        res.setHeader(name, value);
      try {
        await serve(req, res, requestId);
      } catch (error) {
        log.error({ err: error, requestId, route: routeOf(res) }, 'request failed');
        metrics.faulted({ route: routeOf(res), fault: 'unforeseen' });
        sendWireError(res, toInternalError());
      }
    },
    malformed: toRefusal('malformed_request'),
    close: () => agent.destroy(),
  };
}

/** Never with credentials: a browser sends no cookie here. */
function allowOrigin(res: ServerResponse, origin: string): void {
  res.setHeader('access-control-allow-origin', origin);
  res.setHeader('access-control-expose-headers', `${REQUEST_ID_HEADER}, ${CALL_ID_HEADER}, retry-after`);
}

const listMethods = (listed: ListedRoute[]): string => listed.map(({ method }) => method).join(', ');

function answerPreflight(res: ServerResponse, listed: ListedRoute[]): void {
  res.writeHead(204, {
    'access-control-allow-methods': listMethods(listed),
    'access-control-allow-headers': `authorization, content-type, ${KEY_HEADER}`,
    'access-control-max-age': '600',
  });
  res.end();
}

const { right_missing } = MEMBER_REFUSALS;
const REFUSALS = { ...HOST_REFUSALS, ...CHAT_REFUSALS, right_missing };
type HostRefusal = keyof typeof REFUSALS;

interface RefusalValues {
  /** Time to wait. */
  seconds?: number;
  /** Methods of the path. */
  allow?: string;
  /** The role of the caller. */
  role?: string;
}

/** Words a refusal of the host itself. */
function toRefusal(kind: HostRefusal, { seconds = 1, allow = '', role = '' }: RefusalValues = {}): WireError {
  const refusal = REFUSALS[kind];
  const message = refusal.message
    .replace('{seconds}', `${seconds}`)
    .replace('{allow}', allow)
    .replace('{role}', role.replace('_', ' '));
  const headers = { ...('retryAfterSeconds' in refusal && retryAfter(seconds)), ...(allow !== '' && { allow }) };
  return flat(refusal.status, kind, { message }, headers);
}

/** Returns the caller that the token of a request names, or undefined without a valid token. */
async function findCaller(
  req: IncomingMessage,
  { region, publicKeys: keys }: Pick<ConsoleDependencies, 'region' | 'publicKeys'>,
): Promise<ConsoleCaller | undefined> {
  const [, token] = BEARER.exec(req.headers.authorization ?? '') ?? [];
  if (token === undefined || countHeaders(req, 'authorization') > 1) return undefined;
  return verifyConsoleToken(token, { region, keys, now: new Date() }).catch(() => undefined);
}

/**
 * Replaces the headers of a request by those that the service behind reads. The proxy copies `req.headers`, and its own hook for
 * headers does not run for a request with `Expect`.
 */
async function nameCaller(
  req: IncomingMessage,
  {
    called,
    caller,
    requestId,
    internalHeaders,
    signingKey: key,
  }: { called: ListedRoute; caller: ConsoleCaller | undefined; requestId: string } & Pick<
    ConsoleDependencies,
    'internalHeaders' | 'signingKey'
  >,
): Promise<void> {
  const passed = PASSED_ON.flatMap((name) => {
    const value = req.headers[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  req.headers = {
    ...Object.fromEntries(passed),
    ...(await internalHeaders(called.service, called.route)),
    ...(caller && { [CONSOLE_CALLER_HEADER]: signConsoleCaller(caller, called.route, { key }) }),
    [REQUEST_ID_HEADER]: requestId,
  };
}

function createProxy(
  service: ConsoleService,
  {
    agent,
    refuse,
    urls,
    log,
  }: { agent: Agent; refuse(res: ServerResponse, kind: HostRefusal): void } & Pick<ConsoleDependencies, 'urls' | 'log'>,
) {
  return createProxyMiddleware<IncomingMessage, ServerResponse>({
    target: urls[service],
    agent,
    xfwd: false,
    // Its option `timeout` would add a listener to the browser's connection at every request.
    proxyTimeout: PROXY_TIMEOUT_MS,
    // The proxy would copy every header, and write `Connection: keep-alive` over that of a listener that ends.
    selfHandleResponse: true,
    on: {
      proxyRes(answer, _req, res) {
        const shown = Object.entries(answer.headers).filter(([name]) => SHOWN.includes(name));
        res.writeHead(answer.statusCode ?? 502, Object.fromEntries(shown));
        answer.pipe(res);
        answer.once('error', (error) => {
          if (res.destroyed) return;
          log.warn({ err: error, service, route: routeOf(res) }, 'upstream broke an answer off');
          cutAnswer(res);
        });
      },
      error(error, _req, res) {
        if (!('writeHead' in res) || res.destroyed || res.writableEnded) return;
        log.warn({ err: error, service, route: routeOf(res) }, 'a console request could not be passed on');
        refuse(res, 'service_unavailable');
      },
    },
  });
}

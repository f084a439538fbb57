import type { SigningKey } from '@turnpike/config/internalKeys';
import { regionSchema } from '@turnpike/config/region';
import { type AccountRoute, idSchema } from '@turnpike/console-api/account/accountRoute';
import { DOCUMENT_FORMATS, DOCUMENT_PATH } from '@turnpike/console-api/account/billing';
import { accountApi, REFUSALS } from '@turnpike/console-api/accountApi';
import { PAGES } from '@turnpike/console-api/pages';
import { isUndecodablePath, toInternalError, toRequestLog } from '@turnpike/http-service/createHttpApp';
import { admit, type Guard, internalScopeOf, openGuard } from '@turnpike/http-service/guard';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import {
  createRequestMetrics,
  enterRoute,
  observeRequest,
  principalOf,
  routeOf,
} from '@turnpike/http-service/observeRequests';
import { sendWireError } from '@turnpike/http-service/sendWireError';
import type { RouteTable } from '@turnpike/http-service/serviceApps';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { createFaultWording, createRequestReader, serveApi } from '@turnpike/internal-api/transport/serveApi';
import type { Logger } from '@turnpike/logging/createLogger';
import type { ObjectStore } from '@turnpike/object-store/objectStore';
import { isCanceled, isUnreachable } from '@turnpike/postgres/databaseFailure';
import { wordDatabaseAway } from '@turnpike/postgres/wordDatabaseAway';
import { ApiError } from '@turnpike/public-api/apiError';
import { REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import { flat } from '@turnpike/public-api/wireError';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import type { Origin } from './audit/audit.ts';
import type { BalanceWatch } from './billing/balanceWatch.ts';
import type { DocumentQueue } from './billing/documentQueue.ts';
import { readDocument } from './billing/documents.ts';
import { createWebhookGuard, takeWebhook, WEBHOOK_FAULTS, WEBHOOK_PATH } from './billing/paymentEvents.ts';
import type { Payments } from './billing/paymentProcessor.ts';
import { recordTaken } from './billing/refunds.ts';
import { returnFromCheckout } from './billing/returnFromCheckout.ts';
import type { ReversalQueue } from './billing/reversalQueue.ts';
import { CHECKOUT_RETURN_PATH } from './billing/topUps.ts';
import type { Db } from './database/openDatabase.ts';
import { putDayTotals } from './day-totals/dayTotals.ts';
import { readPage } from './feed/feed.ts';
import { findSession } from './identity/sessions.ts';
import { endOidc, OidcRefused, RETURN_PATH } from './identity/signInByOidc.ts';
import type { Outbox } from './mail/outbox.ts';
import { readDigest } from './organizations/readDigest.ts';
import { type Pages, sendAsset, sendPage } from './pages/pages.ts';
import { clearCookie, readCookie, SESSION_COOKIE, SIGN_IN_COOKIE, setCookie } from './routes/cookies.ts';
import { createGuard, type MemberPrincipal } from './routes/guards.ts';
import { createHandlers, type HandlerDependencies } from './routes/handlers.ts';
import { createOperatorHandlers } from './routes/operatorHandlers.ts';

export interface AppDependencies extends HandlerDependencies {
  /** The copies of invoices and credit notes; undefined where nothing can be paid in. */
  documents: ObjectStore | undefined;
  documentQueue: DocumentQueue;
  reversalQueue: ReversalQueue;
  /** Proxies in front whose `X-Forwarded-For` counts. */
  trustedHops: number;
  /** The dashboard; undefined: no path answers with a page. */
  pages?: Pages | undefined;
  log: Logger;
  telemetry: Pick<Telemetry, 'meter' | 'tracer'>;
}

/** The answers are about people: no cache keeps them, and no page shows them in a frame. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** The routes for browsers. Every route has a guard: `serve` takes no route without one, and paths outside the list are 404. */
export function createApp(dependencies: AppDependencies): Express {
  const { log, telemetry, trustedHops, pages, regionHosts } = dependencies;
  const metrics = createRequestMetrics(telemetry.meter);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.set('trust proxy', trustedHops);
  app.use((_req, res, next) => {
    res.set({ ...HEADERS, [REQUEST_ID_HEADER]: newUuidV7() });
    observeRequest(res, metrics);
    next();
  });

  function serve(method: AccountRoute['method'], path: string, guard: Guard, handler: RequestHandler): void {
    const route = `${method} ${path}`;
    const enter: RequestHandler = (_req, res, next) => {
      enterRoute(res, { route, span: telemetry.tracer.startTrace(route) });
      next();
    };
    app[METHODS[method]](path, enter, admit(guard), handler);
  }

  // Each handler is of its own route: the types of `createHandlers` say so, name by name.
  const handlers = createHandlers(dependencies) as unknown as Record<string, (call: object) => Promise<unknown>>;
  for (const [name, route] of Object.entries<AccountRoute>(accountApi.routes)) {
    const handler = handlers[name];
    if (!handler) throw new Error(`${route.method} ${route.path} has no handler`);
    const read = createRequestReader(route);
    serve(route.method, route.path, createGuard(route.access, dependencies), async (req, res) => {
      const asked = await read(req, res);
      const answer = await handler({ ...asked, who: principalOf(res), origin: originOf(req, res), res });
      res.status(route.status ?? 200).json(answer);
    });
  }
  serve('GET', RETURN_PATH, openGuard, async (req, res) => {
    const target = await endSignIn(dependencies, req, res);
    res.redirect(303, target);
  });
  serve('GET', CHECKOUT_RETURN_PATH, openGuard, async (req, res) => {
    const session = await findSession(dependencies.db, readCookie(req, SESSION_COOKIE) ?? '');
    const { data: topUpId } = idSchema.safeParse(req.query.top_up);
    const isKnown = session !== undefined && topUpId !== undefined;
    res.redirect(303, isKnown ? await returnFromCheckout(dependencies, { topUpId, userId: session.userId }) : '/');
  });
  const mayRead = createGuard({ of: 'member', right: 'billing.read' }, dependencies);
  serve('GET', DOCUMENT_PATH, mayRead, async (req, res) => {
    const { organizationId } = principalOf(res) as MemberPrincipal;
    const { data: documentId } = idSchema.safeParse(req.params.document_id);
    const format = DOCUMENT_FORMATS.find((name) => name === req.params.format);
    if (documentId === undefined || !format) throw new ApiError({ kind: 'document_not_found' });
    const { name, contentType, bytes } = await readDocument(dependencies, { organizationId, documentId, format });
    res.set({ 'content-type': contentType, 'content-disposition': `attachment; filename="${name}"` }).send(bytes);
  });
  serve('POST', WEBHOOK_PATH, createWebhookGuard(dependencies.payments), takeWebhook(dependencies));
  if (pages) {
    const consoleUrls = Object.values(regionHosts).map(({ console_url: url }) => url);
    for (const path of Object.values(PAGES))
      serve('GET', path.replaceAll('$', ':'), openGuard, sendPage(pages, path, consoleUrls));
    serve('GET', '/assets/:name', openGuard, sendAsset(pages));
  }

  const notFound = flat(404, 'not_found', { message: 'There is nothing at this path.' });
  app.use((_req, res) => sendWireError(res, notFound));
  const wordFault = createFaultWording({
    routes: { ...accountApi.routes, any: ANY_ROUTE, webhooks: OF_WEBHOOKS, documents: OF_DOCUMENTS },
  });
  const onError: ErrorRequestHandler = (thrown: unknown, _req, res, _next) => {
    const isAway = isUnreachable(thrown) || isCanceled(thrown);
    const error = isAway ? new ApiError({ kind: 'database_away' }, { cause: thrown }) : thrown;
    const fault = error instanceof ApiError ? error.fault.kind : 'unforeseen';
    metrics.faulted({ route: routeOf(res), fault });
    const wireError = wordFault(error) ?? (isUndecodablePath(error) ? notFound : toInternalError());
    if (wireError.status >= 500) toRequestLog(log, res).error({ err: error, route: routeOf(res) }, 'request failed');
    sendWireError(res, wireError);
  };
  app.use(onError);
  return app;
}

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const;
/** The refusals that any route may answer with, as those of one more route. */
const ANY_ROUTE: AccountRoute = { ...accountApi.routes.health, faults: REFUSALS };

/** The refusals of webhooks, as those of one more route. */
const OF_WEBHOOKS: AccountRoute = { ...accountApi.routes.health, faults: WEBHOOK_FAULTS };

/** The refusals of the bytes of documents, as those of one more route. */
const OF_DOCUMENTS: AccountRoute = {
  ...accountApi.routes.health,
  faults: { document_not_found: { status: 404, message: 'There is no such document of this organization.' } },
};

const originOf = (req: Request, res: Response): Origin => ({
  address: req.ip ?? '',
  browser: req.headers['user-agent'] ?? '',
  requestId: String(res.getHeader(REQUEST_ID_HEADER)),
});

/** Ends a sign-in at an identity provider. Returns the page to show: the first one, or the sign-in page with the reason. */
async function endSignIn(dependencies: AppDependencies, req: Request, res: Response): Promise<string> {
  try {
    const browserToken = readCookie(req, SIGN_IN_COOKIE);
    clearCookie(res, SIGN_IN_COOKIE);
    const session = await endOidc(dependencies, { returnUrl: req.originalUrl, browserToken }, originOf(req, res));
    if (session !== undefined) setCookie(res, SESSION_COOKIE, session);
    return '/';
  } catch (error) {
    if (!(error instanceof OidcRefused)) throw error;
    toRequestLog(dependencies.log, res).info({ err: error.cause, reason: error.reason }, 'a sign-in came to nothing');
    return `/sign-in?error=${error.reason}`;
  }
}

const wordInternalFault = createFaultWording(controlPlaneApi);

/** The routes for the regions and the operator. A service of a region reads the feed of that region alone, whatever it asks for. */
export const listInternalRoutes = ({
  db,
  payments,
  reversalQueue,
  outbox,
  balanceWatch,
  log,
  signingKey,
  internalGuard,
}: {
  db: Db;
  payments: Payments | undefined;
  reversalQueue: ReversalQueue;
  outbox: Outbox;
  balanceWatch: BalanceWatch;
  log: Logger;
  signingKey: SigningKey;
  internalGuard: Guard;
}): RouteTable => ({
  routes: serveApi(controlPlaneApi, {
    guard: internalGuard,
    handlers: {
      ...createOperatorHandlers({ db, payments, outbox, log }),
      async readFeed({ params: { after } }, res) {
        const region = regionSchema.parse(internalScopeOf(res));
        return { page: await readPage(db, { region, after }, signingKey) };
      },
      async readFeedDigest({ params: { after } }, res) {
        const region = regionSchema.parse(internalScopeOf(res));
        return { digest: await readDigest(db, { region, after }, signingKey) };
      },
      async putTakeBack({ params: { take_back_id: refundId }, body: { taken_nano_usd: takenNanoUsd } }, res) {
        const region = regionSchema.parse(internalScopeOf(res));
        const booked = await recordTaken({ db, reversalQueue }, { refundId, region, takenNanoUsd });
        return { taken_nano_usd: String(booked) };
      },
      putDayTotals: async ({ body }, res) =>
        putDayTotals({ db, balanceWatch }, regionSchema.parse(internalScopeOf(res)), body),
    },
  }),
  toWireError: (error) => wordInternalFault(error) ?? wordDatabaseAway(error),
});

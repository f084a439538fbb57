import { text } from 'node:stream/consumers';
import type { Logger } from '@turnpike/logging/createLogger';
import Provider, { errors } from 'oidc-provider';
import type { Client } from './config.ts';
import { errorPage, findUser, homePage, signInPage } from './pages.ts';
import { SIGN_IN_PATH, toConfiguration } from './toConfiguration.ts';

/** Makes the OpenID provider with its own pages. Logs what it refuses. */
export function createProvider({ issuer, clients, log }: { issuer: string; clients: Client[]; log: Logger }): Provider {
  const provider = new Provider(issuer, toConfiguration(issuer, clients));
  const warn = (_ctx: unknown, error: errors.OIDCProviderError) =>
    log.warn({ error: error.error, detail: error.error_description }, 'request refused');
  provider.on('authorization.error', warn);
  provider.on('grant.error', warn);
  provider.on('userinfo.error', warn);
  provider.on('server_error', (_ctx, error) => log.error({ err: error }, 'request failed'));

  provider.use(async (ctx, next) => {
    if (ctx.path === '/health') {
      ctx.body = { status: 'ok' };
      return;
    }
    if (ctx.path !== '/') return next();
    const { accountId } = await provider.Session.get(ctx);
    ctx.body = homePage(findUser(accountId));
  });

  provider.use(async (ctx, next) => {
    if (!ctx.path.startsWith(SIGN_IN_PATH)) return next();
    try {
      const { params } = await provider.interactionDetails(ctx.req, ctx.res);
      if (ctx.method !== 'POST') {
        ctx.body = signInPage(String(params.client_id));
        return;
      }
      const user = findUser(new URLSearchParams(await text(ctx.req)).get('user'));
      const result = user
        ? { login: { accountId: user.id, amr: ['user'] }, select_account: {} }
        : { error: 'access_denied', error_description: 'The user cancelled the sign-in.' };
      ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, result, { mergeWithLastSubmission: false }));
      ctx.status = 303;
      log.info({ user: user?.id, client: params.client_id }, user ? 'user signed in' : 'sign-in cancelled');
    } catch (error) {
      if (!(error instanceof errors.SessionNotFound)) throw error;
      ctx.status = 400;
      ctx.body = errorPage({ error: 'This sign-in is over. Begin again where you wanted to sign in.' });
    }
  });
  return provider;
}

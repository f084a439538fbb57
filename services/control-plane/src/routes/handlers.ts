import type { SigningKey } from '@turnpike/config/internalKeys';
import { REGIONS } from '@turnpike/config/region';
import type { AccountRoute } from '@turnpike/console-api/account/accountRoute';
import type { AccountApi } from '@turnpike/console-api/accountApi';
import type { Principal } from '@turnpike/http-service/observeRequests';
import type { Asked } from '@turnpike/internal-api/transport/serveApi';
import { ApiError } from '@turnpike/public-api/apiError';
import type { Throttle } from '@turnpike/request-throttle/createThrottle';
import { toAddressBlock } from '@turnpike/request-throttle/toAddressBlock';
import type { Response } from 'express';
import type { z } from 'zod';
import { getAlerts, listAlerts, removeAlertWebhook, setAlerts, setAlertWebhook } from '../alerts/alertRules.ts';
import type { Origin } from '../audit/audit.ts';
import { writeAudit } from '../audit/audit.ts';
import { listAudit } from '../audit/listAudit.ts';
import {
  type AutomaticDependencies,
  endAutomaticTopUp,
  getAutomaticTopUp,
  setAutomaticTopUp,
} from '../billing/automaticTopUps.ts';
import { changeBillingDetails, readBillingDetails } from '../billing/billingDetails.ts';
import { listDocuments } from '../billing/documents.ts';
import { listCards, removeCard } from '../billing/savedCards.ts';
import {
  type BillingDependencies,
  getBilling,
  listTopUps,
  previewTopUp,
  resumeTopUp,
  startTopUp,
} from '../billing/topUps.ts';
import type { VatIdQueue } from '../billing/vatIdQueue.ts';
import {
  addPasskey,
  beginPasskey,
  beginPasskeySignIn,
  beginPasskeyStepUp,
  listPasskeys,
  removePasskey,
  renamePasskey,
  signInByPasskey,
  stepUpByPasskey,
} from '../identity/passkeys.ts';
import type { Provider } from '../identity/providers.ts';
import { endSession, listSessions } from '../identity/sessions.ts';
import { mailSignInLink, mailStepUpLink, signInByLink, stepUpByLink } from '../identity/signInByLink.ts';
import { beginOidc } from '../identity/signInByOidc.ts';
import { readUser } from '../identity/users.ts';
import type { Outbox } from '../mail/outbox.ts';
import { acceptInvitation, invite, listInvitations, withdrawInvitation } from '../organizations/invitations.ts';
import { changeRole, listFormerMembers, listMembers, removeMember } from '../organizations/members.ts';
import {
  createOrganization,
  getOrganization,
  listOrganizations,
  renameOrganization,
} from '../organizations/organizations.ts';
import type { RegionHosts } from '../organizations/regionHosts.ts';
import {
  changeWorkspace,
  createConsoleToken,
  createWorkspace,
  listWorkspaces,
  type WelcomeCredit,
} from '../organizations/workspaces.ts';
import { clearCookie, SESSION_COOKIE, SIGN_IN_COOKIE, setCookie } from './cookies.ts';
import { type GuardDependencies, type MemberPrincipal, takeRequest, type UserPrincipal } from './guards.ts';

export interface HandlerDependencies extends BillingDependencies, AutomaticDependencies, GuardDependencies {
  /** `host:port` of the hosts that webhooks may be posted to although they are private. */
  webhookPrivateHosts: ReadonlySet<string>;
  vatIdQueue: VatIdQueue;
  outbox: Outbox;
  providers: Provider[];
  regionHosts: RegionHosts;
  welcomeCredit: WelcomeCredit;
  /** The control plane's own key. */
  signingKey: SigningKey;
  /** Sign-ins and mails by the block of the client's address. */
  byAddress: Throttle;
  /** Mails by the address that they go to. */
  byMailbox: Throttle;
}

type PrincipalOf<R extends AccountRoute> = {
  anyone: Principal;
  session: UserPrincipal;
  member: MemberPrincipal;
}[R['access']['of']];

/** A request to a route whose guard let it through. */
export interface Call<R extends AccountRoute> extends Asked<R> {
  who: PrincipalOf<R>;
  origin: Origin;
  res: Response;
}

/** A handler for each route, under the route's name. */
export type AccountHandlers = {
  [Name in keyof AccountApi['routes']]: (
    call: Call<AccountApi['routes'][Name]>,
  ) => Promise<z.input<AccountApi['routes'][Name]['answer']>>;
};

const DONE = { done: true } as const;

export function createHandlers(dependencies: HandlerDependencies): AccountHandlers {
  const { db, outbox, balanceWatch, providers, regionHosts, signingKey, byAddress, byMailbox } = dependencies;

  /** Takes one from the allowance of the block of the client's address, and of the mailbox of a mail. Throws `too_many_attempts`. */
  function take({ address }: Origin, mailbox?: string): void {
    takeRequest(byAddress, toAddressBlock(address) ?? address);
    if (mailbox !== undefined) takeRequest(byMailbox, mailbox);
  }

  return {
    health: async () => ({ status: 'ok' }),

    listProviders: async () => ({ providers: providers.map(({ id, name }) => ({ provider_id: id, name })) }),
    async mailLink({ body: { address }, origin }) {
      take(origin, address);
      await mailSignInLink({ db, outbox }, address);
      return DONE;
    },
    async signInByLink({ body: { token }, origin, res }) {
      take(origin);
      const { userId, session } = await signInByLink(db, token, origin);
      setCookie(res, SESSION_COOKIE, session);
      return readUser(db, userId);
    },
    async beginOidc({ body: { provider_id: providerId }, origin, res }) {
      take(origin);
      const { url, browserToken } = await beginOidc(dependencies, { providerId, intent: 'sign_in' });
      setCookie(res, SIGN_IN_COOKIE, browserToken);
      return { url };
    },
    async linkOidc({ body: { provider_id: providerId }, who, res }) {
      const { url, browserToken } = await beginOidc(dependencies, { providerId, intent: 'link', session: who });
      setCookie(res, SIGN_IN_COOKIE, browserToken);
      return { url };
    },
    async stepUpByOidc({ body: { provider_id: providerId }, who, res }) {
      const { url, browserToken } = await beginOidc(dependencies, { providerId, intent: 'step_up', session: who });
      setCookie(res, SIGN_IN_COOKIE, browserToken);
      return { url };
    },
    async mailStepUpLink({ body: { address }, who, origin }) {
      take(origin, address);
      await mailStepUpLink({ db, outbox }, who, address);
      return DONE;
    },
    async stepUpByLink({ body: { token }, who, origin, res }) {
      setCookie(res, SESSION_COOKIE, await stepUpByLink(db, who, token, origin));
      return readUser(db, who.userId);
    },

    async beginPasskeySignIn({ origin }) {
      take(origin);
      return { options: await beginPasskeySignIn(dependencies) };
    },
    async signInByPasskey({ body: { credential }, origin, res }) {
      take(origin);
      const { userId, session } = await signInByPasskey(dependencies, credential, origin);
      setCookie(res, SESSION_COOKIE, session);
      return readUser(db, userId);
    },
    beginPasskeyStepUp: async ({ who }) => ({ options: await beginPasskeyStepUp(dependencies, who) }),
    async stepUpByPasskey({ body: { credential }, who, origin, res }) {
      setCookie(res, SESSION_COOKIE, await stepUpByPasskey(dependencies, who, { credential, origin }));
      return readUser(db, who.userId);
    },
    listPasskeys: async ({ who }) => ({ passkeys: await listPasskeys(db, who.userId) }),
    beginPasskey: async ({ who }) => ({ options: await beginPasskey(dependencies, who) }),
    addPasskey: async ({ body, who, origin }) => addPasskey(dependencies, who, { ...body, origin }),
    renamePasskey: async ({ params: { passkey_id: passkeyId }, body: { name }, who: { userId }, origin }) =>
      renamePasskey(db, { passkeyId, userId, name }, origin),
    async removePasskey({ params: { passkey_id: passkeyId }, who: { userId }, origin }) {
      await removePasskey(db, { passkeyId, userId }, origin);
      return DONE;
    },

    getUser: async ({ who }) => readUser(db, who.userId),
    async signOut({ who, res }) {
      const { sessionId, userId } = who;
      await endSession(db, { sessionId, userId });
      clearCookie(res, SESSION_COOKIE);
      return DONE;
    },
    async listSessions({ who }) {
      const sessions = await listSessions(db, who.userId);
      return {
        sessions: sessions.map(({ sessionId, createdAt, seenAt, endsAt, address, browser }) => ({
          session_id: sessionId,
          is_current: sessionId === who.sessionId,
          created_at: createdAt.toISOString(),
          seen_at: seenAt.toISOString(),
          ends_at: endsAt.toISOString(),
          address,
          browser,
        })),
      };
    },
    async endSession({ params: { session_id: sessionId }, who: { userId }, origin }) {
      await db.$transaction(async (tx) => {
        if (!(await endSession(tx, { sessionId, userId }))) throw new ApiError({ kind: 'unknown_session' });
        await writeAudit(tx, origin, { actor: userId, action: 'session.ended', target: sessionId });
      });
      return DONE;
    },

    createOrganization: async ({ body: { name }, who: { userId }, origin }) =>
      createOrganization(db, { name, userId }, origin),
    listOrganizations: async ({ who }) => ({ organizations: await listOrganizations(db, who.userId) }),
    getOrganization: async ({ who }) => getOrganization(db, who),
    renameOrganization: async ({ body: { name }, who, origin }) => renameOrganization(db, { ...who, name }, origin),

    listMembers: async ({ who: { organizationId } }) => ({
      members: await listMembers(db, organizationId),
      former_members: await listFormerMembers(db, organizationId),
    }),
    changeRole: async ({ params: { user_id: targetId }, body: { role }, who, origin }) =>
      changeRole(db, who, { targetId, role }, origin),
    async removeMember({ params: { user_id: targetId }, who, origin }) {
      await removeMember(db, who, targetId, origin);
      return DONE;
    },
    async leaveOrganization({ who, origin }) {
      await removeMember(db, who, who.userId, origin);
      return DONE;
    },

    listInvitations: async ({ who }) => ({ invitations: await listInvitations(db, who.organizationId) }),
    async invite({ body, who, origin }) {
      take(origin, body.address);
      return invite({ db, outbox }, who, body, origin);
    },
    async withdrawInvitation({ params: { invitation_id: invitationId }, who, origin }) {
      await withdrawInvitation(db, who, invitationId, origin);
      return DONE;
    },
    acceptInvitation: async ({ body: { token }, who: { userId }, origin }) =>
      acceptInvitation(db, { token, userId }, origin),

    listRegions: async () => ({
      regions: REGIONS.flatMap((region) => {
        const hosts = regionHosts[region];
        return hosts ? [{ region, ...hosts }] : [];
      }),
    }),
    listWorkspaces: async ({ who }) => ({ workspaces: await listWorkspaces(db, who.organizationId) }),
    createWorkspace: async ({ body, who, origin }) => createWorkspace(dependencies, { ...who, ...body }, origin),
    async changeWorkspace({ params: { workspace_id: workspaceId }, body, who, origin }) {
      const { name, monthly_cap_nano_usd: monthlyCapNanoUsd } = body;
      const changed = await changeWorkspace(db, { ...who, workspaceId }, { name, monthlyCapNanoUsd }, origin);
      // The spend so far may be above a threshold of another cap.
      if (monthlyCapNanoUsd !== undefined) await balanceWatch.queueLook(workspaceId);
      return changed;
    },
    createConsoleToken: async ({ params: { workspace_id: workspaceId }, who: { userId, organizationId, role } }) =>
      createConsoleToken(db, { userId, organizationId, workspaceId, role }, signingKey),
    getBilling: async ({ params: { workspace_id: workspaceId }, who: { organizationId } }) =>
      getBilling(dependencies, { organizationId, workspaceId }),
    startTopUp: async ({
      params: { workspace_id: workspaceId },
      body: { net_cents: netCents },
      who: { organizationId, userId },
      origin,
    }) => startTopUp(dependencies, { organizationId, workspaceId, userId, netCents }, origin),
    previewTopUp: async ({ params: { workspace_id: workspaceId, net_cents: netCents }, who: { organizationId } }) =>
      previewTopUp(dependencies, { organizationId, workspaceId, netCents }),
    resumeTopUp: async ({ params: { workspace_id: workspaceId, top_up_id: topUpId }, who: { organizationId } }) =>
      resumeTopUp(dependencies, { organizationId, workspaceId, topUpId }),
    listTopUps: async ({ params: { workspace_id: workspaceId, before }, who: { organizationId } }) =>
      listTopUps(db, { organizationId, workspaceId }, before),
    getBillingDetails: async ({ who: { organizationId } }) => readBillingDetails(db, organizationId),
    changeBillingDetails: async ({ body: details, who: { organizationId, userId }, origin }) =>
      changeBillingDetails(dependencies, { organizationId, userId, details }, origin),
    listDocuments: async ({ params: { before }, who: { organizationId } }) => listDocuments(db, organizationId, before),
    listCards: async ({ who: { organizationId } }) => ({ cards: await listCards(dependencies, organizationId) }),
    async removeCard({ params: { card_id: cardId }, who: { organizationId, userId }, origin }) {
      await removeCard(dependencies, { organizationId, cardId, userId }, origin);
      return DONE;
    },
    getAutomaticTopUp: async ({ params: { workspace_id: workspaceId }, who: { organizationId } }) =>
      getAutomaticTopUp(db, { organizationId, workspaceId }),
    setAutomaticTopUp: async ({
      params: { workspace_id: workspaceId },
      body,
      who: { organizationId, userId },
      origin,
    }) =>
      setAutomaticTopUp(
        dependencies,
        { organizationId, workspaceId, userId },
        {
          cardId: body.card_id,
          thresholdNanoUsd: body.threshold_nano_usd,
          netCents: body.net_cents,
          dayLimitCents: body.day_limit_cents,
          monthLimitCents: body.month_limit_cents,
          confirmedText: body.confirmed_text,
        },
        origin,
      ),
    endAutomaticTopUp: async ({ params: { workspace_id: workspaceId }, who: { organizationId, userId }, origin }) =>
      endAutomaticTopUp(db, { organizationId, workspaceId, userId }, origin),
    getAlerts: async ({ params: { workspace_id: workspaceId }, who: { organizationId } }) =>
      getAlerts(db, { organizationId, workspaceId }),
    async setAlerts({ params: { workspace_id: workspaceId }, body, who: { organizationId, userId }, origin }) {
      const { budget_nano_usd: budgetNanoUsd, balance_below_nano_usd: balanceBelowNanoUsd, is_mailed: isMailed } = body;
      const terms = { budgetNanoUsd, balanceBelowNanoUsd, isMailed };
      const set = await setAlerts(db, { organizationId, workspaceId, userId }, terms, origin);
      await balanceWatch.queueLook(workspaceId);
      return set;
    },
    setAlertWebhook: async ({ params: { workspace_id: workspaceId }, body, who: { organizationId, userId }, origin }) =>
      setAlertWebhook(dependencies, { organizationId, workspaceId, userId }, body.url, origin),
    removeAlertWebhook: async ({ params: { workspace_id: workspaceId }, who: { organizationId, userId }, origin }) =>
      removeAlertWebhook(db, { organizationId, workspaceId, userId }, origin),
    listAlerts: async ({ params: { workspace_id: workspaceId, before }, who: { organizationId } }) =>
      listAlerts(db, { organizationId, workspaceId }, before),
    async listAudit({ params: { before }, who }) {
      const { lines, next } = await listAudit(db, who.organizationId, before);
      // Members see that it was the operator. The person behind is known to operators alone.
      const isOperator = ({ actor }: { actor: string }) => actor.startsWith('operator');
      return {
        lines: lines.map((line) => (isOperator(line) ? { ...line, actor: 'operator', address: null } : line)),
        next,
      };
    },
  };
}

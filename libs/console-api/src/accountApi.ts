import * as z from 'zod/mini';
import { defineRoutes, TOO_MANY } from './account/accountRoute.ts';
import { alertRoutes } from './account/alerts.ts';
import { billingRoutes } from './account/billing.ts';
import { organizationRoutes } from './account/organizations.ts';
import { signInRoutes } from './account/signIn.ts';
import { workspaceRoutes } from './account/workspaces.ts';

/** The wording of what guards and the listener refuse on any route. */
export const REFUSALS = {
  no_session: { status: 401, message: 'You are not signed in, or your session has ended. Sign in.' },
  foreign_origin: { status: 403, message: 'This request came from another site. Use the pages of the account layer.' },
  not_json: { status: 415, message: 'Send JSON, with the content type application/json.' },
  step_up_required: {
    status: 403,
    message: 'Confirm that it is you: sign in once more, by a passkey, a mailed link or your identity provider.',
  },
  organization_not_found: { status: 404, message: 'There is no such organization, or you are not a member of it.' },
  right_missing: { status: 403, message: 'Your role, {role}, does not have the right to this. Ask an owner.' },
  ...TOO_MANY,
  database_away: { status: 503, message: 'The account layer cannot answer right now. Try again in some seconds.' },
};

const health = defineRoutes({
  health: {
    access: { of: 'anyone' },
    method: 'GET',
    path: '/account/health',
    promise: 'Says that the account layer answers.',
    answer: z.object({ status: z.literal('ok') }),
  },
});

/** The routes of the control plane for browsers. */
export const accountApi = {
  routes: {
    ...health,
    ...signInRoutes,
    ...organizationRoutes,
    ...workspaceRoutes,
    ...billingRoutes,
    ...alertRoutes,
  },
};

export type AccountApi = typeof accountApi;

/**
 * The paths of the dashboard's pages. The control plane answers each with `index.html`, and the router of the dashboard shows it. A part
 * that begins with `$` is a parameter.
 */
export const PAGES = {
  start: '/',
  signIn: '/sign-in',
  stepUp: '/step-up',
  invitation: '/invitation',
  /** The page that `doc_url` of a refused call names. */
  refusedCalls: '/help/refused-calls',
  /** The models of each region with their prices. */
  models: '/models',
  sessions: '/sessions',
  organizations: '/organizations',
  members: '/organizations/$organizationId/members',
  workspaces: '/organizations/$organizationId/workspaces',
  overview: '/organizations/$organizationId/workspaces/$workspaceId',
  keys: '/organizations/$organizationId/workspaces/$workspaceId/keys',
  key: '/organizations/$organizationId/workspaces/$workspaceId/keys/$keyId',
  keyChanges: '/organizations/$organizationId/workspaces/$workspaceId/key-changes',
  limits: '/organizations/$organizationId/workspaces/$workspaceId/limits',
  usage: '/organizations/$organizationId/workspaces/$workspaceId/usage',
  requests: '/organizations/$organizationId/workspaces/$workspaceId/requests',
  billing: '/organizations/$organizationId/workspaces/$workspaceId/billing',
  /** When a workspace alerts, and the alerts that it raised. */
  alerts: '/organizations/$organizationId/workspaces/$workspaceId/alerts',
  jobs: '/organizations/$organizationId/workspaces/$workspaceId/jobs',
  playground: '/organizations/$organizationId/workspaces/$workspaceId/playground',
  audit: '/organizations/$organizationId/audit',
} as const;

/** `index.html` has this text where the control plane puts the nonce of an answer. */
export const NONCE_PLACEHOLDER = '__TURNPIKE_NONCE__';

/** The reasons for which a sign-in at an identity provider leads to `/sign-in?error=…`. */
export const SIGN_IN_ERRORS = [
  'sign_in_is_over',
  'provider_refused',
  'address_not_verified',
  'sign_in_and_link_instead',
  'identity_is_taken',
  'another_user',
] as const;
export type SignInError = (typeof SIGN_IN_ERRORS)[number];

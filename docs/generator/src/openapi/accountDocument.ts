import { join } from 'node:path';
import type { AccountRoute } from '@turnpike/console-api/account/accountRoute';
import { accountApi, REFUSALS } from '@turnpike/console-api/accountApi';
import type { FaultWording } from '@turnpike/internal-api/internalApi';
import { repositoryRoot } from '../repositoryRoot.ts';
import { renderBrowserDocument } from './browserDocument.ts';

export const ACCOUNT_OPENAPI_FILE = join(repositoryRoot, 'docs/account-openapi.json');

const DESCRIPTION = [
  'The account layer: sign-in, organizations, members and workspaces, for the pages of its own origin.',
  'A user is known by the cookie `__Host-session`. A request that changes something comes from a page of the same origin.',
  'Branch on the status and on `error`. The messages are for people and may change.',
].join('\n\n');

/** Writes the interface description of the account layer, from the declarations that the control plane serves. */
export const renderAccountOpenApi = (): string =>
  renderBrowserDocument({
    title: 'Turnpike accounts',
    description: DESCRIPTION,
    server: {
      url: '{origin}',
      description: 'The one address of the account layer, for all regions.',
      variables: { origin: { default: 'http://localhost:8092', description: 'As browsers know it, without a path.' } },
    },
    securitySchemes: { session: { type: 'apiKey', in: 'cookie', name: '__Host-session' } },
    routes: Object.entries<AccountRoute>(accountApi.routes).map(([name, route]) => ({
      name,
      route,
      description: describeAccess(route.access),
      security: route.access.of === 'anyone' ? [] : [{ session: [] }],
      refusals: listRefusals(route),
    })),
  });

function describeAccess(access: AccountRoute['access']): string {
  if (access.of === 'anyone') return 'For anyone.';
  const who =
    access.of === 'session'
      ? 'For a signed-in user.'
      : `For members of the organization whose role has the right \`${access.right}\`.`;
  return access.recent ? `${who} The last proof of who they are is at most 10 minutes old.` : who;
}

/** The refusals of a route's guard. */
function listRefusals({ access, method }: AccountRoute): Record<string, FaultWording> {
  const {
    foreign_origin,
    not_json,
    no_session,
    too_many_attempts,
    organization_not_found,
    right_missing,
    step_up_required,
    database_away,
  } = REFUSALS;
  return {
    database_away,
    ...(method !== 'GET' && { foreign_origin, not_json }),
    ...(access.of !== 'anyone' && { no_session, too_many_attempts }),
    ...(access.of === 'member' && { organization_not_found, right_missing }),
    ...(access.of !== 'anyone' && access.recent && { step_up_required }),
  };
}

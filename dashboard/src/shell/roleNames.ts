import type { Role } from '@turnpike/console-api/roles';

export const ROLE_NAMES: Record<Role, string> = {
  owner: 'Owner',
  admin: 'Admin',
  developer: 'Developer',
  billing_viewer: 'Billing viewer',
};

/** The rights of each role, in a sentence. */
export const ROLE_RIGHTS: Record<Role, string> = {
  owner: 'Everything: workspaces, members and other owners too.',
  admin: 'Members, invitations, the name of the organization and its audit. Cannot change owners.',
  developer: 'Sees the organization, its members and its workspaces.',
  billing_viewer: 'Sees the organization, its members and its workspaces.',
};

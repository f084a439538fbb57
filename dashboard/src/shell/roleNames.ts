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
  admin: 'Members, API keys, payments, monthly caps and the audit. Cannot create workspaces or change owners.',
  developer: 'Creates and changes API keys. Sees usage, members and workspaces.',
  billing_viewer: 'Sees payments, usage, members and workspaces. Changes nothing.',
};

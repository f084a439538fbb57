/** The roles of a member, the highest first. */
export const ROLES = ['owner', 'admin', 'developer', 'billing_viewer'] as const;
export type Role = (typeof ROLES)[number];

/** The rights that a route may ask for, each with the roles that have it. */
export const RIGHTS = {
  /** Reads the organization, its workspaces and its members. */
  'organization.read': ['owner', 'admin', 'developer', 'billing_viewer'],
  'organization.write': ['owner', 'admin'],
  /** Invites, removes and changes members. Owners are changed by owners alone. */
  'members.write': ['owner', 'admin'],
  /** Creates a workspace. */
  'workspaces.write': ['owner'],
  /** Renames a workspace, and sets its monthly cap. */
  'workspaces.change': ['owner', 'admin'],
  /** Reads top-ups and the amounts that are offered. */
  'billing.read': ['owner', 'admin', 'billing_viewer'],
  /** Pays. */
  'billing.write': ['owner', 'admin'],
  'audit.read': ['owner', 'admin'],
  /** Reads API keys, by name and last four characters. */
  'keys.read': ['owner', 'admin', 'developer'],
  /** Creates, changes, rotates, blocks and revokes API keys. */
  'keys.write': ['owner', 'admin', 'developer'],
  /** Reads usage and its cost. */
  'usage.read': ['owner', 'admin', 'developer', 'billing_viewer'],
} as const satisfies Record<string, readonly Role[]>;
export type Right = keyof typeof RIGHTS;

export const hasRight = (role: Role, right: Right): boolean => (RIGHTS[right] as readonly Role[]).includes(role);

/** Says whether a role is at most as high as another. A member gives and takes away no role above their own. */
export const isWithin = (role: Role, limit: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(limit);

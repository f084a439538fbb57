/** Why auth refuses a request or cannot serve it, beside the faults of authentication itself. */
export type AuthServiceFault =
  | { kind: 'unknown_key' }
  /** The hash is registered already, under any pepper. */
  | { kind: 'key_already_registered' }
  /** Revoking is final. */
  | { kind: 'key_revoked' }
  /** Only a key in use can be rotated: not a blocked, revoked or expired one. */
  | { kind: 'key_not_in_use' }
  /** Another key has taken its place already: a second one would end when this one does. */
  | { kind: 'key_rotated'; replacedBy: string }
  | { kind: 'workspace_not_found' }
  /** A workspace is created once; another route brings it up to date. */
  | { kind: 'workspace_exists' }
  /** A workspace that was never set up for billing is neither put on hold nor released. */
  | { kind: 'workspace_not_provisioned' }
  /** An organization holds at most one workspace per region, and a workspace stays with its organization. */
  | { kind: 'workspace_conflict' }
  /** A change is made, and the router may go by a key's older record for as long as it remembers one. */
  | { kind: 'gate_not_told' }
  /** More keys are looked up at once than the router is asked about. */
  | { kind: 'too_many_look_ups' }
  | { kind: 'router_unavailable' }
  | { kind: 'router_refused_credentials' }
  | { kind: 'router_malformed_response' };

const AUTH_SERVICE_FAULT_KINDS: Record<AuthServiceFault['kind'], true> = {
  unknown_key: true,
  key_already_registered: true,
  key_revoked: true,
  key_not_in_use: true,
  key_rotated: true,
  workspace_not_found: true,
  workspace_exists: true,
  workspace_not_provisioned: true,
  workspace_conflict: true,
  gate_not_told: true,
  too_many_look_ups: true,
  router_unavailable: true,
  router_refused_credentials: true,
  router_malformed_response: true,
};

export const isAuthServiceFault = (fault: { kind: string }): fault is AuthServiceFault =>
  Object.hasOwn(AUTH_SERVICE_FAULT_KINDS, fault.kind);

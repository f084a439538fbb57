/** Why the catalog refuses a request. */
export type CatalogFault =
  | { kind: 'model_not_found' }
  /** No catalog of this version was ever in force here. */
  | { kind: 'version_not_found' }
  /** A retired model is out of service for good, so it cannot be switched. */
  | { kind: 'model_retired' }
  /** Switched on, but the catalog file disables it as well. */
  | { kind: 'model_disabled_in_file' }
  /** This client asks too often, or all of them together do. */
  | { kind: 'list_throttled'; waitMs: number }
  /** The router was never reached, so nobody knows which models are live. */
  | { kind: 'router_unreachable' };

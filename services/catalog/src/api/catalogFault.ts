import type { catalogApi } from '@turnpike/internal-api/catalog';
import type { FaultOf } from '@turnpike/internal-api/internalApi';

/** Why the catalog refuses a client's request. */
export type ListFault =
  | { kind: 'model_not_listed'; didYouMean: string[] }
  /** This client asks too often, or all of them together do. */
  | { kind: 'list_throttled'; of: 'address' | 'all'; perMinute: number; waitMs: number }
  /** The router was never reached, so nobody knows which models are live. */
  | { kind: 'router_unreachable' };

/** Why it refuses anybody's. */
export type CatalogFault = ListFault | FaultOf<typeof catalogApi>;

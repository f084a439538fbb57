/** The services that the edge passes requests on to. */
export type Upstream = 'auth' | 'catalog' | 'model-router' | 'usage-ledger';

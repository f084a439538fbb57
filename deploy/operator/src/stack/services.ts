/** The services that the operator calls, and the variable that names the internal listener of each. */
export const SERVICE_VARIABLES = {
  auth: 'TURNPIKE_AUTH_INTERNAL_URL',
  catalog: 'TURNPIKE_CATALOG_INTERNAL_URL',
  'model-router': 'TURNPIKE_ROUTER_INTERNAL_URL',
  'usage-ledger': 'TURNPIKE_LEDGER_INTERNAL_URL',
} as const;

export type ServiceName = keyof typeof SERVICE_VARIABLES;
